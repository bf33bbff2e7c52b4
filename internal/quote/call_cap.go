package quote

import (
	"strconv"

	"weir/internal/llm"
	"weir/internal/rawjson"
)

// maxTurns is the field by which xAI's answers have so many turns at most, in each of which several tools may be called
// (https://docs.x.ai/developers/tools/tool-usage-details, undated copy of 2026).
const maxTurns = "maxturns"

// openCalls are the caps on calls of the provider's own tools that are to be put into a request, since nobody gave one:
// one on all tools, or one on each.
type openCalls struct {
	caps int64     // how many caps
	each int64     // calls under each of them
	of   llm.Usage // what one call under each of them is counted as, together
}

// openCap takes note of a cap on all tools that is to be put in.
func (r *Inputs) openCap() {
	r.open.caps, r.open.each = 1, mostCalls
	for class, n := range r.tools {
		if c := llm.Class(class); n > 0 && c.IsTool() && c != llm.CodeSessions { // a session lasts for many calls
			r.open.of[c] = 1
		}
	}
}

// openUses takes note of a cap on the uses of a tool that is to be put in.
func (q *Quote) openUses(r *Inputs, raw []byte) {
	if !q.lacksCap(raw) {
		return
	}
	r.open.caps++
	r.open.each = mostCalls
	for kind := range kindsOf(raw, &q.Speaks.Inputs) {
		if c := toolOf(kind, &q.Speaks.Inputs).Class; c.IsTool() {
			r.open.of[c]++
		}
	}
}

// lacksCap reports whether a cap on its uses is to be put into a tool.
func (q *Quote) lacksCap(raw []byte) bool {
	in := &q.Speaks.Inputs
	if in.MaxUses == "" || q.Quirks.CallCap != in.MaxUses || rawjson.Present(rawjson.Get(raw, in.MaxUses)) {
		return false
	}
	for kind := range kindsOf(raw, in) {
		if !toolOf(kind, in).Capped {
			return false
		}
	}
	return true
}

// boundCall is what each call under each cap that is put in adds to the bound at most.
func (q *Quote) boundCall(how Precision, r *Inputs) llm.Usage {
	u := r.open.of
	fewer := r.open.caps * (r.open.each - 1)
	if fewer > 0 && fewer < r.calls { // of reads of which each is longer than the one before it, what one is on average
		u[llm.Input] = (q.boundReads(how, r, r.calls) - q.boundReads(how, r, r.calls-fewer)) / fewer
	}
	u[llm.Input] = times(times(u[llm.Input], r.open.caps), max(1, r.reads))
	return u
}

// CapCalls puts a cap on the calls of the provider's own tools into a body, where one is to be put in; 0 is none.
func (q *Quote) CapCalls(body []byte, calls int64) []byte {
	switch {
	case calls == 0:
		return body
	case q.Quirks.CallCap != q.Speaks.Inputs.MaxUses:
		return rawjson.Splice(nil, body, rawjson.Set(body, q.Quirks.CallCap, strconv.AppendInt(nil, calls, 10)))
	}
	tools := []byte{'['}
	for i, raw := range rawjson.Elements(rawjson.Get(body, toolList)) {
		if i > 0 {
			tools = append(tools, ',')
		}
		if q.lacksCap(raw) {
			raw = rawjson.Splice(nil, raw, rawjson.Set(raw, q.Quirks.CallCap, strconv.AppendInt(nil, calls, 10)))
		}
		tools = append(tools, raw...)
	}
	return rawjson.Splice(nil, body, rawjson.Set(body, toolList, append(tools, ']')))
}

// ToolsNeed explains what an operator can do where a budget has no room for the tools that a provider runs for a request;
// empty where it runs none, or where budgets hold what these usually cost.
func (q *Quote) ToolsNeed(r *Inputs) string {
	calls := r.calls
	for _, n := range r.tools {
		calls = max(calls, n)
	}
	if calls == 0 || r.usual || worksLong(q.Target.Model) {
		return ""
	}
	return " Most of that is for tools that the provider runs, at the most that they can find and cost. Budgets hold what they " +
		"usually cost instead where the operator sets pricing.tools to usual."
}
