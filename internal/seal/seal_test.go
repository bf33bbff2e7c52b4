package seal_test

import (
	"bytes"
	"testing"

	"weir/internal/must"
	"weir/internal/seal"
)

func TestBoxOpensOwnTextOnly(t *testing.T) {
	t.Parallel()
	box := must.Get(seal.New("secret", "salt", "purpose"))(t)
	text, about := []byte("what nobody is to read"), []byte("row 1")
	sealed := box.Seal(nil, nil, text, about)
	if bytes.Contains(sealed, text) || bytes.Equal(sealed, box.Seal(nil, nil, text, about)) {
		t.Errorf("sealed %x: contains the text, or is the same twice", sealed)
	}
	again, err := seal.New("secret", "salt", "purpose")
	must.Do(t, err)
	if got, err := again.Open(nil, nil, sealed, about); err != nil || !bytes.Equal(got, text) {
		t.Errorf("open: got %q, %v; want %q", got, err, text)
	}
	if got, err := again.Open(nil, nil, sealed, []byte("row 2")); err == nil {
		t.Errorf("open as another row: got %q, want an error", got)
	}
	for _, other := range [][3]string{{"secre", "salt", "purpose"}, {"secret", "sal", "purpose"}, {"secret", "salt", "purpos"}, {"secret", "saltpurpose", ""}} {
		wrong := must.Get(seal.New(other[0], other[1], other[2]))(t)
		if got, err := wrong.Open(nil, nil, sealed, about); err == nil {
			t.Errorf("open with %q: got %q, want an error", other, got)
		}
	}
}

func TestDigestSeparatesParts(t *testing.T) {
	t.Parallel()
	seen := map[string][]string{}
	for _, parts := range [][]string{{}, {""}, {"", ""}, {"ab"}, {"a", "b"}, {"1:a"}, {"ab", ""}, {"", "ab"}} {
		d := seal.Digest(parts...)
		if before, twice := seen[d]; twice || len(d) != 64 {
			t.Errorf("digest of %q is %s, as that of %q", parts, d, before)
		}
		seen[d] = parts
	}
	if a, b := seal.Digest("x", "y"), seal.Digest("x", "y"); a != b {
		t.Errorf("digest of the same: %s and %s", a, b)
	}
}
