package rules

import "math"

// This file has the rules of vendors with a wire format of their own.

// anthropic returns the rules of Anthropic's wire format.
func anthropic() []Rule {
	return []Rule{
		{
			Name: "anthropic-tool-names", Of: []Of{{Format: messages}},
			Ask:    ToolNames{Form{Signs: "_-", Least: 1, Most: 128}},
			Says:   "tools.0.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$': %s",
			Source: "https://github.com/apify/tester-mcp-client/issues/11", Seen: seen,
		},
		{
			Name: "anthropic-schemas", Of: []Of{
				{Format: messages},
				{Format: converse, Models: []string{"anthropic", "claude"}},
			},
			Ask:    StrictSchema{},
			Says:   "output_config.format.schema: For this type, property %s is not supported",
			Source: "https://platform.claude.com/docs/en/build-with-claude/structured-outputs", Seen: seen,
		},
	}
}

// claudes returns the targets that run Claude from version since up to, but not including, before; 0 for no upper
// bound.
func claudes(since, before Version) []Of {
	return []Of{
		{Format: messages, Models: []string{"claude"}, Since: since, Before: before},
		{Format: converse, Models: []string{"anthropic.claude"}, Since: since, Before: before},
	}
}

// claude returns the rules of Claude at Anthropic and Amazon.
func claude() []Rule {
	return []Rule{
		{
			Name: "claude-prefill", Of: claudes(406, 0), Ask: NoPrefill{},
			Says:   "This model does not support %s message prefill. The conversation must end with a user message.",
			Source: "https://github.com/NousResearch/hermes-agent/pull/101401", Seen: "2026-11-29",
		},
		{
			Name: "claude-space-at-end", Of: []Of{{Format: messages}, {Format: converse}}, Ask: NoSpaceAtEnd{},
			Says:   "messages: final %s content cannot end with trailing whitespace",
			Source: "https://github.com/langchain-ai/langchain-aws/pull/599", Seen: "2026-11-29",
		},
		{
			Name: "claude-sampling", Of: claudes(407, 0), Ask: NoSampling{[]string{"temperature", "top_p", "top_k"}},
			Says:   "`%s` is deprecated for this model.",
			Source: "https://github.com/RooCodeInc/Roo-Code/issues/12162", Seen: "2026-11-29",
		},
		{
			Name: "claude-one-sampling", Of: claudes(401, 407), Ask: OneSampling{},
			Says:   "`temperature` and `%s` cannot both be specified for this model. Please use only one.",
			Source: "https://github.com/SalesforceAIResearch/MCP-Universe/issues/49", Seen: "2026-11-29",
		},
		{
			Name: "anthropic-temperature", Of: []Of{{Format: messages}}, Ask: Within{Field: "temperature", Most: "1"},
			Says:   "%s: range: 0..1",
			Source: "https://github.com/anthropics/anthropic-sdk-python/issues/893", Seen: "2026-11-29",
		},
	}
}

// bedrock returns the rules of Amazon Bedrock's Converse.
func bedrock() []Rule {
	return []Rule{
		{
			Name: "bedrock-tool-names", Of: []Of{{Format: converse}},
			Ask: ToolNames{Form{Signs: "_-", Least: 1, Most: 64}},
			Says: "Value %s at 'toolConfig.tools.toolSpec.name' failed to satisfy constraint: Member must satisfy " +
				"regular expression pattern: [a-zA-Z0-9_-]+",
			Source: "https://github.com/NousResearch/hermes-agent/pull/90016", Seen: seen,
		},
		{
			Name: "bedrock-temperature", Of: []Of{{Format: converse}},
			Ask: Within{Field: "temperature", Most: "1"},
			Says: "Value at 'inferenceConfig.%s' failed to satisfy constraint: Member must have value less than or " +
				"equal to 1",
			Source: "https://github.com/boto/botocore/blob/develop/botocore/data/bedrock-runtime/2023-09-30/service-2.json",
			Seen:   seen,
		},
	}
}

// gemini returns Google's rules.
func gemini() []Rule {
	return []Rule{
		{
			Name: "gemini-thought-signatures", Of: []Of{
				{Format: google, Models: []string{"gemini-3", "gemini-4"}, Except: []string{"image"}},
			},
			Ask: signedCalls(),
			Says: "Function call is missing a thought_signature in functionCall parts. This is required for tools " +
				"to work correctly, and missing thought_signature may lead to degraded model performance. " +
				"Additional data, function call %s",
			Source: "https://ai.google.dev/gemini-api/docs/thought-signatures", Seen: seen,
		},
		{
			Name: "gemini-seed", Of: []Of{{Format: google}}, Ask: Seeds{Least: math.MinInt32, Most: math.MaxInt32},
			Says:   "Invalid value at 'generation_config.seed' (TYPE_INT32), %s",
			Source: "https://ai.google.dev/api/generate-content", Seen: "2026-11-29",
		},
		{
			Name: "gemini-tool-names", Of: []Of{{Format: google}},
			Ask: ToolNames{Form{Signs: "_.:-", NoDigitFirst: true, Least: 1, Most: 64}},
			Says: "* GenerateContentRequest.tools[0].function_declarations[0].name: Invalid function name. Must " +
				"start with a letter or an underscore. Must be alphameric (a-z, A-Z, 0-9), underscores (_), dots " +
				"(.), colons (:), or dashes (-), with a maximum length of 64: %s",
			Source: "https://github.com/google-gemini/gemini-cli/issues/9535", Seen: seen,
		},
	}
}

// cohere returns Cohere's rules.
func cohere() []Rule {
	const source, day = "https://github.com/cohere-ai/cohere-developer-experience/blob/main/cohere-openapi.yaml",
		"2026-11-28"
	of := []Of{{Format: command}}
	bounded := func(name, field, least, most string) Rule {
		return Rule{
			Name: name, Of: of, Ask: Within{field, least, most},
			Says: "invalid request: %s must be between " + least + " and " + most + ".", Source: source, Seen: day,
		}
	}
	return []Rule{
		bounded("cohere-temperature", "temperature", "0", "1"),
		bounded("cohere-top-p", "top_p", "0.01", "0.99"),
		bounded("cohere-frequency-penalty", "frequency_penalty", "0", "1"),
		bounded("cohere-presence-penalty", "presence_penalty", "0", "1"),
		{
			Name: "cohere-top-k", Of: of, Ask: MostTopK{500},
			Says: "invalid request: k must be between 0 and 500, not %s.", Source: source, Seen: day,
		},
		{
			Name: "cohere-seed", Of: of, Ask: Seeds{Most: math.MaxInt64},
			Says: "invalid request: seed must be at least 0, not %s.", Source: source, Seen: day,
		},
		{
			Name: "cohere-stop-sequences", Of: of, Ask: MostStops{5},
			Says: "invalid request: there are at most 5 stop_sequences, not %s.", Source: source, Seen: day,
		},
	}
}

// ollama returns the rules of Ollama's own wire format.
func ollama() []Rule {
	return []Rule{{
		Name: "ollama-forced-tools", Of: []Of{{Format: native}},
		Ask:    NoForcedTools{},
		Says:   "%s is not supported",
		Source: "https://docs.ollama.com/api/chat", Seen: seen,
	}}
}
