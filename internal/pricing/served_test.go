package pricing_test

import (
	"strings"
	"testing"

	"weir/internal/must"
	"weir/internal/pricing"
	"weir/internal/worktest"
)

// TestNamesOfServedModels compares requested models with the names in answers: of recorded exchanges (../shared/fixtures,
// "recorded"), of vendors' pages, and of other models of the same vendors as controls.
func TestNamesOfServedModels(t *testing.T) {
	t.Parallel()
	book := must.Get(pricing.NewBook(pricing.Overrides{}))(t)
	tests := []struct {
		provider, asked, served string
		same                    bool
	}{
		{"openai", "gpt-4o", "gpt-4o-2024-08-06", true},                       // recorded
		{"openai", "gpt-3.5-turbo", "gpt-3.5-turbo-0125", true},               // recorded
		{"openai", "gpt-4-vision-preview", "gpt-4-1106-vision-preview", true}, // recorded
		{"openai", "gpt-4.1-nano", "gpt-4.1-nano-2025-04-14", true},           // recorded
		{"openai", "gpt-5", "gpt-5-mini-2025-08-07", false},
		{"openai", "gpt-6-astra", "gpt-5.6-luna", false}, // a public report
		{"openai", "gpt-4", "gpt-4.1-2025-04-14", false},
		{"anthropic", "claude-sonnet-4-0", "claude-sonnet-4-20250514", true}, // recorded
		{"anthropic", "claude-3-5-haiku-latest", "claude-3-5-haiku-20241022", true},
		{"anthropic", "claude-opus-4-1", "claude-haiku-4-5-20251001", false},
		{"gemini", "gemini-2.5-flash", "models/gemini-2.5-flash", true},
		{"gemini", "gemini-flash-latest", "gemini-3.8-flash", true},
		{"gemini", "gemini-2.5-flash", "gemini-2.5-flash-preview-05-20", true},
		{"gemini", "gemini-flash-latest", "gemini-3.8-flash-lite", false},
		{"gemini", "gemini-2.5-pro", "gemini-2.5-flash", false},
		{"deepseek", "deepseek-chat", "deepseek-v4-flash", true}, // recorded
		{"deepseek", "deepseek-v4-pro", "deepseek-v4-flash", false},
		{"mistral", "mistral-large-latest", "mistral-large-2411", true},
		{"mistral", "mistral-large-latest", "mistral-small-2506", false},
		{"xai", "grok-latest", "grok-4.7", true},
		{"xai", "grok-4", "grok-4-0709", true},
		{"xai", "grok-4.3", "grok-4-fast-reasoning", false},
		{"openrouter", "anthropic/claude-haiku-4.5", "anthropic/claude-4.5-haiku-20251001", true}, // recorded
		{"openrouter", "openai/text-embedding-3-small", "text-embedding-3-small", true},           // recorded
		{"openrouter", "openrouter/auto", "anthropic/claude-4.5-haiku-20251001", true},
		{"openrouter", "deepseek/deepseek-r1:free", "deepseek/deepseek-r1", true},
		{"openrouter", "anthropic/claude-haiku-4.5", "anthropic/claude-4.5-sonnet-20250929", false},
		{"azure", "openllmetry-testing", "gpt-35-turbo", true}, // recorded: a deployment
		{"groq", "llama-3.3-70b-versatile", "llama-3.1-8b-instant", false},
		{"bedrock", "us.anthropic.claude-sonnet-4-5-20250929-v1:0", "claude-sonnet-4-5-20250929", true},
		{"bedrock", "anthropic.claude-3-5-haiku-20241022-v1:0", "claude-3-5-haiku-20241022", true}, // recorded
		{"bedrock", "us.anthropic.claude-sonnet-4-5-20250929-v1:0", "claude-haiku-4-5-20251001", false},
		{"bedrock", "arn:aws:bedrock:us-east-1:1:application-inference-profile/abc", "claude-sonnet-4-5-20250929", true},
		{"bedrock", "arn:aws:bedrock:us-east-1:1:inference-profile/us.amazon.nova-lite-v1:0", "amazon.nova-pro-v1:0", false},
		{"house", "big", "small", false},
		{"house", "big", "big", true},
	}
	for _, test := range tests {
		if got := book.IsModel(test.provider, test.asked, test.served); got != test.same {
			t.Errorf("%s: %q is answered by %q: the same model %t, want %t", test.provider, test.asked, test.served, got,
				test.same)
		}
	}
}

// TestNamesOfServedModelsInTurn checks that a verdict is not taken for another name's.
func TestNamesOfServedModelsInTurn(t *testing.T) {
	t.Parallel()
	book := must.Get(pricing.NewBook(pricing.Overrides{}))(t)
	for range 3 {
		for served, want := range map[string]bool{"gpt-4o-2024-08-06": true, "gpt-4o-mini": false, "": false} {
			if got := book.IsModel("openai", "gpt-4o", served); got != want {
				t.Errorf("gpt-4o is answered by %q: the same model %t, want %t", served, got, want)
			}
		}
	}
}

// TestLongNameOfServedModelTakesLittleWork checks that a provider cannot occupy a processor by the name in its answer.
func TestLongNameOfServedModelTakesLittleWork(t *testing.T) {
	t.Parallel()
	book := must.Get(pricing.NewBook(pricing.Overrides{}))(t)
	for _, part := range []string{"a-", "-20250101", "0", "-v1", "/"} {
		worktest.Check(t, []byte(strings.Repeat(part, 20_000)), func(name []byte) {
			if book.IsModel("openai", "gpt-5", string(name)) {
				t.Errorf("a name of %q without end is gpt-5", part)
			}
		})
	}
}

// TestDatedNameAllocatesNothing checks the usual case of an answer, which every request of some vendors has.
func TestDatedNameAllocatesNothing(t *testing.T) {
	book := must.Get(pricing.NewBook(pricing.Overrides{}))(t)
	if n := testing.AllocsPerRun(100, func() { book.IsModel("openai", "gpt-4o", "gpt-4o-2024-08-06") }); n > 0 {
		t.Errorf("%v allocations, want none", n)
	}
}
