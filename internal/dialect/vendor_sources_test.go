package dialect_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"weir/internal/dialect"
	"weir/internal/dialect/registry"
	"weir/internal/llm"
	"weir/internal/sse"
)

// vendorAnswer is an answer with sources in a vendor's own form, whole and as a stream.
type vendorAnswer struct {
	name, dialect string
	whole         string
	stream        []string // the data of its frames; with Bedrock behind the name of each and a space
	text          string
	claims        []string // each the address or the file of its source, and the words that it is of
	queries       []string
	results       []string // their addresses
	searches      int64    // that are charged for
}

// said is what is read of an answer.
func (a *vendorAnswer) said() string {
	return fmt.Sprintf("text %q\nclaims %q\nqueries %q\nresults %q\nsearches %d\n", a.text, a.claims, a.queries, a.results, a.searches)
}

// add takes note of claims on the text, and of a search.
func (a *vendorAnswer) add(claims []llm.Claim, begin int, s *llm.Search) {
	for _, c := range claims {
		name := c.Source.URL + c.Source.File
		a.claims = append(a.claims, name+" "+a.text[begin+c.Start:begin+c.End])
	}
	if s == nil {
		return
	}
	a.queries = append(a.queries, s.Queries...)
	for i := range s.Results {
		a.results = append(a.results, s.Results[i].URL)
	}
}

// read is what a whole answer says.
func (a *vendorAnswer) read(t *testing.T, r *llm.Reply) (got vendorAnswer) {
	t.Helper()
	for _, p := range r.Choices[0].Message.Parts {
		begin := len(got.text)
		if p.Kind == llm.PartText {
			got.text += p.Text
		}
		got.add(p.Claims(), begin, p.Search())
		if p.Kind == llm.PartToolCall {
			t.Errorf("%s: the client is to call %q", a.name, p.Call.Name)
		}
	}
	got.searches = r.Usage[llm.Searches]
	return got
}

// frames are the frames of its stream.
func (a *vendorAnswer) frames() (frames []sse.Event) {
	for _, data := range a.stream {
		var f sse.Event
		if a.dialect == "bedrock" {
			name, rest, _ := strings.Cut(data, " ")
			f.Name, data = []byte(name), rest
		}
		f.Data = []byte(data)
		frames = append(frames, f)
	}
	return frames
}

// events are those of its stream.
func (a *vendorAnswer) events(t *testing.T, d *dialect.Dialect) (events []llm.Event) {
	t.Helper()
	dec := d.NewDecoder(&llm.Quirks{})
	for _, f := range a.frames() {
		var err error
		if events, err = dec.Decode(events, f); err != nil {
			t.Fatalf("%s: %v in %s", a.name, err, f.Data)
		}
	}
	return events
}

// TestVendorsSourcesAreRead holds what is read of answers with sources in each vendor's own form, whole and as streams, and
// that their addresses reach the clients of all APIs.
func TestVendorsSourcesAreRead(t *testing.T) {
	t.Parallel()
	for _, a := range vendorAnswers() {
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			d := registry.All().Named(a.dialect)
			reply, err := d.DecodeReply([]byte(a.whole), &llm.Quirks{})
			if err != nil {
				t.Fatal(err)
			}
			got := a.read(t, reply)
			if got.said() != a.said() {
				t.Errorf("whole:\n%swant\n%s", got.said(), a.said())
			}
			events := a.events(t, d)
			streamed := vendorAnswer{}
			for i := range events {
				switch ev := &events[i]; ev.Kind {
				case llm.EventText:
					streamed.text += ev.Text
				case llm.EventClaim:
					streamed.add([]llm.Claim{*ev.Claim}, 0, nil)
				case llm.EventSearch:
					streamed.add(nil, 0, ev.Search)
				case llm.EventToolCall:
					t.Errorf("the client is to call %q", ev.Tool.Name)
				case llm.EventUsage:
					streamed.searches = ev.Usage[llm.Searches]
				}
			}
			if streamed.said() != a.said() {
				t.Errorf("streamed:\n%swant\n%s", streamed.said(), a.said())
			}
			a.reaches(t, reply, events)
		})
	}
}

// reaches holds that the addresses of the sources are in what clients of other wire formats get.
func (a *vendorAnswer) reaches(t *testing.T, reply *llm.Reply, events []llm.Event) {
	t.Helper()
	var want []string
	for _, c := range a.claims {
		source, _, _ := strings.Cut(c, " ")
		want = append(want, source)
	}
	for _, name := range slices.Concat(citing, []string{"native"}) {
		client := registry.All().Named(name)
		if name == a.dialect {
			continue // it gets the provider's bytes
		}
		want := want
		if name != "openai" && name != "gemini" { // which have a place for what supports the answer alone
			want = slices.Concat(want, a.results)
		}
		enc := client.NewEncoder(llm.Meta{ID: "id-1", Model: "m"})
		var streamed []byte
		final := llm.Final{Finish: []llm.FinishReason{llm.FinishStop}}
		for i := range events {
			streamed = enc.Append(streamed, &events[i])
		}
		streamed = enc.Finish(streamed, &final)
		for kind, body := range map[string][]byte{"whole": client.EncodeReply(nil, reply), "streamed": streamed} {
			for _, source := range want {
				if !strings.Contains(string(body), source) {
					t.Errorf("%s at %s lacks %s: %s", kind, name, source, body)
				}
			}
		}
	}
}

// vendorAnswers are answers as their vendors document or give them.
func vendorAnswers() []vendorAnswer {
	return []vendorAnswer{
		{
			// after a stream of us.amazon.nova-2-lite-v1:0, recorded in August 2026
			name: "Nova's web grounding", dialect: "bedrock",
			whole: `{"output":{"message":{"role":"assistant","content":[` +
				`{"toolUse":{"toolUseId":"tooluse_1","name":"nova_grounding","type":"server_tool_use","input":{"query":"latest Ruby"}}},` +
				`{"toolResult":{"toolUseId":"tooluse_1","type":"nova_grounding_result","status":"success","content":[{"text":"[HIDDEN]"}]}},` +
				`{"text":"Ruby 4.0.6 – neu"},` +
				`{"citationsContent":{"citations":[{"location":{"web":{"url":"https://www.ruby-lang.org/","domain":"ruby-lang.org"}}}]}},` +
				`{"text":"."}]}},"stopReason":"end_turn","usage":{"inputTokens":141,"outputTokens":95,"totalTokens":236}}`,
			stream: []string{
				`messageStart {"role":"assistant"}`,
				`contentBlockStart {"contentBlockIndex":0,"start":{"toolUse":{"name":"nova_grounding","toolUseId":"tooluse_1","type":"server_tool_use"}}}`,
				`contentBlockDelta {"contentBlockIndex":0,"delta":{"toolUse":{"input":"{\"query\":\"latest"}}}`,
				`contentBlockDelta {"contentBlockIndex":0,"delta":{"toolUse":{"input":" Ruby\"}"}}}`,
				`contentBlockStop {"contentBlockIndex":0}`,
				`contentBlockStart {"contentBlockIndex":1,"start":{"toolResult":{"status":"success","toolUseId":"tooluse_1","type":"nova_grounding_result"}}}`,
				`contentBlockDelta {"contentBlockIndex":1,"delta":{"toolResult":[{"text":"[HIDDEN]"}]}}`,
				`contentBlockStop {"contentBlockIndex":1}`,
				`contentBlockDelta {"contentBlockIndex":2,"delta":{"text":"Ruby 4.0.6 – neu"}}`,
				`contentBlockStop {"contentBlockIndex":2}`,
				`contentBlockDelta {"contentBlockIndex":3,"delta":{"citation":{"location":{"web":{"domain":"ruby-lang.org","url":"https://www.ruby-lang.org/"}}}}}`,
				`contentBlockStop {"contentBlockIndex":3}`,
				`contentBlockDelta {"contentBlockIndex":4,"delta":{"text":"."}}`,
				`contentBlockStop {"contentBlockIndex":4}`,
				`messageStop {"stopReason":"end_turn"}`,
				`metadata {"usage":{"inputTokens":141,"outputTokens":95,"totalTokens":236},"metrics":{"latencyMs":100}}`,
			},
			text: "Ruby 4.0.6 – neu.", claims: []string{"https://www.ruby-lang.org/ Ruby 4.0.6 – neu"}, queries: []string{"latest Ruby"}, searches: 1,
		},
		{
			// https://docs.mistral.ai/capabilities/citations, undated copy of 2026: the ids are those of what the client's tool
			// gave. Streams of JSON have empty lists, too.
			name: "Mistral's references", dialect: "openai",
			whole: `{"id":"a","model":"mistral-large-latest","choices":[{"index":0,"message":{"role":"assistant","content":[` +
				`{"type":"reference","reference_ids":[]},{"type":"text","text":"Der Preis geht an 日本被団協"},` +
				`{"type":"reference","reference_ids":[0,"b"]},{"type":"text","text":". Mehr:"},` +
				`{"type":"tool_reference","tool":"web_search","title":"Nobel","url":"https://nobel.example/"}]},"finish_reason":"stop"}],` +
				`"usage":{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15}}`,
			stream: []string{
				`{"id":"a","model":"mistral-large-latest","choices":[{"index":0,"delta":{"role":"assistant","content":[{"type":"reference","reference_ids":[]},{"type":"text","text":"Der Preis geht an "}]}}]}`,
				`{"id":"a","model":"mistral-large-latest","choices":[{"index":0,"delta":{"content":"日本被団協"}}]}`,
				`{"id":"a","model":"mistral-large-latest","choices":[{"index":0,"delta":{"content":[{"type":"reference","reference_ids":[0,"b"]}]}}]}`,
				`{"id":"a","model":"mistral-large-latest","choices":[{"index":0,"delta":{"content":". Mehr:"}}]}`,
				`{"id":"a","model":"mistral-large-latest","choices":[{"index":0,"delta":{"content":[{"type":"tool_reference","tool":"web_search","title":"Nobel","url":"https://nobel.example/"}]},"finish_reason":"stop"}],` +
					`"usage":{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15}}`,
				`[DONE]`,
			},
			text:   "Der Preis geht an 日本被団協. Mehr:",
			claims: []string{"0 Der Preis geht an 日本被団協", "b Der Preis geht an 日本被団協", "https://nobel.example/ . Mehr:"},
		},
		{
			// the members of groq-sdk 1.6.0, and https://console.groq.com/docs/compound/built-in-tools, undated copy of 2026
			name: "Groq's executed tools", dialect: "openai",
			whole: `{"id":"a","model":"groq/compound","choices":[{"index":0,"message":{"role":"assistant","content":"It rains.","reasoning":"I search.",` +
				`"executed_tools":[` +
				`{"index":0,"type":"search","arguments":"{\"query\":\"rain in Wien\"}","output":"Title: W","search_results":{"results":[` +
				`{"title":"W","url":"https://w.example/","content":"Regen","score":0.9},{"title":"no address"}]}},` +
				`{"index":1,"type":"python","arguments":"{\"code\":\"1\"}","output":"1"},` +
				`{"index":2,"type":"browser_search","name":"browser.search","arguments":"{\"query\":\"snow\"}"},` +
				`{"index":3,"type":"visit","arguments":"{\"url\":\"https://v.example/\"}"}]},"finish_reason":"stop"}],` +
				`"usage":{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15}}`,
			stream: []string{
				`{"id":"a","model":"groq/compound","choices":[{"index":0,"delta":{"role":"assistant","reasoning":"I search.",` +
					`"executed_tools":[{"index":0,"type":"search","arguments":"{\"query\":\"rain in Wien\"}"}]}}]}`,
				`{"id":"a","model":"groq/compound","choices":[{"index":0,"delta":{"executed_tools":[{"index":0,"type":"search","arguments":"","output":"Title: W",` +
					`"search_results":{"results":[{"title":"W","url":"https://w.example/","content":"Regen","score":0.9},{"title":"no address"}]}}]}}]}`,
				`{"id":"a","model":"groq/compound","choices":[{"index":0,"delta":{"content":"It rains.","executed_tools":[{"index":1,"type":"python","arguments":"{\"code\":\"1\"}"},` +
					`{"index":2,"type":"browser_search","name":"browser.search","arguments":"{\"query\":\"snow\"}"}]}}]}`,
				`{"id":"a","model":"groq/compound","choices":[{"index":0,"delta":{"executed_tools":[{"index":0,"type":"search","search_results":{"results":[{"title":"again","url":"https://w.example/"}]}}]},"finish_reason":"stop"}],` +
					`"usage":{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15}}`,
				`[DONE]`,
			},
			text: "It rains.", queries: []string{"rain in Wien", "snow"}, results: []string{"https://w.example/"}, searches: 2,
		},
	}
}
