package quote

import (
	"slices"

	"weir/internal/llm"
)

// searches reports whether a client requests a web search from a model that does not search by itself.
func (r *Request) searches(model string) bool {
	if _, searches := unaskedClass(model); searches || r.Op.DecodeRequest == nil {
		return false
	}
	tree, err := r.Tree()
	if err != nil {
		return false
	}
	return slices.ContainsFunc(offered(tree), func(t llm.Tool) bool { return t.Search != nil })
}

// offered returns the tools in the form for wire formats other than the client's.
func offered(tree *llm.Request) []llm.Tool {
	if tree.Elsewhere != nil {
		return tree.Elsewhere.Tools
	}
	return tree.Tools
}

// asksSearches adds the web searches that a client of another wire format requests, as the provider's own tool.
// Models with a field of search options search by themselves, too.
func (o *Offer) asksSearches(r *Inputs, tree *llm.Request) {
	if o.Speaks.SearchTool == nil {
		return
	}
	for _, t := range offered(tree) {
		s := t.Search
		if s == nil {
			continue
		}
		raw := o.Speaks.SearchTool(s, o.Quirks)
		if raw == nil {
			return
		}
		r.tool(raw, &o.Speaks.Inputs, o.usesOf(raw))
		o.openUses(r, raw)
		r.schemas += int64(len(raw)) // it is not in the client's body
		if r.calls > 0 && o.Speaks.Inputs.MaxCalls.Has(plain(o.Quirks.CallCap)) {
			o.capSearches(r, s.MaxUses)
		}
	}
}

// capSearches limits the searches by the cap on the calls of all tools, which the request has or the gateway adds.
func (o *Offer) capSearches(r *Inputs, most int64) {
	if most == 0 {
		most = mostCalls
		r.openCap()
	}
	if !o.Quirks.IgnoresCallCaps {
		r.capCalls(most)
	}
}
