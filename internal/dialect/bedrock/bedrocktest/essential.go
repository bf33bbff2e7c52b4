package bedrocktest

import "weir/internal/dialect/parse"

// essentials are the fields that a translation must not drop:
// https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html (undated copy of 2026).
var essentials = parse.Essentials{
	"guardrailConfig":         {Instead: "Leave it out"},
	"outputConfig.textFormat": {Instead: `Ask for the type "json_schema"`},
	"promptVariables":         {Instead: "Send the messages with their values"},
	"toolConfig.toolChoice":   {Instead: "Name a tool or leave the choice to the model"},
}
