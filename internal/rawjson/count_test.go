package rawjson_test

import (
	"strings"
	"testing"

	"weir/internal/rawjson"

	"weir/internal/worktest"
)

// countOf counts a text's elements by the first letter of the names of their arrays: 1 for a,
// 2 for b, else 0.
func countOf(text string) rawjson.Counts {
	return rawjson.Count([]byte(text), func(name []byte) int {
		return max(0, strings.Index(" ab", string(name)))
	}, never)
}

func never(rawjson.Counts) bool { return false }

// TestCountEnds checks that counting stops at the limit.
func TestCountEnds(t *testing.T) {
	t.Parallel()
	text := "[" + strings.Repeat("0,", 100_000) + "0]"
	got := rawjson.Count([]byte(text), func([]byte) int { return 0 }, func(c rawjson.Counts) bool { return c.Elements[0] > 1000 })
	if n := got.Elements[0]; n <= 1000 || n > 10_000 {
		t.Errorf("%d elements were counted, want little more than 1000", n)
	}
}

func TestCountOfElements(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]rawjson.Counts{
		`1`:                             {Elements: [rawjson.Classes]int64{0, 0, 0}},
		`[]`:                            {Elements: [rawjson.Classes]int64{0, 0, 0}},
		`[1,"a",null , {} ,[ ]]`:        {Elements: [rawjson.Classes]int64{5, 0, 0}},
		`{"a":[1,2,3],"b":[{"a":[1]}]}`: {Elements: [rawjson.Classes]int64{0, 4, 1}, Members: 3},
		`{"a":[[1,2],["b","b"]]}`:       {Elements: [rawjson.Classes]int64{0, 6, 0}, Members: 1},
		`{"\u0061":[1],"b" : "a" , "c":{"b":[true,"]"]}}`: {Elements: [rawjson.Classes]int64{0, 1, 2}, Members: 4},
		`{"a":{"c":[1]},"c":[1]}`:                         {Elements: [rawjson.Classes]int64{2, 0, 0}, Members: 3},
		`{"a":"\\","b":["\"",-1.5e3]}`:                    {Elements: [rawjson.Classes]int64{0, 0, 2}, Members: 2},
	} {
		if got := countOf(text); got != want {
			t.Errorf("%s: got %+v, want %+v", text, got, want)
		}
	}
}

// FuzzCount checks that a text has as many elements and members as a walk over it finds.
func FuzzCount(f *testing.F) {
	for _, text := range []string{`{"a":[1,2,{"b":[]}]}`, `[[[1]],"x"]`, `{"a":{"b":[0,0]}}`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		worktest.Check(t, text, func(text []byte) { rawjson.Count(text, func([]byte) int { return 0 }, never) })
		if rawjson.Validate(text, 100) != nil {
			return
		}
		got := rawjson.Count(text, func([]byte) int { return 0 }, never)
		elements, members := countByWalk(text)
		if got.Elements[0] != elements || got.Members != members {
			t.Errorf("%q: got %+v, want %d elements and %d members", text, got, elements, members)
		}
	})
}

func countByWalk(v []byte) (elements, members int64) {
	add := func(inner []byte) {
		e, m := countByWalk(inner)
		elements, members = elements+e, members+m
	}
	for _, e := range rawjson.Elements(v) {
		elements++
		add(e)
	}
	for m := range rawjson.Members(v) {
		members++
		add(m.Value)
	}
	return elements, members
}
