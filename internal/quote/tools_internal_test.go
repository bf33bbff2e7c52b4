package quote

import (
	"testing"

	"weir/internal/llm"
	"weir/internal/quotetest"
)

// TestToolClasses holds what a provider's own tools are counted as, each by its type.
func TestToolClasses(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		wire, tool string
		want       llm.Class // Input for none that has a fee
		untold     bool
	}{
		{"openai", `{"type":"web_search"}`, llm.Searches, true},
		{"openai", `{"type":"deepseek_web_search"}`, llm.Searches, true},
		{"openai", `{"type":"browser_search"}`, llm.Searches, false},
		{"openai", `{"type":"builtin_function","function":{"name":"$web_search"}}`, llm.Searches, false},
		{"openai", `{"type":"crystal_ball"}`, llm.OtherTools, true},
		{"openai", `{"type":"mcp"}`, llm.Input, false},
		{"responses", `{"type":"web_search_preview_2025_03_11"}`, llm.Searches, false},
		{"responses", `{"type":"x_search"}`, llm.XSearches, false},
		{"responses", `{"type":"file_search","vector_store_ids":["v"]}`, llm.FileSearches, false},
		{"responses", `{"type":"code_interpreter","container":{"type":"auto"}}`, llm.CodeSessions, false},
		{"responses", `{"type":"image_generation"}`, llm.ToolImages, false},
		{"responses", `{"type":"mcp"}`, llm.Input, false},
		{"responses", `{"type":"shell","environment":{"type":"local"}}`, llm.Input, false},
		{"responses", `{"type":"shell","environment":{"type":"container_auto"}}`, llm.OtherTools, true},
		{"responses", `{"type":"namespace","tools":[{"type":"function"},{"type":"custom"}]}`, llm.Input, false},
		{"responses", `{"type":"namespace","tools":[{"type":"x_search"}]}`, llm.XSearches, false},
		{"responses", `{"type":"namespace","tools":[{"type":"namespace","tools":[]}]}`, llm.OtherTools, true},
		{"anthropic", `{"type":"web_search_20260209"}`, llm.Searches, false},
		{"anthropic", `{"type":"code_execution_20250825"}`, llm.CodeSessions, false},
		{"anthropic", `{"type":"web_fetch_20250910"}`, llm.Input, false},
		{"anthropic", `{"name":"f","input_schema":{}}`, llm.Input, false},
		{"anthropic", `{"type":"crystal_ball"}`, llm.OtherTools, true},
		{"gemini", `{"google_search":{}}`, llm.Searches, false},
		{"gemini", `{"googleSearchRetrieval":{}}`, llm.Searches, false},
		{"gemini", `{"googleMaps":{}}`, llm.Maps, false},
		{"gemini", `{"google_maps":{}}`, llm.Maps, false},
		{"gemini", `{"codeExecution":{}}`, llm.Input, false},
		{"gemini", `{"code_execution":{}}`, llm.Input, false},
		{"gemini", `{"urlContext":{}}`, llm.Input, false},
		{"gemini", `{"functionDeclarations":[],"googleMaps":{}}`, llm.Maps, false},
	} {
		var r Inputs
		r.tool([]byte(tt.tool), &quotetest.Dialect(t, tt.wire).Inputs, 1)
		got := llm.Input
		for c := range llm.Class(llm.NumClasses) {
			if r.tools[c] > 0 {
				got = c
			}
		}
		if got != tt.want || r.untold.Has(got) != tt.untold {
			t.Errorf("%s, %s: got %s, untold %t; want %s, %t", tt.wire, tt.tool, got, r.untold.Has(got), tt.want, tt.untold)
		}
	}
}

// TestBoundOfFetches holds what is held where each page that a search opens is charged for, and where no cap on calls is
// obeyed.
func TestBoundOfFetches(t *testing.T) {
	t.Parallel()
	const search = `"tools":[{"type":"web_search"}],"input":"Hi"}`
	for _, tt := range []struct {
		name, clientAPI, body string
		quirks                llm.Quirks
		searches, fetches     int64
	}{
		{"a search", "responses", `{` + search, llm.Quirks{}, mostCalls, 0},
		{"a search and its pages", "responses", `{` + search, llm.Quirks{BillsFetches: true}, mostCalls, mostCalls},
		{"a cap on both", "responses", `{"max_tool_calls":3,` + search, llm.Quirks{BillsFetches: true}, 3, 3},
		{"a cap that is not obeyed", "responses", `{"max_tool_calls":0,` + search, llm.Quirks{BillsFetches: true, IgnoresCallCaps: true}, mostCalls, mostCalls},
		{"no tools", "responses", `{"input":"Hi"}`, llm.Quirks{BillsFetches: true}, 0, 0},
		{
			"a tool's own cap that is not obeyed", "anthropic",
			`{"max_tokens":9,"tools":[{"type":"web_search_20250305","name":"web_search","max_uses":1}],"messages":[{"role":"user","content":"Hi"}]}`,
			llm.Quirks{BillsFetches: true, IgnoresCallCaps: true},
			mostCalls, mostCalls,
		},
		{
			"pages alone", "anthropic",
			`{"max_tokens":9,"tools":[{"type":"web_fetch_20250910","name":"web_fetch"}],"messages":[{"role":"user","content":"Hi"}]}`,
			llm.Quirks{BillsFetches: true},
			0, mostCalls,
		},
	} {
		q := newAsked(t, quotetest.Asked{ClientAPI: tt.clientAPI, Body: tt.body, Sizes: sized(), Quirks: tt.quirks})
		if u := q.bound(Coarse); u[llm.Searches] != tt.searches || u[llm.OtherTools] != tt.fetches {
			t.Errorf("%s: %d searches and %d fetches, want %d and %d", tt.name, u[llm.Searches], u[llm.OtherTools], tt.searches, tt.fetches)
		}
	}
}
