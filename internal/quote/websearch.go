package quote

import (
	"weir/internal/llm"
)

// searches takes note of the searches of the web that a client of another wire format asks for: what the provider runs is
// its own tool. Models that are asked by a field of options search without being asked, too.
func (q *Quote) searches(r *Inputs, tree *llm.Request) {
	if q.Speaks.SearchTool == nil {
		return
	}
	tools := tree.Tools
	if tree.Elsewhere != nil {
		tools = tree.Elsewhere.Tools
	}
	for i := range tools {
		s := tools[i].Search
		if s == nil {
			continue
		}
		raw := q.Speaks.SearchTool(s)
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
