package llm_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"weir/internal/llm"
)

// TestReplyForOtherFormatHasNoRawJSON checks that each place of raw JSON is left out alone, that the reply itself keeps
// it, and that a reply without any is not copied.
func TestReplyForOtherFormatHasNoRawJSON(t *testing.T) {
	t.Parallel()
	whole := func() *llm.Reply {
		return &llm.Reply{ExtraOf: "one", Choices: []llm.Choice{{}, {Message: llm.Message{Parts: []llm.Part{
			{Kind: llm.PartText, Text: "Hello"}, {Kind: llm.PartToolCall, Call: &llm.ToolCall{Name: "read"}},
		}}}}}
	}
	raw, fields := json.RawMessage(`{}`), []llm.Field{{}}
	for name, put := range map[string]func(r *llm.Reply, c *llm.Choice, p []llm.Part){
		"reply":         func(r *llm.Reply, _ *llm.Choice, _ []llm.Part) { r.Extra = fields },
		"choice":        func(_ *llm.Reply, c *llm.Choice, _ []llm.Part) { c.Extra = fields },
		"probabilities": func(_ *llm.Reply, c *llm.Choice, _ []llm.Part) { c.Logprobs = raw },
		"message":       func(_ *llm.Reply, c *llm.Choice, _ []llm.Part) { c.Message.Extra = fields },
		"part":          func(_ *llm.Reply, _ *llm.Choice, p []llm.Part) { p[0].Extra = fields },
		"annotations":   func(_ *llm.Reply, _ *llm.Choice, p []llm.Part) { p[0].Annotations = raw },
		"cache mark":    func(_ *llm.Reply, _ *llm.Choice, p []llm.Part) { p[0].CacheControl = raw },
		"raw part":      func(_ *llm.Reply, _ *llm.Choice, p []llm.Part) { p[0].Raw = raw },
		"call":          func(_ *llm.Reply, _ *llm.Choice, p []llm.Part) { p[1].Call.Extra = fields },
		"other part": func(_ *llm.Reply, c *llm.Choice, p []llm.Part) {
			c.Message.Parts = append(p, llm.Part{Kind: llm.PartOther})
		},
	} {
		in, kept := whole(), whole()
		for _, r := range []*llm.Reply{in, kept} {
			put(r, &r.Choices[1], r.Choices[1].Message.Parts)
		}
		if diff := cmp.Diff(whole(), in.For("other")); diff != "" {
			t.Errorf("%s: another format gets (-want +got):\n%s", name, diff)
		}
		if diff := cmp.Diff(kept, in); diff != "" {
			t.Errorf("%s: the reply itself has changed (-want +got):\n%s", name, diff)
		}
		if in.For("one") != in {
			t.Errorf("%s: the own format gets a copy", name)
		}
	}
	if plain := whole(); plain.For("other") != plain {
		t.Error("a reply without raw JSON is copied")
	}
}
