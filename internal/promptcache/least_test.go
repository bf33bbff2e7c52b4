package promptcache_test

import (
	"testing"

	"weir/internal/promptcache"
)

// TestLeastPromptIsThatOfTheVendorsPage checks the least prompts of the pages that LeastOfClaude names, by the names of
// models at each seller.
func TestLeastPromptIsThatOfTheVendorsPage(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		dialect, model string
		want           int64
	}{
		{"anthropic", "claude-opus-5-5", 512},
		{"anthropic", "claude-opus-5", 512},
		{"anthropic", "claude-sonnet-5-5", 512},
		{"anthropic", "claude-fable-5-1", 512},
		{"anthropic", "claude-mythos-5", 512},
		{"anthropic", "claude-mythos-preview", 4096},
		{"anthropic", "claude-opus-4-8", 1024},
		{"anthropic", "claude-opus-4-7-20260101", 2048},
		{"anthropic", "claude-opus-4-6", 4096},
		{"anthropic", "claude-opus-4-5-20251101", 4096},
		{"anthropic", "claude-opus-4-1@20250805", 1024},
		{"anthropic", "claude-opus-4-20250514", 1024},
		{"anthropic", "claude-sonnet-5", 1024},
		{"anthropic", "claude-sonnet-4-6", 1024},
		{"anthropic", "claude-3-7-sonnet-20250219", 1024},
		{"anthropic", "claude-haiku-4-5", 4096},
		{"anthropic", "claude-3-5-haiku-20241022", 2048},
		{"anthropic", "claude-opus-latest", 4096},
		{"anthropic", "claude-3-opus-20240229", 0},
		{"anthropic", "MiniMax-M2.7", 0},
		{"bedrock", "us.anthropic.claude-sonnet-4-5-20250929-v1:0", 4096},
		{"bedrock", "global.anthropic.claude-opus-4-7-v1:0", 4096},
		{"bedrock", "anthropic.claude-sonnet-4-6", 1024},
		{"bedrock", "us.amazon.nova-pro-v1:0", 0},
		{"openai", "anthropic/claude-opus-4.8", 4096},
		{"openai", "anthropic/claude-sonnet-4.5", 1024},
		{"openai", "openai/gpt-5.6-sol", 0},
	} {
		if got := promptcache.LeastOfClaude(c.dialect, c.model); got != c.want {
			t.Errorf("%s %s: %d, want %d", c.dialect, c.model, got, c.want)
		}
	}
}
