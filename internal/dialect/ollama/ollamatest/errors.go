package ollamatest

import (
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// EncodeError appends the body of an error reply to dst. It only has a message, which names the parameter at fault; the
// X-Request-Id header has the request id.
func EncodeError(dst []byte, e *llm.Error, _ string) []byte {
	return append(rawjson.AppendString(append(dst, `{"error":`...), e.Placed()), '}')
}
