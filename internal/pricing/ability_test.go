package pricing_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/pricing"
)

// can formats abilities as a word each: "images !audio" for yes and no.
func can(a pricing.Abilities) string {
	var words []string
	for _, n := range a.List() {
		switch n.Ability {
		case pricing.Yes:
			words = append(words, n.Name)
		case pricing.No:
			words = append(words, "!"+n.Name)
		}
	}
	return strings.Join(words, " ")
}

func TestAbilitiesOfModels(t *testing.T) {
	t.Parallel()
	b := newBook(t, pricing.Overrides{})
	const (
		everything = "images documents !audio tools structured reasoning"
		claude     = everything
		hearing    = "images documents audio tools structured reasoning"
		seeing     = "images !audio tools structured reasoning" // whether it accepts documents is unknown
		blind      = "!images !documents !audio tools structured reasoning"
	)
	tests := []struct{ provider, model, want string }{
		{"openai", "gpt-5-mini", seeing},
		{"openai", " GPT-5-Mini ", seeing},
		{"openai", "gpt-5-mini-2025-08-07", seeing},       // the data has it without a date
		{"openai", "gpt-5-mini-20250807", seeing},         //
		{"openai", "gpt-5.6-luna-2026-07-09", everything}, //
		{"openai", "gpt-5-mini-2025-99-99", ""},           // not a date
		{"openai", "gpt-nonsense", ""},
		{"openai", "text-embedding-3-small", ""}, // does not chat
		{"anthropic", "claude-haiku-4-5", claude},
		{"anthropic", "claude-haiku-4-5-20251001", claude},
		{"anthropic", "claude-opus-5-20260801", claude},
		{"gemini", "gemini-2.5-flash", hearing},
		{"gemini", "models/gemini-2.5-flash", hearing},
		{"gemini", "gemini-2.5-pro-preview-05-06", hearing}, // by its price
		{"vertex", "publishers/google/models/gemini-2.5-flash", hearing},
		{"vertex", "publishers/anthropic/models/claude-haiku-4-5@20251001", claude},
		{"vertex", "claude-haiku-4-5", claude}, // the data has it with a date; without one, the entry of its maker counts
		{"bedrock", "anthropic.claude-haiku-4-5-20251001-v1:0", claude},
		{"bedrock", "us.anthropic.claude-haiku-4-5-20251001-v1:0", claude},
		{"bedrock", "ca.anthropic.claude-haiku-4-5-20251001-v1:0", claude},
		{"bedrock", "arn:aws:bedrock:us-east-1:1:inference-profile/us.anthropic.claude-haiku-4-5-20251001-v1:0", claude},
		{"azure", "gpt-5-mini", seeing},
		{"azure", "gpt-5.6-luna-2026-07-09", everything}, // from OpenAI
		{"azure", "my-deployment", ""},
		{"openrouter", "meta-llama/llama-3.3-70b-instruct", "!images !documents !audio tools structured !reasoning"},
		{"openrouter", "openai/gpt-oss-20b:nitro", blind},
		{"huggingface", "openai/gpt-oss-20b:fastest", blind},
		{"groq", "openai/gpt-oss-20b", blind},
		{"together", "openai/gpt-oss-20b", "!images !documents !audio tools structured reasoning"},
		{"house", "gpt-5-mini", ""},
		{"", "", ""},
	}
	for _, tt := range tests {
		info, _ := b.Model(tt.provider, tt.model)
		if got := can(info.Abilities); got != tt.want {
			t.Errorf("%s/%s: got %q, want %q", tt.provider, tt.model, got, tt.want)
		}
	}
}

// TestFamiliesHaveCommonAbilities checks that a family of models with one price has an ability only if all of them have
// it.
func TestFamiliesHaveCommonAbilities(t *testing.T) {
	t.Parallel()
	b := newBook(t, pricing.Overrides{})
	info, ok := b.Model("openai", "gpt-5.3") // not a model's name, but the heading of several with one price
	if got, want := can(info.Abilities), "images !audio tools structured !reasoning"; !ok || got != want {
		t.Errorf("a family: got %q, %v, want %q", got, ok, want)
	}
}

func TestOperatorSaysAbilities(t *testing.T) {
	t.Parallel()
	yes, no := true, false
	b := newBook(t, pricing.Overrides{Models: map[string]pricing.ModelOverride{
		"openai/gpt-5-mini": {Images: &no, Documents: &yes},
		"house/*":           {Tools: &yes},
		"house/large":       {Structured: &no, Audio: &yes, Reasoning: &no},
	}})
	for name, want := range map[string]string{
		"openai/gpt-5-mini": "!images documents !audio tools structured reasoning",
		"house/small":       "tools",
		"house/large":       "audio !structured !reasoning",
	} {
		provider, model, _ := strings.Cut(name, "/")
		info, ok := b.Model(provider, model)
		if got := can(info.Abilities); got != want || !ok {
			t.Errorf("%s: got %q, %v, want %q", name, got, ok, want)
		}
	}
}

func TestAbilityWords(t *testing.T) {
	t.Parallel()
	got := []string{pricing.Unknown.String(), pricing.Yes.String(), pricing.No.String()}
	must.Equal(t, got, []string{"unknown", "yes", "no"}, "words")
	var zero pricing.Abilities
	var names []string
	for _, n := range zero.List() {
		names = append(names, n.Name)
	}
	if diff := cmp.Diff(names, pricing.AbilityNames()); diff != "" || can(zero) != "" {
		t.Errorf("names (-got +want):\n%s", diff)
	}
}

// TestKnownAndUnpriced checks that a model with known abilities and an unknown price is listed, once, and is not free.
func TestKnownAndUnpriced(t *testing.T) {
	t.Parallel()
	b := newBook(t, pricing.Overrides{})
	seen := map[string]bool{}
	for _, l := range b.Models("nvidia", moment(t, now)) {
		u := llm.Usage{llm.Input: 1_000_000}
		if l.Price.Known() || l.Price.Cost(&u, "") != 0 || l.Source != b.AbilitySource() || l.Checked != b.AbilityDay() || seen[l.ID] {
			t.Errorf("nvidia/%s: got price %q, source %q of %q", l.ID, l.Price.Version, l.Source, l.Checked)
		}
		seen[l.ID] = true
		if info, ok := b.Model("nvidia", l.ID); !ok || info != l.ModelInfo {
			t.Errorf("nvidia/%s: got %+v, %v by name, %+v in the list", l.ID, info, ok, l.ModelInfo)
		}
	}
	if !seen["openai/gpt-oss-20b"] {
		t.Error("nvidia/openai/gpt-oss-20b: got it not listed")
	}
}
