package coheretest

import (
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// EncodeError appends the body of an error reply to dst. It only has an id and a message, so the message names the
// parameter at fault.
func EncodeError(dst []byte, e *llm.Error, requestID string) []byte {
	dst = append(dst, '{')
	if requestID != "" {
		dst = append(rawjson.AppendString(append(dst, `"id":`...), requestID), ',')
	}
	return append(rawjson.AppendString(append(dst, `"message":`...), e.Placed()), '}')
}
