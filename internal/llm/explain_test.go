package llm_test

import (
	"strings"
	"testing"

	"weir/internal/llm"
)

func TestShown(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 2000)
	tests := []struct {
		name     string
		in, want llm.ProviderError
	}{
		{"plain", llm.ProviderError{Message: "no", Code: "c", Param: "p"}, llm.ProviderError{Message: "no", Code: "c", Param: "p"}},
		{"lines", llm.ProviderError{Message: " a\n\tb\x00c\xff "}, llm.ProviderError{Message: "a b c"}},
		{"a key", llm.ProviderError{Message: `your key "sk-0123456789abcdef" is wrong`}, llm.ProviderError{Message: "your key [redacted] is wrong"}},
		{"long", llm.ProviderError{Message: long}, llm.ProviderError{Message: strings.Repeat("é", 248) + "…"}},
		{"context", llm.ProviderError{Message: "The prompt is too long."}, llm.ProviderError{Message: "The prompt is too long.", Code: llm.ContextLengthExceeded}},
		{"context by code", llm.ProviderError{Code: "prompt_too_long"}, llm.ProviderError{Code: llm.ContextLengthExceeded}},
		{"policy", llm.ProviderError{Code: "x", Message: "Against our usage policies"}, llm.ProviderError{Code: llm.ContentPolicyViolation, Message: "Against our usage policies"}},
		{"policy by code", llm.ProviderError{Code: "content_filter"}, llm.ProviderError{Code: llm.ContentPolicyViolation}},
	}
	for _, tt := range tests {
		if got := tt.in.Shown(); got != tt.want {
			t.Errorf("%s: got %+v, want %+v", tt.name, got, tt.want)
		}
	}
}

func TestReported(t *testing.T) {
	t.Parallel()
	tests := []struct {
		in      llm.ProviderError
		status  int
		code    llm.Code
		message string // a part of it
	}{
		{llm.ProviderError{Message: "why"}, 0, llm.CodeProviderError, "why"},
		{llm.ProviderError{}, 0, llm.CodeProviderError, "did not explain"},
		{llm.ProviderError{Message: "why"}, 400, llm.CodeInvalidRequest, "why"},
		{llm.ProviderError{Message: "why"}, 401, llm.CodeProviderError, "credentials"},
		{llm.ProviderError{Message: "why", Code: "insufficient_quota"}, 0, llm.CodeProviderError, "credentials"},
		{llm.ProviderError{Message: "why"}, 404, llm.CodeModelNotFound, "why"},
		{llm.ProviderError{Message: "why"}, 413, llm.CodeRequestTooLarge, "why"},
		{llm.ProviderError{Message: "why"}, 429, llm.CodeRateLimited, "why"},
		{llm.ProviderError{Message: "why"}, 504, llm.CodeProviderTimeout, "why"},
		{llm.ProviderError{Message: "why"}, 529, llm.CodeProviderUnavailable, "why"},
		{llm.ProviderError{Message: "why", Code: llm.ContextLengthExceeded}, 500, llm.CodeInvalidRequest, "why"},
	}
	for _, tt := range tests {
		if got := tt.in.Reported(tt.status); got.Code != tt.code || !strings.Contains(got.Message, tt.message) {
			t.Errorf("%+v with status %d: got %v, want %s with %q", tt.in, tt.status, got, tt.code, tt.message)
		}
	}
}

func TestPlaced(t *testing.T) {
	t.Parallel()
	for want, e := range map[string]llm.Error{
		"Why.":                    {Message: "Why."},
		"messages[0].role: Why.":  {Message: "Why.", Param: "messages[0].role"},
		"The n must be a number.": {Message: "The n must be a number.", Param: "n"},
	} {
		if got := e.Placed(); got != want {
			t.Errorf("%+v: %q, want %q", e, got, want)
		}
	}
}
