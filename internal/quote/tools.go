package quote

import (
	"iter"
	"slices"
	"strings"

	"weir/internal/dialect"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// run adds calls of a tool that the provider runs. A call of a class that is not a tool's costs only the tokens that
// it adds.
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
		r.unreported = r.unreported.With(t.Class)
	}
}

// tool adds a tool of a request, under each of its kinds. The provider may run it at most uses times.
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

// within adds a tool from a list inside a tool; lists are not nested further.
func (r *Inputs) within(raw []byte, in *dialect.Inputs) {
	isList := rawjson.Present(rawjson.Get(raw, toolList))
	for kind := range kindsOf(raw, in) {
		if !in.Functions.Has(kind) && (isList || !isClients(kind, in)) {
			r.run(toolOf(kind, in), mostCalls)
		}
	}
}

// unknownKind is the kind of a tool that is not an object, or an empty one.
const unknownKind = "?"

// kindsOf iterates over the kinds of a tool, as defined in dialect.Tool. A type that appears twice gives two kinds,
// because parsers differ in which one they read.
func kindsOf(raw []byte, in *dialect.Inputs) iter.Seq[string] {
	return func(yield func(string) bool) {
		place, typed, empty := "", false, true
		for m := range rawjson.Members(raw) {
			empty, typed = false, typed || m.Is("type")
			if kind := rawjson.Text(rawjson.Get(m.Value, "type")); m.Is("environment") && kind != "" {
				place = ":" + kind
			}
			if m.Is("systemTool") { // Bedrock has several of these
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

// isClients reports whether the client runs tools of that kind.
func isClients(kind string, in *dialect.Inputs) bool {
	return slices.ContainsFunc(in.ClientTools, func(prefix string) bool { return strings.HasPrefix(kind, prefix) })
}

// toolOf returns the provider's tool of that kind. Replies are assumed not to report an unknown tool.
func toolOf(kind string, in *dialect.Inputs) dialect.Tool {
	for _, t := range in.Tools {
		if strings.HasPrefix(kind, t.Prefix) {
			return t
		}
	}
	return dialect.Tool{Class: llm.OtherTools, Untold: true}
}

// works adds the tools that a field makes the provider run, and reports whether the field is in working.
func (r *Inputs) works(name string, v []byte, in *dialect.Inputs) bool {
	class, is := working[name]
	if is && isOn(v) && (!r.isInFee(class) || !searchesOnce(v)) {
		r.run(dialect.Tool{Class: class, Untold: !in.Told.Has(name)}, mostCalls)
	}
	return is
}

// toolsBy adds the tools that a field in an unusual position makes the provider run; those of a list by their kinds.
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

// isOn reports whether a value requests anything.
func isOn(v []byte) bool {
	on, isBool := rawjson.AsBool(v)
	return rawjson.Present(v) && (on || !isBool)
}

// toolList is the suffix of fields that are lists of tools.
const toolList = "tools"

// isToolList reports whether an item is the list of tools that an MCP server has reported.
func isToolList(item []byte) bool { return rawjson.Text(rawjson.Get(item, "type")) == "mcp_list_tools" }
