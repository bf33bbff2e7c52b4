package compose

import (
	"slices"

	"weir/internal/llm"
)

// OnlyJSON instructs the model to answer as in a JSON mode.
const OnlyJSON = "Answer with one JSON object and nothing else: no Markdown, no words around it."

// InWords returns a request of another wire format for one without a JSON mode: it replaces the mode by OnlyJSON as
// the last system message, and reports the mode as dropped. Requests without the mode are unchanged.
func InWords(format string, r *llm.Request) *llm.Request {
	if r.ExtraOf == format || r.Format == nil || r.Format.Kind != llm.FormatJSON {
		return r
	}
	in := *r
	in.Format = nil
	in.LeftOut = append(slices.Clip(r.LeftOut), "response_format")
	in.Messages = append(slices.Clip(r.Messages), llm.Message{
		Role: llm.RoleSystem, Parts: []llm.Part{{Kind: llm.PartText, Text: OnlyJSON}},
	})
	return &in
}
