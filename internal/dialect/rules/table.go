package rules

import "slices"

// Names of the wire formats.
const (
	chat      = "openai"
	responses = "responses"
	messages  = "anthropic"
	converse  = "bedrock"
	google    = "gemini"
	command   = "cohere"
	native    = "ollama"
)

// thinkers are the words in the names of OpenAI's reasoning models.
var thinkers = []string{"gpt-5", "gpt-6", "o1", "o3", "o4-mini", "codex-mini"}

// seen is the day on which the sources were read; stored copies of pages may be older.
const seen = "2026-11-28"

// Table returns all rules. Rules of ids and order come first, because others depend on them, and rules of a provider
// before those of a wire format.
func Table() []Rule {
	return slices.Concat(callIDs(), contents(), orders(), mistral(), mistralSchema(), mistralMessages(), groq(),
		cerebras(), openRouter(), xAI(), chatVendors(), openAI(), anthropic(), claude(), bedrock(), caches(),
		refusedMarks(), gemini(), cohere(), ollama(), logprobs())
}

// callIDs returns the rules for ids of tool calls.
func callIDs() []Rule {
	return []Rule{
		{
			Name: "mistral-call-ids", Of: []Of{{Provider: "mistral"}, {Format: chat, Models: []string{"mistralai"}}},
			Own: true, Word: `"tool_call`, Ask: CallIDs{Form{Least: 9, Most: 9}},
			Says:   "Tool call id was %s but must be a-z, A-Z, 0-9, with a length of 9.",
			Source: "https://github.com/karthink/gptel/issues/1203", Seen: seen,
		},
		{
			Name: "openai-chat-call-ids", Of: []Of{{Format: chat}},
			Ask: CallIDs{Form{Signs: AnySign, Least: 1, Most: 40}},
			Says: "Invalid 'messages[].tool_calls[].id': string too long. Expected a string with maximum length " +
				"40, but got %s instead.",
			Source: "https://github.com/camel-ai/camel/issues/2215", Seen: seen,
		},
		{
			Name: "openai-responses-call-ids", Of: []Of{{Format: responses}},
			Ask: CallIDs{Form{Signs: AnySign, Least: 1, Most: 64}},
			Says: "Invalid 'input[].call_id': string too long. Expected a string with maximum length 64, but got " +
				"%s instead.",
			Source: "https://github.com/AnswerDotAI/fastllm/issues/45", Seen: seen,
		},
		{
			Name: "anthropic-call-ids", Of: []Of{{Format: messages}},
			Ask:    CallIDs{Form{Signs: "_-", Least: 1, Most: 256}},
			Says:   "messages.1.content.0.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$': %s",
			Source: "https://github.com/maximhq/bifrost/issues/5097", Seen: seen,
		},
		{
			Name: "bedrock-call-ids", Of: []Of{{Format: converse}},
			Ask: CallIDs{Form{Signs: "_-", Least: 1, Most: 64}},
			Says: "Value %s at 'messages.content.toolUse.toolUseId' failed to satisfy constraint: Member must " +
				"satisfy regular expression pattern: [a-zA-Z0-9_-]+",
			Source: "https://github.com/boto/botocore/blob/develop/botocore/data/bedrock-runtime/2023-09-30/service-2.json",
			Seen:   seen,
		},
		{
			Name: "bedrock-result-citations", Of: []Of{{Format: converse, Models: []string{"anthropic.claude"}}},
			Ask:    UncitedResults{},
			Says:   "Citations are not supported in tool result documents: message %s",
			Source: "https://github.com/boto/boto3/issues/4648", Seen: "2026-11-29",
		},
	}
}

// mistral returns Mistral's rules for the order of messages.
func mistral() []Rule {
	return []Rule{
		{
			Name: "mistral-bridged-results", Of: []Of{
				{Provider: "mistral"},
				{Format: chat, Models: []string{"mistralai"}},
			},
			Own: true, Word: `"tool_call_id"`, Ask: BridgedResults{},
			Says:   "Unexpected role 'user' after role 'tool' at message %s",
			Source: "https://github.com/avante-corp/avante.nvim/pull/2695", Seen: seen,
		},
		{
			Name: "mistral-last-message", Of: []Of{{Provider: "mistral"}},
			Own: true, Word: `"assistant"`, Ask: LastPrefix{},
			Says:   "Expected last role User or Tool (or Assistant with prefix True) for serving but got %s",
			Source: "https://github.com/langchain-ai/langchain/issues/23703", Seen: seen,
		},
	}
}

// kimisThatDoNotThink are the words in the names of Moonshot's models that never think.
var kimisThatDoNotThink = []string{"moonshot-v1", "kimi-k2-0711", "kimi-k2-0905", "kimi-k2-turbo"}

// chatVendors returns the rules of vendors with their own variants of Chat Completions.
func chatVendors() []Rule {
	return []Rule{
		{
			Name: "no-developer", Of: []Of{
				{Provider: "mistral"},
				{Provider: "deepseek"},
				{Provider: "moonshot"},
				{Provider: "perplexity"},
			},
			Own: true, Word: `"developer"`, Ask: noDeveloper(),
			Says:   "messages[0].role: unknown variant `%s`, expected one of `system`, `user`, `assistant`, `tool`",
			Source: "https://github.com/earendil-works/pi/issues/1048", Seen: seen,
		},
		{
			Name: "deepseek-thinking-back", Of: []Of{{Provider: "deepseek", Format: chat}},
			Own: true, Word: `"tool_calls"`, Ask: ThinkingBack{"reasoning_content", true},
			Says: "Missing `reasoning_content` field in the assistant message at message index %s. The " +
				"reasoning_content in the thinking mode must be passed back to the API.",
			Source: "https://api-docs.deepseek.com/guides/thinking_mode", Seen: seen,
		},
		{
			Name: "deepseek-documents", Of: []Of{{Provider: "deepseek", Format: chat}},
			Own: true, Word: `"file"`, Ask: NoDocuments{},
			Says:   "%s: file must have a file_id or file_data",
			Source: "https://github.com/danny-avila/LibreChat/issues/16235", Seen: "2026-11-29",
		},
		{
			Name: "moonshot-thinking-back", Of: []Of{{Provider: "moonshot", Format: chat, Except: kimisThatDoNotThink}},
			Own: true, Word: `"tool_calls"`, Ask: ThinkingBack{"reasoning_content", true},
			Says:   "thinking is enabled but reasoning_content is missing in assistant tool call message at index %s",
			Source: "https://github.com/continuedev/continue/issues/11600", Seen: seen,
		},
		{
			Name: "openrouter-thinking-back", Of: []Of{
				{Provider: "openrouter", Format: chat},
				{Provider: "vllm", Format: chat},
			},
			Ask:    ThinkingBack{"reasoning", false},
			Says:   "thinking is enabled but reasoning_content is missing in assistant tool call message at index %s",
			Source: "https://github.com/anomalyco/opencode/issues/23646", Seen: seen,
		},
	}
}

// xAI returns xAI's rules. Its reasoning models refuse penalties and stop; other models of the fourth generation
// refuse only the penalties, even if zero, which clients for OpenAI send.
func xAI() []Rule {
	grok := []string{"grok-4", "grok-3-mini", "grok-code-fast", "grok-build", "grok-latest"}
	return []Rule{
		{
			Name: "xai-penalties", Of: []Of{{Provider: "xai", Format: chat, Models: grok}},
			Own: true, Word: `_penalty"`, Ask: NoSampling{[]string{"presence_penalty", "frequency_penalty"}},
			Says:   "Argument not supported on this model: %s",
			Source: "https://github.com/lobehub/lobehub/issues/13332", Seen: seen,
		},
		{
			Name: "xai-stop", Of: []Of{
				{Provider: "xai", Format: chat, Models: grok, Except: []string{"non-reasoning"}},
			},
			Own: true, Word: `"stop"`, Ask: NoSampling{[]string{"stop"}},
			Says:   "Argument not supported on this model: %s",
			Source: "https://docs.x.ai/docs/guides/reasoning", Seen: seen,
		},
	}
}

// openAI returns OpenAI's rules, which also apply to other providers that speak its formats.
func openAI() []Rule {
	return []Rule{
		{
			Name: "openai-tool-names", Of: []Of{{Format: chat}, {Format: responses}},
			Ask:    ToolNames{Form{Signs: "_-", Least: 1, Most: 64}},
			Says:   "Invalid 'tools[].function.name': %s does not match '^[a-zA-Z0-9_-]{1,64}$'.",
			Source: "https://github.com/mcp-use/mcp-use/issues/90", Seen: seen,
		},
		{
			Name: "openai-end-user", Of: []Of{{Format: chat}, {Format: responses}},
			Ask:    EndUser{Form{Signs: AnySign, Least: 1, Most: 64}},
			Says:   "Invalid 'user': string too long. Expected a string with maximum length 64, but got %s instead.",
			Source: "https://github.com/maximhq/bifrost/pull/1000", Seen: seen,
		},
		{
			Name: "openai-stop-sequences", Of: []Of{{Format: chat}},
			Ask: MostStops{4},
			Says: "Invalid 'stop': array too long. Expected an array with maximum length 4, but got an array with " +
				"length %s instead.",
			Source: "https://platform.openai.com/docs/api-reference/chat/create", Seen: seen,
		},
		{
			Name: "openai-least-output", Of: []Of{{Format: responses}},
			Ask: LeastOutput{16},
			Says: "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16, but got %s " +
				"instead.",
			Source: "https://github.com/vectorize-io/hindsight/issues/58", Seen: seen,
		},
		{
			Name: "openai-sampling", Of: []Of{
				{Format: chat, Models: thinkers, Except: []string{"chat"}},
				{Format: responses, Models: thinkers, Except: []string{"chat"}},
			},
			Ask:    NoSampling{[]string{"temperature", "top_p", "frequency_penalty", "presence_penalty", "stop"}},
			Says:   "Unsupported parameter: '%s' is not supported with this model.",
			Source: "https://platform.openai.com/docs/guides/reasoning", Seen: seen,
		},
		{
			Name: "openai-tools-in-responses", Of: []Of{
				{
					Provider: "openai", Format: chat, Models: []string{"gpt-5.4", "gpt-5.5", "gpt-5.6", "gpt-6"},
					Except: []string{"chat"},
				},
				{
					Provider: "azure", Format: chat, Models: []string{"gpt-5.4", "gpt-5.5", "gpt-5.6", "gpt-6"},
					Except: []string{"chat"},
				},
			},
			Ask: ToolsElsewhere{responses},
			Says: "Function tools with reasoning_effort are not supported for %s in /v1/chat/completions. To use " +
				"function tools, use /v1/responses or set reasoning_effort to 'none'.",
			Source: "https://github.com/BerriAI/litellm/pull/34569", Seen: seen,
		},
	}
}

// orders returns the rules for tool results and their order.
func orders() []Rule {
	return []Rule{
		{
			Name: "anthropic-one-result", Of: []Of{{Format: messages}}, Ask: OneResult{},
			Says:   "each tool_use must have a single result. Found multiple `tool_result` blocks with id: %s",
			Source: "https://github.com/QwenLM/qwen-code/pull/8163", Seen: "2026-11-29",
		},
		{
			Name: "bedrock-one-result", Of: []Of{{Format: converse}}, Ask: OneResult{},
			Says: "The number of toolResult blocks at messages.content exceeds the number of toolUse blocks of " +
				"previous turn: %s",
			Source: "https://github.com/strands-agents/harness-sdk/issues/1435", Seen: "2026-11-29",
		},
		{
			Name: "gemini-one-result", Of: []Of{{Format: google}}, Ask: OneResult{Counted: true},
			Says: "Please ensure that the number of function response parts is equal to the number of function " +
				"call parts of the function call turn: %s",
			Source: "https://github.com/google-gemini/gemini-cli/issues/5443", Seen: "2026-11-29",
		},
		{
			Name: "chat-results-next", Of: []Of{{Format: chat}, {Format: converse}}, Ask: ResultsNext{},
			Says: "An assistant message with 'tool_calls' must be followed by tool messages responding to each " +
				"'tool_call_id'. The following tool_call_ids did not have response messages: %s",
			Source: "https://github.com/livekit/agents/issues/1977", Seen: seen,
		},
		{
			Name: "anthropic-results-next", Of: []Of{{Format: messages}}, Ask: ResultsNext{},
			Says: "`tool_use` ids were found without `tool_result` blocks immediately after: %s. Each `tool_use` " +
				"block must have a corresponding `tool_result` block in the next message.",
			Source: "https://github.com/anthropics/claude-code/issues/1237", Seen: "2026-11-29",
		},
		{
			Name: "chat-results-shown", Of: []Of{{Format: chat}},
			Ask: ResultsShown{},
			Says: "Invalid 'messages[%s]'. Image URLs are only allowed for messages with role 'user', but this " +
				"message with role 'tool' contains an image URL.",
			Source: "https://github.com/dreadnode/rigging/issues/41", Seen: seen,
		},
		{
			Name: "cohere-results-shown", Of: []Of{{Format: command}},
			Ask:    ResultsShown{},
			Says:   "invalid request: messages[%s].content of a tool takes blocks of the types text and document.",
			Source: "https://github.com/cohere-ai/cohere-typescript/blob/main/src/api/types/ToolContent.ts", Seen: seen,
		},
		{
			Name: "gemini-results-next", Of: []Of{{Format: google}}, Ask: ResultsNext{Beside: true},
			Says:   "Please ensure that function response turn comes immediately after a function call turn: %s",
			Source: "https://github.com/langchain-ai/langchain/issues/27799", Seen: "2026-11-29",
		},
	}
}

// contents returns the rules for messages without content.
func contents() []Rule {
	return []Rule{
		{
			Name: "anthropic-empty-texts", Of: []Of{{Format: messages}}, Ask: NoEmptyTexts{Blank: true},
			Says:   "messages: text content blocks must contain non-whitespace text: %s",
			Source: "https://github.com/anthropics/claude-code/issues/23440", Seen: "2026-11-29",
		},
		{
			Name: "bedrock-empty-texts", Of: []Of{{Format: converse}}, Ask: NoEmptyTexts{Blank: true},
			Says: "The text field in the ContentBlock object at %s is blank. Add text to the text field, and try " +
				"again.",
			Source: "https://github.com/aws/aws-sdk-net/pull/4015", Seen: "2026-11-29",
		},
		{
			Name: "gemini-empty-texts", Of: []Of{{Format: google}}, Ask: NoEmptyTexts{},
			Says: "Unable to submit request because it has an empty text parameter. Add a value to the parameter " +
				"and try again: %s",
			Source: "https://github.com/google-gemini/deprecated-generative-ai-python/issues/697", Seen: "2026-11-29",
		},
		{
			Name: "anthropic-something-said", Of: []Of{{Format: messages}}, Ask: SomethingSaid{},
			Says:   "%s: at least one message is required",
			Source: "https://github.com/langgenius/dify/issues/25953", Seen: "2026-11-29",
		},
		{
			Name: "bedrock-something-said", Of: []Of{{Format: converse}}, Ask: SomethingSaid{},
			Says: "A conversation must start with a user message. Try again with a conversation that starts with a " +
				"user message: %s",
			Source: "https://github.com/elastic/kibana/pull/246393", Seen: "2026-11-29",
		},
		{
			Name: "bedrock-user-first", Of: []Of{{Format: converse}}, Ask: UserFirst{},
			Says: "A conversation must start with a user message. Try again with a conversation that starts with a " +
				"user message, not the %s's.",
			Source: "https://github.com/strands-agents/harness-sdk/issues/2085", Seen: "2026-11-29",
		},
		{
			Name: "bedrock-alternation", Of: []Of{{Format: converse}}, Ask: alternation(),
			Says: "A conversation must alternate between user and assistant roles. Make sure the conversation " +
				"alternates between user and assistant roles and try again: message %s",
			Source: "https://github.com/langchain-ai/langchain-aws/issues/192", Seen: "2026-11-29",
		},
		{
			Name: "gemini-something-said", Of: []Of{{Format: google}}, Ask: SomethingSaid{},
			Says:   "* GenerateContentRequest.contents: contents is not specified (%s)",
			Source: "https://github.com/langchain-ai/langchain-google/issues/1393", Seen: "2026-11-29",
		},
	}
}
