package cohere

import (
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// EncodeError appends the body of an error reply to dst: an id and a message
// are all that it has, so the parameter at fault stands in the message.
func EncodeError(dst []byte, e *llm.Error, requestID string) []byte {
	dst = append(dst, '{')
	if requestID != "" {
		dst = append(rawjson.AppendString(append(dst, `"id":`...), requestID), ',')
	}
	return append(rawjson.AppendString(append(dst, `"message":`...), e.Placed()), '}')
}
