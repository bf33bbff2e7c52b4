package openai

import (
	"cmp"
	"fmt"
	"net/http"

	"weir/internal/dialect"
	"weir/internal/dialect/explain"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

const invalidRequest = "invalid_request_error"

// vocabulary maps codes to OpenAI's words: https://platform.openai.com/docs/guides/error-codes.
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

// sentences holds the vendor's error messages about size limits.
var sentences = explain.Sentences{
	Own: map[llm.MisfitKind][]string{
		llm.ContextOverflow:   {"maximum context length is", "exceeds the context window"},
		llm.OutputTooLong:     {"tokens is too large", "integer above maximum value"},
		llm.ImageTooLarge:     {"image is too large"},
		llm.ThinkingSignature: {"encrypted content"},
	},
	Write: sentence,
}

// sentence writes the vendor's error message about a size limit.
func sentence(m *llm.Misfit) string {
	switch {
	case m.Kind == llm.OutputTooLong && m.Output > 0 && m.Limit > 0:
		return fmt.Sprintf("max_tokens is too large: %d. This model supports at most %d completion tokens, whereas "+
			"you provided %d.",
			m.Output, m.Limit, m.Output)
	case m.Kind == llm.OutputTooLong && m.Limit > 0:
		return fmt.Sprintf("max_tokens is too large. This model supports at most %d completion tokens.", m.Limit)
	case m.Kind == llm.OutputTooLong:
		return "max_tokens is too large."
	case m.Kind == llm.ImageTooLarge:
		return "The image is too large."
	case m.Kind == llm.ThinkingSignature:
		return "The encrypted content could not be verified. Reason: Encrypted content could not be decrypted or " +
			"parsed."
	case m.Limit > 0 && m.Output > 0:
		return fmt.Sprintf("This model's maximum context length is %d tokens. However, you requested %d tokens (%d "+
			"in the messages, %d "+
			"in the completion). Please reduce the length of the messages or completion.", m.Limit, m.Input+m.Output,
			m.Input, m.Output)
	case m.Limit > 0 && m.Input > m.Limit:
		return fmt.Sprintf("This model's maximum context length is %d tokens. However, your messages resulted in %d "+
			"tokens. Please "+
			"reduce the length of the messages.", m.Limit, m.Input)
	case m.Limit > 0:
		return fmt.Sprintf("This model's maximum context length is %d tokens. Please reduce the length of the "+
			"messages.", m.Limit)
	}
	return "Your input exceeds the context window of this model. Please adjust your input and try again."
}

// misfitCodes holds the vendor's codes that come with these messages.
var misfitCodes = map[llm.MisfitKind]string{
	llm.ContextOverflow: explain.Context, llm.OutputTooLong: "invalid_value", llm.ImageTooLarge: "image_too_large",
	llm.ThinkingSignature: "invalid_encrypted_content",
}

// EncodeError appends the body of an error reply to dst. The body has no request id; the X-Request-Id header has it.
func EncodeError(dst []byte, e *llm.Error, _ string) []byte {
	w := vocabulary.Of(e.Code)
	message, _ := sentences.Message(e)
	dst = rawjson.AppendString(append(dst, `{"error":{"message":`...), message)
	dst = rawjson.AppendString(append(dst, `,"type":`...), w.Kind)
	dst = appendOrNull(append(dst, `,"param":`...), e.Param)
	code := cmp.Or(e.Word, misfitCodes[e.Misfit.Kind], w.More)
	if e.Filtered != nil {
		code = "content_filter"
	}
	dst = appendOrNull(append(dst, `,"code":`...), code)
	return append(appendFiltered(dst, e.Filtered), "}}"...)
}

// appendFiltered writes the findings of a content filter, as Azure does in Chat Completions and Responses. Azure
// reports only filtered requests as errors.
func appendFiltered(dst, found []byte) []byte {
	if found == nil {
		return dst
	}
	dst = append(append(dst, `,"innererror":{"code":"ResponsibleAIPolicyViolation","content_filter_result":`...),
		found...)
	dst = append(append(dst,
		`},"content_filters":[{"blocked":true,"source_type":"prompt","content_filter_results":`...), found...)
	return append(dst, "}]"...)
}

func appendOrNull(dst []byte, s string) []byte {
	if s == "" {
		return append(dst, "null"...)
	}
	return rawjson.AppendString(dst, s)
}

// DecodeError reads the provider's explanation from an error body, in any of the forms used by providers of this
// format.
func DecodeError(body []byte) llm.ProviderError { return explain.Body(body) }
