package native

import (
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// EncodeError appends the body of an error reply to dst.
func EncodeError(dst []byte, e *llm.Error, requestID string) []byte {
	dst = rawjson.AppendString(append(dst, `{"error":{"code":`...), string(e.Code))
	dst = rawjson.AppendString(append(dst, `,"message":`...), e.Message)
	dst = append(dst, `,"param":`...)
	if e.Param == "" {
		dst = append(dst, "null"...)
	} else {
		dst = rawjson.AppendString(dst, e.Param)
	}
	dst = rawjson.AppendString(append(dst, `,"request_id":`...), requestID)
	return append(dst, "}}"...)
}
