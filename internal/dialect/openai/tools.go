package openai

import (
	"strings"

	"weir/internal/dialect"
	"weir/internal/dialect/parse"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// ToolClass returns the class of a tool that a provider runs, by the provider's name, and reports whether a call is
// charged. Unlisted tools are.
//
// https://developers.openai.com/api/docs/pricing, https://docs.x.ai/developers/pricing, https://groq.com/pricing,
// https://docs.mistral.ai/inference/pricing.
func ToolClass(name string) (class llm.Class, charged bool) {
	switch name {
	case "web_search", "search", "browser.search", "$web_search":
		return llm.Searches, true
	case "x_search":
		return llm.XSearches, true
	case "file_search", "collections_search":
		return llm.FileSearches, true
	case "code_interpreter", "code_execution", "python":
		return llm.CodeSessions, true
	case "image_generation":
		return llm.ToolImages, true
	case "mcp":
		return 0, false
	}
	return llm.OtherTools, true
}

// serverTools returns the tools that providers run in chats; OpenAI runs none there. Groq lists those that ran
// (https://console.groq.com/docs/compound/built-in-tools), and with Moonshot the client returns each call
// (https://platform.kimi.ai/docs/pricing/chat.md). For others, such as DeepSeek's
// (https://api-docs.deepseek.com/guides/web_tools, undated copy), the usage may or may not have a count.
func serverTools() []dialect.Tool {
	return []dialect.Tool{
		{Prefix: "browser_search", Class: llm.Searches},
		{Prefix: "code_interpreter", Class: llm.CodeSessions},
		{Prefix: "builtin_function", Class: llm.Searches},
		{Prefix: "mcp", Class: MCP},
		{Prefix: "openrouter:web_search", Class: llm.Searches}, // its usage counts them
		{Prefix: "web_search", Class: llm.Searches, Untold: true},
		{Prefix: "deepseek_web_search", Class: llm.Searches, Untold: true},
		{Prefix: "file_search", Class: llm.FileSearches, Untold: true},
		{Prefix: "image_generation", Class: llm.ToolImages, Untold: true},
	}
}

// MCP is the class of remote MCP servers: vendors charge only for their tokens
// (https://platform.openai.com/docs/guides/tools-remote-mcp).
const MCP = llm.Output

// tools counts the calls of a provider's own tools.
type tools struct {
	made llm.Usage
	// the same calls in another member
	again llm.Usage
	told  bool // xAI reports the number of each
}

// add counts n calls of a tool.
func (t *tools) add(name string, n int64) {
	if class, charged := ToolClass(name); charged {
		t.made[class] = min(t.made[class]+n, parse.MaxCount)
	}
}

// each reads an object of counts by tool. It skips values that are not counts, because an error would discard the token
// counts, too.
func each(v []byte, with func(name string, n int64)) {
	for m := range rawjson.Members(v) {
		var c parse.Counter
		var n int64
		if c.Count(&n, m.Value) {
			with(m.Name(), n)
		}
	}
}

// readServerSide reads the counts that xAI charges for. A search of X costs nothing if posts and users are counted: a
// post costs as much as a search did before, a user twice as much (https://docs.x.ai/developers/pricing).
func (t *tools) readServerSide(v []byte) {
	t.told = rawjson.KindOf(v) == rawjson.Object
	var found int64
	byPost := false
	each(v, func(name string, n int64) {
		switch name {
		case "x_posts_fetched":
			found, byPost = found+n, true
		case "x_users_fetched":
			found, byPost = found+2*n, true
		default:
			t.add(strings.TrimSuffix(name, "_calls"), n)
		}
	})
	if byPost {
		t.made[llm.XSearches] = min(found, parse.MaxCount)
	}
}

// readServerToolUse reads OpenRouter's count of requests to tools, which is Anthropic's
// (https://openrouter.ai/docs/guides/features/server-tools/web-search), or is next to sums of all calls
// (https://github.com/pydantic/pydantic-ai, tests/models/cassettes/test_openrouter, recorded in August 2026). A tool
// search is free, and only some providers charge for fetching a page.
func (t *tools) readServerToolUse(v []byte, q *llm.Quirks) {
	each(v, func(name string, n int64) {
		switch {
		case name == "tool_search_requests", strings.HasPrefix(name, "tool_calls_"),
			name == "web_fetch_requests" && !billsFetches(q):
		default:
			t.add(strings.TrimSuffix(name, "_requests"), n)
		}
	})
}

func billsFetches(q *llm.Quirks) bool { return q != nil && q.BillsFetches }

// readInvocations reads the counts of Perplexity's Agent API, which charges for searches and fetches
// (https://docs.perplexity.ai/docs/getting-started/pricing).
func (t *tools) readInvocations(v []byte) {
	for m := range rawjson.Members(v) {
		each(m.Value, func(name string, n int64) {
			if name == "invocation" {
				t.add(m.Name(), n)
			}
		})
	}
}

// ran holds the calls in messages, each once, because a stream may report one in several pieces.
type ran struct{ seen map[ranCall]llm.Class }

type ranCall struct {
	choice, index int
	asked         bool // it is among the tool calls
}

// executed reads Groq's list of the tools that its models ran (https://console.groq.com/docs/compound/built-in-tools).
// Opening a page in a browser is not a search and has a price of its own.
func (r *ran) executed(choice int, v []byte) {
	for i, e := range rawjson.Elements(v) {
		kind := rawjson.Text(rawjson.Get(e, "type"))
		if name := rawjson.Text(rawjson.Get(e, "name")); kind == "browser_search" && name != "" {
			kind = name
		}
		r.add(ranCall{choice: choice, index: indexOf(e, i)}, kind)
	}
}

// builtIn counts calls of Moonshot's own tools. The client returns their results unchanged
// (https://platform.kimi.ai/docs/pricing/chat.md).
func (r *ran) builtIn(choice, i int, call []byte) {
	if string(rawjson.Get(call, "type")) == `"builtin_function"` {
		r.add(ranCall{choice, indexOf(call, i), true}, rawjson.Text(rawjson.Get(call, "function", "name")))
	}
}

// indexOf returns the index of a call, or else its position.
func indexOf(call []byte, position int) int {
	n, ok := rawjson.AsInt(rawjson.Get(call, "index"))
	if !ok || n < 0 || n >= maxCalls {
		return min(position, maxCalls)
	}
	return int(n)
}

func (r *ran) add(call ranCall, name string) {
	class, charged := ToolClass(name)
	if name == "" || !charged {
		return
	}
	if _, ok := r.seen[call]; ok {
		return
	}
	if r.seen == nil {
		r.seen = map[ranCall]llm.Class{}
	}
	r.seen[call] = class
}

// message counts the tools that a whole message reports.
func (r *ran) message(choice int, v []byte) {
	for m := range rawjson.Members(v) {
		switch string(m.Key()) {
		case "executed_tools":
			r.executed(choice, m.Value)
		case "tool_calls":
			for i, call := range rawjson.Elements(m.Value) {
				r.builtIn(choice, i, call)
			}
		}
	}
}

// alwaysSearches reports whether a model searches the web once for every request without reporting it
// (https://developers.openai.com/api/docs/pricing).
func alwaysSearches(model string) bool {
	return strings.Contains(model, "-search-preview") || strings.Contains(model, "-search-api")
}

// addTo adds the calls that the messages of an answer report to its usage.
func (r *ran) addTo(u *llm.Usage, model string) {
	for _, class := range r.seen {
		u[class]++
	}
	if u[llm.Searches] == 0 && alwaysSearches(model) {
		u[llm.Searches] = 1
	}
}
