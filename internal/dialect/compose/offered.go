package compose

import (
	"slices"

	"weir/internal/llm"
)

// Offered returns the request for a wire format that is not its own: with only the functions that its tool choice
// allows, because the model cannot call others, with the client's own tools as functions, and with a mark of the prompt
// cache for the whole request on its last part. In its own format it is unchanged.
func Offered(format string, r *llm.Request) *llm.Request {
	if r.ExtraOf == format {
		return r
	}
	r = placed(elsewhere(r))
	if r.ToolChoice == nil || r.ToolChoice.Allowed == nil {
		return r
	}
	r = new(*r)
	allowed := make(map[string]bool, len(r.Tools))
	for _, name := range r.ToolChoice.Allowed {
		allowed[name] = true
	}
	r.Tools = slices.DeleteFunc(slices.Clone(r.Tools), func(t llm.Tool) bool {
		return t.Raw != nil || !allowed[t.Name]
	})
	r.Unrun = nil
	return r
}
