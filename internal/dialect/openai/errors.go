package openai

import (
	"cmp"
	"net/http"

	"weir/internal/dialect/explain"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// words is how OpenAI says a code, so that the official SDKs raise their own
// exception classes: https://platform.openai.com/docs/guides/error-codes.
type words struct {
	status     int
	kind, code string
}

const invalidRequest = "invalid_request_error"

var vocabulary = map[llm.Code]words{
	llm.CodeInvalidRequest:      {http.StatusBadRequest, invalidRequest, ""},
	llm.CodeAuthentication:      {http.StatusUnauthorized, invalidRequest, "invalid_api_key"},
	llm.CodeBudgetExceeded:      {http.StatusTooManyRequests, "insufficient_quota", "insufficient_quota"},
	llm.CodeForbidden:           {http.StatusForbidden, invalidRequest, "insufficient_permissions"},
	llm.CodeNotFound:            {http.StatusNotFound, invalidRequest, "unknown_url"},
	llm.CodeModelNotFound:       {http.StatusNotFound, invalidRequest, "model_not_found"},
	llm.CodeMethodNotAllowed:    {http.StatusMethodNotAllowed, invalidRequest, "method_not_supported"},
	llm.CodeIdempotencyConflict: {http.StatusConflict, invalidRequest, "idempotency_conflict"},
	llm.CodeRequestTooLarge:     {http.StatusRequestEntityTooLarge, invalidRequest, "request_too_large"},
	llm.CodeUnsupportedMedia:    {http.StatusUnsupportedMediaType, invalidRequest, "unsupported_media_type"},
	llm.CodeRateLimited:         {http.StatusTooManyRequests, "rate_limit_error", "rate_limit_exceeded"},
	llm.CodeProviderError:       {http.StatusBadGateway, "server_error", "provider_error"},
	llm.CodeProviderUnavailable: {http.StatusServiceUnavailable, "server_error", "provider_unavailable"},
	llm.CodeProviderTimeout:     {http.StatusGatewayTimeout, "server_error", "provider_timeout"},
	llm.CodeOverloaded:          {http.StatusServiceUnavailable, "server_error", "overloaded"},
	llm.CodeInternal:            {http.StatusInternalServerError, "server_error", "internal_error"},
}

func wordsOf(c llm.Code) words {
	if w, ok := vocabulary[c]; ok {
		return w
	}
	return vocabulary[llm.CodeInternal]
}

// Status is the HTTP status of an error; 500 for a code that nobody listed.
func Status(c llm.Code) int { return wordsOf(c).status }

// EncodeError appends the body of an error reply to dst. The request id has no
// place in it; the X-Request-Id header carries it.
func EncodeError(dst []byte, e *llm.Error, _ string) []byte {
	w := wordsOf(e.Code)
	dst = rawjson.AppendString(append(dst, `{"error":{"message":`...), e.Message)
	dst = rawjson.AppendString(append(dst, `,"type":`...), w.kind)
	dst = appendOrNull(append(dst, `,"param":`...), e.Param)
	dst = appendOrNull(append(dst, `,"code":`...), cmp.Or(e.Word, w.code))
	return append(dst, "}}"...)
}

func appendOrNull(dst []byte, s string) []byte {
	if s == "" {
		return append(dst, "null"...)
	}
	return rawjson.AppendString(dst, s)
}

// DecodeError reads the provider's explanation from an error body of any of
// the shapes that those who took this format over have.
func DecodeError(body []byte) llm.ProviderError { return explain.Body(body) }
