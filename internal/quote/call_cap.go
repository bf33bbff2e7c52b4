package quote

import (
	"strconv"

	"weir/internal/llm"
	"weir/internal/rawjson"
)

// maxTurns is the field that caps the turns of xAI's answers; each turn may call several tools
// (https://docs.x.ai/developers/tools/tool-usage-details, undated copy of 2026).
const maxTurns = "maxturns"

// openCalls describes the caps on calls of the provider's own tools that the gateway adds because the client set
// none: one for all tools, or one for each.
type openCalls struct {
	caps int64     // number of caps
	each int64     // calls under each cap
	of   llm.Usage // usage of one call under each cap, in total
}

// openCap records that a cap for all tools must be added.
func (r *Inputs) openCap() {
	r.open.caps, r.open.each = 1, mostCalls
	for class, n := range r.tools {
		if c := llm.Class(class); n > 0 && c.IsTool() && c != llm.CodeSessions { // a session serves many calls
			r.open.of[c] = 1
		}
	}
}

// openUses records that a cap on the uses of a tool must be added.
func (o *Offer) openUses(r *Inputs, raw []byte) {
	if !o.lacksCap(raw) {
		return
	}
	r.open.caps++
	r.open.each = mostCalls
	for kind := range kindsOf(raw, &o.Speaks.Inputs) {
		if c := toolOf(kind, &o.Speaks.Inputs).Class; c.IsTool() {
			r.open.of[c]++
		}
	}
}

// lacksCap reports whether a cap on its uses must be added to a tool.
func (o *Offer) lacksCap(raw []byte) bool {
	in := &o.Speaks.Inputs
	if in.MaxUses == "" || o.Quirks.CallCap != in.MaxUses || rawjson.Present(rawjson.Get(raw, in.MaxUses)) {
		return false
	}
	for kind := range kindsOf(raw, in) {
		if !toolOf(kind, in).Capped {
			return false
		}
	}
	return true
}

// call returns an upper bound of the usage of one more call under each added cap.
func (b upperBound) call() llm.Usage {
	r := b.in
	u := r.open.of
	fewer := r.open.caps * (r.open.each - 1)
	if fewer > 0 && fewer < r.calls { // each read is longer than the one before: take the average
		u[llm.Input] = (b.reads(r.calls) - b.reads(r.calls-fewer)) / fewer
	}
	u[llm.Input] = times(times(u[llm.Input], r.open.caps), max(1, r.reads))
	return u
}

// CapCalls adds the cap on calls of the provider's own tools to a body; calls is 0 for none.
func (o *Offer) CapCalls(body []byte, calls int64) []byte {
	switch {
	case calls == 0:
		return body
	case o.Quirks.CallCap != o.Speaks.Inputs.MaxUses:
		return rawjson.Splice(nil, body, rawjson.Set(body, o.Quirks.CallCap, strconv.AppendInt(nil, calls, 10)))
	}
	tools := []byte{'['}
	for _, raw := range rawjson.Elements(rawjson.Get(body, toolList)) {
		tools = rawjson.AppendComma(tools)
		if o.lacksCap(raw) {
			raw = rawjson.Splice(nil, raw, rawjson.Set(raw, o.Quirks.CallCap, strconv.AppendInt(nil, calls, 10)))
		}
		tools = append(tools, raw...)
	}
	return rawjson.Splice(nil, body, rawjson.Set(body, toolList, append(tools, ']')))
}

// ToolsNeed explains how an operator can make room in a budget for tools that a provider runs; empty if the request
// has none, or budgets hold their usual cost.
func (o *Offer) ToolsNeed(r *Inputs) string {
	calls := r.calls
	for _, n := range r.tools {
		calls = max(calls, n)
	}
	if calls == 0 || r.usual || worksLong(o.Target.Model) {
		return ""
	}
	return " Most of that is the highest possible cost of tools that the provider runs. " +
		"If the operator sets pricing.tools to usual, budgets hold their usual cost instead."
}
