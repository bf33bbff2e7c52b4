package rules

import "math"

// This file has the rules of vendors that speak Chat Completions and refuse fields that they do not document.

const (
	mistralSource = "https://github.com/mistralai/platform-docs-public/blob/222f4ba9114f84ce9f2d718b9a12fbac1e527f4b/public/openapi.yaml"
	groqSource    = "https://github.com/groq/groq-typescript/blob/v1.6.0/src/resources/chat/completions.ts"

	openRouterSource = "https://github.com/OpenRouterTeam/typescript-sdk"
	cerebrasSource   = "https://github.com/Cerebras/cerebras-cloud-sdk-node/blob/v1.91.0/src/resources/chat/completions.ts"
)

// mistralSchema returns the rules for fields of Mistral's published schema.
func mistralSchema() []Rule {
	of := []Of{{Provider: "mistral", Format: chat}}
	return []Rule{
		{
			Name: "mistral-temperature", Of: of, Own: true, Word: `"temperature"`,
			Ask:  Within{Field: "temperature", Most: "1.5"},
			Says: "body.%s: Input should be less than or equal to 1.5", Source: mistralSource, Seen: seen,
		},
		{
			Name: "mistral-top-p", Of: of, Own: true, Word: `"top_p"`, Ask: Positive{"top_p", "0.01"},
			Says: "body.%s: Input should be greater than 0", Source: mistralSource, Seen: seen,
		},
		{
			Name: "mistral-seed", Of: of, Own: true, Word: `seed"`, Ask: Seeds{0, math.MaxInt64, "random_seed"},
			Says:   "body.random_seed: Input should be greater than or equal to 0, not %s",
			Source: mistralSource, Seen: seen,
		},
		{
			Name: "mistral-service-tier", Of: of, Own: true, Word: `"service_tier"`,
			Ask:  Words{Field: "service_tier", Words: []string{"auto", "standard_only"}},
			Says: "body.%s: Input should be 'auto' or 'standard_only'", Source: mistralSource, Seen: seen,
		},
		{
			Name: "mistral-modalities", Of: of, Own: true, Word: `"modalities"`, Ask: UsualModalities{},
			Says: "body.%s: Extra inputs are not permitted", Source: mistralSource, Seen: seen,
		},
	}
}

// mistralMessages returns the rules for Mistral's messages and tools.
func mistralMessages() []Rule {
	of := []Of{{Provider: "mistral", Format: chat}}
	return []Rule{
		{
			Name: "mistral-names", Of: of, Own: true, Word: `"name"`, Ask: NoNames{},
			Says: "body.messages.name: Extra inputs are not permitted: %s", Source: mistralSource, Seen: seen,
		},
		{
			Name: "mistral-refusals", Of: of, Own: true, Word: `"refusal"`, Ask: NoRefusals{},
			Says: "body.%s: Extra inputs are not permitted", Source: mistralSource, Seen: seen,
		},
		{
			Name: "mistral-tool-parameters", Of: of, Own: true, Word: `"tools"`, Ask: ToolParameters{},
			Says: "body.tools.function.parameters: Field required (the function %s)", Source: mistralSource, Seen: seen,
		},
		{
			Name: "mistral-documents", Of: of, Own: true, Word: `"file_data"`, Ask: documentURLs(),
			Says: "body.messages.content.%s: Extra inputs are not permitted", Source: mistralSource, Seen: seen,
		},
		{
			Name: "mistral-message-members", Of: of, Own: true, Word: `"assistant"`,
			Ask:    MessageMembers{Only: []string{"role", "content", "name", "prefix", "tool_calls", "tool_call_id"}},
			Says:   "body.%s: Extra inputs are not permitted",
			Source: "https://github.com/BerriAI/litellm/issues/30835", Seen: seen,
		},
		{
			Name: "mistral-sounds", Of: of, Own: true, Word: `"input_audio"`, Ask: plainSounds(),
			Says: "body.messages.content.%s: Input should be a valid string", Source: mistralSource, Seen: "2026-11-29",
		},
		{
			Name: "mistral-custom-tools", Of: of, Own: true, Word: `"custom"`, Ask: NoCustomTools{},
			Says: "body.%s.function: Field required", Source: mistralSource, Seen: "2026-11-29",
		},
		{
			Name: "mistral-functions", Of: of, Own: true, Word: `"functions"`, Ask: NoFunctions{},
			Says: "body.%s: Extra inputs are not permitted", Source: mistralSource, Seen: "2026-11-29",
		},
		{
			Name: "mistral-allowed-tools", Of: of, Own: true, Word: `"allowed_tools"`, Ask: NoAllowedTools{},
			Says: "body.%s.function: Field required", Source: mistralSource, Seen: seen,
		},
	}
}

// groq returns Groq's rules.
func groq() []Rule {
	of := []Of{{Provider: "groq", Format: chat}}
	return []Rule{
		{
			Name: "groq-reasoning-effort", Of: of, Own: true, Word: `"reasoning_effort"`,
			Ask: Words{
				Field: "reasoning_effort", Words: []string{"none", "default", "low", "medium", "high"},
				Instead: map[string]string{"minimal": "low", "xhigh": "high", "max": "high"},
			},
			Says: "'%s' must be one of `none`, `default`, `low`, `medium` or `high`", Source: groqSource, Seen: seen,
		},
		{
			Name: "groq-service-tier", Of: of, Own: true, Word: `"service_tier"`,
			Ask:  Words{Field: "service_tier", Words: []string{"auto", "on_demand", "flex", "performance"}},
			Says: "'%s' must be one of `auto`, `on_demand`, `flex` or `performance`", Source: groqSource, Seen: seen,
		},
		{
			Name: "groq-modalities", Of: of, Own: true, Word: `"modalities"`, Ask: UsualModalities{},
			Says: "property '%s' is unsupported", Source: groqSource, Seen: seen,
		},
		{
			Name: "groq-documents", Of: of, Own: true, Word: `"file"`, Ask: NoDocuments{},
			Says: "'%s' has a part that is none of `text`, `image_url` and `document`", Source: groqSource, Seen: seen,
		},
		{
			Name: "groq-refusals", Of: of, Own: true, Word: `"refusal"`, Ask: NoRefusals{},
			Says: "property '%s' is unsupported", Source: groqSource, Seen: seen,
		},
		{
			Name: "groq-thinking", Of: of, Own: true, Word: `"reasoning_content"`,
			Ask:    MessageMembers{Without: reasoningContent},
			Says:   "for 'role:assistant' the following must be satisfied: property '%s' is unsupported",
			Source: "https://github.com/tashfeenahmed/freellmapi/issues/1070", Seen: seen,
		},
		{
			Name: "groq-annotations", Of: of, Own: true, Word: `"annotations"`,
			Ask:    MessageMembers{Without: "annotations"},
			Says:   "for 'role:assistant' the following must be satisfied: property '%s' is unsupported",
			Source: groqSource, Seen: seen,
		},
		{
			Name: "groq-sounds", Of: of, Own: true, Word: `"input_audio"`, Ask: NoSounds{},
			Says:   "'%s' has a part that is none of `text`, `image_url` and `document`, but a sound",
			Source: groqSource, Seen: "2026-11-29",
		},
		{
			Name: "groq-custom-tools", Of: of, Own: true, Word: `"custom"`, Ask: NoCustomTools{},
			Says: "property '%s.custom' is unsupported", Source: groqSource, Seen: "2026-11-29",
		},
		{
			Name: "groq-allowed-tools", Of: of, Own: true, Word: `"allowed_tools"`, Ask: NoAllowedTools{},
			Says: "'%s' must be a string or a function", Source: groqSource, Seen: seen,
		},
	}
}

// cerebras returns Cerebras' rules.
func cerebras() []Rule {
	of := []Of{{Provider: "cerebras", Format: chat}}
	return []Rule{
		{
			Name: "cerebras-thinking", Of: of, Own: true, Word: `"reasoning_content"`,
			Ask:    MessageMembers{Without: reasoningContent},
			Says:   "property '%s' is unsupported",
			Source: "https://github.com/Kilo-Org/kilocode/issues/10375", Seen: seen,
		},
		{
			Name: "cerebras-refusals", Of: of, Own: true, Word: `"refusal"`, Ask: NoRefusals{},
			Says: "property '%s' is unsupported", Source: cerebrasSource, Seen: "2026-11-29",
		},
		{
			Name: "cerebras-annotations", Of: of, Own: true, Word: `"annotations"`,
			Ask:  MessageMembers{Without: "annotations"},
			Says: "property '%s' is unsupported", Source: cerebrasSource, Seen: "2026-11-29",
		},
		{
			Name: "cerebras-documents", Of: of, Own: true, Word: `"file"`, Ask: NoDocuments{},
			Says: "'%s' has a part that is none of `text` and `image_url`", Source: cerebrasSource, Seen: "2026-11-29",
		},
		{
			Name: "cerebras-sounds", Of: of, Own: true, Word: `"input_audio"`, Ask: NoSounds{},
			Says:   "'%s' has a part that is none of `text` and `image_url`, but a sound",
			Source: cerebrasSource, Seen: "2026-11-29",
		},
		{
			Name: "cerebras-custom-tools", Of: of, Own: true, Word: `"custom"`, Ask: NoCustomTools{},
			Says: "property '%s.custom' is unsupported", Source: cerebrasSource, Seen: "2026-11-29",
		},
		{
			Name: "cerebras-functions", Of: of, Own: true, Word: `"functions"`, Ask: NoFunctions{},
			Says: "property '%s' is unsupported", Source: cerebrasSource, Seen: "2026-11-29",
		},
		{
			Name: "cerebras-function-calls", Of: of, Own: true, Word: `"function_call"`,
			Ask:  MessageMembers{Without: "function_call"},
			Says: "property '%s' is unsupported", Source: cerebrasSource, Seen: "2026-11-29",
		},
		{
			Name: "cerebras-allowed-tools", Of: of, Own: true, Word: `"allowed_tools"`, Ask: NoAllowedTools{},
			Says: "property '%s.allowed_tools' is unsupported", Source: cerebrasSource, Seen: "2026-11-29",
		},
		{
			Name: "cerebras-reasoning-effort", Of: of, Own: true, Word: `"reasoning_effort"`,
			Ask: Words{
				Field: "reasoning_effort", Words: []string{"none", "low", "medium", "high"},
				Instead: map[string]string{"minimal": "low", "xhigh": "high", "max": "high"},
			},
			Says: "'%s' must be one of `none`, `low`, `medium` or `high`", Source: cerebrasSource, Seen: "2026-11-29",
		},
	}
}

// openRouter returns OpenRouter's rules.
func openRouter() []Rule {
	of := []Of{{Provider: "openrouter", Format: chat}}
	return []Rule{
		{
			Name: "openrouter-end-user", Of: of, Own: true, Word: `"user":`,
			Ask:    EndUser{Form{Signs: AnySign, Least: 1, Most: 128}},
			Says:   "user: String must contain at most 128 character(s), not %s",
			Source: "https://github.com/looplj/axonhub/issues/1669", Seen: seen,
		},
		{
			Name: "openrouter-refusals", Of: of, Own: true, Word: `"refusal"`, Ask: refusalMembers(),
			Says: "%s: Invalid discriminator value", Source: openRouterSource, Seen: "2026-11-29",
		},
		{
			Name: "openrouter-custom-tools", Of: of, Own: true, Word: `"custom"`, Ask: NoCustomTools{},
			Says: "%s.function: Required", Source: openRouterSource, Seen: "2026-11-29",
		},
		{
			Name: "openrouter-functions", Of: of, Own: true, Word: `"functions"`, Ask: NoFunctions{},
			Says: "%s: Unrecognized key", Source: openRouterSource, Seen: "2026-11-29",
		},
		{
			Name: "openrouter-function-calls", Of: of, Own: true, Word: `"function_call"`,
			Ask:  MessageMembers{Without: "function_call"},
			Says: "%s: Unrecognized key", Source: openRouterSource, Seen: "2026-11-29",
		},
		{
			Name: "openrouter-allowed-tools", Of: of, Own: true, Word: `"allowed_tools"`, Ask: NoAllowedTools{},
			Says:   "%s: Invalid input",
			Source: "https://openrouter.ai/docs/client-sdks/typescript/models/chattoolchoice.md", Seen: seen,
		},
	}
}
