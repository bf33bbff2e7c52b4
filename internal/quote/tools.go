package quote

import (
	"iter"
	"slices"
	"strings"

	"weir/internal/dialect"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// run takes note of calls of a tool that the provider runs itself; of a class that is
// no tool's they cost nothing but what they have it read.
func (r *Inputs) run(t dialect.Tool, n int64) {
	if t.Free {
		n = max(n, mostQueries)
	} else {
		r.calls += n
	}
	if !t.Class.IsTool() {
		r.others = true
		return
	}
	r.tools[t.Class] += n
	if t.Untold {
		r.untold = r.untold.With(t.Class)
	}
}

// tool takes note of a tool of a request: of each kind that it is. The provider may use one
// that it runs so often.
func (r *Inputs) tool(raw []byte, in *dialect.Inputs, uses int64) {
	clients := false
	for kind := range kindsOf(raw, in) {
		switch {
		case in.Functions.Has(kind):
		case isClients(kind, in):
			clients = true
		default:
			r.run(toolOf(kind, in), uses)
		}
	}
	if !clients {
		return
	}
	r.schemas += int64(len(raw))
	r.around += aroundVendorTool
	for _, t := range rawjson.Elements(rawjson.Get(raw, toolList)) {
		r.within(t, in)
	}
}

// within takes note of a tool of a list that is a tool, in which no other list has a place.
func (r *Inputs) within(raw []byte, in *dialect.Inputs) {
	isList := rawjson.Present(rawjson.Get(raw, toolList))
	for kind := range kindsOf(raw, in) {
		if !in.Functions.Has(kind) && (isList || !isClients(kind, in)) {
			r.run(toolOf(kind, in), mostCalls)
		}
	}
}

// unknownKind is that of a tool which is no object, or an empty one.
const unknownKind = "?"

// kindsOf are the kinds of a tool, as dialect.Tool has them. A type that stands twice is two
// kinds, as parsers differ in which one counts.
func kindsOf(raw []byte, in *dialect.Inputs) iter.Seq[string] {
	return func(yield func(string) bool) {
		place, typed, empty := "", false, true
		for m := range rawjson.Members(raw) {
			empty, typed = false, typed || m.Is("type")
			if kind := rawjson.Text(rawjson.Get(m.Value, "type")); m.Is("environment") && kind != "" {
				place = ":" + kind
			}
			if m.Is("systemTool") { // Bedrock's, of which there are several
				place = ":" + rawjson.Text(rawjson.Get(m.Value, "name"))
			}
		}
		switch {
		case empty:
			yield(unknownKind)
			return
		case !typed && in.Functions.Has(""):
			yield("")
			return
		}
		for m := range rawjson.Members(raw) {
			kind := m.Name() + place
			if typed {
				kind = rawjson.Text(m.Value) + place
			}
			if (m.Is("type") || !typed) && !yield(strings.ToLower(kind)) {
				return
			}
		}
	}
}

// isClients says whether the client runs a tool of that kind.
func isClients(kind string, in *dialect.Inputs) bool {
	return slices.ContainsFunc(in.ClientTools, func(prefix string) bool { return strings.HasPrefix(kind, prefix) })
}

// toolOf is the tool of the provider's of that kind. One that nobody knows is one that no
// reply is known to tell of.
func toolOf(kind string, in *dialect.Inputs) dialect.Tool {
	for _, t := range in.Tools {
		if strings.HasPrefix(kind, t.Prefix) {
			return t
		}
	}
	return dialect.Tool{Class: llm.OtherTools, Untold: true}
}

// works takes note of what a field has the provider run, and reports whether it is one of
// working.
func (r *Inputs) works(name string, v []byte, in *dialect.Inputs) bool {
	class, is := working[name]
	if is && isOn(v) && (!r.isInFee(class) || !searchesOnce(v)) {
		r.run(dialect.Tool{Class: class, Untold: !in.Told.Has(name)}, mostCalls)
	}
	return is
}

// toolsBy takes note of the tools that a field in an unusual place has the provider run:
// those of a list of tools by their kinds.
func (r *Inputs) toolsBy(name string, v []byte, in *dialect.Inputs) {
	switch {
	case r.works(name, v, in), !strings.HasSuffix(name, toolList), !isOn(v):
	case rawjson.KindOf(v) != rawjson.Array:
		r.run(toolOf(unknownKind, in), mostCalls)
	default:
		for _, t := range rawjson.Elements(v) {
			r.tool(t, in, mostCalls)
		}
	}
}

// isOn says whether a field asks for anything.
func isOn(v []byte) bool {
	on, isBool := rawjson.AsBool(v)
	return rawjson.Present(v) && (on || !isBool)
}

// toolList is how the names end of fields that are lists of tools.
const toolList = "tools"

// isTold says whether an item that nobody modelled is the list of tools that an MCP server
// has told.
func isTold(item []byte) bool { return rawjson.Text(rawjson.Get(item, "type")) == "mcp_list_tools" }
