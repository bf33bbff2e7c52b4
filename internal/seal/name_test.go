package seal_test

import (
	"testing"

	"weir/internal/must"
	"weir/internal/seal"
)

func TestNameOf(t *testing.T) {
	t.Parallel()
	key := seal.NewKey()
	ring := must.Get(seal.NewRing(func() ([]seal.Key, error) { return []seal.Key{key}, nil }))(t)
	sealed := must.Get(ring.Seal(key.Name(), []byte("text"), "row 1"))(t)
	for text, want := range map[string]string{
		sealed: key.Name(), "": "", "text": "", "v2.name.a.b": "", "v1.name.a": "", "v1.name.a.b.c": "",
	} {
		if got := seal.NameOf(text); got != want {
			t.Errorf("name of the key of %q: got %q, want %q", text, got, want)
		}
	}
}
