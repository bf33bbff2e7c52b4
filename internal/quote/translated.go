package quote

import (
	"weir/internal/dialect"
	"weir/internal/llm"
)

// aroundOwn is the most tokens of the gateway's own text around a client's tool that becomes a function, around its
// calls and results, without its name, and around the instruction that replaces a JSON mode.
const aroundOwn = 64

// aroundCall is the most tokens added around arguments that are not a JSON object.
const aroundCall = 16

// translated adds the tokens that a request may gain in another wire format than the client's.
func (r *Inputs) translated(tree *llm.Request) {
	if r.own {
		return
	}
	r.untooled = !tree.HasTools()
	if c := tree.ToolChoice; c != nil && c.Mode == llm.ToolsNone { // an instruction may have to say so
		r.schemas += aroundOwn
	}
}

// called adds the tokens that a tool call may gain in another wire format than the client's: an object around
// arguments that are not one; and its tool, if the request has no tools and the format requires those of earlier
// calls.
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

// offered adds the parts of tools that become functions in other wire formats and are not in the body.
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

// elsewhere adds the form of a part in other wire formats.
func (r *Inputs) elsewhere(parts []llm.Part, in *dialect.Inputs) {
	for i := range parts {
		r.schemas += aroundOwn
		if c := parts[i].Call; c != nil {
			r.schemas += int64(len(c.Name))
		}
	}
	r.parts(parts, in)
}
