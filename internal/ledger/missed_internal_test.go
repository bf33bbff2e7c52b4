package ledger

import (
	"testing"

	"weir/internal/llm"
	"weir/internal/promptcache"
)

// TestMissCostsWhatReadingSaves prices misses by hand: 3 dollars for a million input tokens, 3.75 and 6 for storing them,
// 0.30 for reading.
func TestMissCostsWhatReadingSaves(t *testing.T) {
	t.Parallel()
	perToken := func(nano int64) llm.Rate { return llm.RateOf(nano * 1000) }
	rates := llm.Rates{
		llm.Input: perToken(3000), llm.CacheRead: perToken(300), llm.CacheWrite: perToken(3750),
		llm.CacheWrite1h: perToken(6000), llm.Output: perToken(15_000),
	}
	noReads := rates
	noReads[llm.CacheRead] = llm.Rates{}[llm.CacheRead]
	for _, tt := range []struct {
		name  string
		rates llm.Rates
		usage llm.Usage
		miss  int64
		want  llm.Money
	}{
		{"plain input", rates, llm.Usage{llm.Input: 2000, llm.Output: 9}, 1000, 1000 * 2700},
		{"stored anew", rates, llm.Usage{llm.Input: 10, llm.CacheWrite: 2000}, 1000, 1000 * 3450},
		{"stored for an hour", rates, llm.Usage{llm.CacheWrite1h: 2000}, 1000, 1000 * 5700},
		{
			"stored in part", rates,
			llm.Usage{llm.Input: 700, llm.CacheWrite: 400, llm.CacheRead: 50},
			1000,
			400*3450 + 600*2700,
		},
		{"nothing missed", rates, llm.Usage{llm.Input: 2000}, 0, 0},
		{"no rate for reading", noReads, llm.Usage{llm.Input: 2000}, 1000, 0},
	} {
		a := Attempt{Price: llm.Price{Version: "v", Rates: tt.rates}}
		s := Settlement{Usage: tt.usage, Missed: Missed{Miss: promptcache.Miss{Tokens: tt.miss}}}
		if a.priceMiss(&s); s.Missed.Cost != tt.want {
			t.Errorf("%s: got %s, want %s", tt.name, s.Missed.Cost, tt.want)
		}
	}
}
