package responses

import (
	"weir/internal/dialect"
	"weir/internal/dialect/compose"
	"weir/internal/dialect/parse"
	"weir/internal/rawjson"
)

// counter counts the tokens of a response's input: "the exact count the model will receive"
// (https://developers.openai.com/api/docs/guides/token-counting, undated copy). It takes what decides the input
// (https://github.com/openai/openai-node/blob/master/src/resources/responses/input-tokens.ts, 011cd36). OpenAI does not
// say whether it charges for it, so no provider of the catalogue has it.
func counter() *dialect.Counter {
	return &dialect.Counter{
		Name: Name, Path: dialect.At("/responses/input_tokens"), Media: true, Decode: parse.Counted("input_tokens"),
		Body: func(chat []byte, _ string) []byte {
			return compose.Only(chat, rawjson.Names{
				"model", "input", "instructions", "tools", "tool_choice", "parallel_tool_calls", "reasoning", "text",
				"truncation", "conversation", "previous_response_id",
			})
		},
	}
}
