package cohere

import (
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// Status is the HTTP status of an error, so that the official SDKs raise their
// own error types: https://docs.cohere.com/reference/errors.
func Status(c llm.Code) int { return c.Status() }

// EncodeError appends the body of an error reply to dst: an id and a message
// are all that it has, so the parameter at fault stands in the message.
func EncodeError(dst []byte, e *llm.Error, requestID string) []byte {
	dst = append(dst, '{')
	if requestID != "" {
		dst = append(rawjson.AppendString(append(dst, `"id":`...), requestID), ',')
	}
	return append(rawjson.AppendString(append(dst, `"message":`...), e.Placed()), '}')
}
