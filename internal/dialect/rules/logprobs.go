package rules

import (
	"slices"

	"weir/internal/llm"
)

// logprobs returns the rules of models that report no log probabilities and of vendors that refuse requests for them.
func logprobs() []Rule {
	return []Rule{
		{
			Name: "openai-logprobs", Of: []Of{
				{Format: chat, Models: thinkers, Except: []string{"chat"}},
				{Format: responses, Models: thinkers, Except: []string{"chat"}},
			},
			Ask: NoLogprobs{}, Says: "%s are not supported with reasoning models.",
			Source: "https://github.com/vllm-project/vllm/pull/23319", Seen: "2026-11-29",
		},
		{
			Name: "gemini-logprobs", Of: []Of{{Format: google, Models: []string{"gemini-3", "gemini-4"}}},
			Ask: NoLogprobs{}, Says: "Unable to submit request because Logprobs is not supported for this model: %s",
			Source: "https://github.com/BerriAI/litellm/issues/31600", Seen: "2026-11-29",
		},
		{
			Name: "deepseek-logprobs",
			Of:   []Of{{Provider: "deepseek", Format: chat, Models: []string{"deepseek-reasoner"}}},
			Own:  true, Word: `logprobs"`, Ask: NoLogprobs{},
			Says:   "deepseek-reasoner does not support the parameter %s",
			Source: "https://api-docs.deepseek.com/guides/reasoning_model", Seen: "2026-11-29",
		},
		{
			Name: "groq-logprobs", Of: []Of{{Provider: "groq"}},
			Own: true, Word: `logprobs"`, Ask: NoLogprobs{}, Says: "'%s' is not supported by this model",
			Source: "https://console.groq.com/docs/openai", Seen: "2026-11-29",
		},
	}
}

// NoLogprobs forbids requests for log probabilities.
type NoLogprobs struct{}

// Broken returns the first field that requests them.
func (NoLogprobs) Broken(r *llm.Request, _ []byte) string {
	if r.Logprobs == nil {
		return ""
	}
	return slices.Concat(r.Logprobs.Fields, []string{"logprobs"})[0]
}

// Fit removes the request. Encoders report the corresponding fields of other APIs.
func (NoLogprobs) Fit(f *Fitting) error {
	f.Logprobs = nil
	f.Extra = slices.DeleteFunc(slices.Clone(f.Extra), func(e llm.Field) bool {
		said := slices.Contains(logprobFields, e.Name)
		if said {
			f.Drop(e.Name)
		}
		return said
	})
	return nil
}

// logprobFields are the fields of Chat Completions for log probabilities.
var logprobFields = []string{"logprobs", "top_logprobs"}

func (NoLogprobs) String() string { return "No `logprobs`, and no `top_logprobs`" }
