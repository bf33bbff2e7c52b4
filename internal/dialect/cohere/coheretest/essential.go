package coheretest

import "weir/internal/dialect/parse"

// essentials are the fields that a translation must not drop: https://docs.cohere.com/reference/chat (undated copy of
// 2026).
var essentials = parse.Essentials{
	"documents":       {Instead: "Put the documents into the messages"},
	"raw_prompting":   {Instead: "Leave it out"},
	"response_format": {Instead: `Ask for the type "json_object"`},
	"tool_choice":     {Instead: "Leave the choice to the model"},
}
