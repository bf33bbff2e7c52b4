// Package explain reads providers' explanations of their errors. These differ less than the rest of their wire
// formats, and the rules for showing them are the same for all.
package explain

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"weir/internal/llm"
	"weir/internal/rawjson"
)

// The codes to which all providers' codes for these errors are mapped.
const (
	Context = "context_length_exceeded"
	Policy  = "content_policy_violation"

	codeBilling = "billing_error" // the gateway's account at the provider has no money left
)

const (
	// MaxMessage bounds, in bytes, the part of a provider's explanation that is shown.
	MaxMessage = 500
	// maxDepth bounds the nesting of arrays and objects in a body.
	maxDepth = 100
)

// Body reads the provider's explanation from an error body: the object under "error" of OpenAI and Anthropic,
// Mistral's and FastAPI's "detail", a bare "message", or text under "error". A body of plain text is the explanation
// itself; any other body that is not JSON has none.
func Body(body []byte) llm.ProviderError {
	if rawjson.Validate(body, maxDepth) != nil {
		e := llm.ProviderError{Message: plainText(body)}
		e.Code = Code("", e.Message)
		return e
	}
	return explained(body)
}

// explained reads an explanation in JSON; it returns an empty one for any other body.
func explained(body []byte) llm.ProviderError {
	if rawjson.Validate(body, maxDepth) != nil {
		return llm.ProviderError{}
	}
	for _, first := range rawjson.Elements(body) { // Gemini's client API wraps it in an array
		body = first
		break
	}
	e := explainBody(body)
	e.Message = Clean(e.Message)
	e.Code = Code(Clean(e.Code), e.Message)
	e.Param = Clean(e.Param)
	return e
}

// plainText returns a body of plain text, safe to show; empty for HTML, an event, cut JSON or binary data.
func plainText(body []byte) string {
	text := strings.TrimSpace(string(body[:min(len(body), 2*MaxMessage)]))
	if text == "" || strings.ContainsAny(text[:1], "<{[\"") ||
		strings.HasPrefix(text, "data:") || strings.HasPrefix(text, "event:") {
		return ""
	}
	for i, r := range text {
		if r < ' ' && !unicode.IsSpace(r) || r == utf8.RuneError && i < len(text)-utf8.UTFMax {
			return ""
		}
	}
	return Clean(text)
}

// explainBody finds the object with the explanation and reads it.
func explainBody(v []byte) (e llm.ProviderError) {
	inner := rawjson.Get(v, "error")
	switch rawjson.KindOf(inner) {
	case rawjson.Object:
		return explainObject(inner)
	case rawjson.String:
		e = explainObject(v)
		e.Message = rawjson.Text(inner)
		return e
	}
	return explainObject(v)
}

func explainObject(v []byte) (e llm.ProviderError) {
	var kind string
	for m := range rawjson.Members(v) {
		switch string(m.Key()) {
		case "message", "msg":
			e = withMessage(e, m.Value)
		case "detail":
			if e.Message == "" {
				e = withMessage(e, m.Value)
			}
		case "type":
			kind = rawjson.Text(m.Value)
		case "code":
			e.Code = word(m.Value)
		case "param":
			e.Param = rawjson.Text(m.Value)
		case "innererror": // Azure details its code there
			if s := rawjson.Text(rawjson.Get(m.Value, "code")); s != "" && e.Code == "" {
				e.Code = s
			}
		}
	}
	if kind != "" && (e.Code == "" || isNumber(e.Code)) {
		e.Code = kind
	}
	e.Filtered = filterResult(v)
	return e
}

// withMessage reads a message: a string, FastAPI's list of problems with the request, or an object that contains one
// of these.
func withMessage(e llm.ProviderError, v []byte) llm.ProviderError {
	switch rawjson.KindOf(v) {
	case rawjson.String:
		e.Message = rawjson.Text(v)
	case rawjson.Object:
		for _, name := range []string{"detail", "message", "msg"} {
			if inner := rawjson.Get(v, name); rawjson.KindOf(inner) == rawjson.String ||
				rawjson.KindOf(inner) == rawjson.Array {
				return withMessage(e, inner)
			}
		}
	case rawjson.Array:
		for i, problem := range rawjson.Elements(v) {
			where := location(rawjson.Get(problem, "loc"))
			text := rawjson.Text(rawjson.Get(problem, "msg"))
			if where != "" {
				text = where + ": " + text
			}
			if i > 0 {
				text = "; " + text
			} else {
				e.Param = where
			}
			e.Message += text
			if len(e.Message) > MaxMessage {
				break
			}
		}
	}
	return e
}

// maxLocation bounds a location, in bytes: nothing is added to a longer one.
const maxLocation = 256

// location formats FastAPI's ["body", "messages", 0, "role"] as messages[0].role.
func location(v []byte) string {
	var path string
	for i, step := range rawjson.Elements(v) {
		if len(path) > maxLocation {
			break
		}
		name, ok := rawjson.AsString(step)
		switch {
		case !ok:
			path += "[" + word(step) + "]"
		case i == 0 && name == "body":
		case path == "":
			path = name
		default:
			path += "." + name
		}
		if len(path) > MaxMessage {
			break
		}
	}
	return path
}

// word returns a code, which some providers write as a number.
func word(v []byte) string {
	if n, ok := rawjson.AsInt(v); ok {
		return strconv.FormatInt(n, 10)
	}
	return rawjson.Text(v)
}

func isNumber(s string) bool {
	_, err := strconv.Atoi(s)
	return err == nil
}

// Code returns the provider's code of its error, or a common one for errors that each provider names differently:
// Context, Policy, and an exhausted balance.
func Code(code, message string) string {
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
	case "string_above_max_length", "context_window_exceeded", "prompt_too_long", "request_too_large_for_context",
		"exceed_context_size_error": // the last is llama.cpp's
		return Context
	case "content_filter", "content_policy", "ResponsibleAIPolicyViolation", "moderation_blocked",
		"data_inspection_failed":
		return Policy
	}
	switch {
	case has(overflows...):
		return Context
	case has("content management policy", "content policy", "usage policies", "usage guidelines", "safety system",
		"content filter"):
		return Policy
	case has("credit balance is too low"): // Anthropic's, with status 400
		return codeBilling
	}
	return code
}

// overflows are parts of providers' messages for a request that exceeds the context window, whatever the code. The
// comment after each group names its providers.
var overflows = []string{
	"context length", "context window", "context_length", "max context", "prompt too long", "prompt is too long",
	// OpenAI, Anthropic, vLLM, SGLang, Ollama, LM Studio, DeepSeek, Groq, Cerebras
	"reduce the length of the messages",
	"available context size", "configured context size",
	"too large to process. increase the physical batch size", // llama.cpp
	"maximum model length", "is too long to fit into the model", // vLLM
	"tokens) exceeds the maximum allowed length", "exceeds the maximum allowed input length", // SGLang
	"input is too long", "exceed context limit", "input tokens exceeded", // Bedrock: Claude, Nova
	"input token count", "exceeds the maximum number of tokens", // Gemini, Vertex AI
	"too large for model with",                                       // Mistral
	"too many tokens in the prompt", "too many tokens: total number", // Cohere
	"maximum prompt length",                               // xAI
	"exceeded model token limit", "token length too long", // Moonshot
	"range of input length should be",            // Alibaba
	"`inputs` tokens + `max_new_tokens` must be", // Text Generation Inference
}

// Clean makes a provider's text safe to show: one line, at most MaxMessage bytes, and without strings that look like
// keys.
func Clean(s string) string {
	if len(s) > 2*MaxMessage { // before the more expensive steps
		s = cut(s, 2*MaxMessage)
	}
	words := strings.FieldsFunc(s, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r) || r == utf8.RuneError
	})
	for i, w := range words {
		words[i] = hideKeys(w)
	}
	s = strings.Join(words, " ")
	if len(s) > MaxMessage {
		s = cut(s, MaxMessage-len("…")) + "…"
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

// keyPrefixes are the prefixes of providers' keys.
var keyPrefixes = []string{
	"sk-", "sk_", "gsk_", "xai-", "pplx-", "csk-", "AIza", "nvapi-", "hf_", "r8_", "key-", "fw_",
	"AKIA", "ASIA", "ABSK",
}

// minKey is the shortest length of a string with such a prefix that counts as a key.
const minKey = 16

// hideKeys redacts strings that look like keys: from a prefix that does not follow a letter, digit, "-" or "_", to
// the first character that no key has.
func hideKeys(w string) string {
	var out strings.Builder
	for i := 0; i < len(w); {
		n := 0
		if i == 0 || !continues(w[i-1], "-_") {
			n = keyAt(w[i:])
		}
		if n >= minKey {
			out.WriteString("[redacted]")
		} else {
			n = 1
			out.WriteByte(w[i])
		}
		i += n
	}
	return out.String()
}

// keyAt returns the length of the key at the start of s, in bytes; 0 for none.
func keyAt(s string) (n int) {
	if !slices.ContainsFunc(keyPrefixes, func(p string) bool { return strings.HasPrefix(s, p) }) {
		return 0
	}
	for n < len(s) && continues(s[n], "-_+/=.*~") {
		n++
	}
	return n
}

// continues reports whether c is a letter, a digit or one of others.
func continues(c byte, others string) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || strings.IndexByte(others, c) >= 0
}

// Reported returns the error that a provider put into a reply or a stream: an object with the error, or the error
// itself.
func Reported(body []byte) *llm.Error {
	e := explained(body)
	status, err := strconv.Atoi(word(rawjson.Get(body, "error", "code")))
	if err != nil {
		status, _ = strconv.Atoi(word(rawjson.Get(body, "code")))
	}
	return Error(e, status)
}

// Error returns the error for a client when a provider reported one instead of its answer. status is the HTTP status
// that it names; 0 for none.
func Error(e llm.ProviderError, status int) *llm.Error {
	out := &llm.Error{Code: codeOf(status, e.Code), Message: e.Message, Param: e.Param, Filtered: e.Filtered}
	switch {
	case out.Code == llm.CodeProviderError && isOurs(status, e.Code):
		out.Message, out.Param = "The provider refused the gateway's own credentials.", ""
	case e.Code == Context, e.Code == Policy:
		out.Word = e.Code
	case out.Message == "":
		out.Message = "The provider reported an error without an explanation. Try again."
	}
	if out.Code == llm.CodeInvalidRequest {
		out.Misfit = Misfit(e.Code, e.Message)
	}
	return out
}

func isOurs(status int, code string) bool {
	switch code {
	case "authentication_error", "invalid_api_key", "insufficient_quota", "credit_balance_exhausted",
		"permission_error", codeBilling:
		return true
	}
	return status == 401 || status == 402 || status == 403
}

// codeOf maps the provider's code, or else a status in the body, like the status of a reply.
func codeOf(status int, code string) llm.Code {
	switch code {
	case Context, Policy, "invalid_request_error", "invalid_request", "invalid_prompt", "bio_policy",
		"invalid_image", "invalid_image_format", "invalid_base64_image", "invalid_image_url", "invalid_image_mode",
		"image_too_large", "image_too_small", "image_file_too_large", "image_parse_error", "image_file_not_found",
		"image_content_policy_violation", "unsupported_image_media_type", "empty_image_file",
		"failed_to_download_image":
		return llm.CodeInvalidRequest
	case "model_not_found", "not_found_error":
		return llm.CodeModelNotFound
	case "rate_limit_exceeded", "rate_limit_error", "rate_limited", "too_many_requests":
		return llm.CodeRateLimited
	case "overloaded", "overloaded_error", "service_unavailable", "server_overloaded", "engine_overloaded_error":
		return llm.CodeProviderUnavailable
	case "timeout", "timeout_error", "vector_store_timeout":
		return llm.CodeProviderTimeout
	case "request_too_large":
		return llm.CodeRequestTooLarge
	}
	return CodeOfStatus(status)
}

// CodeOfStatus returns the error code for the client, after a provider's status when no target is left to try. 401, 402
// and 403 concern the gateway's credentials, never the caller's. 529 is Anthropic's status for "overloaded", which
// others use, too.
func CodeOfStatus(status int) llm.Code {
	switch status {
	case 400, 422:
		return llm.CodeInvalidRequest
	case 404:
		return llm.CodeModelNotFound
	case 408, 504:
		return llm.CodeProviderTimeout
	case 413:
		return llm.CodeRequestTooLarge
	case 429:
		return llm.CodeRateLimited
	case 503, 529:
		return llm.CodeProviderUnavailable
	}
	return llm.CodeProviderError
}
