package responses

import (
	"weir/internal/dialect/parse"
)

const (
	wholeInput = "Send the whole conversation as the input"
	noLimit    = "Leave it out: only the client runs the model's calls"
)

// essentials are the vendor's fields that a translation must not drop, and those of other vendors of the format, such
// as xAI's max_turns, which bounds its tools, and OpenRouter's plugins
// (https://openrouter.ai/docs/api_reference/responses/web-search, undated copy of 2026). A previous response that the
// gateway stores is part of the input already.
var essentials = parse.Essentials{
	"conversation":         {Instead: wholeInput},
	"max_tool_calls":       {Instead: noLimit},
	"max_turns":            {Instead: noLimit},
	"moderation":           {Instead: "Leave it out"},
	"plugins":              {Instead: "Offer a search as a function"},
	"previous_response_id": {Instead: wholeInput},
	"prompt":               {Instead: "Send its messages as the input"},
	"text.format":          {Instead: `Ask for the format "json_schema"`},
	"tool_choice":          {Instead: "Name a function or leave the choice to the model"},
}
