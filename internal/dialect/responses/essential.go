package responses

import (
	"weir/internal/dialect/parse"
)

const (
	wholeInput = "Send the whole conversation as the input"
	noLimit    = "Leave it out: what the model calls is run by the client alone"
)

// essentials are the vendor's fields, and those of others that speak alike, such as max_turns, which bounds what tools
// do at xAI, and OpenRouter's plugins (https://openrouter.ai/docs/api_reference/responses/web-search, undated copy of
// 2026). What goes on from a response that is kept here has become part of the input before.
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
