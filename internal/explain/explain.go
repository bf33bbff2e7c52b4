// Package explain makes what providers say about their own errors fit to be
// shown to a client.
package explain

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// The codes under which all providers' words for these two are known.
const (
	Context = "context_length_exceeded"
	Policy  = "content_policy_violation"
)

// MaxMessage bounds, in bytes, what is shown of a provider's explanation.
const MaxMessage = 500

// Code is the provider's word for its error, but Context or Policy for the two
// refusals that every provider words its own way.
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
	case "string_above_max_length", "context_window_exceeded", "prompt_too_long", "request_too_large_for_context":
		return Context
	case "content_filter", "content_policy", "ResponsibleAIPolicyViolation", "moderation_blocked", "data_inspection_failed":
		return Policy
	}
	switch {
	case has("context length", "context window", "context_length", "prompt too long", "prompt is too long", "input is too long", "too many tokens in the prompt", "max context"):
		return Context
	case has("content management policy", "content policy", "usage policies", "safety system", "content filter"):
		return Policy
	}
	return code
}

// Clean makes a provider's text fit to be shown: one line, at most MaxMessage
// bytes, and without what looks like a key.
func Clean(s string) string {
	if len(s) > 2*MaxMessage { // before the costlier steps
		s = cut(s, 2*MaxMessage)
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

// keyPrefixes are how the keys of providers begin.
var keyPrefixes = []string{"sk-", "sk_", "gsk_", "xai-", "pplx-", "csk-", "AIza", "nvapi-", "hf_", "r8_", "key-", "fw_", "AKIA", "ASIA", "ABSK"}

func isSecret(w string) bool {
	w = strings.TrimLeft(w, `"'`+"`(<[:")
	if len(w) < 16 {
		return false
	}
	for _, p := range keyPrefixes {
		if strings.HasPrefix(w, p) {
			return true
		}
	}
	return false
}
