package anthropic

import (
	"net/http"
	"strings"

	"weir/internal/dialect"
	"weir/internal/dialect/explain"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

const (
	invalidRequest = "invalid_request_error" // also for any other status from 400 that has no word of its own
	apiError       = "api_error"
	overloaded     = "overloaded_error"

	statusOverloaded = 529
)

// vocabulary is how Anthropic says a code: https://platform.claude.com/docs/en/api/errors.
var vocabulary = dialect.Vocabulary{
	llm.CodeInvalidRequest:      dialect.Say(http.StatusBadRequest, invalidRequest, ""),
	llm.CodeAuthentication:      dialect.Say(http.StatusUnauthorized, "authentication_error", ""),
	llm.CodeBudgetExceeded:      dialect.Say(http.StatusPaymentRequired, "billing_error", ""),
	llm.CodeForbidden:           dialect.Say(http.StatusForbidden, "permission_error", ""),
	llm.CodeNotFound:            dialect.Say(http.StatusNotFound, "not_found_error", ""),
	llm.CodeModelNotFound:       dialect.Say(http.StatusNotFound, "not_found_error", ""),
	llm.CodeMethodNotAllowed:    dialect.Say(http.StatusMethodNotAllowed, invalidRequest, ""),
	llm.CodeIdempotencyConflict: dialect.Say(http.StatusConflict, invalidRequest, ""),
	llm.CodeConflict:            dialect.Say(http.StatusConflict, invalidRequest, ""),
	llm.CodeRequestTooLarge:     dialect.Say(http.StatusRequestEntityTooLarge, "request_too_large", ""),
	llm.CodeUnsupportedMedia:    dialect.Say(http.StatusUnsupportedMediaType, invalidRequest, ""),
	llm.CodeRateLimited:         dialect.Say(http.StatusTooManyRequests, "rate_limit_error", ""),
	llm.CodeProviderError:       dialect.Say(http.StatusBadGateway, apiError, ""),
	llm.CodeProviderUnavailable: dialect.Say(statusOverloaded, overloaded, ""),
	llm.CodeProviderTimeout:     dialect.Say(http.StatusGatewayTimeout, "timeout_error", ""),
	llm.CodeOverloaded:          dialect.Say(statusOverloaded, overloaded, ""),
	llm.CodeInternal:            dialect.Say(http.StatusInternalServerError, apiError, ""),
}

// threadUnsupported is the reason at which the vendor's SDKs leave threads be and
// send the whole conversation
// (https://platform.claude.com/docs/en/build-with-claude/message-threads).
const threadUnsupported = "thread_unsupported_request"

// tooLong are the vendor's words for a request that is longer than the context window, at which its programs make the
// conversation shorter and go on.
const tooLong = "prompt is too long"

// EncodeError appends the body of an error reply to dst. The parameter at fault
// has no place of its own in it and stands before the message. The word is what
// the vendor's SDKs choose their exception class by.
func EncodeError(dst []byte, e *llm.Error, requestID string) []byte {
	message := e.Message
	if e.Param != "" {
		message = e.Param + ": " + message
	}
	if e.Word == explain.Context && !strings.Contains(strings.ToLower(message), tooLong) {
		message = tooLong + ": " + message
	}
	dst = rawjson.AppendString(append(dst, `{"type":"error","error":{"type":`...), vocabulary.Of(e.Code).Kind)
	dst = rawjson.AppendString(append(dst, `,"message":`...), message)
	if e.Word != "" {
		dst = append(rawjson.AppendString(append(dst, `,"details":{"error_code":`...), e.Word), '}')
	}
	dst = append(dst, '}')
	if requestID != "" {
		dst = rawjson.AppendString(append(dst, `,"request_id":`...), requestID)
	}
	return append(dst, '}')
}

// DecodeError reads the provider's explanation from an error body of any shape.
func DecodeError(body []byte) llm.ProviderError {
	e := explain.Body(body)
	if e.Code == "" {
		return e // not JSON, or nobody's error
	}
	if reason := rawjson.Text(rawjson.Get(body, "error", "details", "error_code")); isReason(reason) {
		e.Word = reason
	}
	return e
}

// isReason tells a word of the vendor's from text that was put in its place.
func isReason(s string) bool {
	const longest = 64
	return len(s) <= longest && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789_") == ""
}
