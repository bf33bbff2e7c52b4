package llm

import "net/http"

// statuses maps the codes to HTTP statuses.
var statuses = map[Code]int{
	CodeInvalidRequest:      http.StatusBadRequest,
	CodeAuthentication:      http.StatusUnauthorized,
	CodeBudgetExceeded:      http.StatusPaymentRequired,
	CodeForbidden:           http.StatusForbidden,
	CodeNotFound:            http.StatusNotFound,
	CodeModelNotFound:       http.StatusNotFound,
	CodeMethodNotAllowed:    http.StatusMethodNotAllowed,
	CodeIdempotencyConflict: http.StatusConflict,
	CodeConflict:            http.StatusConflict,
	CodeRequestTooLarge:     http.StatusRequestEntityTooLarge,
	CodeUnsupportedMedia:    http.StatusUnsupportedMediaType,
	CodeMisdirected:         http.StatusMisdirectedRequest,
	CodeRateLimited:         http.StatusTooManyRequests,
	CodeProviderError:       http.StatusBadGateway,
	CodeProviderUnavailable: http.StatusServiceUnavailable,
	CodeProviderTimeout:     http.StatusGatewayTimeout,
	CodeOverloaded:          http.StatusServiceUnavailable,
	CodeInternal:            http.StatusInternalServerError,
}

// Status returns the HTTP status of the code for wire formats whose vendor defines none for it; 500 for an unlisted
// code.
func (c Code) Status() int {
	if status, ok := statuses[c]; ok {
		return status
	}
	return http.StatusInternalServerError
}
