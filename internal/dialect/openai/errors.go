package openai

import (
	"cmp"
	"net/http"

	"weir/internal/dialect"
	"weir/internal/dialect/explain"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

const invalidRequest = "invalid_request_error"

// vocabulary is how OpenAI says a code: https://platform.openai.com/docs/guides/error-codes.
var vocabulary = dialect.Vocabulary{
	llm.CodeInvalidRequest:      dialect.Say(http.StatusBadRequest, invalidRequest, ""),
	llm.CodeAuthentication:      dialect.Say(http.StatusUnauthorized, invalidRequest, "invalid_api_key"),
	llm.CodeBudgetExceeded:      dialect.Say(http.StatusTooManyRequests, "insufficient_quota", "insufficient_quota"),
	llm.CodeForbidden:           dialect.Say(http.StatusForbidden, invalidRequest, "insufficient_permissions"),
	llm.CodeNotFound:            dialect.Say(http.StatusNotFound, invalidRequest, "unknown_url"),
	llm.CodeModelNotFound:       dialect.Say(http.StatusNotFound, invalidRequest, "model_not_found"),
	llm.CodeMethodNotAllowed:    dialect.Say(http.StatusMethodNotAllowed, invalidRequest, "method_not_supported"),
	llm.CodeIdempotencyConflict: dialect.Say(http.StatusConflict, invalidRequest, "idempotency_conflict"),
	llm.CodeConflict:            dialect.Say(http.StatusConflict, invalidRequest, "conflict"),
	llm.CodeRequestTooLarge:     dialect.Say(http.StatusRequestEntityTooLarge, invalidRequest, "request_too_large"),
	llm.CodeUnsupportedMedia:    dialect.Say(http.StatusUnsupportedMediaType, invalidRequest, "unsupported_media_type"),
	llm.CodeRateLimited:         dialect.Say(http.StatusTooManyRequests, "rate_limit_error", "rate_limit_exceeded"),
	llm.CodeProviderError:       dialect.Say(http.StatusBadGateway, "server_error", "provider_error"),
	llm.CodeProviderUnavailable: dialect.Say(http.StatusServiceUnavailable, "server_error", "provider_unavailable"),
	llm.CodeProviderTimeout:     dialect.Say(http.StatusGatewayTimeout, "server_error", "provider_timeout"),
	llm.CodeOverloaded:          dialect.Say(http.StatusServiceUnavailable, "server_error", "overloaded"),
	llm.CodeInternal:            dialect.Say(http.StatusInternalServerError, "server_error", "internal_error"),
}

// EncodeError appends the body of an error reply to dst. The request id has no
// place in it; the X-Request-Id header carries it.
func EncodeError(dst []byte, e *llm.Error, _ string) []byte {
	w := vocabulary.Of(e.Code)
	dst = rawjson.AppendString(append(dst, `{"error":{"message":`...), e.Message)
	dst = rawjson.AppendString(append(dst, `,"type":`...), w.Kind)
	dst = appendOrNull(append(dst, `,"param":`...), e.Param)
	dst = appendOrNull(append(dst, `,"code":`...), cmp.Or(e.Word, w.More))
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
