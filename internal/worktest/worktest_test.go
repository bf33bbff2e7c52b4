package worktest

import (
	"bytes"
	"strings"
	"testing"

	"weir/internal/rawjson"
)

// TestExceedsFindsWork checks that each measurement finds its kind of excess.
func TestExceedsFindsWork(t *testing.T) {
	if raced {
		t.Skip("nothing is measured with the race detector")
	}
	for _, tt := range []struct {
		name   string
		in     string
		decode func([]byte)
		want   string // empty for no error
	}{
		{"linear", `{"a":["x"]}`, func(b []byte) { _ = bytes.Clone(b) }, ""},
		{"greedy at once", strings.Repeat("a", 9000), func(b []byte) { waste(len(b) << 11) }, "bytes of memory for 9000, at most"},
		{"greedy for many", "a", func(b []byte) { waste(len(b) << 11) }, "grown to 32768 bytes"},
		{"slow at once", "a", func(b []byte) { spin(len(b) << 28) }, "for 1 bytes, at most 50.01ms"},
		{"text in quadratic memory", `{"a":[1,2,{"b":["abcdefgh"]}]}`, concatenate, "bytes of memory for 32755, at most"},
		{"a little quadratic memory", `{"a":["abcdefgh"]}`, func(b []byte) { waste(len(b) * len(b) >> 8) }, "bytes of memory, "},
		{"quadratic time", `{"a":["abcdefgh"]}`, func(b []byte) { spin(len(b) * len(b) >> 6) }, "grown to 131061 bytes"},
	} {
		err := exceeds([]byte(tt.in), tt.decode)
		if (err != nil) != (tt.want != "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %q", tt.name, err, tt.want)
		}
	}
}

func waste(n int) {
	for ; n > 0; n -= 1 << 10 {
		sink = make([]byte, 1<<10)
	}
}

var sink []byte // keeps the compiler from removing the allocations

func spin(steps int) {
	x := byte(1)
	for range steps {
		x = x*7 + 3
	}
	sink = append(sink[:0], x)
}

// concatenate adds every string of an array to a text, which is copied each time.
func concatenate(b []byte) {
	text := ""
	for _, e := range rawjson.Elements(rawjson.Get(b, "a")) {
		for _, s := range rawjson.Elements(rawjson.Get(e, "b")) {
			text += rawjson.Text(s)
		}
	}
	sink = []byte(text)
}

// TestGrowRepeatsEachPlace checks that every place of a JSON text is grown inside, with the rest unchanged.
func TestGrowRepeatsEachPlace(t *testing.T) {
	t.Parallel()
	in := []byte(` {"a":[1, "x y"],"b":{"c":[[]],"d":""},"e":"é\n"}`)
	places := repeatable(nil, in, in)
	var got []string
	for _, p := range places {
		out := p.times(in, 60)
		if rawjson.Validate(out, 9) != nil || len(out) < 50 || len(out) > 60 {
			t.Errorf("got %s, want JSON of about 60 bytes", out)
		}
		got = append(got, string(in[p.from:p.to]))
	}
	if want := "1, \"x y\"|x y|[]|é\\n"; strings.Join(got, "|") != want {
		t.Errorf("got places %q, want %q", got, want)
	}
	if got := string(Grow([]byte("ab"), 7)); got != "ababab" {
		t.Errorf("got %q, want the whole three times", got)
	}
}
