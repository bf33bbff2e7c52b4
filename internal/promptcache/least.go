package promptcache

import (
	"cmp"
	"strings"

	"weir/internal/dialect/rules"
)

// family is the shortest prompt, in tokens, that a family of Claude's models stores from version since on.
type family struct {
	name            string
	since           rules.Version
	least           int64 // at Anthropic
	bedrock, router int64 // at Amazon Bedrock and OpenRouter, if their pages name more; else 0
}

// families lists the families, the newest versions first.
//
// https://platform.claude.com/docs/en/build-with-claude/prompt-caching#cache-limitations (copy of 2026-10-01),
// https://docs.aws.amazon.com/bedrock/latest/userguide/prompt-caching.html and its model cards (copies of 2026),
// https://openrouter.ai/docs/features/prompt-caching (copy of 2026-09), all read 2026-11-29.
var families = []family{
	{name: "opus", since: 500, least: 512},
	{name: "opus", since: 408, least: 1024, router: 4096},
	{name: "opus", since: 407, least: 2048, bedrock: 4096, router: 4096},
	{name: "opus", since: 405, least: 4096},
	{name: "opus", since: 400, least: 1024},
	{name: "sonnet", since: 505, least: 512},
	{name: "sonnet", since: 406, least: 1024},
	{name: "sonnet", since: 405, least: 1024, bedrock: 4096},
	{name: "sonnet", since: 305, least: 1024},
	{name: "haiku", since: 505, least: 512},
	{name: "haiku", since: 405, least: 4096},
	{name: "haiku", since: 300, least: 2048},
	{name: "fable", since: 500, least: 512},
	{name: "mythos", since: 500, least: 512},
}

// unknownLeast is the largest number of families, for a model whose name has no version.
const unknownLeast = 4096

// LeastOfClaude returns the shortest prompt, in tokens, that a model stores up to a mark when it is called in a wire
// format; 0 if no page of its vendor names the number.
func LeastOfClaude(dialect, model string) int64 {
	if !strings.Contains(model, "claude") {
		return 0
	}
	version := rules.VersionOf(model, "claude")
	if version == rules.Newest {
		return unknownLeast
	}
	for i := range families {
		f := &families[i]
		if !strings.Contains(model, f.name) || version < f.since {
			continue
		}
		switch dialect {
		case "bedrock":
			return cmp.Or(f.bedrock, f.least)
		case "openai":
			return cmp.Or(f.router, f.least)
		}
		return f.least
	}
	return 0
}
