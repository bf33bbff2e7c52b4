package ollama

import (
	"net/http"

	"weir/internal/dialect/explain"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// statuses are the HTTP statuses of the codes: https://docs.ollama.com/api/errors.
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

// EncodeError appends the body of an error reply to dst. A message is all that
// it has, and so names the parameter at fault; the X-Request-Id header carries the
// request id.
func EncodeError(dst []byte, e *llm.Error, _ string) []byte {
	return append(rawjson.AppendString(append(dst, `{"error":`...), e.Placed()), '}')
}

// DecodeError reads the provider's explanation from an error body: text under
// "error", or what a proxy before it says in its own way.
func DecodeError(body []byte) llm.ProviderError { return explain.Body(body) }
