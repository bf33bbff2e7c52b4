package pricing_test

import (
	"testing"

	"weir/internal/pricing"

	"weir/internal/worktest"
)

// FuzzConvert checks that any list of others becomes a valid price file, at known providers.
func FuzzConvert(f *testing.F) {
	f.Add([]byte(`{"data":[{"id":"a/b","pricing":{"prompt":"0.000001","completion":"0","request":"0.1"}}]}`))
	f.Add([]byte(`{"gpt-5":{"litellm_provider":"openai","input_cost_per_token":1e-6,"input_cost_per_token_above_200k_tokens":2e-6,"output_cost_per_token_flex":1e-6}}`))
	f.Add([]byte(`{"dashscope/q":{"litellm_provider":"dashscope","input_cost_per_token":1e-6,"output_cost_per_token_above_1k_tokens":2}}`))
	f.Add([]byte(`{"X ":{"litellm_provider":"groq","input_cost_per_token":1e99}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		worktest.Check(t, text, func(text []byte) { _, _ = pricing.Convert(text, "2026-11-19", false) })
		c, err := pricing.Convert(text, "2026-11-19", false)
		if err != nil {
			return
		}
		o := pricing.Overrides{Known: []string{"alibaba", "nvidia"}, Files: []pricing.File{{Path: "p", Text: c.File}}}
		if _, err := pricing.NewBook(o); err != nil || c.Models == 0 {
			t.Errorf("%q: got %d models and\n%s\n%v", text, c.Models, c.File, err)
		}
	})
}
