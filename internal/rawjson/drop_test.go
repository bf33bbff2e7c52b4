package rawjson_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"weir/internal/rawjson"
	"weir/internal/worktest"
)

// verdictOf drops members called drop, passes those called pass, except for deep ones, and descends into those called
// deep.
func verdictOf(name []byte, deep bool) rawjson.Verdict {
	switch string(name) {
	case "drop":
		return rawjson.Drop
	case "pass":
		if !deep {
			return rawjson.Pass
		}
	case "deep":
		return rawjson.Deep
	}
	return rawjson.Look
}

// dropped returns a tree without the members that verdictOf drops.
func dropped(v any, deep bool) any {
	switch x := v.(type) {
	case []any:
		for i := range x {
			x[i] = dropped(x[i], deep)
		}
	case map[string]any:
		for name, value := range x {
			switch verdict := verdictOf([]byte(name), deep); verdict {
			case rawjson.Drop:
				delete(x, name)
			case rawjson.Pass:
			default:
				x[name] = dropped(value, deep || verdict == rawjson.Deep)
			}
		}
	}
	return v
}

// tree draws a value of at most that number of levels.
func tree(t *rapid.T, depth int) any {
	kinds := 4
	if depth > 0 {
		kinds = 6
	}
	switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
	case 0:
		return nil
	case 1:
		return rapid.Bool().Draw(t, "boolean")
	case 2:
		return rapid.StringOf(rapid.RuneFrom([]rune(`ab",:{}[]\ é`))).Draw(t, "text")
	case 3:
		return float64(rapid.IntRange(-9, 99).Draw(t, "number"))
	case 4:
		all := make([]any, rapid.IntRange(0, 3).Draw(t, "length"))
		for i := range all {
			all[i] = tree(t, depth-1)
		}
		return all
	}
	all := map[string]any{}
	for range rapid.IntRange(0, 4).Draw(t, "members") {
		all[rapid.SampledFrom([]string{"a", "b\"", "drop", "pass", "deep", ""}).Draw(t, "name")] = tree(t, depth-1)
	}
	return all
}

// TestDropsMatchTree checks that members are dropped as from a tree, for any form of the JSON.
func TestDropsMatchTree(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		whole := tree(t, 4)
		text, err := json.Marshal(whole)
		if err != nil {
			t.Fatal(err)
		}
		if rapid.Bool().Draw(t, "indented") {
			var b bytes.Buffer
			if err := json.Indent(&b, text, "\t", " \r"); err != nil {
				t.Fatal(err)
			}
			text = b.Bytes()
		}
		left := rawjson.Splice(nil, text, rawjson.Drops(text, verdictOf)...)
		var got any
		if err := json.Unmarshal(left, &got); err != nil {
			t.Fatalf("%s: got %s, which is not JSON: %v", text, left, err)
		}
		if diff := cmp.Diff(dropped(whole, false), got); diff != "" {
			t.Fatalf("%s: got %s (-want +got):\n%s", text, left, diff)
		}
	})
}

// FuzzDrops checks that valid JSON stays valid, and that any bytes need linear time and memory.
func FuzzDrops(f *testing.F) {
	for _, text := range []string{
		`{"drop":1,"a":[{"drop":{}},{"pass":{"drop":1}}]}`, `{"drop":1}`, `[[[{"drop":[]}]]]`, `{"a`, `{"drop":1,"drop":2}`, `{"dr\u006fp" : 1 , "b":2}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		worktest.Check(t, text, func(text []byte) {
			if rawjson.Validate(text, 100) != nil {
				return
			}
			if left := rawjson.Splice(nil, text, rawjson.Drops(text, verdictOf)...); rawjson.Validate(left, 100) != nil {
				t.Errorf("%s: got %s, which is not JSON", text, left)
			}
		})
	})
}
