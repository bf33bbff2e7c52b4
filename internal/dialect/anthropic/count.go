package anthropic

import (
	"weir/internal/dialect"
	"weir/internal/dialect/compose"
	"weir/internal/dialect/parse"
	"weir/internal/rawjson"
)

// countPath is the path of token counting.
const countPath = "/messages/count_tokens"

// counted is the member of a reply with the count.
const counted = "input_tokens"

// counter counts the tokens of a chat. It "is free to use" and an estimate, from which the real number "may differ by a
// small amount" (https://platform.claude.com/docs/en/build-with-claude/token-counting, undated copy that names
// claude-opus-4-6). It accepts the fields that decide the input, and refuses all others, such as max_tokens
// (https://platform.claude.com/docs/en/api/messages/count_tokens).
func counter() *dialect.Counter {
	return &dialect.Counter{
		Name: Name, Path: dialect.At(countPath), Media: true, Decode: parse.Counted(counted),
		Body: func(chat []byte, _ string) []byte {
			return compose.Only(chat, rawjson.Names{
				"model", "messages", "system", "tools", "tool_choice", "thinking", "cache_control", "output_config",
				"output_format",
			})
		},
	}
}
