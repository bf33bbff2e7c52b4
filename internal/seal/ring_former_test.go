package seal_test

import (
	"errors"
	"testing"

	"weir/internal/seal"
)

// TestFormerKeyOpens is that what is sealed with a key opens after that has left the
// file, for as long as the process lives.
func TestFormerKeyOpens(t *testing.T) {
	t.Parallel()
	former, next := seal.NewKey(), seal.NewKey()
	keys := []seal.Key{former}
	load := func() ([]seal.Key, error) { return keys, nil }
	ring, err := seal.NewRing(load)
	if err != nil {
		t.Fatal(err)
	}
	sealed, err := ring.Seal(ring.Newest(), []byte("text"), "row 1")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := seal.NameOf(sealed), former.Name(); got != want {
		t.Errorf("name of the key of %s: got %q, want %q", sealed, got, want)
	}
	keys = []seal.Key{next}
	if err := ring.Reload(); err != nil {
		t.Fatal(err)
	}
	if got, want := ring.Newest(), next.Name(); got != want {
		t.Errorf("newest after reload: got %q, want %q", got, want)
	}
	if got, err := ring.Open(sealed, "row 1"); err != nil || string(got) != "text" {
		t.Errorf("open with the former key: got %q, %v; want %q", got, err, "text")
	}
	later, err := seal.NewRing(load)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := later.Open(sealed, "row 1"); !errors.Is(err, seal.ErrNoKey) {
		t.Errorf("open in a process that never had the key: got %q, %v; want %v", got, err, seal.ErrNoKey)
	}
}

func TestNameOfNothing(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "text", "v2.name.a.b", "v1.name.a", "v1.name.a.b.c"} {
		if got := seal.NameOf(text); got != "" {
			t.Errorf("name of the key of %q: got %q, want none", text, got)
		}
	}
}
