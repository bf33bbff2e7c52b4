package toolloop

import "weir/internal/rawjson"

// filter selects tools: by a list of names, or an object with tool_names or read_only. It is read once for all tools of
// a server.
type filter struct {
	names    map[string]bool // nil for none
	reads    bool            // what read_only is
	hasReads bool            // read_only is given
}

// newFilter reads a filter; nil if there is none.
func newFilter(v []byte) *filter {
	if !rawjson.Present(v) {
		return nil
	}
	f, names := new(filter), v
	if rawjson.KindOf(v) == rawjson.Object {
		names = rawjson.Get(v, "tool_names")
		f.reads, f.hasReads = rawjson.AsBool(rawjson.Get(v, "read_only"))
	}
	if rawjson.Present(names) {
		f.names = map[string]bool{}
	}
	for _, name := range rawjson.Elements(names) {
		f.names[rawjson.Text(name)] = true
	}
	return f
}

// selects reports whether the filter selects a tool. A nil filter selects none.
func (f *filter) selects(t *Tool) bool {
	if f == nil {
		return false
	}
	if f.hasReads {
		reads, _ := rawjson.AsBool(rawjson.Get(t.Definition, "annotations", "readOnlyHint")) // false if absent
		if reads != f.reads {
			return false
		}
		if f.names == nil {
			return true
		}
	}
	return f.names[t.Name]
}
