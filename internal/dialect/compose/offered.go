package compose

import (
	"slices"

	"weir/internal/llm"
)

// Offered is the request as a wire format gets it that is not its own: with the functions alone that its tool choice
// allows, as what is not offered is not called, and with the client's own tools as functions. In its own words it stays
// as it is.
func Offered(format string, r *llm.Request) *llm.Request {
	if r.ExtraOf == format {
		return r
	}
	r = elsewhere(r)
	if r.ToolChoice == nil || r.ToolChoice.Allowed == nil {
		return r
	}
	r = new(*r)
	allowed := make(map[string]bool, len(r.Tools))
	for _, name := range r.ToolChoice.Allowed {
		allowed[name] = true
	}
	r.Tools = slices.DeleteFunc(slices.Clone(r.Tools), func(t llm.Tool) bool { return t.Raw != nil || !allowed[t.Name] })
	r.Unrun = nil
	return r
}
