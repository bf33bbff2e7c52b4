package native

import (
	"net/http"

	"weir/internal/llm"
	"weir/internal/rawjson"
)

// statuses are the HTTP statuses of the codes.
var statuses = map[llm.Code]int{
	llm.CodeInvalidRequest:      http.StatusBadRequest,
	llm.CodeAuthentication:      http.StatusUnauthorized,
	llm.CodeBudgetExceeded:      http.StatusPaymentRequired,
	llm.CodeForbidden:           http.StatusForbidden,
	llm.CodeNotFound:            http.StatusNotFound,
	llm.CodeModelNotFound:       http.StatusNotFound,
	llm.CodeMethodNotAllowed:    http.StatusMethodNotAllowed,
	llm.CodeIdempotencyConflict: http.StatusConflict,
	llm.CodeRequestTooLarge:     http.StatusRequestEntityTooLarge,
	llm.CodeUnsupportedMedia:    http.StatusUnsupportedMediaType,
	llm.CodeRateLimited:         http.StatusTooManyRequests,
	llm.CodeProviderError:       http.StatusBadGateway,
	llm.CodeProviderUnavailable: http.StatusServiceUnavailable,
	llm.CodeOverloaded:          http.StatusServiceUnavailable,
	llm.CodeProviderTimeout:     http.StatusGatewayTimeout,
	llm.CodeInternal:            http.StatusInternalServerError,
}

// Status is the HTTP status of an error; 500 for a code that nobody listed.
func Status(c llm.Code) int {
	if status, ok := statuses[c]; ok {
		return status
	}
	return http.StatusInternalServerError
}

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
