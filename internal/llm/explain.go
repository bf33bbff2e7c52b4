package llm

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// The codes under which all providers' words for these two refusals are known.
const (
	ContextLengthExceeded  = "context_length_exceeded"
	ContentPolicyViolation = "content_policy_violation"
)

// maxExplanation bounds, in bytes, each of what is shown of a provider's
// explanation.
const maxExplanation = 500

// Shown is the explanation fit to be shown: each of its texts is one line of at
// most 500 bytes, without what looks like a key, and the refusals that every
// provider words its own way have the code under which they are known.
func (e ProviderError) Shown() ProviderError {
	e.Message = clean(e.Message)
	e.Code = canonical(clean(e.Code), e.Message)
	e.Param = clean(e.Param)
	return e
}

// Reported is what a client is told of an error that a provider put into a
// reply or a stream in place of its answer. Status is the HTTP status that the
// error names; 0 for none.
func (e ProviderError) Reported(status int) *Error {
	out := &Error{Code: reportedCode(status, e.Code), Message: e.Message, Param: e.Param}
	switch {
	case out.Code == CodeProviderError && isOurs(status, e.Code):
		out.Message, out.Param = "The provider refused the gateway's own credentials.", ""
	case out.Message == "":
		out.Message = "The provider reported an error and did not explain it."
	}
	return out
}

// canonical recognises the two refusals that every provider words its own way.
func canonical(code, message string) string {
	lower := strings.ToLower(message)
	has := func(phrases ...string) bool {
		for _, p := range phrases {
			if strings.Contains(lower, p) {
				return true
			}
		}
		return false
	}
	switch code {
	case "string_above_max_length", "context_window_exceeded", "prompt_too_long", "request_too_large_for_context":
		return ContextLengthExceeded
	case "content_filter", "content_policy", "ResponsibleAIPolicyViolation", "moderation_blocked", "data_inspection_failed":
		return ContentPolicyViolation
	}
	switch {
	case has("context length", "context window", "context_length", "prompt too long", "prompt is too long", "too many tokens in the prompt", "max context"):
		return ContextLengthExceeded
	case has("content management policy", "content policy", "usage policies", "safety system", "content filter"):
		return ContentPolicyViolation
	}
	return code
}

// clean makes a provider's text fit to be shown.
func clean(s string) string {
	if len(s) > 2*maxExplanation { // before the costlier steps
		s = cut(s, 2*maxExplanation)
	}
	words := strings.FieldsFunc(s, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r) || r == utf8.RuneError
	})
	for i, w := range words {
		if isSecret(w) {
			words[i] = "[redacted]"
		}
	}
	s = strings.Join(words, " ")
	if len(s) > maxExplanation {
		s = cut(s, maxExplanation-len("…")) + "…"
	}
	return s
}

// cut shortens s to at most n bytes, between characters.
func cut(s string, n int) string {
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// isSecret tells what looks like a provider's key by how those begin.
func isSecret(w string) bool {
	w = strings.TrimLeft(w, `"'`+"`(<[:")
	if len(w) < 16 {
		return false
	}
	for _, p := range [...]string{"sk-", "sk_", "gsk_", "xai-", "pplx-", "csk-", "AIza", "nvapi-", "hf_", "r8_", "key-", "fw_"} {
		if strings.HasPrefix(w, p) {
			return true
		}
	}
	return false
}

func isOurs(status int, code string) bool {
	switch code {
	case "authentication_error", "invalid_api_key", "insufficient_quota", "permission_error":
		return true
	}
	return status == 401 || status == 402 || status == 403
}

// reportedCode maps the provider's word, else a status in the body, as the
// status of a reply is mapped.
func reportedCode(status int, code string) Code {
	switch code {
	case ContextLengthExceeded, ContentPolicyViolation, "invalid_request_error", "invalid_request", "invalid_prompt":
		return CodeInvalidRequest
	case "model_not_found", "not_found_error":
		return CodeModelNotFound
	case "rate_limit_exceeded", "rate_limit_error", "rate_limited", "too_many_requests":
		return CodeRateLimited
	case "overloaded", "overloaded_error", "service_unavailable", "server_overloaded", "engine_overloaded_error":
		return CodeProviderUnavailable
	case "timeout", "timeout_error":
		return CodeProviderTimeout
	}
	switch status {
	case 400, 422:
		return CodeInvalidRequest
	case 404:
		return CodeModelNotFound
	case 408, 504:
		return CodeProviderTimeout
	case 413:
		return CodeRequestTooLarge
	case 429:
		return CodeRateLimited
	case 503, 529:
		return CodeProviderUnavailable
	}
	return CodeProviderError
}
