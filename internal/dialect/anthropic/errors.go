package anthropic

import (
	"net/http"
	"strings"

	"weir/internal/dialect/explain"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// words is how Anthropic says a code, so that the official SDKs raise their own
// exception classes: https://platform.claude.com/docs/en/api/errors.
type words struct {
	status int
	kind   string
}

const (
	invalidRequest = "invalid_request_error" // also for any other status from 400 that has no word of its own
	apiError       = "api_error"
	overloaded     = "overloaded_error"

	statusOverloaded = 529
)

var vocabulary = map[llm.Code]words{
	llm.CodeInvalidRequest:      {http.StatusBadRequest, invalidRequest},
	llm.CodeAuthentication:      {http.StatusUnauthorized, "authentication_error"},
	llm.CodeBudgetExceeded:      {http.StatusPaymentRequired, "billing_error"},
	llm.CodeForbidden:           {http.StatusForbidden, "permission_error"},
	llm.CodeNotFound:            {http.StatusNotFound, "not_found_error"},
	llm.CodeModelNotFound:       {http.StatusNotFound, "not_found_error"},
	llm.CodeMethodNotAllowed:    {http.StatusMethodNotAllowed, invalidRequest},
	llm.CodeIdempotencyConflict: {http.StatusConflict, invalidRequest},
	llm.CodeRequestTooLarge:     {http.StatusRequestEntityTooLarge, "request_too_large"},
	llm.CodeUnsupportedMedia:    {http.StatusUnsupportedMediaType, invalidRequest},
	llm.CodeRateLimited:         {http.StatusTooManyRequests, "rate_limit_error"},
	llm.CodeProviderError:       {http.StatusBadGateway, apiError},
	llm.CodeProviderUnavailable: {statusOverloaded, overloaded},
	llm.CodeProviderTimeout:     {http.StatusGatewayTimeout, "timeout_error"},
	llm.CodeOverloaded:          {statusOverloaded, overloaded},
	llm.CodeInternal:            {http.StatusInternalServerError, apiError},
}

func wordsOf(c llm.Code) words {
	if w, ok := vocabulary[c]; ok {
		return w
	}
	return vocabulary[llm.CodeInternal]
}

// Status is the HTTP status of an error; 500 for a code that nobody listed.
func Status(c llm.Code) int { return wordsOf(c).status }

// threadUnsupported is the reason at which the vendor's SDKs leave threads be and
// send the whole conversation
// (https://platform.claude.com/docs/en/build-with-claude/message-threads).
const threadUnsupported = "thread_unsupported_request"

// EncodeError appends the body of an error reply to dst. The parameter at fault
// has no place of its own in it and stands before the message. The word is what
// the vendor's SDKs choose their exception class by.
func EncodeError(dst []byte, e *llm.Error, requestID string) []byte {
	message := e.Message
	if e.Param != "" {
		message = e.Param + ": " + message
	}
	dst = rawjson.AppendString(append(dst, `{"type":"error","error":{"type":`...), wordsOf(e.Code).kind)
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
