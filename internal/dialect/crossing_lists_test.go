package dialect_test

// crossingAPIs lists the columns of the table of answers.
var crossingAPIs = []struct{ dialect, title string }{
	{"openai", "Chat Completions"}, {"responses", "Responses"}, {"anthropic", "Messages"}, {"gemini", "generateContent"}, {"native", "`/v1/chat`"},
}

// crossingPlaces names the places of a request for a search, the search and the sources in each wire format. Requests
// and answers are checked for each name in backticks.
var crossingPlaces = []struct{ title, dialect, wish, search, sources string }{
	{"Chat Completions", "openai", "`web_search_options`, of models that search by themselves; Perplexity's `search_domain_filter`", "", "`annotations` of the " +
		"type `url_citation`, in a stream all in one delta; `search_results` and `citations`, which the text names by number, are read"},
	{"… at OpenRouter", "openai", "the tool `openrouter:web_search`", "", "`annotations`"},
	{"… at Groq", "openai", "the tool `browser_search`, of `gpt-oss` models; `search_settings` of `compound` models, which search unasked", "`executed_tools`", "`executed_tools`"},
	{"… at Mistral", "openai", "", "", "`reference` and `tool_reference` between the texts of the content"},
	{"Responses", "responses", "the tool `web_search`", "the item `web_search_call` with `queries` and `sources`", "`annotations` of `output_text`, `url_citation` and " +
		"`file_citation`; `response.output_text.annotation.added` in streams"},
	{"Messages", "anthropic", "the tool `web_search_20250305` or a later one", "`server_tool_use` and `web_search_tool_result`, a pair for each query", "`citations` of a block " +
		"of text, `citations_delta` in streams"},
	{"generateContent", "gemini", "`googleSearch`", "`webSearchQueries`", "`groundingChunks` and `groundingSupports`, in the last piece of a stream"},
	{"`/v1/chat`", "native", "", "`searches` with `queries` and `results`", "`citations` with `start` and `end` in characters, `url`, `title`, `quote`, `date`, `file`, `document`"},
	{"Converse", "bedrock", "`nova_grounding`, of Nova Premier and Nova 2", "Nova's `nova_grounding`", "`citationsContent`, `citation` in streams"},
	{"Cohere", "cohere", "", "", "`citations`, `citation-start` in streams"},
}

// crossingTold lists the rows of the table of answers: a pattern of the provider's text for each piece of information
// in an answer of testdata/crossing, and a pattern of the client's text if it differs.
var crossingTold = []struct{ name, told, got string }{
	{"address of a page", `https://page\.example/1`, ""},
	{"title", `Page One`, ""},
	{"words of the page", `words of the page`, ""},
	{"date", `2026-01-02`, ""},
	// In characters, bytes, or the characters of a part; or as a block of its own.
	{
		"part of the text that it supports, or that names it", `https://page\.example/1`,
		`"start(_index|Index)?":(4|8|0|12|16),"end(_index|Index)?":(12|16|8|15|19)\b|"text":"(it rains|\[1\])","citations":`,
	},
	{"name of a document", `rain\.pdf`, ""},
	{"its file or id", `file-77`, ""},
	{"its number among the documents of the request", `"document(_i|I)ndex":41|doc:41`, `"document(_index)?":4[12]\b`},
	{"queries of a search", `rain query`, ""},
	{"pages that it found and the answer does not name", `https://found\.example/2`, ""},
	{"that it failed", `"status":"failed"|web_search_tool_result_error`, ""},
	{"log probabilities of tokens", `"log(prob|Probability)":-0\.31`, ""},
}

// crossingTarget names a provider of the catalogue, a wire format of its API, and a model.
type crossingTarget struct {
	title, provider, dialect, model string
	unasked                         bool // it searches by itself
}

// crossingTargets lists the rows of the table of requests.
var crossingTargets = []crossingTarget{
	{"Anthropic", "anthropic", "anthropic", "claude-haiku-4-5", false},
	{"OpenAI", "openai", "responses", "gpt-5.4", false},
	{"OpenAI", "openai", "responses", "gpt-4.1", false},
	{"xAI", "xai", "responses", "grok-4.3", false},
	{"Gemini, Vertex AI", "gemini", "gemini", "gemini-3-pro", false},
	{"OpenAI, models that search by themselves", "openai", "openai", "gpt-5-search-api", false},
	{"Perplexity", "perplexity", "openai", "sonar-pro", false},
	{"OpenRouter", "openrouter", "openai", "anthropic/claude-haiku-4.5", false},
	{"Groq", "groq", "openai", "openai/gpt-oss-120b", false},
	{"Groq", "groq", "openai", "groq/compound", true},
	{"Mistral", "mistral", "openai", "mistral-large-latest", false},
	{"others in Chat Completions", "together", "openai", "moonshotai/Kimi-K2", false},
	{"Amazon Bedrock", "bedrock", "bedrock", "us.amazon.nova-2-lite-v1:0", false},
	{"Amazon Bedrock", "bedrock", "bedrock", "anthropic.claude-haiku-4-5", false},
	{"Cohere", "cohere", "cohere", "command-a", false},
	{"Ollama", "ollama", "ollama", "qwen3", false},
}

// crossingAsked lists the columns of the table of requests: members of clients' requests by wire format, and a pattern
// of the members sent for them.
var crossingAsked = []struct {
	name, sent string
	by         map[string]string
}{
	{"search of the web", `web_search|googleSearch|browser_search|nova_grounding`, map[string]string{
		"openai": `"web_search_options":{}`, "responses": `"tools":[{"type":"web_search"}]`,
		"anthropic": `"tools":[{"type":"web_search_20250305","name":"web_search"}]`, "gemini": `"tools":[{"googleSearch":{}}]`,
	}},
	{"domains to search alone", `allowed\.example`, map[string]string{
		"responses": `"tools":[{"type":"web_search","filters":{"allowed_domains":["allowed.example"]}}]`,
		"anthropic": `"tools":[{"type":"web_search_20250305","name":"web_search","allowed_domains":["allowed.example"]}]`,
	}},
	{"domains to leave out", `blocked\.example`, map[string]string{
		"responses": `"tools":[{"type":"web_search","filters":{"blocked_domains":["blocked.example"]}}]`,
		"anthropic": `"tools":[{"type":"web_search_20250305","name":"web_search","blocked_domains":["blocked.example"]}]`,
		"gemini":    `"tools":[{"googleSearch":{"excludeDomains":["blocked.example"]}}]`,
	}},
	{"place of the user", `Wien`, map[string]string{
		"openai":    `"web_search_options":{"user_location":{"type":"approximate","approximate":{"city":"Wien"}}}`,
		"responses": `"tools":[{"type":"web_search","user_location":{"type":"approximate","city":"Wien"}}]`,
		"anthropic": `"tools":[{"type":"web_search_20250305","name":"web_search","user_location":{"type":"approximate","city":"Wien"}}]`,
	}},
	{"`search_context_size`", `"high"`, map[string]string{
		"openai": `"web_search_options":{"search_context_size":"high"}`, "responses": `"tools":[{"type":"web_search","search_context_size":"high"}]`,
	}},
	{"most searches", `:37\b`, map[string]string{
		"responses": `"max_tool_calls":37,"tools":[{"type":"web_search"}]`,
		"anthropic": `"tools":[{"type":"web_search_20250305","name":"web_search","max_uses":37}]`,
	}},
	{"log probabilities of tokens", `(?i)logprobs`, map[string]string{
		"openai": `"logprobs":true,"top_logprobs":3`, "responses": `"include":["message.output_text.logprobs"],"top_logprobs":3`,
		"gemini": `"generationConfig":{"responseLogprobs":true,"logprobs":3}`,
	}},
}

// crossingBodies has requests of clients, with MORE for further members.
var crossingBodies = map[string]string{
	"openai":    `{"model":"MODEL","messages":[{"role":"user","content":"Hi"}],MORE}`,
	"responses": `{"model":"MODEL","input":"Hi",MORE}`,
	"anthropic": `{"model":"MODEL","max_tokens":99,"messages":[{"role":"user","content":"Hi"}],MORE}`,
	"gemini":    `{"contents":[{"role":"user","parts":[{"text":"Hi"}]}],MORE}`,
}
