package quote

import (
	"slices"

	"weir/internal/llm"
)

// searches reports whether a client wishes for a search of the web by a model that does not search by itself.
func (r *Request) searches(model string) bool {
	if _, searches := unaskedClass(model); searches || r.Op.DecodeRequest == nil {
		return false
	}
	tree, err := r.Source.Tree()
	if err != nil {
		return false
	}
	return slices.ContainsFunc(offered(tree), func(t llm.Tool) bool { return t.Search != nil })
}

// offered are the tools that a wire format other than the client's gets.
func offered(tree *llm.Request) []llm.Tool {
	if tree.Elsewhere != nil {
		return tree.Elsewhere.Tools
	}
	return tree.Tools
}

// asksSearches takes note of the searches of the web that a client of another wire format asks for: what the provider runs is
// its own tool. Models that are asked by a field of options search without being asked, too.
func (q *Quote) asksSearches(r *Inputs, tree *llm.Request) {
	if q.Speaks.SearchTool == nil {
		return
	}
	for _, t := range offered(tree) {
		s := t.Search
		if s == nil {
			continue
		}
		raw := q.Speaks.SearchTool(s, q.Quirks)
		if raw == nil {
			return
		}
		r.tool(raw, &q.Speaks.Inputs, q.usesOf(raw))
		q.openUses(r, raw)
		r.schemas += int64(len(raw)) // which is not in the client's body
		if r.calls > 0 && q.Speaks.Inputs.MaxCalls.Has(plain(q.Quirks.CallCap)) {
			q.capSearches(r, s.MaxUses)
		}
	}
}

// capSearches holds the searches to the cap on the calls of all tools, with which a request is sent, or has one put in.
func (q *Quote) capSearches(r *Inputs, most int64) {
	if most == 0 {
		most = mostCalls
		r.openCap()
	}
	if !q.Quirks.IgnoresCallCaps {
		r.capCalls(most)
	}
}
