package openai

import (
	"fmt"

	"weir/internal/dialect/parse"
	"weir/internal/llm"
)

const (
	noSearch = "Offer a search as a function"
	bySchema = `Ask for the response_format "json_schema"`
	noServer = "Offer its tools as functions"
)

// essentials are the vendor's fields that a translation must not drop, and those of servers and vendors that use the
// same format: vLLM (https://docs.vllm.ai/en/latest/features/structured_outputs/), llama.cpp
// (https://github.com/ggml-org/llama.cpp/tree/master/tools/server), OpenRouter
// (https://openrouter.ai/docs/guides/features/plugins/web-search) and xAI (https://docs.x.ai/docs/guides/live-search;
// undated copies of 2026).
var essentials = parse.Essentials{
	"audio":           {Instead: "Leave it out"},
	"modalities":      {Instead: `Ask for the modalities ["text"]`, Usual: []string{"text"}},
	"moderation":      {Instead: "Leave it out"},
	"response_format": {Instead: bySchema},
	"tool_choice":     {Instead: "Name a function or leave the choice to the model"},
	"function_call":   {Instead: "Name a function or leave the choice to the model"},

	"documents":          {Instead: "Put the documents into the messages"},
	"grammar":            {Instead: bySchema},
	"guided_choice":      {Instead: bySchema},
	"guided_grammar":     {Instead: bySchema},
	"guided_json":        {Instead: bySchema},
	"guided_regex":       {Instead: bySchema},
	"json_schema":        {Instead: bySchema},
	"mcp_servers":        {Instead: noServer},
	"plugins":            {Instead: noSearch},
	"search_parameters":  {Instead: noSearch},
	"structured_outputs": {Instead: bySchema},
}

// noteSaid notes an assistant's spoken message that the request names only by id.
func noteSaid(r *llm.Request) {
	for i := range r.Messages {
		if m := &r.Messages[i]; r.Essential == nil && len(m.Parts) == 0 && hasField(m.Extra, "audio") {
			r.Essential = &llm.Essential{
				Param: fmt.Sprintf("messages[%d].audio", i), Instead: "Put its transcript into the content",
			}
		}
	}
}
