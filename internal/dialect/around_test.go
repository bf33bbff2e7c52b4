package dialect_test

import (
	"testing"

	"weir/internal/dialect"
)

// TestTokensAroundRequestsAreBounded compares the bound of the tokens around a request's text with the tokens of
// recorded exchanges and of models' templates.
func TestTokensAroundRequestsAreBounded(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		model string
		least int64 // counted in addition to the text
		most  int64
	}{
		{"gpt-oss-120b", 70, 128},
		{"openai/gpt-oss-20b", 70, 128},
		{"claude-haiku-4-5-20251001", 28, 64},
		{"us.anthropic.claude-sonnet-4-5-20250929-v1:0", 28, 64},
		{"anthropic/claude-haiku-4.5", 8, 64},
		{"gpt-4.1-nano", 7, 32},
		{"o3-mini", 7, 32},
		{"gemini-2.5-flash", 2, 32},
		{"deepseek-v4-flash", 85, 192},
		{"meta-llama/Llama-3.1-8B-Instruct", 30, 96},
		{"Qwen/Qwen3-8B", 25, 96},
		{"grok-4.3", 190, 1024},
		{"command-a-reasoning-08-2025", 1000, 1024},
		{"another", 1024, 1024},
	} {
		if got := dialect.Around(tt.model); got < tt.least || got > tt.most {
			t.Errorf("%s: %d tokens, want %d to %d", tt.model, got, tt.least, tt.most)
		}
	}
}
