package schematest_test

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"
)

// shrunk removes all parts of a request that can go while has stays true.
func shrunk(request object, has func(object) bool) object {
	var smallest object
	if err := json.Unmarshal(encoded(request), &smallest); err != nil || !has(smallest) {
		return request
	}
	for before := -1; before != len(encoded(smallest)); {
		before = len(encoded(smallest))
		smallest = passed(smallest, has)
	}
	return smallest
}

// passed removes parts of a request that can go, trying each once.
func passed(smallest object, has func(object) bool) object {
	all := func() []func() any { return removals(smallest, func(v any) any { return v }) }
	for i, tries := 0, all(); i < len(tries); {
		if next := tries[i]().(object); has(next) {
			smallest = next
			tries = all() // the next part has moved to the place of this one
			continue
		}
		i++
	}
	return smallest
}

// removals returns the values that lack one member or element of v, at any depth, larger parts first; whole puts one in
// the place of v.
func removals(v any, whole func(any) any) (all []func() any) {
	type child struct {
		value any
		put   func(any) any
	}
	var children []child
	switch v := v.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			all = append(all, func() any {
				other := maps.Clone(v)
				delete(other, name)
				return whole(other)
			})
			children = append(children, child{v[name], func(x any) any {
				other := maps.Clone(v)
				other[name] = x
				return whole(other)
			}})
		}
	case []any:
		for i := range v {
			all = append(all, func() any { return whole(slices.Delete(slices.Clone(v), i, i+1)) })
			children = append(children, child{v[i], func(x any) any {
				other := slices.Clone(v)
				other[i] = x
				return whole(other)
			}})
		}
	}
	for _, c := range children {
		all = append(all, removals(c.value, c.put)...)
	}
	return all
}

// TestShrunkRequestKeepsItsProperty shrinks a request to the one member that matters.
func TestShrunkRequestKeepsItsProperty(t *testing.T) {
	t.Parallel()
	request := object{"a": list{object{"keep": true, "b": 1}, "c"}, "d": object{"e": list{1, 2}}}
	got := encoded(shrunk(request, func(o object) bool {
		elements, _ := o["a"].([]any)
		return slices.ContainsFunc(elements, func(e any) bool { m, _ := e.(object); return m["keep"] == true })
	}))
	if want := `{"a":[{"keep":true}]}`; string(got) != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
