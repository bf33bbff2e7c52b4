package responses_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"weir/internal/dialect/responses"
	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/sse"
)

// toolReplies has the items of answers, and the calls that are charged for.
var toolReplies = []struct {
	name, items, rest string
	want              llm.Usage
	cost              string
}{
	{
		"searches", `{"type":"web_search_call","status":"completed","action":{"type":"search"}},` +
			`{"type":"web_search_call","status":"completed","action":{"type":"open_page"}},` +
			`{"type":"web_search_call","status":"failed","action":{"type":"search"}}`, `"usage":{}`,
		llm.Usage{llm.Searches: 1},
		"",
	},
	{
		"files and images", `{"type":"file_search_call","status":"completed"},{"type":"file_search_call",` +
			`"status":"completed"},` +
			`{"type":"image_generation_call","status":"completed"},{"type":"image_generation_call",` +
			`"status":"failed"}`, `"usage":{}`,
		llm.Usage{llm.FileSearches: 2, llm.ToolImages: 1},
		"",
	},
	{
		"containers", `{"type":"code_interpreter_call","container_id":"a"},{"type":"code_interpreter_call",` +
			`"container_id":"b"},` +
			`{"type":"code_interpreter_call","container_id":"a"}`, `"usage":{}`,
		llm.Usage{llm.CodeSessions: 2},
		"",
	},
	{
		"a container without a name", `{"type":"code_interpreter_call"},{"type":"code_interpreter_call"}`, `"usage":{}`,
		llm.Usage{llm.CodeSessions: 1},
		"",
	},
	{
		"what the client runs, and what is free", `{"type":"function_call","call_id":"c","name":"f",` +
			`"arguments":"{}"},` +
			`{"type":"custom_tool_call"},{"type":"computer_call"},{"type":"local_shell_call"},{"type":"shell_call"},` +
			`{"type":"apply_patch_call"},{"type":"mcp_call"},{"type":"mcp_list_tools"},` +
			`{"type":"reasoning"}`, `"usage":{}`,
		llm.Usage{},
		"",
	},
	{"unknown", `{"type":"teleport_call","status":"completed"}`, `"usage":{}`, llm.Usage{llm.OtherTools: 1}, ""},
	{
		"the provider's own count of searches", `{"type":"web_search_call","status":"completed",` +
			`"action":{"type":"search"}}`,
		`"usage":{},"tool_usage":{"web_search":{"num_requests":3}}`,
		llm.Usage{llm.Searches: 3},
		"",
	},
	{
		"xAI", `{"type":"web_search_call","status":"completed","action":{"type":"search"}},` +
			`{"type":"web_search_call","status":"completed","action":{"type":"open_page"}}`,
		`"usage":{"cost_in_usd_ticks":3206000,"server_side_tool_usage_details":{"web_search_calls":2,` +
			`"x_search_calls":5,"mcp_calls":1}}`,
		llm.Usage{llm.Searches: 2, llm.XSearches: 5},
		"0.0003206",
	},
	{
		"Perplexity", `{"type":"search_results"}`, `"usage":{"cost":{"currency":"USD","total_cost":0.01635},` +
			`"tool_calls_details":{"web_search":{"invocation":2},"fetch_url":{"invocation":1}}}`,
		llm.Usage{llm.Searches: 2, llm.OtherTools: 1},
		"0.01635",
	},
}

// metered returns the usage and the provider's own cost of an answer, whole or streamed.
func metered(t *testing.T, items, rest string, stream bool) (u llm.Usage, cost string) {
	t.Helper()
	u, _, cost = meteredBy(t, items, rest, stream, nil)
	return u, cost
}

// meteredBy does the same for a provider with those quirks, and also returns the bound of the usage.
func meteredBy(t *testing.T, items, rest string, stream bool, q *llm.Quirks) (u llm.Usage, most *llm.Usage, cost string) {
	t.Helper()
	rest = strings.Replace(rest, `"usage":{`, `"usage":{"input_tokens":7,"output_tokens":3,"total_tokens":10,`, 1)
	rest = strings.Replace(rest, `,}`, `}`, 1)
	var told *llm.Money
	if !stream {
		r := must.Get(responses.DecodeReply([]byte(`{"status":"completed","output":[`+items+`],`+rest+`}`), q))(t)
		u, most, told = r.Usage, r.Most, r.ProviderCost
	} else {
		dec := responses.NewDecoder(q)
		frames := []string{}
		for _, item := range strings.SplitAfter(items, `},{"type"`) {
			item = `{"type"` + strings.TrimPrefix(strings.TrimSuffix(item, `,{"type"`), `{"type"`)
			frames = append(frames, `{"type":"response.output_item.done","item":`+item+`}`)
		}
		frames = append(frames, `{"type":"response.completed","response":{"status":"completed","output":[],`+rest+`}}`)
		for _, data := range frames {
			events, err := dec.Decode(nil, sse.Event{Data: []byte(data)})
			if err != nil {
				t.Fatalf("%s: %v", data, err)
			}
			for _, ev := range events {
				if ev.Kind == llm.EventUsage {
					u, most, told = ev.Usage, ev.Most, ev.ProviderCost
				}
			}
		}
	}
	if told != nil {
		cost = told.String()
	}
	return u, most, cost
}

// TestFetchesAreCounted counts the pages that a search opens at a provider that charges for them, and the possible
// charge of a search of several queries.
func TestFetchesAreCounted(t *testing.T) {
	t.Parallel()
	const (
		search = `{"type":"web_search_call","status":"completed","action":{"type":"search","queries":["a","ws_call_id=1"]}}`
		both   = `{"type":"web_search_call","status":"completed","action":{"type":"search","queries":["a","b","ws_call_id=1"]}}`
		open   = `{"type":"web_search_call","status":"completed","action":{"type":"open_page","url":"https://example.com"}}`
		failed = `{"type":"web_search_call","status":"failed","action":{"type":"open_page","url":"https://example.com"}}`
		find   = `{"type":"web_search_call","status":"completed","action":{"type":"find_in_page","pattern":"p"}}`
		read   = `{"type":"web_search_call","status":"completed","action":{"type":"read_url","url":"https://example.com"}}`
	)
	for _, tt := range []struct {
		name, items             string
		bills                   bool
		searches, fetches, most int64 // most searches; 0 for certain
	}{
		{"pages", search + "," + open + "," + failed + "," + find + "," + open, true, 1, 2, 0},
		{"pages where they cost nothing", both + "," + open + "," + find, false, 1, 0, 0},
		{"an action that nobody knows", read, true, 0, 1, 0},
		{"two queries", both + "," + search, true, 2, 0, 3},
	} {
		for _, stream := range []bool{false, true} {
			u, most, _ := meteredBy(t, tt.items, `"usage":{}`, stream, &llm.Quirks{BillsFetches: tt.bills})
			got := int64(0)
			if most != nil {
				got = most[llm.Searches]
			}
			if u[llm.Searches] != tt.searches || u[llm.OtherTools] != tt.fetches || got != tt.most {
				t.Errorf("%s, streamed %t: %d searches, at most %d, and %d fetches; want %d, %d and %d", tt.name, stream, u[llm.Searches], got,
					u[llm.OtherTools], tt.searches, tt.most, tt.fetches)
			}
		}
	}
}

func TestToolsAreMetered(t *testing.T) {
	t.Parallel()
	for _, tt := range toolReplies {
		want := tt.want
		want[llm.Input], want[llm.Output] = 7, 3
		for _, stream := range []bool{false, true} {
			got, cost := metered(t, tt.items, tt.rest, stream)
			if diff := cmp.Diff(got, want); diff != "" || cost != tt.cost {
				t.Errorf("%s, streamed %t: cost %q, want %q (-got +want)\n%s", tt.name, stream, cost, tt.cost, diff)
			}
		}
	}
}

// TestHeadReportsPreviewSearch checks that the head of a request reports that the preview may search.
func TestHeadReportsPreviewSearch(t *testing.T) {
	t.Parallel()
	for tools, want := range map[string]string{
		`[{"type":"web_search_preview"}]`: "search:preview",
		`[{"type":"web_search"}]`:         "",
		`[{"type":"f"},{"type":"web_search_preview_2025_03_11"},{"type":"code_interpreter","container":{"type":"auto"}}]`: "container:1g,search:preview",
	} {
		h, err := responses.Scan([]byte(`{"model":"m","input":"Hi","tools":`+tools+`}`), nil)
		if err != nil || h.Asked != want {
			t.Errorf("%s: got %q, %v, want %q", tools, h.Asked, err, want)
		}
	}
}

// TestPreviewSearch checks the price of the web search tool's preview, which the answer's repeated tools show.
func TestPreviewSearch(t *testing.T) {
	t.Parallel()
	const search = `{"type":"web_search_call","status":"completed","action":{"type":"search"}}`
	for _, tt := range []struct{ name, items, tools, want string }{
		{"the tool", search, `{"type":"web_search"}`, "default"},
		{"its preview", search, `{"type":"web_search_preview"}`, "default,search:preview"},
		{"its dated preview", search, `{"type":"f"},{"type":"web_search_preview_2025_03_11"}`, "default,search:preview"},
		{"its preview without a search", "", `{"type":"web_search_preview"}`, "default"},
	} {
		response := `{"status":"completed","service_tier":"default","output":[` + tt.items + `],"tools":[` + tt.tools +
			`],"usage":{"input_tokens":7,"output_tokens":3,"total_tokens":10}}`
		r, err := responses.DecodeReply([]byte(response), nil)
		if err != nil || r.Tier != tt.want {
			t.Errorf("%s: got %q, %v, want %q", tt.name, r.Tier, err, tt.want)
		}
		events, err := responses.NewDecoder(nil).Decode(nil, sse.Event{
			Data: []byte(`{"type":"response.completed","response":` + response + `}`),
		})
		must.Do(t, err)
		got := ""
		for _, ev := range events {
			if ev.Tier != "" {
				got = ev.Tier
			}
		}
		if got != tt.want {
			t.Errorf("%s, streamed: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

// TestContainersCostByMemory checks that a container costs by its memory, which the request has and the answer repeats.
// For an existing one neither has it.
func TestContainersCostByMemory(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ tools, want string }{
		{`{"type":"web_search"}`, ""},
		{`{"type":"code_interpreter","container":{"type":"auto"}}`, "container:1g"},
		{`{"type":"code_interpreter","container":{"type":"auto","memory_limit":"4g"}}`, "container:4g"},
		{`{"type":"code_interpreter","container":"cntr_1"}`, "container:made-before"},
		{`{"type":"code_interpreter","container":{"type":"auto","memory_limit":"4g,container:1g"}}`, "container:unknown"},
		{`{"type":"code_interpreter","container":{"memory_limit":"64g"}},{"type":"code_interpreter"}`, "container:64g,container:1g"},
	} {
		h, err := responses.Scan([]byte(`{"model":"m","input":"Hi","tools":[`+tt.tools+`]}`), nil)
		if err != nil || h.Asked != tt.want {
			t.Errorf("%s: got %q, %v, want %q", tt.tools, h.Asked, err, tt.want)
		}
		r, err := responses.DecodeReply([]byte(`{"status":"completed","service_tier":"default","output":[],"tools":[`+tt.tools+
			`],"usage":{"input_tokens":7,"output_tokens":3,"total_tokens":10}}`), nil)
		if want := strings.TrimSuffix("default,"+tt.want, ","); err != nil || r.Tier != want {
			t.Errorf("%s: got %v, %v, want %q", tt.tools, r, err, want)
		}
	}
}
