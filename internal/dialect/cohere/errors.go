package cohere

import (
	"net/http"

	"weir/internal/llm"
	"weir/internal/rawjson"
)

// statuses are the HTTP statuses of the codes, so that the official SDKs raise
// their own error types: https://docs.cohere.com/reference/errors.
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
	llm.CodeProviderTimeout:     http.StatusGatewayTimeout,
	llm.CodeOverloaded:          http.StatusServiceUnavailable,
	llm.CodeInternal:            http.StatusInternalServerError,
}

// Status is the HTTP status of an error; 500 for a code that nobody listed.
func Status(c llm.Code) int {
	if status, ok := statuses[c]; ok {
		return status
	}
	return http.StatusInternalServerError
}

// EncodeError appends the body of an error reply to dst: an id and a message
// are all that it has, so the parameter at fault stands in the message.
func EncodeError(dst []byte, e *llm.Error, requestID string) []byte {
	dst = append(dst, '{')
	if requestID != "" {
		dst = append(rawjson.AppendString(append(dst, `"id":`...), requestID), ',')
	}
	return append(rawjson.AppendString(append(dst, `"message":`...), e.Placed()), '}')
}
