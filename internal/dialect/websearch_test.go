package dialect_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"weir/internal/dialect/compose"
	"weir/internal/dialect/registry/registrytest"
	"weir/internal/llm"
)

// TestSearchIsRequestedInProvidersFormat checks the translation of a wish for a web search for each provider: the
// request is in the provider's format, lost options are named, and an error names the client's field if the provider
// has no search.
func TestSearchIsRequestedInProvidersFormat(t *testing.T) {
	t.Parallel()
	const (
		chat      = `{"model":"MODEL","messages":[{"role":"user","content":"Hi"}],"web_search_options":{"search_context_size":"high","user_location":{"type":"approximate","approximate":{"country":"AT","city":"Wien"}}}}`
		responses = `{"model":"MODEL","input":"Hi","max_tool_calls":4,"tools":[{"type":"web_search","filters":{"allowed_domains":["a.example"]},"user_location":{"type":"approximate","country":"AT"}}]}`
		plain     = `{"model":"MODEL","input":"Hi","tools":[{"type":"web_search_preview"},{"type":"function","name":"f","parameters":{"type":"object"}}]}`
		messages  = `{"model":"MODEL","max_tokens":99,"messages":[{"role":"user","content":"Hi"}],"tools":[{"type":"web_search_20260209","name":"web_search","max_uses":3,"blocked_domains":["b.example"]}]}`
		capped    = `{"model":"MODEL","max_tokens":99,"messages":[{"role":"user","content":"Hi"}],"tools":[{"type":"web_search_20250305","name":"web_search","max_uses":3}]}`
		routed    = `{"model":"MODEL","input":"Hi","tools":[{"type":"openrouter:web_search","parameters":{"excluded_domains":["b.example"]}},{"type":"function","name":"f","parameters":{"type":"object"}}]}`
		pluggedIn = `{"model":"MODEL","input":"Hi","plugins":[{"id":"web","max_results":3,"include_domains":["a.example"]}],"tools":[{"type":"function","name":"f","parameters":{"type":"object"}}]}`
		both      = `{"model":"MODEL","max_tokens":99,"messages":[{"role":"user","content":"Hi"}],"tools":[{"type":"web_search_20250305","name":"web_search","allowed_domains":["a.example","b.example"],"blocked_domains":["b.example"]}]}`
		user      = `{"model":"MODEL","messages":[{"role":"user","content":"Hi"}],`
		plugin    = user + `"plugins":[{"id":"web","max_results":3,"engine":"exa","include_domains":["a.example"]}]}`
		plugins   = user + `"plugins":[{"id":"web"},{"id":"file-parser"}]}`
		off       = user + `"plugins":[{"id":"web","enabled":false}],"search_parameters":{"mode":"off"}}`
		live      = user + `"search_parameters":{"mode":"on","max_search_results":5,"sources":[{"type":"web","country":"AT","excluded_websites":["b.example"]},{"type":"x"}]}}`
		posts     = user + `"search_parameters":{"sources":[{"type":"x","included_x_handles":["a"]}]}}`
		filtered  = user + `"search_domain_filter":["-b.example"],"search_recency_filter":"week","web_search_options":{"search_context_size":"low"}}`
		allowed   = user + `"search_domain_filter":["a.example"]}`
		xai       = user + `"tools":[{"type":"web_search","filters":{"allowed_domains":["a.example"]}},{"type":"function","function":{"name":"f"}}]}`
		router    = user + `"tools":[{"type":"openrouter:web_search","parameters":{"max_uses":2,"excluded_domains":["b.example"],"search_context_size":"low"}}]}`
		browser   = user + `"tools":[{"type":"browser_search"}]}`
		gemini    = `{"contents":[{"role":"user","parts":[{"text":"Hi"}]}],"tools":[{"googleSearch":{}}]}`
	)
	// as the catalogue has them
	openaiSearch, xaiSearch := llm.Quirks{SearchBlocks: "blocked_domains", SearchSources: true}, llm.Quirks{SearchBlocks: "excluded_domains", SearchOneList: true}
	openrouterSearch, perplexitySearch := llm.Quirks{SearchTool: "openrouter:web_search"}, llm.Quirks{Takes: []string{"search_domain_filter"}}
	groqSearch := llm.Quirks{SearchTool: "browser_search", SearchModels: []string{"gpt-oss"}}
	for _, tt := range []struct {
		client, body, provider, model string
		quirks                        llm.Quirks
		want                          string // expected in the sent request; empty for a refusal
		dropped                       []string
		param                         string
	}{
		{"openai", chat, "anthropic", "claude-haiku-4-5", llm.Quirks{}, `"tools":[{"type":"web_search_20250305","name":"web_search","user_location":{"type":"approximate","city":"Wien","country":"AT"}}]`, []string{"search_context_size"}, ""},
		{"openai", chat, "responses", "gpt-5.4", llm.Quirks{}, `"tools":[{"type":"web_search","user_location":{"type":"approximate","city":"Wien","country":"AT"},"search_context_size":"high"}]`, nil, ""},
		{"openai", chat, "gemini", "gemini-3-pro", llm.Quirks{}, `"tools":[{"googleSearch":{}}]`, []string{"search_context_size", "user_location"}, ""},
		{"openai", chat, "cohere", "command-a", llm.Quirks{}, "", nil, "web_search_options"},
		{"openai", chat, "bedrock", "anthropic.claude-haiku-4-5", llm.Quirks{}, "", nil, "web_search_options"},
		{"openai", chat, "ollama", "qwen3", llm.Quirks{}, "", nil, "web_search_options"},
		{"responses", responses, "anthropic", "claude-haiku-4-5", llm.Quirks{}, `"tools":[{"type":"web_search_20250305","name":"web_search","max_uses":4,"allowed_domains":["a.example"],"user_location":{"type":"approximate","country":"AT"}}]`, nil, ""},
		{"responses", responses, "gemini", "gemini-3-pro", llm.Quirks{}, "", nil, "tools[0]"},
		{"responses", plain, "gemini", "gemini-3-pro", llm.Quirks{}, `"tools":[{"functionDeclarations":[{"name":"f"`, nil, ""},
		{"responses", plain, "openai", "gpt-4.1", llm.Quirks{}, "", nil, "tools[0]"},
		{"responses", plain, "openai", "sonar-pro", llm.Quirks{}, `"web_search_options":{}`, nil, ""},
		{"anthropic", messages, "responses", "gpt-5.4", llm.Quirks{}, "", nil, "tools[0]"},
		{"anthropic", capped, "responses", "gpt-5.4", llm.Quirks{}, `"max_tool_calls":3`, nil, ""},
		{"anthropic", capped, "gemini", "gemini-3-pro", llm.Quirks{}, `"tools":[{"googleSearch":{}}]`, []string{"max_uses"}, ""},
		{"anthropic", capped, "openai", "gpt-4o-search-preview", llm.Quirks{}, `"web_search_options":{}`, []string{"max_uses"}, ""},
		{"gemini", gemini, "anthropic", "claude-haiku-4-5", llm.Quirks{}, `"tools":[{"type":"web_search_20250305","name":"web_search"}]`, nil, ""},
		{"gemini", gemini, "openai", "gpt-4.1", llm.Quirks{}, "", nil, "tools[0].googleSearch"},

		{"openai", plugin, "anthropic", "claude-haiku-4-5", llm.Quirks{}, `"tools":[{"type":"web_search_20250305","name":"web_search","allowed_domains":["a.example"]}]`, []string{"plugins.max_results", "plugins.engine"}, ""},
		{"openai", plugin, "gemini", "gemini-3-pro", llm.Quirks{}, "", nil, "plugins"},
		{"responses", routed, "anthropic", "claude-haiku-4-5", llm.Quirks{}, `"tools":[{"type":"web_search_20250305","name":"web_search","blocked_domains":["b.example"]},{"name":"f"`, nil, ""},
		{"responses", pluggedIn, "anthropic", "claude-haiku-4-5", llm.Quirks{}, `"tools":[{"name":"f","input_schema":{"type":"object"}},{"type":"web_search_20250305","name":"web_search","allowed_domains":["a.example"]}]`, []string{"plugins.max_results"}, ""},
		{"openai", plugins, "anthropic", "claude-haiku-4-5", llm.Quirks{}, "", nil, "plugins"},
		{"openai", off, "anthropic", "claude-haiku-4-5", llm.Quirks{}, `"messages":[{"role":"user","content":"Hi"}]}`, []string{"plugins", "search_parameters"}, ""},
		{"openai", live, "anthropic", "claude-haiku-4-5", llm.Quirks{}, `"blocked_domains":["b.example"],"user_location":{"type":"approximate","country":"AT"}}]`, []string{"search_parameters.max_search_results", "search_parameters.sources"}, ""},
		{"openai", live, "responses", "grok-4.3", xaiSearch, `"tools":[{"type":"web_search","filters":{"excluded_domains":["b.example"]},"user_location":`, []string{"search_parameters.max_search_results"}, ""},
		{"openai", posts, "anthropic", "claude-haiku-4-5", llm.Quirks{}, "", nil, "search_parameters"},
		{"openai", filtered, "anthropic", "claude-haiku-4-5", llm.Quirks{}, `"blocked_domains":["b.example"]}]`, []string{"search_recency_filter", "search_context_size"}, ""},
		{"openai", filtered, "gemini", "gemini-3-pro", llm.Quirks{}, "", nil, "search_domain_filter"},
		{"openai", allowed, "responses", "gpt-5.4", openaiSearch, `"filters":{"allowed_domains":["a.example"]}`, nil, ""},
		{"openai", allowed, "cohere", "command-a", llm.Quirks{}, "", nil, "search_domain_filter"},
		{"openai", xai, "anthropic", "claude-haiku-4-5", llm.Quirks{}, `"tools":[{"type":"web_search_20250305","name":"web_search","allowed_domains":["a.example"]},{"name":"f"`, nil, ""},
		{"openai", router, "anthropic", "claude-haiku-4-5", llm.Quirks{}, `"name":"web_search","max_uses":2,"blocked_domains":["b.example"]}]`, []string{"search_context_size"}, ""},
		{"openai", browser, "gemini", "gemini-3-pro", llm.Quirks{}, `"tools":[{"googleSearch":{}}]`, nil, ""},
		{"openai", browser, "ollama", "qwen3", llm.Quirks{}, "", nil, "tools[0]"},

		{"openai", chat, "bedrock", "us.amazon.nova-2-lite-v1:0", llm.Quirks{}, `"toolConfig":{"tools":[{"systemTool":{"name":"nova_grounding"}}]}`, []string{"search_context_size", "user_location"}, ""},
		{"anthropic", capped, "bedrock", "us.amazon.nova-premier-v1:0", llm.Quirks{}, `"tools":[{"systemTool":{"name":"nova_grounding"}}]`, []string{"max_uses"}, ""},
		{"anthropic", messages, "bedrock", "us.amazon.nova-2-lite-v1:0", llm.Quirks{}, "", nil, "tools[0]"},
		{"gemini", gemini, "bedrock", "amazon.nova-lite-v1:0", llm.Quirks{}, "", nil, "tools[0].googleSearch"},

		{"anthropic", messages, "responses", "gpt-5.4", openaiSearch, `"tools":[{"type":"web_search","filters":{"blocked_domains":["b.example"]}}]`, nil, ""},
		{"anthropic", messages, "responses", "gpt-5.4", openaiSearch, `"include":["reasoning.encrypted_content","web_search_call.action.sources"]`, nil, ""},
		{"anthropic", messages, "responses", "grok-4.3", xaiSearch, `"tools":[{"type":"web_search","filters":{"excluded_domains":["b.example"]}}]`, nil, ""},
		{"anthropic", messages, "responses", "grok-4.3", xaiSearch, `"include":["reasoning.encrypted_content"]`, nil, ""},
		{"anthropic", both, "responses", "grok-4.3", xaiSearch, `"filters":{"allowed_domains":["a.example"]}`, nil, ""},
		{"anthropic", both, "responses", "gpt-5.4", openaiSearch, `"filters":{"allowed_domains":["a.example","b.example"],"blocked_domains":["b.example"]}`, nil, ""},

		{"responses", responses, "openai", "anthropic/claude-haiku-4.5", openrouterSearch, `"tools":[{"type":"openrouter:web_search","parameters":{"max_uses":4,"allowed_domains":["a.example"],"user_location":{"type":"approximate","country":"AT"}}}]`, nil, ""},
		{"gemini", gemini, "openai", "openai/gpt-5.4", openrouterSearch, `"tools":[{"type":"openrouter:web_search","parameters":{}}]`, nil, ""},
		{"responses", plain, "openai", "openai/gpt-5.4", openrouterSearch, `"tools":[{"type":"openrouter:web_search","parameters":{}},{"type":"function"`, nil, ""},
		{"anthropic", messages, "openai", "sonar-pro", perplexitySearch, `"search_domain_filter":["-b.example"],"web_search_options":{}`, []string{"max_uses"}, ""},
		{"responses", responses, "openai", "sonar-pro", perplexitySearch, `"search_domain_filter":["a.example"],"web_search_options":{"user_location":`, nil, ""},
		{"anthropic", messages, "openai", "sonar-pro", llm.Quirks{}, "", nil, "tools[0]"},
		{"gemini", gemini, "openai", "openai/gpt-oss-120b", groqSearch, `"tools":[{"type":"browser_search"}]`, nil, ""},
		{"anthropic", capped, "openai", "openai/gpt-oss-120b", groqSearch, `"tools":[{"type":"browser_search"}]`, []string{"max_uses"}, ""},
		{"anthropic", messages, "openai", "openai/gpt-oss-120b", groqSearch, "", nil, "tools[0]"},
		{"gemini", gemini, "openai", "llama-3.3-70b-versatile", groqSearch, "", nil, "tools[0].googleSearch"},
		{"anthropic", messages, "openai", "groq/compound", groqSearch, `"search_settings":{"exclude_domains":["b.example"]}`, []string{"max_uses"}, ""},
	} {
		t.Run(tt.client+" to "+tt.provider+" "+tt.model, func(t *testing.T) {
			t.Parallel()
			client, provider := registrytest.All().Named(tt.client), registrytest.All().Named(tt.provider)
			body := []byte(strings.Replace(tt.body, "MODEL", tt.model, 1))
			if _, err := client.Scan(body, httptest.NewRequest(http.MethodPost, "/", nil)); err != nil {
				t.Fatal(err)
			}
			tree, err := client.DecodeRequest(body)
			if err != nil {
				t.Fatal(err)
			}
			tree.Model = tt.model
			sent, dropped, err := provider.EncodeRequest(compose.Offered(provider.Name, tree), &tt.quirks)
			var refused *llm.Error
			switch {
			case errors.As(err, &refused):
				if tt.want != "" || refused.Param != tt.param {
					t.Errorf("refused with %q of %s, want %q of %q", refused.Message, refused.Param, tt.want, tt.param)
				}
				return
			case tt.want == "" || !strings.Contains(string(sent), tt.want):
				t.Errorf("sent %s, want %s", sent, tt.want)
			}
			for _, name := range tt.dropped {
				if !slices.Contains(dropped, name) {
					t.Errorf("%q are named as left out, want %q among them", dropped, name)
				}
			}
		})
	}
}
