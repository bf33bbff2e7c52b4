package compose

import (
	"slices"

	"weir/internal/llm"
)

// OnlyJSON asks in words for an answer as a JSON mode gives it.
const OnlyJSON = "Answer with one JSON object and nothing else: no Markdown, no words around it."

// InWords returns a request in other words than the wire format's own, which has no JSON mode: with OnlyJSON as its last
// system message in place of the mode, and the mode among what is left out. Requests without it stay as they are.
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
