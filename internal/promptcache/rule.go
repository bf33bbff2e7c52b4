// Package promptcache describes how vendors cache prompts.
package promptcache

import (
	"cmp"
	"strings"
	"time"
)

// Rule says how a vendor caches the prompts of a model.
type Rule struct {
	// Marked says that only prefixes that end at a mark of the client are stored, with a lifetime that the mark
	// chooses. Otherwise prefixes are stored without marks, in multiples of Step tokens.
	Marked bool
	Step   int64 // tokens; 1 for marked caches
	// Least is the length in tokens of the shortest prefix that is stored. A shorter one is processed without an error.
	Least int64
	// MostMarks is the most marks that a request may have; LookBack is the number of blocks before a mark, with its
	// own, in which the end of a stored prefix is looked for. Both are 0 for caches without marks.
	MostMarks, LookBack int
	// Lifetime is how long a prefix is stored after its last use, without another choice of the client.
	Lifetime time.Duration
	// Writes says that tokens that are stored are reported, and have a price of their own.
	Writes bool
}

// Lifetimes of stored prefixes.
const (
	// Short and Long are the lifetimes that a mark chooses between.
	// https://platform.claude.com/docs/en/build-with-claude/prompt-caching (undated copies of 2026).
	Short, Long = 5 * time.Minute, time.Hour
	// idle is the shortest time after which OpenAI's caches in memory forget a prefix: 5 to 10 minutes without a use.
	// https://developers.openai.com/api/docs/guides/prompt-caching.md (undated copy of 2026).
	idle = 5 * time.Minute
	// written is the lifetime of a prefix whose storage is paid for, from GPT-5.6 on: at least 30 minutes.
	// https://developers.openai.com/api/docs/guides/prompt-caching (undated copy of autumn 2026).
	written = 30 * time.Minute
)

// Smallest is the least prompt of all rules, in tokens.
const Smallest = 512

// RuleOf returns the rule of a model, by the wire format in which it is called; false if its prompts are not cached as
// far as is known.
//
//   - Anthropic: at most 4 marks, of which each looks back over 20 blocks:
//     https://platform.claude.com/docs/en/build-with-claude/prompt-caching (undated copies of 2026).
//   - Bedrock: the same marks as cachePoint: https://docs.aws.amazon.com/bedrock/latest/userguide/prompt-caching.html
//     (undated copy of 2026).
//   - OpenAI: automatic from 1,024 tokens on, in steps of 128:
//     https://developers.openai.com/api/docs/guides/prompt-caching.md (undated copy of 2026).
//   - Gemini: automatic ("implicit"): https://ai.google.dev/gemini-api/docs/caching (2026-10-13). The page names neither
//     steps nor a lifetime; these are OpenAI's.
//   - OpenRouter takes Anthropic's marks for Anthropic's models in OpenAI's format:
//     https://openrouter.ai/docs/features/prompt-caching (undated copy of 2026).
func RuleOf(dialect, model string) (Rule, bool) {
	claude := strings.Contains(model, "claude") || strings.Contains(model, "anthropic")
	switch {
	case dialect == "anthropic", dialect == "bedrock", dialect == "openai" && claude:
		return Rule{
			Marked: true, Step: 1, Least: cmp.Or(LeastOfClaude(dialect, model), otherLeast),
			MostMarks: 4, LookBack: 20, Lifetime: Short, Writes: true,
		}, true
	case dialect == "openai", dialect == "responses":
		r := Rule{Step: 128, Least: 1024, Lifetime: idle}
		if r.Writes = paysWrites(model); r.Writes {
			r.Lifetime = written
		}
		return r, true
	case dialect == "gemini":
		return Rule{Step: 128, Least: leastOf(model, geminiLeast), Lifetime: idle}, true
	}
	return Rule{}, false
}

// least is the least prompt of the models whose names contain a text.
type least struct {
	name   string
	tokens int64
}

// otherLeast is the least prompt of Anthropic's models that no page names.
const otherLeast = 1024

// geminiLeast is the list of https://ai.google.dev/gemini-api/docs/caching (2026-10-13).
var geminiLeast = []least{{"gemini-2.5", 2048}, {"", 4096}}

func leastOf(model string, list []least) int64 {
	for _, l := range list {
		if strings.Contains(model, l.name) {
			return l.tokens
		}
	}
	return 0
}

// paysWrites reports whether a model of OpenAI is GPT-5.6 or later, which charge for what they store.
// https://developers.openai.com/api/docs/guides/prompt-caching (undated copy of autumn 2026).
func paysWrites(model string) bool {
	_, version, found := strings.Cut(model, "gpt-")
	major, minor, _ := strings.Cut(version, ".")
	switch {
	case !found || major == "" || major[0] < '5' || major[0] > '9':
		return false
	case major[0] > '5':
		return true
	}
	return major == "5" && minor != "" && minor[0] >= '6'
}
