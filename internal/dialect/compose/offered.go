package compose

import (
	"slices"

	"weir/internal/llm"
)

// Offered is the request with the functions alone that its tool choice allows: what is not offered is not called. In
// this wire format's own words it stays as it is.
func Offered(format string, r *llm.Request) *llm.Request {
	if r.ExtraOf == format || r.ToolChoice == nil || r.ToolChoice.Allowed == nil {
		return r
	}
	allowed := make(map[string]bool, len(r.Tools))
	for _, name := range r.ToolChoice.Allowed {
		allowed[name] = true
	}
	less := *r
	less.Tools = slices.DeleteFunc(slices.Clone(r.Tools), func(t llm.Tool) bool { return t.Raw != nil || !allowed[t.Name] })
	return &less
}
