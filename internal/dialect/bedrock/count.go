package bedrock

import (
	"strings"

	"weir/internal/dialect"
	"weir/internal/dialect/compose"
	"weir/internal/dialect/parse"
	"weir/internal/rawjson"
)

// counter counts the tokens of a chat, which "doesn't incur charges", and "will match the token count that would be
// charged" (https://docs.aws.amazon.com/bedrock/latest/userguide/count-tokens.html, undated copy). It supports only
// some models, and no inference profiles.
func counter() *dialect.Counter {
	return &dialect.Counter{
		Name: Name, Media: true, Decode: parse.Counted("inputTokens"),
		Path: func(model string, _ bool) string {
			return strings.TrimSuffix(Path(model, false), whole) + "count-tokens"
		},
		Body: func(chat []byte, _ string) []byte {
			converse := compose.Only(chat,
				rawjson.Names{"messages", "system", "toolConfig", "additionalModelRequestFields"})
			return append(append([]byte(`{"input":{"converse":`), converse...), "}}"...)
		},
	}
}
