package rules

// caches returns the rules for marks of prompt caches. Marks that a vendor does not know are left out by the wire
// formats.
func caches() []Rule {
	const day = "2026-11-29"
	marked := []Of{
		{Format: messages},
		{Format: converse},
		{Provider: "openrouter", Format: chat, Models: []string{"claude"}},
	}
	return []Rule{
		{
			Name: "bedrock-marks", Of: []Of{{Format: converse, Models: uncached}}, Ask: NoMarks{},
			Says: "You invoked an unsupported model or your request did not allow prompt caching. See the " +
				"documentation for more information. (%s)",
			Source: "https://github.com/BerriAI/litellm/pull/39210", Seen: day,
		},
		{
			Name: "nova-tool-marks", Of: []Of{{Format: converse, Models: []string{"nova"}}},
			Ask: NoMarks{OnTools: true},
			Says: "Malformed input request: #/toolConfig/tools: extraneous key [cachePoint] is not permitted, please " +
				"reformat your input and try again. (%s)",
			Source: "https://github.com/NousResearch/hermes-agent/issues/97281", Seen: day,
		},
		{
			Name: "bedrock-short-marks", Of: []Of{
				{Format: converse, Models: []string{"claude"}, Since: 300, Before: 405},
				{Format: converse, Models: []string{"claude"}, Since: 406, Before: 407},
				{Format: converse, Models: []string{"nova"}},
			}, Ask: ShortMarks{},
			Says:   "Value %s at 'cachePoint.ttl' is not supported by the model",
			Source: "https://docs.aws.amazon.com/bedrock/latest/userguide/prompt-caching.html", Seen: day,
		},
		{
			Name: "most-marks", Of: marked, Ask: MostMarks{4},
			Says:   "A maximum of 4 blocks with cache_control may be provided. Found %s.",
			Source: "https://github.com/tghamm/Anthropic.SDK/issues/50", Seen: day,
		},
		{
			Name: "long-marks-first", Of: marked, Ask: LongMarksFirst{},
			Says: "%s.cache_control.ttl: a ttl='1h' cache_control block must not come after a ttl='5m' cache_control " +
				"block. Note that blocks are processed in the following order: `tools`, `system`, `messages`.",
			Source: "https://github.com/headroomlabs-ai/headroom/issues/2939", Seen: day,
		},
	}
}

// refusedMarks returns the rules of vendors of Chat Completions that refuse marks, or those on content other than text.
func refusedMarks() []Rule {
	const day = "2026-11-29"
	return []Rule{
		{
			Name: "mistral-marks", Of: []Of{{Provider: "mistral", Format: chat}}, Own: true, Word: anyMark,
			Ask:  NoMarks{},
			Says: "body.messages.content: Extra inputs are not permitted (%s)", Source: mistralSource, Seen: day,
		},
		{
			Name: "groq-marks", Of: []Of{{Provider: "groq", Format: chat}}, Own: true, Word: anyMark,
			Ask:    NoMarks{},
			Says:   "'messages.content' : property 'prompt_cache_breakpoint' is unsupported (%s)",
			Source: groqSource, Seen: day,
		},
		{
			Name: "cerebras-marks", Of: []Of{{Provider: "cerebras", Format: chat}}, Own: true, Word: anyMark,
			Ask:  NoMarks{},
			Says: "messages.content: Extra inputs are not permitted (%s)", Source: cerebrasSource, Seen: day,
		},
		{
			Name: "openrouter-marked-media", Of: []Of{{Provider: "openrouter", Format: chat}}, Own: true, Word: anyMark,
			Ask:  NoMarks{OnMedia: true},
			Says: "Unrecognized key in a part of content that is no text (%s)", Source: openRouterSource, Seen: day,
		},
	}
}

// anyMark is in the name of each member that marks a prompt cache.
const anyMark = "cache_"

// uncached are the words in names of Bedrock's models without prompt caching:
// https://docs.aws.amazon.com/bedrock/latest/userguide/prompt-caching.html (copy of 2026). Names of inference profiles
// do not show the model, so they keep their marks.
var uncached = []string{
	"ai21", "cohere", "deepseek", "google", "meta", "minimax", "mistral", "moonshot", "moonshotai", "nvidia", "openai",
	"qwen", "titan", "writer", "zai",
}
