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

// maxContainers bounds the containers that are told apart; more count as one.
const maxContainers = 64

// serverTools are those that providers run, whose calls are items of the answer: OpenAI's
// (https://developers.openai.com/api/docs/pricing), xAI's
// (https://docs.x.ai/developers/pricing), Groq's (https://groq.com/pricing), Perplexity's
// (https://docs.perplexity.ai/docs/getting-started/pricing) and DeepSeek's
// (https://api-docs.deepseek.com/guides/web_tools, undated copy), of which it is not known
// whether they are. OpenAI's hosted shell is none: its calls look as those of the client's
// shell do, and its containers have a price
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

// tools are the calls, in the items of an answer, of tools that the provider runs.
type tools struct {
	q          *llm.Quirks
	made       llm.Usage
	more       int64    // searches beside these that may be charged for
	containers []string // in which code ran
}

// add counts the call that an item stands for, if it is one. What the client runs, and
// MCP, has no fee: https://developers.openai.com/api/docs/pricing.
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

// session counts a container in which code ran once, however often it did.
func (t *tools) session(container string) {
	if slices.Contains(t.containers, container) || len(t.containers) == maxContainers {
		return
	}
	t.containers = append(t.containers, container)
	t.made[llm.CodeSessions]++
}

// search counts a search of the web. To open a found page is none
// (https://platform.openai.com/docs/guides/tools-web-search), and is charged for at some
// providers alone; to look for something on it is nothing that anybody charges for.
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

// queries is how many queries a search had, each of which may be a request of its own to
// DeepSeek's search, which takes one and is charged for by the request
// (https://api-docs.deepseek.com/guides/search, undated copy). The last of them is
// none: it says by which call the results are found again.
func queries(action []byte) (n int64) {
	for _, query := range rawjson.Elements(rawjson.Get(action, "queries")) {
		if !strings.HasPrefix(rawjson.Text(query), "ws_call_id=") {
			n++
		}
	}
	return n
}

// containers are the modes, with commas, of the containers that tools ask for: each costs
// what its memory does, 1 GB where nothing else is said. Of one that was made before nobody
// here knows it: https://developers.openai.com/api/docs/guides/tools-code-interpreter
// (undated copy).
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

// preview is the mode of a search by the preview of the tool, which has another price, where it is among the tools; else
// empty (https://developers.openai.com/api/docs/pricing).
func preview(tools []byte) string {
	for _, tool := range rawjson.Elements(tools) {
		if strings.HasPrefix(rawjson.Text(rawjson.Get(tool, "type")), "web_search_preview") {
			return llm.SearchPreview
		}
	}
	return ""
}

// madeBefore stands for the memory of a container that was made before the request.
const madeBefore = "made-before"
