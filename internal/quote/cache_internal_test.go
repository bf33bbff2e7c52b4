package quote

import (
	"strings"
	"testing"

	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/pricing"
	"weir/internal/quotetest"
)

func TestAsksHourCache(t *testing.T) {
	for body, want := range map[string]bool{
		`{"system":[{"text":"a","cache_control":{"type":"ephemeral","ttl":"1h"}}]}`:            true,
		`{"system":[{"text":"a"},{"cachePoint":{"type":"default","ttl":"1h"}}]}`:               true,
		`{"system":[{"text":"a","cache_control":{"type":"ephemeral","ttl":"1\u0068"}}]}`:       true,
		`{"system":[{"text":"a","cache\u005fcontrol":{"type":"ephemeral","t\u0074l":"1h"}}]}`:  true,
		`{"system":[{"text":"a","cache_control":{"type":"ephemeral","ttl":"5m"}}]}`:            false,
		`{"system":[{"text":"caf\u00e9 \u003cb\u003e","cache_control":{"type":"ephemeral"}}]}`: false,
		`{"system":[{"text":"in code: \\u0041","cache_control":{"type":"ephemeral"}}]}`:        false,
		`{"system":[{"text":"1h"}]}`: false,
		`\u00`:                       false,
	} {
		if got := asksHourCache([]byte(body)); got != want {
			t.Errorf("%s: got %t, want %t", body, got, want)
		}
	}
}

// TestHourCacheHeld checks that the rate of cache writes for an hour counts in holds only if the request may ask for
// them.
func TestHourCacheHeld(t *testing.T) {
	t.Parallel()
	price := pricing.PriceOverride{"input": "1", "cache_read": "0.1", "cache_write": "1.25", "cache_write_1h": "2", "output": "5"}
	for _, tt := range []struct {
		name, system string
		pico         int64 // the held rate of an input token
	}{
		{"no cache", `"Hi"`, 1_250_000},
		{"five minutes", `[{"type":"text","text":"Hi","cache_control":{"type":"ephemeral"}}]`, 1_250_000},
		{"an hour", `[{"type":"text","text":"Hi","cache_control":{"type":"ephemeral","ttl":"1h"}}]`, 2_000_000},
	} {
		q := newAsked(t, quotetest.Asked{
			ClientAPI: "anthropic", Sizes: sized(), Price: price,
			Body: `{"max_tokens":300,"system":` + tt.system + `,"messages":[{"role":"user","content":"Hi"}]}`,
		})
		k := q.demandOf(Coarse)
		_, most := k.Amounts()
		u := k.Granted(0, 0)
		if want := llm.Money((u.InputTokens()*tt.pico + u.OutputTokens()*5_000_000 + 999) / 1000); most > want || most < want-1 {
			t.Errorf("%s: got holds of $%s for %d and %d tokens, want $%s", tt.name, most, u.InputTokens(), u.OutputTokens(), want)
		}
	}
}

// TestMarksNeedPrice checks that no marks are added where the price of storing input is unknown: a hold would not cover
// them.
func TestMarksNeedPrice(t *testing.T) {
	t.Parallel()
	body := `{"max_tokens":300,"messages":[{"role":"user","content":"` + strings.Repeat("word ", 5000) + `"}]}`
	for _, known := range []bool{true, false} {
		q := newAsked(t, quotetest.Asked{
			ClientAPI: "anthropic", Model: "claude-sonnet-4-5", Sizes: sized(), Body: body,
			Quirks: llm.Quirks{AddCacheMarks: true},
		})
		if !known {
			q.Price.Rates[llm.CacheWrite] = llm.Rate(0)
		}
		tree := must.Get(q.Tree())(t)
		if got := marked(q, tree) != tree; got != known {
			t.Errorf("price of cache writes known: %t, marks added: %t", known, got)
		}
	}
}
