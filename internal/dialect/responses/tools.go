package responses

import (
	"cmp"
	"slices"
	"strings"

	"weir/internal/dialect"
	"weir/internal/dialect/openai"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// maxContainers bounds the containers that are counted separately; further ones count as one.
const maxContainers = 64

// serverTools returns the tools that providers run, with calls as items of the answer: OpenAI's
// (https://developers.openai.com/api/docs/pricing), xAI's (https://docs.x.ai/developers/pricing), Groq's
// (https://groq.com/pricing), Perplexity's (https://docs.perplexity.ai/docs/getting-started/pricing) and DeepSeek's
// (https://api-docs.deepseek.com/guides/web_tools, undated copy), where it is unknown whether they appear. OpenAI's
// hosted shell is missing: its calls look like those of the client's shell, and its containers have a price
// (https://developers.openai.com/api/docs/guides/tools-shell.md, undated copy).
func serverTools() []dialect.Tool {
	return []dialect.Tool{
		{Prefix: "web_search", Class: llm.Searches},
		{Prefix: "browser_search", Class: llm.Searches},
		{Prefix: "deepseek_web_search", Class: llm.Searches, Untold: true},
		{Prefix: "x_search", Class: llm.XSearches},
		{Prefix: "file_search", Class: llm.FileSearches},
		{Prefix: "collections_search", Class: llm.FileSearches},
		{Prefix: "attachment_search", Class: llm.FileSearches},
		{Prefix: "code_interpreter", Class: llm.CodeSessions},
		{Prefix: "code_execution", Class: llm.CodeSessions},
		{Prefix: "image_generation", Class: llm.ToolImages},
		{Prefix: "fetch_url", Class: llm.OtherTools},
		{Prefix: "tool_search", Class: llm.Input},
		{Prefix: "mcp", Class: openai.MCP},
	}
}

// tools holds the calls of the provider's tools in the items of an answer.
type tools struct {
	q          *llm.Quirks
	made       llm.Usage
	more       int64    // further searches that may be charged
	containers []string // containers that ran code
}

// add counts the call of an item, if it is one. Tools of the client and MCP have no fee:
// https://developers.openai.com/api/docs/pricing.
func (t *tools) add(item []byte) {
	kind := rawjson.Text(rawjson.Get(item, "type"))
	name, is := strings.CutSuffix(kind, "_call")
	if !is || kind == itemCall || isAct(kind) {
		return
	}
	class, charged := openai.ToolClass(name)
	switch {
	case !charged:
	case class == llm.Searches:
		t.search(item)
	case class == llm.CodeSessions:
		t.session(rawjson.Text(rawjson.Get(item, "container_id")))
	case rawjson.Text(rawjson.Get(item, "status")) != statusFailed:
		t.made[class]++
	}
}

// session counts a container that ran code, once.
func (t *tools) session(container string) {
	if slices.Contains(t.containers, container) || len(t.containers) == maxContainers {
		return
	}
	t.containers = append(t.containers, container)
	t.made[llm.CodeSessions]++
}

// search counts a web search. Opening a found page is not a search
// (https://platform.openai.com/docs/guides/tools-web-search), and only some providers charge for it; no provider
// charges for finding text on a page.
func (t *tools) search(item []byte) {
	if rawjson.Text(rawjson.Get(item, "status")) != statusCompleted {
		return
	}
	fetches := t.q != nil && t.q.BillsFetches
	switch action := rawjson.Get(item, "action"); rawjson.Text(rawjson.Get(action, "type")) {
	case "", "search":
		t.made[llm.Searches]++
		if fetches {
			t.more += max(0, queries(action)-1)
		}
	case "find_in_page":
	default:
		if fetches {
			t.made[llm.OtherTools]++
		}
	}
}

// queries returns the number of queries of a search, each of which may be a separate request to DeepSeek's search,
// which accepts one query and charges per request (https://api-docs.deepseek.com/guides/search, undated copy). It
// excludes the entry that names the call to find the results again.
func queries(action []byte) (n int64) {
	for _, query := range rawjson.Elements(rawjson.Get(action, "queries")) {
		if !strings.HasPrefix(rawjson.Text(query), "ws_call_id=") {
			n++
		}
	}
	return n
}

// containers returns the modes, with commas, of the containers that tools request: the price depends on the memory, 1
// GB by default. The memory of an existing container is unknown:
// https://developers.openai.com/api/docs/guides/tools-code-interpreter (undated copy).
func containers(tools []byte) string {
	var modes []string
	for _, tool := range rawjson.Elements(tools) {
		if class, _ := openai.ToolClass(rawjson.Text(rawjson.Get(tool, "type"))); class != llm.CodeSessions {
			continue
		}
		container := rawjson.Get(tool, "container")
		memory := cmp.Or(rawjson.Text(rawjson.Get(container, "memory_limit")), "1g")
		if rawjson.KindOf(container) == rawjson.String {
			memory = madeBefore
		}
		if mode := llm.ContainerMode(memory); !slices.Contains(modes, mode) && len(modes) < maxContainers {
			modes = append(modes, mode)
		}
	}
	return strings.Join(modes, ",")
}

// preview returns the mode of a search by the preview tool, which has another price, if it is among the tools;
// otherwise "" (https://developers.openai.com/api/docs/pricing).
func preview(tools []byte) string {
	for _, tool := range rawjson.Elements(tools) {
		if strings.HasPrefix(rawjson.Text(rawjson.Get(tool, "type")), "web_search_preview") {
			return llm.SearchPreview
		}
	}
	return ""
}

// madeBefore stands for the memory of a container that existed before the request.
const madeBefore = "made-before"
