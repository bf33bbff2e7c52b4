package dialect_test

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"weir/internal/dialect"
	"weir/internal/llm"
)

// The outcomes of a field at a target with another wire format.
const (
	isCarried = "carried" // the provider's request differs with it
	isDropped = "dropped" // the provider's request is the same without it, and it is reported
	isUsual   = "usual"   // it asks for the default: the request means the same without it
	isRefused = "refused" // 400, which names the field and the remedy
	isPart    = "part"    // it is carried in part, and named
)

// field describes one field of a client API in its wire format.
type field struct {
	name  string // the vendor's name, with the objects around it
	value string // JSON: the members of the body that set the field; @ stands for the name
	fate  string // at all targets
	but   string // at some: "refused at ollama, dropped at bedrock"
	other string // its name among the dropped fields; empty for the same
}

// bodies holds minimal requests of each wire format, to which the fields are added.
var bodies = map[string]string{
	"native":    `{"messages":[{"role":"user","prompt":"Hi"}]}`,
	"openai":    `{"messages":[{"role":"user","content":"Hi"}]}`,
	"responses": `{"input":"Hi"}`,
	"anthropic": `{"max_tokens":99,"messages":[{"role":"user","content":"Hi"}]}`,
	"gemini":    `{"contents":[{"role":"user","parts":[{"text":"Hi"}]}]}`,
	"bedrock":   `{"messages":[{"role":"user","content":[{"text":"Hi"}]}]}`,
	"cohere":    `{"messages":[{"role":"user","content":"Hi"}]}`,
	"ollama":    `{"messages":[{"role":"user","content":"Hi"}]}`,
}

// models names the models that accept the most: sampling together with thinking.
var models = map[string]string{
	"openai": "gpt-4.1", "responses": "gpt-4.1", "anthropic": "claude-sonnet-4-5", "gemini": "gemini-3-flash",
	"bedrock": "us.anthropic.claude-sonnet-4-5-v1:0", "cohere": "command-a-03-2025", "ollama": "qwen3",
}

// fields lists all fields of all wire formats of clients or of the simulator. Sampling, labels, caches, service tiers
// and reports in addition to the answer are preferences. Fields are essential if they add to the context or the tools
// of the model, state the kind or form of the answer, bound the work, or force or forbid tools.
//
// https://platform.openai.com/docs/api-reference/chat/create,
// https://platform.openai.com/docs/api-reference/responses/create, https://platform.claude.com/docs/en/api/messages,
// https://ai.google.dev/api/generate-content,
// https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html,
// https://docs.cohere.com/reference/chat, https://docs.ollama.com/api/chat (copies of 2026).
var fields = map[string][]field{
	"native": {
		{name: "max_tokens", value: `"@":9`, fate: isCarried},
		{name: "temperature", value: `"@":0.5`, fate: isCarried},
		{name: "top_p", value: `"@":0.5`, fate: isCarried},
		{name: "stop", value: `"@":"x"`, fate: isCarried, but: "refused at responses"},
	},
	"openai": {
		{name: "audio", value: `"@":{"voice":"alloy","format":"mp3"}`, fate: isRefused},
		{name: "frequency_penalty", value: `"@":0.5`, fate: isCarried, but: "dropped at responses anthropic bedrock"},
		{name: "best_of", value: `"@":2`, fate: isDropped},
		{name: "function_call", value: `"functions":[{"name":"f"}],"@":{"name":"f"}`, fate: isCarried, but: "refused at ollama", other: "tool_choice"},
		{name: "functions", value: `"@":[{"name":"f"}]`, fate: isCarried},
		{name: "logit_bias", value: `"@":{"1":2}`, fate: isDropped},
		{name: "logprobs", value: `"@":true`, fate: isCarried, but: "dropped at anthropic bedrock cohere"},
		{name: "top_logprobs", value: `"logprobs":true,"@":2`, fate: isCarried, but: "dropped at anthropic bedrock cohere"},
		{name: "max_completion_tokens", value: `"@":9`, fate: isCarried},
		{name: "max_tokens", value: `"@":9`, fate: isCarried},
		{name: "metadata", value: `"@":{"a":"b"}`, fate: isDropped},
		{name: "modalities", value: `"@":["text","audio"]`, fate: isRefused},
		{name: "modalities", value: `"@":["text"]`, fate: isUsual},
		{name: "moderation", value: `"@":{"model":"omni-moderation-latest","policy":{"output":{"mode":"block"}}}`, fate: isRefused},
		{name: "n", value: `"@":2`, fate: isRefused, but: "carried at gemini"},
		{name: "n", value: `"@":1`, fate: isUsual, but: "carried at gemini"},
		{name: "parallel_tool_calls", value: `"tools":[{"type":"function","function":{"name":"f"}}],"@":false`, fate: isDropped, but: "carried at responses anthropic"},
		{name: "prediction", value: `"@":{"type":"content","content":"Hello"}`, fate: isDropped},
		{name: "presence_penalty", value: `"@":0.5`, fate: isCarried, but: "dropped at responses anthropic bedrock"},
		{name: "prompt_cache_key", value: `"@":"k"`, fate: isDropped},
		{name: "prompt_cache_options", value: `"@":{"ttl":"30m"}`, fate: isDropped},
		{name: "prompt_cache_retention", value: `"@":"24h"`, fate: isDropped},
		{name: "reasoning_effort", value: `"@":"high"`, fate: isCarried},
		{name: "response_format", value: `"@":{"type":"json_schema","json_schema":{"name":"n","schema":{"type":"object"}}}`, fate: isCarried},
		{name: "response_format", value: `"@":{"type":"json_object"}`, fate: isCarried, but: "part at anthropic bedrock"},
		{name: "response_format", value: `"@":{"type":"grammar","grammar":"g"}`, fate: isRefused},
		{name: "safety_identifier", value: `"@":"s"`, fate: isDropped},
		{name: "seed", value: `"@":7`, fate: isCarried, but: "dropped at responses anthropic bedrock"},
		{name: "service_tier", value: `"@":"flex"`, fate: isDropped},
		{name: "stop", value: `"@":["x"]`, fate: isCarried, but: "refused at responses"},
		{name: "stop", value: `"@":["\n"]`, fate: isCarried, but: "refused at responses anthropic"},
		{name: "stop", value: `"@":[]`, fate: isUsual},
		{name: "store", value: `"@":true`, fate: isDropped},
		{name: "temperature", value: `"@":0.5`, fate: isCarried},
		{name: "tool_choice", value: `"tools":[{"type":"function","function":{"name":"f"}}],"@":"required"`, fate: isCarried, but: "refused at ollama"},
		{name: "tool_choice", value: `"tools":[{"type":"function","function":{"name":"f"}}],"@":"none"`, fate: isCarried},
		{name: "tool_choice", value: `"tools":[{"type":"function","function":{"name":"f"}}],"@":{"type":"function","function":{"name":"f"}}`, fate: isCarried, but: "refused at ollama"},
		{name: "tool_choice", value: `"tools":[{"type":"function","function":{"name":"f"}},{"type":"function","function":{"name":"g"}}],` +
			`"@":{"type":"allowed_tools","allowed_tools":{"mode":"auto","tools":[{"type":"function","function":{"name":"g"}}]}}`, fate: isCarried},
		{name: "tool_choice", value: `"tools":[{"type":"function","function":{"name":"f"}},{"type":"function","function":{"name":"g"}}],` +
			`"@":{"type":"allowed_tools","allowed_tools":{"mode":"required","tools":[{"type":"function","function":{"name":"g"}}]}}`, fate: isCarried, but: "refused at ollama"},
		{name: "tool_choice", value: `"tools":[{"type":"function","function":{"name":"f"}}],` +
			`"@":{"type":"allowed_tools","allowed_tools":{"mode":"auto","tools":[{"type":"function","function":{"name":"g"}}]}}`, fate: isRefused},
		{name: "tool_choice", value: `"tools":[{"type":"function","function":{"name":"f"}}],` +
			`"@":{"type":"allowed_tools","allowed_tools":{"mode":"auto","tools":[{"type":"custom","custom":{"name":"g"}}]}}`, fate: isRefused},
		{name: "tool_choice", value: `"@":{"type":"custom","custom":{"name":"g"}}`, fate: isRefused},
		{name: "tools", value: `"@":[{"type":"function","function":{"name":"f"}}]`, fate: isCarried},
		{name: "tools", value: `"@":[{"type":"custom","custom":{"name":"f"}}]`, fate: isCarried},
		{name: "tools", value: `"@":[{"type":"file_search"}]`, fate: isRefused},
		{name: "tools", value: `"@":[{"type":"web_search"}]`, fate: isRefused, but: "carried at responses anthropic gemini"},
		{name: "tools", value: `"@":[{"type":"openrouter:web_search"}]`, fate: isRefused, but: "carried at responses anthropic gemini"},
		{name: "tools", value: `"@":[{"type":"browser_search"}]`, fate: isRefused, but: "carried at responses anthropic gemini"},
		{name: "tool_choice", value: `"tools":[{"type":"custom","custom":{"name":"f"}}],"@":{"type":"custom","custom":{"name":"f"}}`, fate: isCarried, but: "refused at ollama"},
		{name: "tool_choice", value: `"tools":[{"type":"custom","custom":{"name":"f"}}],"@":{"type":"custom","custom":{"name":"g"}}`, fate: isRefused},
		{name: "top_logprobs", value: `"@":2`, fate: isDropped},
		{name: "top_p", value: `"@":0.5`, fate: isCarried},
		{name: "user", value: `"@":"u"`, fate: isCarried, but: "dropped at gemini bedrock cohere ollama"},
		{name: "verbosity", value: `"@":"low"`, fate: isDropped},
		{name: "web_search_options", value: `"@":{}`, fate: isRefused, but: "carried at responses anthropic gemini"},
		{name: "messages.audio", value: `"messages":[{"role":"user","content":"Hi"},{"role":"assistant","audio":{"id":"audio_1"}},{"role":"user","content":"So?"}]`, fate: isRefused},
		// of similar servers and vendors
		{name: "top_k", value: `"@":5`, fate: isCarried, but: "dropped at responses"},
		{name: "documents", value: `"@":[{"text":"t"}]`, fate: isRefused},
		{name: "documents", value: `"@":[]`, fate: isUsual},
		{name: "grammar", value: `"@":"root ::= \"a\""`, fate: isRefused},
		{name: "guided_choice", value: `"@":["a"]`, fate: isRefused},
		{name: "guided_grammar", value: `"@":"g"`, fate: isRefused},
		{name: "guided_json", value: `"@":{"type":"object"}`, fate: isRefused},
		{name: "guided_regex", value: `"@":"a+"`, fate: isRefused},
		{name: "json_schema", value: `"@":{"type":"object"}`, fate: isRefused},
		{name: "mcp_servers", value: `"@":[{"url":"u"}]`, fate: isRefused},
		{name: "mcp_servers", value: `"@":[]`, fate: isUsual},
		{name: "min_p", value: `"@":0.1`, fate: isDropped},
		{name: "plugins", value: `"@":[{"id":"file-parser"}]`, fate: isRefused},
		{name: "plugins", value: `"@":[{"id":"web"}]`, fate: isRefused, but: "carried at responses anthropic gemini"},
		{name: "plugins", value: `"@":[{"id":"web","enabled":false}]`, fate: isDropped},
		{name: "search_domain_filter", value: `"@":["a.example"]`, fate: isRefused, but: "carried at responses anthropic"},
		{name: "search_parameters", value: `"@":{"mode":"on"}`, fate: isRefused, but: "carried at responses anthropic gemini"},
		{name: "search_parameters", value: `"@":{"mode":"off"}`, fate: isDropped},
		{name: "search_parameters", value: `"@":{"sources":[{"type":"x"}]}`, fate: isRefused},
		{name: "search_recency_filter", value: `"@":"week"`, fate: isDropped},
		{name: "structured_outputs", value: `"@":{"choice":["a"]}`, fate: isRefused},
	},
	"responses": {
		{name: "background", value: `"@":false`, fate: isUsual},
		{name: "context_management", value: `"@":[{"type":"compaction","compact_threshold":1000}]`, fate: isDropped},
		{name: "conversation", value: `"@":"conv_1"`, fate: isRefused},
		{name: "include", value: `"@":["message.output_text.logprobs"]`, fate: isCarried, but: "dropped at anthropic bedrock cohere"},
		{name: "instructions", value: `"@":"Be brief."`, fate: isCarried},
		{name: "max_output_tokens", value: `"@":9`, fate: isCarried},
		{name: "max_tool_calls", value: `"@":3`, fate: isRefused},
		{name: "max_turns", value: `"@":3`, fate: isRefused},
		{name: "metadata", value: `"@":{"a":"b"}`, fate: isDropped},
		{name: "moderation", value: `"@":{"model":"omni-moderation-latest"}`, fate: isRefused},
		{name: "parallel_tool_calls", value: `"tools":[{"type":"function","name":"f"}],"@":false`, fate: isDropped, but: "carried at openai anthropic"},
		{name: "plugins", value: `"@":[{"id":"file-parser"}]`, fate: isRefused},
		{name: "plugins", value: `"@":[{"id":"web"}]`, fate: isRefused, but: "carried at anthropic gemini"},
		{name: "previous_response_id", value: `"@":"resp_1"`, fate: isRefused},
		{name: "prompt", value: `"@":{"id":"pmpt_1"}`, fate: isRefused},
		{name: "prompt_cache_key", value: `"@":"k"`, fate: isDropped},
		{name: "prompt_cache_options", value: `"@":{"ttl":"30m"}`, fate: isDropped},
		{name: "prompt_cache_retention", value: `"@":"24h"`, fate: isDropped},
		{name: "reasoning.effort", value: `"reasoning":{"effort":"high"}`, fate: isCarried},
		{name: "reasoning.summary", value: `"reasoning":{"summary":"auto"}`, fate: isDropped},
		{name: "safety_identifier", value: `"@":"s"`, fate: isDropped},
		{name: "service_tier", value: `"@":"flex"`, fate: isDropped},
		{name: "store", value: `"@":true`, fate: isDropped},
		{name: "stream_options", value: `"@":{"include_obfuscation":false}`, fate: isDropped},
		{name: "temperature", value: `"@":0.5`, fate: isCarried},
		{name: "text.format", value: `"text":{"format":{"type":"json_schema","name":"n","schema":{"type":"object"}}}`, fate: isCarried},
		{name: "text.format", value: `"text":{"format":{"type":"grammar","syntax":"lark"}}`, fate: isRefused},
		{name: "text.verbosity", value: `"text":{"verbosity":"low"}`, fate: isDropped},
		{name: "tool_choice", value: `"tools":[{"type":"function","name":"f"}],"@":"required"`, fate: isCarried, but: "refused at ollama"},
		{name: "tool_choice", value: `"tools":[{"type":"function","name":"f"},{"type":"function","name":"g"}],` +
			`"@":{"type":"allowed_tools","mode":"auto","tools":[{"type":"function","name":"g"}]}`, fate: isCarried},
		{name: "tool_choice", value: `"tools":[{"type":"web_search"},{"type":"function","name":"g"}],` +
			`"@":{"type":"allowed_tools","mode":"auto","tools":[{"type":"function","name":"g"}]}`, fate: isCarried},
		{name: "tool_choice", value: `"tools":[{"type":"function","name":"f"}],` +
			`"@":{"type":"allowed_tools","mode":"auto","tools":[{"type":"mcp","server_label":"s"}]}`, fate: isRefused},
		{name: "tool_choice", value: `"@":{"type":"file_search"}`, fate: isRefused},
		{name: "tools", value: `"@":[{"type":"custom","name":"f"}]`, fate: isCarried},
		{name: "tools", value: `"@":[{"type":"namespace","name":"n","tools":[{"type":"function","name":"f"}]}]`, fate: isCarried},
		{name: "tools", value: `"@":[{"type":"namespace","name":"n","tools":[{"type":"web_search"}]}]`, fate: isRefused},
		{name: "tools", value: `"@":[{"type":"local_shell"},{"type":"apply_patch"},{"type":"shell","environment":{"type":"local"}}]`, fate: isCarried},
		{name: "tools", value: `"@":[{"type":"shell","environment":{"type":"container_auto"}}]`, fate: isRefused},
		{name: "tools", value: `"@":[{"type":"tool_search","execution":"client"}]`, fate: isCarried},
		{name: "tools", value: `"@":[{"type":"tool_search"}]`, fate: isRefused},
		{name: "tool_choice", value: `"tools":[{"type":"custom","name":"f"}],"@":{"type":"custom","name":"f"}`, fate: isCarried, but: "refused at ollama"},
		{name: "input", value: `"@":[{"type":"additional_tools","role":"developer","tools":[{"type":"custom","name":"f"}]},{"role":"user","content":"Hi"}]`, fate: isCarried},
		{name: "input", value: `"@":[{"type":"web_search_call","id":"ws"},{"role":"user","content":"Hi"}]`, fate: isDropped, other: "web_search_call"},
		{name: "input", value: `"@":[{"type":"crystal_ball"},{"role":"user","content":"Hi"}]`, fate: isRefused},
		{name: "tools", value: `"@":[{"type":"function","name":"f"}]`, fate: isCarried},
		{name: "tools", value: `"@":[{"type":"web_search"}]`, fate: isRefused, but: "carried at anthropic gemini"},
		{name: "top_logprobs", value: `"@":2`, fate: isDropped},
		{name: "top_p", value: `"@":0.5`, fate: isCarried},
		{name: "truncation", value: `"@":"auto"`, fate: isDropped},
		{name: "user", value: `"@":"u"`, fate: isCarried, but: "dropped at gemini bedrock cohere ollama"},
		{name: "input", value: `"@":[{"type":"compaction","encrypted_content":"e"},{"role":"user","content":"Hi"}]`, fate: isRefused},
	},
	"anthropic": {
		{name: "cache_control", value: `"@":{"type":"ephemeral"}`, fate: isDropped, but: "carried at bedrock"},
		{name: "compaction", value: `"@":{"type":"summarize"}`, fate: isRefused},
		{name: "container", value: `"@":{"skills":[{"type":"anthropic","skill_id":"pptx"}]}`, fate: isRefused},
		{name: "container", value: `"@":"container_1"`, fate: isRefused},
		{name: "container", value: `"@":null`, fate: isUsual},
		{name: "context_management", value: `"@":{"edits":[{"type":"clear_tool_uses_20250919"}]}`, fate: isDropped},
		{name: "diagnostics", value: `"@":{}`, fate: isDropped},
		{name: "inference_geo", value: `"@":"us"`, fate: isRefused},
		{name: "inference_geo", value: `"@":"global"`, fate: isUsual},
		{name: "mcp_servers", value: `"@":[{"type":"url","url":"https://example.com/mcp","name":"m"}]`, fate: isRefused},
		{name: "mcp_servers", value: `"@":[]`, fate: isUsual},
		{name: "metadata.user_id", value: `"metadata":{"user_id":"u"}`, fate: isCarried, but: "dropped at gemini bedrock cohere ollama", other: "user"},
		{name: "metadata", value: `"@":{"other":"u"}`, fate: isDropped},
		{name: "output_config.effort", value: `"output_config":{"effort":"high"},"max_tokens":9000`, fate: isCarried},
		{name: "output_config.format", value: `"output_config":{"format":{"type":"json_schema","schema":{"type":"object"}}}`, fate: isCarried},
		{name: "output_config.format", value: `"output_config":{"format":{"type":"grammar"}}`, fate: isRefused},
		{name: "output_config.task_budget", value: `"output_config":{"task_budget":{"type":"tokens","total":64000}}`, fate: isRefused},
		{name: "output_format", value: `"@":{"type":"json_schema","schema":{"type":"object"}}`, fate: isCarried},
		{name: "output_format", value: `"@":{"type":"grammar"}`, fate: isRefused},
		{name: "service_tier", value: `"@":"standard_only"`, fate: isDropped},
		{name: "speed", value: `"@":"fast"`, fate: isDropped},
		{name: "speed", value: `"@":"standard"`, fate: isUsual},
		{name: "stop_sequences", value: `"@":["x"]`, fate: isCarried, but: "refused at responses", other: "stop"},
		{name: "system", value: `"@":"Be brief."`, fate: isCarried},
		{name: "temperature", value: `"@":0.5`, fate: isCarried},
		{name: "thinking", value: `"@":{"type":"enabled","budget_tokens":2048},"max_tokens":9000`, fate: isCarried, other: "reasoning budget"},
		{name: "tool_choice", value: `"tools":[{"name":"f","input_schema":{"type":"object"}}],"@":{"type":"any"}`, fate: isCarried, but: "refused at ollama"},
		{name: "tool_choice", value: `"@":{"type":"some"}`, fate: isRefused},
		{name: "tools", value: `"@":[{"name":"f","input_schema":{"type":"object"}}]`, fate: isCarried},
		{name: "tools", value: `"@":[{"type":"web_search_20250305","name":"web_search"}]`, fate: isRefused, but: "carried at responses gemini"},
		{name: "top_k", value: `"@":5`, fate: isCarried, but: "dropped at openai responses"},
		{name: "top_p", value: `"@":0.5`, fate: isCarried},
		{name: "user_profile_id", value: `"@":"u"`, fate: isDropped},
		{name: "messages.content.citations", value: `"messages":[{"role":"user","content":[{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"JVBERi0="},` +
			`"citations":{"enabled":true}}]}]`, fate: isPart, but: "carried at bedrock, refused at cohere ollama", other: "citations"},
		{name: "messages.content.citations", value: `"messages":[{"role":"user","content":[{"type":"document","source":{"type":"text","media_type":"text/plain","data":"They met."},` +
			`"citations":{"enabled":true}}]}]`, fate: isPart, but: "carried at bedrock cohere", other: "citations"},
		{name: "messages.content.citations", value: `"messages":[{"role":"user","content":[{"type":"document","source":{"type":"content","content":[{"type":"text","text":"They met."}]},` +
			`"citations":{"enabled":true}}]}]`, fate: isPart, but: "carried at bedrock cohere", other: "citations"},
		{name: "messages.content.citations", value: `"messages":[{"role":"user","content":[{"type":"search_result","source":"https://example.com","title":"t","content":[{"type":"text","text":"They met."}],` +
			`"citations":{"enabled":true}}]}]`, fate: isPart, but: "carried at bedrock cohere", other: "citations"},
		{name: "messages.content.context", value: `"messages":[{"role":"user","content":[{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"JVBERi0="},` +
			`"context":"From 1999."}]}]`, fate: isCarried, but: "refused at cohere ollama"},
		{name: "messages.content", value: `"messages":[{"role":"assistant","content":[{"type":"compaction","content":"They met."}]},{"role":"user","content":"So?"}]`, fate: isRefused},
	},
	"gemini": {
		{name: "cachedContent", value: `"@":"cachedContents/1"`, fate: isRefused},
		{name: "cached_content", value: `"@":"cachedContents/1"`, fate: isRefused, other: "cachedContent"},
		{name: "cachedContent", value: `"@":""`, fate: isUsual},
		{name: "labels", value: `"@":{"a":"b"}`, fate: isDropped},
		{name: "modelArmorConfig", value: `"@":{"promptTemplateName":"t"}`, fate: isRefused},
		{name: "safetySettings", value: `"@":[{"category":"HARM_CATEGORY_HARASSMENT","threshold":"BLOCK_NONE"}]`, fate: isDropped},
		{name: "serviceTier", value: `"@":"flex"`, fate: isDropped},
		{name: "store", value: `"@":true`, fate: isDropped},
		{name: "systemInstruction", value: `"@":{"parts":[{"text":"Be brief."}]}`, fate: isCarried},
		{name: "toolConfig", value: `"tools":[{"functionDeclarations":[{"name":"f"}]}],"@":{"functionCallingConfig":{"mode":"ANY"}}`, fate: isCarried, but: "refused at ollama", other: "tool_choice"},
		{name: "toolConfig", value: `"tools":[{"functionDeclarations":[{"name":"f"},{"name":"g"},{"name":"h"}]}],` +
			`"@":{"functionCallingConfig":{"mode":"ANY","allowedFunctionNames":["f","g"]}}`, fate: isCarried, but: "refused at ollama", other: "tool_choice"},
		{name: "toolConfig", value: `"tools":[{"functionDeclarations":[{"name":"f"},{"name":"g"},{"name":"h"}]}],` +
			`"@":{"functionCallingConfig":{"mode":"AUTO","allowedFunctionNames":["f","g"]}}`, fate: isRefused},
		{name: "toolConfig", value: `"tools":[{"functionDeclarations":[{"name":"f"}]}],"@":{"functionCallingConfig":{"mode":"SOME"}}`, fate: isRefused},
		{name: "toolConfig", value: `"tools":[{"functionDeclarations":[{"name":"f"},{"name":"g"},{"name":"h"}]}],` +
			`"@":{"functionCallingConfig":{"mode":"VALIDATED","allowedFunctionNames":["f"]}}`, fate: isPart},
		{name: "toolConfig", value: `"@":{"functionCallingConfig":{}}`, fate: isUsual},
		{name: "toolConfig.retrievalConfig", value: `"toolConfig":{"retrievalConfig":{"languageCode":"de"}}`, fate: isDropped, other: "toolConfig"},
		{name: "tools", value: `"@":[{"functionDeclarations":[{"name":"f"}]}]`, fate: isCarried},
		{name: "tools", value: `"@":[{"googleSearch":{}}]`, fate: isRefused, but: "carried at responses anthropic"},
		{name: "generationConfig.audioTimestamp", value: `"generationConfig":{"audioTimestamp":true}`, fate: isDropped},
		{name: "generationConfig.candidateCount", value: `"generationConfig":{"candidateCount":2}`, fate: isRefused, but: "carried at openai", other: "n"},
		{name: "generationConfig.enableEnhancedCivicAnswers", value: `"generationConfig":{"enableEnhancedCivicAnswers":true}`, fate: isDropped},
		{name: "generationConfig.frequencyPenalty", value: `"generationConfig":{"frequencyPenalty":0.5}`, fate: isCarried, but: "dropped at responses anthropic bedrock", other: "frequency_penalty"},
		{name: "generationConfig.imageConfig", value: `"generationConfig":{"imageConfig":{"aspectRatio":"1:1"}}`, fate: isRefused},
		{name: "generationConfig.logprobs", value: `"generationConfig":{"logprobs":2}`, fate: isDropped},
		{name: "generationConfig.responseLogprobs", value: `"generationConfig":{"responseLogprobs":true,"logprobs":2}`, fate: isCarried, but: "dropped at anthropic bedrock cohere"},
		{name: "generationConfig.maxOutputTokens", value: `"generationConfig":{"maxOutputTokens":9}`, fate: isCarried},
		{name: "generationConfig.mediaResolution", value: `"generationConfig":{"mediaResolution":"MEDIA_RESOLUTION_LOW"}`, fate: isDropped},
		{name: "generationConfig.presencePenalty", value: `"generationConfig":{"presencePenalty":0.5}`, fate: isCarried, but: "dropped at responses anthropic bedrock", other: "presence_penalty"},
		{name: "generationConfig.responseJsonSchema", value: `"generationConfig":{"responseMimeType":"application/json","responseJsonSchema":{"type":"object"}}`, fate: isCarried},
		{name: "generationConfig.responseMimeType", value: `"generationConfig":{"responseMimeType":"text/x.enum","responseSchema":{"type":"STRING","enum":["a","b"]}}`, fate: isRefused},
		{name: "generationConfig.responseMimeType", value: `"generation_config":{"response_mime_type":"text/x.enum"}`, fate: isRefused},
		{name: "generationConfig.responseMimeType", value: `"generationConfig":{"responseMimeType":""}`, fate: isUsual},
		{name: "generationConfig.responseModalities", value: `"generationConfig":{"responseModalities":["IMAGE"]}`, fate: isRefused},
		{name: "generationConfig.responseModalities", value: `"generationConfig":{"responseModalities":["TEXT"]}`, fate: isUsual},
		{name: "generationConfig.responseSchema", value: `"generationConfig":{"responseSchema":{"type":"OBJECT"}}`, fate: isRefused},
		{name: "generationConfig.seed", value: `"generationConfig":{"seed":7}`, fate: isCarried, but: "dropped at responses anthropic bedrock", other: "seed"},
		{name: "generationConfig.speechConfig", value: `"generationConfig":{"speechConfig":{"languageCode":"de"}}`, fate: isRefused},
		{name: "generationConfig.stopSequences", value: `"generationConfig":{"stopSequences":["x"]}`, fate: isCarried, but: "refused at responses", other: "stop"},
		{name: "generationConfig.temperature", value: `"generationConfig":{"temperature":0.5}`, fate: isCarried},
		{name: "generationConfig.thinkingConfig", value: `"generationConfig":{"thinkingConfig":{"thinkingLevel":"HIGH"}}`, fate: isCarried},
		{name: "generationConfig.thinkingConfig", value: `"generationConfig":{"thinkingConfig":{"includeThoughts":true}}`, fate: isDropped},
		{name: "generationConfig.topK", value: `"generationConfig":{"topK":5}`, fate: isCarried, but: "dropped at openai responses", other: "top_k"},
		{name: "generationConfig.topP", value: `"generationConfig":{"topP":0.5}`, fate: isCarried},
	},
	"bedrock": {
		{name: "additionalModelRequestFields", value: `"@":{"a":1}`, fate: isDropped},
		{name: "additionalModelResponseFieldPaths", value: `"@":["/a"]`, fate: isDropped},
		{name: "guardrailConfig", value: `"@":{"guardrailIdentifier":"g"}`, fate: isRefused},
		{name: "inferenceConfig.maxTokens", value: `"inferenceConfig":{"maxTokens":9}`, fate: isCarried},
		{name: "inferenceConfig.stopSequences", value: `"inferenceConfig":{"stopSequences":["x"]}`, fate: isCarried, but: "refused at responses", other: "stop"},
		{name: "outputConfig.textFormat", value: `"outputConfig":{"textFormat":{"type":"other"}}`, fate: isRefused},
		{name: "performanceConfig", value: `"@":{"latency":"optimized"}`, fate: isDropped},
		{name: "promptVariables", value: `"@":{"a":{"text":"b"}}`, fate: isRefused},
		{name: "requestMetadata", value: `"@":{"a":"b"}`, fate: isDropped},
		{name: "serviceTier", value: `"@":{"type":"flex"}`, fate: isDropped},
		{name: "system", value: `"@":[{"text":"Be brief."}]`, fate: isCarried},
		{name: "toolConfig.toolChoice", value: `"toolConfig":{"tools":[{"toolSpec":{"name":"f"}}],"toolChoice":{"any":{}}}`, fate: isCarried, but: "refused at ollama", other: "tool_choice"},
		{name: "toolConfig.toolChoice", value: `"toolConfig":{"tools":[{"toolSpec":{"name":"f"}}],"toolChoice":{"other":{}}}`, fate: isRefused},
	},
	"cohere": {
		{name: "citation_options", value: `"@":{"mode":"off"}`, fate: isDropped},
		{name: "documents", value: `"@":["d"]`, fate: isRefused},
		{name: "logprobs", value: `"@":true`, fate: isDropped},
		{name: "priority", value: `"@":5`, fate: isDropped},
		{name: "raw_prompting", value: `"@":true`, fate: isRefused},
		{name: "raw_prompting", value: `"@":false`, fate: isUsual},
		{name: "response_format", value: `"@":{"type":"other"}`, fate: isRefused},
		{name: "safety_mode", value: `"@":"STRICT"`, fate: isDropped},
		{name: "tool_choice", value: `"tools":[{"type":"function","function":{"name":"f"}}],"@":"REQUIRED"`, fate: isCarried, but: "refused at ollama"},
		{name: "tool_choice", value: `"@":"OTHER"`, fate: isRefused},
	},
	"ollama": {
		{name: "format", value: `"@":{"type":"object"}`, fate: isCarried},
		{name: "keep_alive", value: `"@":"5m"`, fate: isDropped},
		{name: "logprobs", value: `"@":true`, fate: isDropped},
		{name: "options.num_ctx", value: `"options":{"num_ctx":4096}`, fate: isDropped},
		{name: "options.stop", value: `"options":{"stop":["x"]}`, fate: isCarried, but: "refused at responses", other: "stop"},
		{name: "think", value: `"@":true`, fate: isCarried},
	},
}

// at returns the expected outcome of the field at a target.
func (f *field) at(target string) string {
	for _, rule := range strings.Split(f.but, ", ") {
		if words := strings.Fields(rule); len(words) > 0 && slices.Contains(words[2:], target) {
			return words[0]
		}
	}
	return f.fate
}

// with decodes the body with the members of the field, and the same body without them.
func (f *field) with(t *testing.T, d *dialect.Dialect) (with, without *llm.Request) {
	t.Helper()
	set, rest := map[string]json.RawMessage{}, map[string]json.RawMessage{}
	for _, into := range []map[string]json.RawMessage{set, rest} {
		if err := json.Unmarshal([]byte(bodies[d.Name]), &into); err != nil {
			t.Fatal(err)
		}
	}
	beside := map[string]json.RawMessage{}
	if err := json.Unmarshal([]byte("{"+strings.ReplaceAll(f.value, "@", f.name)+"}"), &beside); err != nil {
		t.Fatalf("%s: %v", f.value, err)
	}
	for name, v := range beside {
		set[name] = v
		if name != f.name && (name == "tools" || name == "functions" || name == "max_tokens") {
			rest[name] = v
		}
	}
	return parsed(t, d, set), parsed(t, d, rest)
}

func parsed(t *testing.T, d *dialect.Dialect, body map[string]json.RawMessage) *llm.Request {
	t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Scan(text, arrived(d)); err != nil {
		t.Fatalf("scan %s: %v", text, err)
	}
	r, err := d.DecodeRequest(text)
	if err != nil {
		t.Fatalf("decode %s: %v", text, err)
	}
	return r
}

// TestFieldsReachOrNameTheirLoss checks the outcome of each field of each wire format at the targets with another one.
func TestFieldsReachOrNameTheirLoss(t *testing.T) {
	t.Parallel()
	for api, list := range fields {
		from := byName(t, api)
		for i := range list {
			f := &list[i]
			for _, to := range providers() {
				if to.Name == from.Name {
					continue
				}
				with, without := f.with(t, from)
				with.Model, without.Model = models[to.Name], models[to.Name]
				got, why := f.becomes(to, with, without)
				if want := f.at(to.Name); got != want {
					t.Errorf("%s: %s at %s is %s, want %s (%s)", api, f.value, to.Name, got, want, why)
				}
			}
		}
	}
}

// becomes returns the outcome of the field, and its evidence.
func (f *field) becomes(to *dialect.Dialect, with, without *llm.Request) (fate, why string) {
	body, names, err := to.EncodeRequest(with, &llm.Quirks{})
	plain, usually, plainErr := to.EncodeRequest(without, &llm.Quirks{})
	switch e := llm.AsError(err); {
	case plainErr != nil && err == nil:
		return isCarried, plainErr.Error()
	case plainErr != nil:
		return "refused without it", plainErr.Error()
	case err != nil && e.Code == llm.CodeInvalidRequest && e.Param != "" && e.Message != "":
		return isRefused, e.Param + ": " + e.Message
	case err != nil:
		return "an error", err.Error()
	}
	why = string(body) + " without " + strings.Join(names, ", ")
	named := slices.ContainsFunc(names, func(name string) bool {
		return !slices.Contains(usually, name) && (name == f.name || name == f.other || strings.HasPrefix(f.name, name+"."))
	})
	switch same := string(body) == string(plain); {
	case !same && named && f.other != "reasoning budget":
		return isPart, why
	case !same:
		return isCarried, why
	case named && f.fate == isUsual:
		return isUsual, why
	case named:
		return isDropped, why
	case f.fate == isUsual:
		return isUsual, why
	}
	return "lost", why
}

// TestRefusalsSay checks that a refusal names the field as its own wire format does, and states the remedy.
func TestRefusalsSay(t *testing.T) {
	t.Parallel()
	for api, list := range fields {
		from := byName(t, api)
		for i := range list {
			f := &list[i]
			if f.fate != isRefused || f.but != "" || f.name == "tools" {
				continue
			}
			with, _ := f.with(t, from)
			_, _, err := byName(t, other(api)).EncodeRequest(with, &llm.Quirks{})
			e := llm.AsError(err)
			name := f.name[strings.LastIndexByte(f.name, '.')+1:]
			if !strings.Contains(e.Param, name) && e.Param != f.other && !strings.HasPrefix(e.Param, name) || !strings.Contains(e.Message, "provider") {
				t.Errorf("%s: %s is refused as %q: %s", api, f.value, e.Param, e.Message)
			}
		}
	}
}

func other(api string) string {
	if api == "openai" {
		return "anthropic"
	}
	return "openai"
}

// TestRefusedFieldsAreDocumented checks that the page about client APIs names each refused field.
func TestRefusedFieldsAreDocumented(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/client-apis.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range clientAPIs() {
		for _, f := range fields[d.Name] {
			if name := f.name[strings.LastIndexByte(f.name, '.')+1:]; f.fate == isRefused && !strings.Contains(string(page), "`"+name) {
				t.Errorf("docs/client-apis.md does not name `%s`, which is refused at %s", name, d.Name)
			}
		}
	}
}
