package quote

import (
	"weir/internal/dialect"
	"weir/internal/llm"
)

// aroundOwn are the tokens at most of the gateway's own words around a tool of the client's that becomes a function, a
// call of it or a result, beside its name, and around the words that take the place of a JSON mode.
const aroundOwn = 64

// aroundCall are the tokens at most of what is put around arguments that are no JSON object.
const aroundCall = 16

// translated takes note of what a request needs beyond its own words in another wire format than the client's.
func (r *Inputs) translated(tree *llm.Request) {
	if r.own {
		return
	}
	r.untooled = !tree.HasTools()
	if c := tree.ToolChoice; c != nil && c.Mode == llm.ToolsNone { // the system may have to say so
		r.schemas += aroundOwn
	}
}

// called takes note of what a call is in another wire format than the client's: its arguments within an object, where they
// are none; and its tool, where the request has no tools and the format wants those of the calls.
func (r *Inputs) called(c *llm.ToolCall) {
	switch {
	case r.own:
	case r.untooled:
		r.schemas += aroundOwn + int64(len(c.Name))
		r.around = max(r.around, aroundTools)
	default:
		r.schemas += aroundCall
	}
}

// offered takes note of the tools of a request that are functions elsewhere: of what is not in its body.
func (r *Inputs) offered(e *llm.Elsewhere) {
	for i := range e.Tools {
		t := &e.Tools[i]
		r.function(t)
		of, is := e.Called.Of(t.Name)
		switch {
		case !is:
			continue
		case of.Kind == llm.ToolCustom:
			r.schemas += int64(len(t.Parameters))
		case of.Kind != llm.ToolFunction:
			r.schemas += int64(len(t.Description) + len(t.Parameters))
		}
		r.schemas += aroundOwn + 2*int64(len(t.Name)+len(of.Namespace))
	}
}

// elsewhere takes note of what a part becomes in other wire formats.
func (r *Inputs) elsewhere(parts []llm.Part, in *dialect.Inputs) {
	for i := range parts {
		r.schemas += aroundOwn
		if c := parts[i].Call; c != nil {
			r.schemas += int64(len(c.Name))
		}
	}
	r.parts(parts, in)
}
