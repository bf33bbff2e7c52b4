package anthropic_test

import (
	"strings"
	"testing"

	"weir/internal/dialect/anthropic"
	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/sse"
)

const (
	webSearch = `{"type":"server_tool_use","id":"s1","name":"web_search","input":{}}`
	runsCode  = `{"type":"server_tool_use","id":"s2","name":"bash_code_execution","input":{}}`
)

// metered lists the vendor's documented answers, and their charges.
var metered = []struct {
	name, content, reason, usage string
	want                         llm.Usage
	tier, cost                   string
}{
	{
		"modes", "", "end_turn", `"input_tokens":5,"output_tokens":2,"service_tier":"standard","inference_geo":"us",` +
			`"speed":"fast"`,
		llm.Usage{llm.Input: 5, llm.Output: 2},
		"standard,geo:us,speed:fast", "",
	},
	{
		"usual modes", "", "end_turn", `"input_tokens":5,"output_tokens":2,"service_tier":"batch",` +
			`"inference_geo":"not_available","speed":"standard"`,
		llm.Usage{llm.Input: 5, llm.Output: 2},
		"batch,speed:standard", "",
	},
	{
		"no tier", "", "end_turn", `"input_tokens":5,"output_tokens":2,"inference_geo":"global","speed":"fast"`,
		llm.Usage{llm.Input: 5, llm.Output: 2},
		"speed:fast", "",
	},
	{
		"searches and pages", webSearch, "end_turn", `"input_tokens":5,"output_tokens":2,` +
			`"server_tool_use":{"web_search_requests":3,"web_fetch_requests":2}`,
		llm.Usage{llm.Input: 5, llm.Output: 2, llm.Searches: 3},
		"", "",
	},
	{
		"code", runsCode + "," + strings.Replace(runsCode, "s2", "s3", 1), "end_turn", `"input_tokens":5,` +
			`"output_tokens":2`,
		llm.Usage{llm.Input: 5, llm.Output: 2, llm.CodeSessions: 1},
		"", "",
	},
	{
		"code beside a search", webSearch + "," + runsCode, "end_turn", `"input_tokens":5,"output_tokens":2,` +
			`"server_tool_use":{"web_search_requests":1}`,
		llm.Usage{llm.Input: 5, llm.Output: 2, llm.Searches: 1},
		"", "",
	},
	{
		"compaction", "", "end_turn", `"input_tokens":23,"output_tokens":10,"iterations":[{"type":"compaction",` +
			`"input_tokens":180,"output_tokens":35},` +
			`{"type":"message","input_tokens":23,"output_tokens":10}]`,
		llm.Usage{llm.Input: 203, llm.Output: 45},
		"", "",
	},
	{
		"an advisor", "", "end_turn", `"input_tokens":412,"output_tokens":531,"iterations":[{"type":"message",` +
			`"input_tokens":412,"output_tokens":89},` +
			`{"type":"advisor_message","input_tokens":823,"output_tokens":1612,"model":"claude-opus-4-8"},` +
			`{"type":"message","input_tokens":1348,"output_tokens":442,"cache_read_input_tokens":412}]`,
		llm.Usage{llm.Input: 1760, llm.CacheRead: 412, llm.Output: 531, llm.OtherTools: 1},
		"", "",
	},
	{
		"a fallback", "", "end_turn", `"input_tokens":412,"output_tokens":264,"iterations":[{"type":"message",` +
			`"input_tokens":408,"output_tokens":0},` +
			`{"type":"fallback_message","input_tokens":412,"output_tokens":264}]`,
		llm.Usage{llm.Input: 412, llm.Output: 264, llm.OtherTools: 1},
		"", "",
	},
}

// said holds an answer's report of its usage, its modes and its cost.
type said struct {
	Usage      llm.Usage
	Tier, Cost string
}

func costOf(m *llm.Money) string {
	if m == nil {
		return ""
	}
	return m.String()
}

func TestRepliesAreMetered(t *testing.T) {
	t.Parallel()
	for _, tt := range metered {
		body := `{"content":[` + tt.content + `],"stop_reason":"` + tt.reason + `","usage":{` + tt.usage + `}}`
		r, err := anthropic.DecodeReply([]byte(body), nil)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		got := said{r.Usage, r.Tier, costOf(r.ProviderCost)}
		must.Equal(t, got, said{tt.want, tt.tier, tt.cost}, "%s", tt.name)
	}
}

// TestContradictoryCountsAreBounded checks that contradictory counts are bounded by the greatest reading of each.
func TestContradictoryCountsAreBounded(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		usage string
		most  llm.Usage // zero for counts that agree
	}{
		{`"cache_creation_input_tokens":60,"cache_creation":{"ephemeral_5m_input_tokens":10,"ephemeral_1h_input_tokens":50}`, llm.Usage{}},
		{
			`"cache_creation_input_tokens":30,"cache_creation":{"ephemeral_5m_input_tokens":10,"ephemeral_1h_input_tokens":50}`,
			llm.Usage{llm.Input: 10, llm.Output: 5, llm.CacheWrite: 10, llm.CacheWrite1h: 50},
		},
		{
			`"cache_creation_input_tokens":0,"cache_creation":{"ephemeral_5m_input_tokens":1000}`,
			llm.Usage{llm.Input: 10, llm.Output: 5, llm.CacheWrite: 1000},
		},
		{`"output_tokens_details":{"thinking_tokens":8}`, llm.Usage{llm.Input: 10, llm.Output: 5, llm.Reasoning: 8}},
		{`"cache_creation_input_tokens":60`, llm.Usage{}},
		{`"cache_creation_input_tokens":60,"cache_creation":null`, llm.Usage{}},
		{
			`"cache_creation_input_tokens":60,"cache_creation":{"ephemeral_5m_input_tokens":10,"ephemeral_24h_input_tokens":50}`,
			llm.Usage{llm.Input: 10, llm.Output: 5, llm.CacheWrite: 10, llm.CacheWrite1h: 50},
		},
	} {
		usage := `{"input_tokens":10,"output_tokens":5,` + tt.usage + `}`
		r := must.Get(anthropic.DecodeReply([]byte(`{"content":[],"stop_reason":"end_turn","usage":`+usage+`}`), nil))(t)
		events := must.Get(anthropic.NewDecoder(nil).Decode(nil, sse.Event{
			Data: []byte(`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":` + usage + `}`),
		}))(t)
		for _, most := range []*llm.Usage{r.Most, events[len(events)-1].Most} {
			if most == nil {
				most = new(llm.Usage)
			}
			must.Equal(t, *most, tt.most, "%s", tt.usage)
		}
	}
}

// TestSearchesThatShow uses an answer whose blocks show more searches than its usage counts.
func TestSearchesThatShow(t *testing.T) {
	t.Parallel()
	const search = `{"type":"server_tool_use","id":"s","name":"web_search","input":{}}`
	const found = `{"type":"web_search_tool_result","tool_use_id":"s","content":[]}`
	const failed = `{"type":"web_search_tool_result","tool_use_id":"s","content":{"type":"web_search_tool_result_error","error_code":"unavailable"}}`
	for _, tt := range []struct {
		usage        string
		blocks       []string
		searches     int64
		contradicted bool
	}{
		{`{"web_search_requests":2}`, []string{search, search}, 2, false},
		{`{"web_search_requests":2}`, []string{search}, 2, false},
		{`{"web_search_requests":1}`, []string{search, search}, 2, true},
		{`null`, []string{search}, 1, true},
		{`{}`, []string{search}, 1, true},
		{`{"web_search_requests":1}`, []string{search, failed, search}, 1, false},
		{`{"web_search_requests":2}`, []string{search, found, search, found}, 2, false},
		{`{"web_search_requests":1}`, []string{found, found}, 2, true},
		{`null`, []string{found, found, failed}, 2, true},
		{`null`, []string{failed}, 0, false},
	} {
		usage := `{"input_tokens":10,"output_tokens":5,"server_tool_use":` + tt.usage + `}`
		r := must.Get(anthropic.DecodeReply([]byte(`{"content":[`+strings.Join(tt.blocks, ",")+`],"stop_reason":"end_turn","usage":`+usage+`}`), nil))(t)
		d := anthropic.NewDecoder(nil)
		for _, block := range tt.blocks {
			_ = must.Get(d.Decode(nil, sse.Event{Data: []byte(`{"type":"content_block_start","content_block":` + block + `}`)}))(t)
		}
		events := must.Get(d.Decode(nil, sse.Event{
			Data: []byte(`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":` + usage + `}`),
		}))(t)
		last := events[len(events)-1]
		must.Equal(t, [2]int64{r.Usage[llm.Searches], last.Usage[llm.Searches]}, [2]int64{tt.searches, tt.searches}, "%v", tt)
		must.Equal(t, [2]bool{r.Most != nil, last.Most != nil}, [2]bool{tt.contradicted, tt.contradicted}, "%v", tt)
	}
}

// TestRefusalsAreMetered checks the charge of refusals: with output the counted usage, before any output by their
// category, and unknown without one.
func TestRefusalsAreMetered(t *testing.T) {
	t.Parallel()
	counted := llm.Usage{llm.Input: 412, llm.Output: 3}
	for _, tt := range []struct {
		content, details string
		want             llm.Usage
		most             *llm.Usage
	}{
		{``, `{"type":"refusal","category":"cyber"}`, llm.Usage{}, nil},
		{``, `{"type":"refusal","category":"general_harms"}`, llm.Usage{}, nil},
		{``, `{"type":"refusal","category":null}`, llm.Usage{}, nil},
		{``, `{"type":"refusal","category":"bio"}`, counted, nil},
		{``, `{"type":"refusal","category":"frontier_llm"}`, counted, nil},
		{``, `{"type":"refusal","category":"reasoning_extraction"}`, counted, nil},
		{``, `{"type":"refusal","category":"another"}`, llm.Usage{}, &counted},
		{``, `null`, llm.Usage{}, &counted},
		{`{"type":"text","text":"Well"}`, `{"type":"refusal","category":"cyber"}`, counted, nil},
	} {
		end := `"stop_reason":"refusal","stop_details":` + tt.details
		usage := `"usage":{"input_tokens":412,"output_tokens":3}`
		r, err := anthropic.DecodeReply([]byte(`{"content":[`+tt.content+`],`+end+`,`+usage+`}`), nil)
		if err != nil {
			t.Errorf("%s %s: %v", tt.content, tt.details, err)
			continue
		}
		must.Equal(t, charged{r.Usage, r.Most}, charged{tt.want, tt.most}, "%s %s", tt.content, tt.details)
		frames := []string{`{"type":"message_start","message":{"usage":{"input_tokens":412,"output_tokens":0}}}`}
		if tt.content != "" {
			frames = append(frames, `{"type":"content_block_start","index":0,"content_block":`+tt.content+`}`)
		}
		frames = append(frames, `{"type":"message_delta","delta":{`+end+`},`+usage+`}`)
		dec, got := anthropic.NewDecoder(nil), charged{}
		for _, frame := range frames {
			events := must.Get(dec.Decode(nil, sse.Event{Data: []byte(frame)}))(t)
			for _, e := range events {
				if e.Kind == llm.EventUsage {
					got = charged{e.Usage, e.Most}
				}
			}
		}
		must.Equal(t, got, charged{tt.want, tt.most}, "streamed, %s %s", tt.content, tt.details)
	}
}

// charged holds an answer's charge, and its bound.
type charged struct {
	Usage llm.Usage
	Most  *llm.Usage
}

// TestMeteredStream checks that a stream reports the same, and at its end all modes of its earlier events.
func TestMeteredStream(t *testing.T) {
	t.Parallel()
	for _, tt := range metered {
		dec := anthropic.NewDecoder(nil)
		frames := []string{`{"type":"message_start","message":{"usage":{"input_tokens":1,"output_tokens":0}}}`}
		for _, block := range strings.SplitAfter(tt.content, "}},") {
			if block = strings.TrimSuffix(block, ","); block != "" {
				frames = append(frames, `{"type":"content_block_start","index":0,"content_block":`+block+`}`)
			}
		}
		frames = append(frames, `{"type":"message_delta",`+
			`"delta":{"stop_reason":"`+tt.reason+`"},"usage":{`+tt.usage+`}}`)
		var got said
		for _, data := range frames {
			events, err := dec.Decode(nil, sse.Event{Data: []byte(data)})
			if err != nil {
				t.Errorf("%s: %s: %v", tt.name, data, err)
			}
			for _, ev := range events {
				if ev.Kind == llm.EventUsage {
					got = said{ev.Usage, ev.Tier, costOf(ev.ProviderCost)}
				}
			}
		}
		must.Equal(t, got, said{tt.want, tt.tier, tt.cost}, "%s", tt.name)
	}
}

// TestModesInParts checks that modes in several pieces of a stream are reported together at the end.
func TestModesInParts(t *testing.T) {
	t.Parallel()
	dec := anthropic.NewDecoder(nil)
	var got []string
	for _, data := range []string{
		`{"type":"message_start","message":{"usage":{"input_tokens":1,"output_tokens":0,"service_tier":"priority",` +
			`"inference_geo":"us"}}}`,
		`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":2,"speed":"fast"}}`,
	} {
		events := must.Get(dec.Decode(nil, sse.Event{Data: []byte(data)}))(t)
		for _, ev := range events {
			if ev.Tier != "" {
				got = append(got, ev.Tier)
			}
		}
	}
	must.Equal(t, got, []string{"priority,geo:us", "priority,geo:us,speed:fast"}, "the tiers of the events")
}

// TestEncodedTierIsServiceTier checks that an encoded answer names only the service tier.
func TestEncodedTierIsServiceTier(t *testing.T) {
	t.Parallel()
	r := llm.Reply{ExtraOf: anthropic.Name, Reported: true, Tier: "standard,geo:us", Choices: make([]llm.Choice, 1)}
	if got := string(anthropic.EncodeReply(nil, &r)); !strings.Contains(got, `"service_tier":"standard"`) {
		t.Errorf("wrote %s", got)
	}
	r.Tier = "geo:us"
	if got := string(anthropic.EncodeReply(nil, &r)); strings.Contains(got, "service_tier") {
		t.Errorf("wrote %s", got)
	}
}

// TestFetchesAreCounted counts the fetched pages if the provider charges for them, in addition to the count of an
// advisor.
func TestFetchesAreCounted(t *testing.T) {
	t.Parallel()
	const usage = `"usage":{"input_tokens":5,"output_tokens":2,"server_tool_use":{"web_search_requests":3,"web_fetch_requests":2},` +
		`"iterations":[{"type":"advisor_message","input_tokens":1,"output_tokens":1}]}`
	for bills, want := range map[bool]int64{true: 3, false: 1} {
		q := &llm.Quirks{BillsFetches: bills}
		r, err := anthropic.DecodeReply([]byte(`{"content":[],"stop_reason":"end_turn",`+usage+`}`), q)
		if err != nil {
			t.Fatal(err)
		}
		events, err := anthropic.NewDecoder(q).Decode(nil, sse.Event{Data: []byte(`{"type":"message_delta","delta":{"stop_reason":"end_turn"},` + usage + `}`)})
		if err != nil {
			t.Fatal(err)
		}
		var streamed llm.Usage
		for _, e := range events {
			if e.Kind == llm.EventUsage {
				streamed = e.Usage
			}
		}
		if r.Usage[llm.OtherTools] != want || streamed != r.Usage || r.Usage[llm.Searches] != 3 {
			t.Errorf("charged for: %t: got %v whole and %v streamed, want %d other tools", bills, r.Usage, streamed, want)
		}
	}
}
