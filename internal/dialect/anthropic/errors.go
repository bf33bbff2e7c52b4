package anthropic

import (
	"fmt"
	"net/http"
	"strings"

	"weir/internal/dialect"
	"weir/internal/dialect/explain"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

const (
	invalidRequest = "invalid_request_error" // also for other statuses from 400
	apiError       = "api_error"
	overloaded     = "overloaded_error"

	statusOverloaded = 529
)

// vocabulary maps codes to Anthropic's words: https://platform.claude.com/docs/en/api/errors.
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

// threadUnsupported is the reason that makes the vendor's SDKs give up threads and send the whole conversation
// (https://platform.claude.com/docs/en/build-with-claude/message-threads).
const threadUnsupported = "thread_unsupported_request"

// sentences holds the vendor's error messages about size limits, at which its programs shorten the conversation,
// request less output or drop thinking: https://platform.claude.com/docs/en/api/errors,
// https://platform.claude.com/docs/en/build-with-claude/extended-thinking.
var sentences = explain.Sentences{
	Own: map[llm.MisfitKind][]string{
		llm.ContextOverflow:   {"prompt is too long", "input length and `max_tokens` exceed context limit"},
		llm.OutputTooLong:     {"which is the maximum allowed number of output tokens"},
		llm.ImageTooLarge:     {"image exceeds", "image dimensions exceed"},
		llm.ThinkingSignature: {"`thinking` block", "`redacted_thinking` block"},
	},
	Write: sentence,
}

// roomToAnswer is the number of tokens that must be left after the input for a request with less output to make sense.
// Claude Code subtracts 1,000 from it, and gives up below 3,000.
const roomToAnswer = 4000

// sentence writes the vendor's error message about a size limit.
func sentence(m *llm.Misfit) string {
	switch {
	case m.Kind == llm.OutputTooLong && m.Output > 0 && m.Limit > 0:
		return fmt.Sprintf("max_tokens: %d > %d, which is the maximum allowed number of output tokens for this model",
			m.Output, m.Limit)
	case m.Kind == llm.OutputTooLong && m.Limit > 0:
		return fmt.Sprintf("max_tokens: more than %d, which is the maximum allowed number of output tokens for this "+
			"model", m.Limit)
	case m.Kind == llm.OutputTooLong:
		return "max_tokens: more than the maximum allowed number of output tokens for this model"
	case m.Kind == llm.ImageTooLarge && m.Limit > 0:
		return fmt.Sprintf("image exceeds %.3g MB maximum: %d bytes > %d bytes", float64(m.Limit)/(1<<20), m.Input,
			m.Limit)
	case m.Kind == llm.ImageTooLarge:
		return "image exceeds the maximum size"
	case m.Kind == llm.ThinkingSignature:
		return "Invalid `signature` in `thinking` block"
	case m.Output > 0 && m.Limit-m.Input >= roomToAnswer:
		return fmt.Sprintf("input length and `max_tokens` exceed context limit: %d + %d > %d, decrease input length "+
			"or "+
			"`max_tokens` and try again", m.Input, m.Output, m.Limit)
	case m.Input+m.Output > m.Limit && m.Limit > 0:
		return fmt.Sprintf("prompt is too long: %d tokens > %d maximum", m.Input+m.Output, m.Limit)
	}
	return "prompt is too long"
}

// EncodeError appends the body of an error reply to dst. The parameter at fault has no member; it precedes the message.
// The vendor's SDKs choose their exception class by the error's type.
func EncodeError(dst []byte, e *llm.Error, requestID string) []byte {
	message, fits := sentences.Message(e)
	if fits && e.Param != "" {
		message = e.Param + ": " + message
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
		return e // not JSON, or an unknown shape
	}
	if reason := rawjson.Text(rawjson.Get(body, "error", "details", "error_code")); isReason(reason) {
		e.Word = reason
	}
	return e
}

// isReason distinguishes the vendor's reason codes from other text.
func isReason(s string) bool {
	const longest = 64
	return len(s) <= longest && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789_") == ""
}
