package quote

import (
	"testing"

	"weir/internal/llm"
	"weir/internal/quotetest"
	"weir/internal/rawjson"
)

// TestToolClasses checks the class of each of a provider's own tools, by its type.
func TestToolClasses(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		wire, tool string
		want       llm.Class // Input for a tool without a fee
		unreported bool
	}{
		{"openai", `{"type":"web_search"}`, llm.Searches, true},
		{"openai", `{"type":"deepseek_web_search"}`, llm.Searches, true},
		{"openai", `{"type":"browser_search"}`, llm.Searches, false},
		{"openai", `{"type":"builtin_function","function":{"name":"$web_search"}}`, llm.Searches, false},
		{"openai", `{"type":"openrouter:web_search"}`, llm.Searches, false},
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
		{"bedrock", `{"systemTool":{"name":"nova_grounding"}}`, llm.Searches, false},
		{"bedrock", `{"systemTool":{"name":"nova_code_interpreter"}}`, llm.OtherTools, true},
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
		if got != tt.want || r.unreported.Has(got) != tt.unreported {
			t.Errorf("%s, %s: got %s, unreported %t; want %s, %t", tt.wire, tt.tool, got, r.unreported.Has(got), tt.want, tt.unreported)
		}
	}
}

// TestBoundOfFetches checks the hold if each page that a search opens is charged for, and if caps on calls are ignored.
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

// TestCapOnCallsIsInserted checks that a cap on calls is inserted if the client set none and the provider has a field
// for it, the largest that an amount covers in addition to the shortest answer, and that its bound is within the
// amount.
func TestCapOnCallsIsInserted(t *testing.T) {
	t.Parallel()
	const search = `"tools":[{"type":"web_search"}],"input":"Hi"}`
	capped, uses := llm.Quirks{CallCap: "max_tool_calls"}, llm.Quirks{CallCap: "max_uses"}
	messages := func(tools string) string {
		return `{"max_tokens":300,"tools":[` + tools + `],"messages":[{"role":"user","content":"Hi"}]}`
	}
	for _, tt := range []struct {
		name, clientAPI, body string
		quirks                llm.Quirks
		want                  int64 // calls of the highest cost; 0 for none inserted
	}{
		{"a search", "responses", `{` + search, capped, mostCalls},
		{"a null", "responses", `{"max_tool_calls":null,` + search, capped, mostCalls},
		{"the client's cap", "responses", `{"max_tool_calls":3,` + search, capped, 0},
		{"no tools", "responses", `{"input":"Hi"}`, capped, 0},
		{"a provider without the field", "responses", `{` + search, llm.Quirks{}, 0},
		{"a wire format without the field", "openai", `{"web_search_options":{},"messages":[{"role":"user","content":"Hi"}]}`, capped, 0},
		{"a tool's own cap", "anthropic", messages(`{"type":"web_search_20250305","name":"web_search"}`), uses, mostCalls},
		{"a tool's own null", "anthropic", messages(`{"type":"web_search_20250305","name":"web_search","max_uses":null}`), uses, mostCalls},
		{"the client's cap on a tool", "anthropic", messages(`{"type":"web_search_20250305","name":"web_search","max_uses":3}`), uses, 0},
		{"a tool that takes no cap", "anthropic", messages(`{"type":"mcp_toolset","mcp_server_name":"m"}`), uses, 0},
		{"a provider that obeys no cap on a tool", "anthropic", messages(`{"type":"web_search_20250305","name":"web_search"}`), llm.Quirks{}, 0},
	} {
		q := newAsked(t, quotetest.Asked{ClientAPI: tt.clientAPI, Body: tt.body, Sizes: sized(), Quirks: tt.quirks})
		k := q.demandOf(Coarse)
		least, most := k.Amounts()
		if got := k.CallsFor(most); got != tt.want {
			t.Errorf("%s: %d calls put in, want %d", tt.name, got, tt.want)
		}
		if tt.want == 0 {
			continue
		}
		fewer := int64(0)
		for amount := least; amount <= most; amount += (most - least) / 50 {
			limit, ok := k.CapFor(amount)
			calls := k.CallsFor(amount)
			u := k.Granted(limit, calls)
			if cost := k.Price.Bound(&u); !ok || calls < max(1, fewer) || calls > tt.want || cost > amount || u[llm.Searches] != calls {
				t.Errorf("%s: for %d %d calls and %d tokens, at a cost of %d, %t", tt.name, amount, calls, limit, cost, ok)
			}
			fewer = calls
		}
		if _, ok := k.CapFor(least - 1); ok {
			t.Errorf("%s: less than the least suffices", tt.name)
		}
	}
}

// TestBoundOfSearches checks the hold for the results of searches: the window for each read, less if the provider
// documents less, and the usual size if budgets hold that.
func TestBoundOfSearches(t *testing.T) {
	t.Parallel()
	const search = `"tools":[{"type":"web_search"}],"max_tool_calls":3,"input":"Hi"}`
	short := llm.Quirks{SearchWindow: 9000}
	for _, tt := range []struct {
		name, body string
		quirks     llm.Quirks
		usual      bool
		input      int64
		searches   int64
	}{
		{"a provider that says nothing", `{` + search, llm.Quirks{}, false, 4 * window, 3},
		{"a short window of searches", `{` + search, short, false, 3*9000 + 4*(aroundRequest+aroundTools+int64(len(`{`+search))), 3},
		{"a short window, and a file that is not shown", `{"previous_response_id":"r",` + search, short, false, 4 * window, 3},
		{"a short window, and another tool", `{"tools":[{"type":"web_search"},{"type":"mcp"}],"max_tool_calls":3,"input":"Hi"}`, short, false, 4 * window, 3},
		{"the usual", `{` + search, llm.Quirks{}, true, 6*usualFound + 4*(aroundRequest+aroundTools+int64(len(`{`+search))), 3},
		{"the usual without a cap", `{"tools":[{"type":"web_search"}],"input":"Hi"}`, llm.Quirks{}, true, 3*usualFound + 3*(aroundRequest+aroundTools+46), 5},
		{"the usual with a cap put in", `{"tools":[{"type":"web_search"}],"input":"Hi"}`, llm.Quirks{CallCap: "max_tool_calls"}, true, 15*usualFound + 6*(aroundRequest+aroundTools+46), 5},
		{"the usual of what is not shown", `{"previous_response_id":"r",` + search, llm.Quirks{}, true, 4 * window, 3},
		{"the usual without tools", `{"input":"Hi"}`, llm.Quirks{}, true, aroundRequest + 14, 0},
	} {
		q := newAsked(t, quotetest.Asked{ClientAPI: "responses", Body: tt.body, Sizes: sized(), Quirks: tt.quirks, UsualTools: tt.usual})
		if u := q.bound(Coarse); u.InputTokens() != tt.input || u[llm.Searches] != tt.searches {
			t.Errorf("%s: %d tokens of input and %d searches, want %d and %d", tt.name, u.InputTokens(), u[llm.Searches], tt.input, tt.searches)
		}
	}
}

// TestCapsOnTools checks which tools of a request get a cap on their uses, and that their calls are within the hold for
// that cap, also if budgets hold the usual cost of tools.
func TestCapsOnTools(t *testing.T) {
	t.Parallel()
	const search, fetch, own = `{"type":"web_search_20260209","name":"web_search"}`, `{"type":"web_fetch_20250910","name":"web_fetch"}`,
		`{"name":"f","input_schema":{"type":"object"}}`
	for _, tt := range []struct {
		name, tools string
		usual       bool
		calls       int64
		want        string
	}{
		{"one", search, false, 10, `[{"max_uses":10,"type":"web_search_20260209","name":"web_search"}]`},
		{"two, and one of the client's", search + "," + own + "," + fetch, false, 10, `[{"max_uses":10,"type":"web_search_20260209","name":"web_search"},` +
			own + `,{"max_uses":10,"type":"web_fetch_20250910","name":"web_fetch"}]`},
		{
			"one that has a cap", fetch + `,{"type":"web_search_20260209","name":"web_search","max_uses":30}`, false, 10,
			`[{"max_uses":10,"type":"web_fetch_20250910","name":"web_fetch"},{"type":"web_search_20260209","name":"web_search","max_uses":30}]`,
		},
		{"the usual of one", search, true, 5, `[{"max_uses":5,"type":"web_search_20260209","name":"web_search"}]`},
		{"the usual of two", search + "," + fetch, true, 2, `[{"max_uses":2,"type":"web_search_20260209","name":"web_search"},` +
			`{"max_uses":2,"type":"web_fetch_20250910","name":"web_fetch"}]`},
	} {
		q := newAsked(t, quotetest.Asked{
			ClientAPI: "anthropic", Sizes: sized(), Quirks: llm.Quirks{CallCap: "max_uses"}, UsualTools: tt.usual,
			Body: `{"max_tokens":300,"tools":[` + tt.tools + `],"messages":[{"role":"user","content":"Hi"}]}`,
		})
		k := q.demandOf(Coarse)
		_, most := k.Amounts()
		calls := k.CallsFor(most)
		if got := string(rawjson.Get(q.CapCalls(q.Body, calls), "tools")); calls != tt.calls || got != tt.want {
			t.Errorf("%s: %d calls, %s; want %d, %s", tt.name, calls, got, tt.calls, tt.want)
		}
		r := q.inputs()
		for n := int64(1); n <= calls; n++ {
			all := r.calls - r.open.caps*(calls-n) // as often as the tools may be called in all
			if u := k.Granted(0, n); u[llm.Input] < (upperBound{q, Coarse, &r}).reads(all) || u[llm.Searches] < n {
				t.Errorf("%s: %d calls of each are held as %d tokens and %d searches, want %d tokens", tt.name, n, u[llm.Input], u[llm.Searches],
					upperBound{q, Coarse, &r}.reads(all))
			}
		}
	}
}
