package rules_test

import (
	"testing"

	"weir/internal/dialect/rules"
	"weir/internal/llm"
)

// BenchmarkFit fits a short conversation with a call, which breaks no rule.
func BenchmarkFit(b *testing.B) {
	words := func(role llm.Role, text string) llm.Message {
		return llm.Message{Role: role, Parts: []llm.Part{{Kind: llm.PartText, Text: text}}}
	}
	for _, to := range []struct{ provider, format, model string }{
		{"openai", "openai", "gpt-5.4-mini"}, {"anthropic", "anthropic", "claude-sonnet-4-5"}, {"mistral", "openai", "mistral-large-latest"},
	} {
		set := rules.For(to.provider, to.format)
		r := &llm.Request{Model: to.model, Messages: []llm.Message{
			words(llm.RoleSystem, "Be brief."), words(llm.RoleUser, "Call it."),
			{Role: llm.RoleAssistant, Parts: []llm.Part{{Kind: llm.PartToolCall, Call: &llm.ToolCall{ID: "aB3dE6gH9", Name: "f", Arguments: "{}"}}}},
			{Role: llm.RoleTool, Parts: []llm.Part{{Kind: llm.PartToolResult, Result: &llm.ToolResult{CallID: "aB3dE6gH9"}}}},
			words(llm.RoleAssistant, "Done."), words(llm.RoleUser, "Thanks."),
		}}
		body := []byte(`{"model":"m","messages":[{"role":"user","content":"Hello!"}]}`)
		for name, own := range map[string]bool{"translated": false, "passed": true} {
			b.Run(to.model+"/"+name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if own {
						set.MayBreakOwn(r.Model, body)
					} else if _, _, err := set.Fit(r, false); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
