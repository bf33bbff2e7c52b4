package quote

import (
	"strings"
	"testing"

	"weir/internal/llm"
	"weir/internal/quotetest"
)

// TestTierBeyondWindowIsHeld checks that a body longer than the window is held in full if the price has a tier that
// only such a body reaches: Bedrock charges Claude Sonnet 4.5 by one, and its data has a window of 200,000 tokens.
func TestTierBeyondWindowIsHeld(t *testing.T) {
	t.Parallel()
	const hi = `"messages":[{"role":"user","content":"Hi"}]}`
	long := `{"messages":[{"role":"user","content":"` + strings.Repeat("word ", window/4) + `"}]}`
	for _, tt := range []struct {
		name, body string
		above      int64 // of the tier; 0 for none
		want       int64 // tokens of input
	}{
		{"no tier", long, 0, window},
		{"a tier within the window", long, window - 1, window},
		{"a tier beyond it", long, window, int64(len(long)) + aroundRequest},
		{"a tier beyond it, and what the body does not show", `{"new_thing":"x",` + hi, window, window},
	} {
		q := newAsked(t, quotetest.Asked{ClientAPI: "openai", Body: tt.body, Sizes: sized()})
		if tt.above > 0 {
			q.Price.Tiers = []llm.Tier{{Above: tt.above, Rates: q.Price.Rates}}
		}
		ofMode := q.Price.Tiers
		if u := q.bound(Coarse); u.InputTokens() != tt.want {
			t.Errorf("%s: %d tokens of input, want %d", tt.name, u.InputTokens(), tt.want)
		}
		q.Price.Tiers, q.Price.Modes = nil, []llm.Mode{{Name: "fast", Rates: q.Price.Rates, Tiers: ofMode}}
		if u := q.bound(Coarse); u.InputTokens() != tt.want {
			t.Errorf("%s of a mode: %d tokens of input, want %d", tt.name, u.InputTokens(), tt.want)
		}
	}
}
