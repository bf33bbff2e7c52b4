package dialect_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"weir/internal/dialect"
	"weir/internal/dialect/registry/registrytest"
	"weir/internal/llm"
	"weir/internal/sse"
)

// vendorAnswer is an answer with sources in a vendor's own form, whole and as a stream.
type vendorAnswer struct {
	name, dialect string
	whole         string
	stream        []string // the data of its frames; with Bedrock after the name of each and a space
	text          string
	claims        []string // each with the address or the file of its source, and its text
	queries       []string
	results       []string // their addresses
	searches      int64    // the charged ones
	end           bool     // claims are at the end of the text
}

// said prints the content of an answer.
func (a *vendorAnswer) said() string {
	return fmt.Sprintf("text %q\nclaims %q at the end %t\nqueries %q\nresults %q\nsearches %d\n", a.text, a.claims, a.end, a.queries, a.results, a.searches)
}

// add records claims on the text, and a search.
func (a *vendorAnswer) add(claims []llm.Claim, begin int, s *llm.Search) {
	for _, c := range claims {
		name := c.Source.URL + c.Source.File
		a.end = a.end || begin+c.Start == len(a.text) && a.text != ""
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

// read decodes a whole answer.
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

// frames returns the frames of its stream.
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

// events decodes its stream.
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

// TestVendorsSourcesAreRead checks the sources read from answers in each vendor's form, whole and streamed, and that
// their addresses reach the clients of all APIs.
func TestVendorsSourcesAreRead(t *testing.T) {
	t.Parallel()
	for _, a := range vendorAnswers() {
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			d := registrytest.All().Named(a.dialect)
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

// reaches checks that clients of other wire formats receive the addresses of the sources.
func (a *vendorAnswer) reaches(t *testing.T, reply *llm.Reply, events []llm.Event) {
	t.Helper()
	var want []string
	for _, c := range a.claims {
		source, _, _ := strings.Cut(c, " ")
		want = append(want, source)
	}
	for _, name := range slices.Concat(citing, []string{"native"}) {
		client := registrytest.All().Named(name)
		if name == a.dialect {
			continue // it gets the provider's bytes
		}
		want := want
		if name != "openai" && name != "gemini" { // these have only a place for the support of the answer
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

// TestVendorsSourcesAreBounded checks that the sources read from an answer with any number of them, and those that a
// stream retains, are bounded.
func TestVendorsSourcesAreBounded(t *testing.T) {
	t.Parallel()
	d := registrytest.All().Named("openai")
	long := strings.Repeat("x", 10_000)
	many := func(element string) string { return strings.TrimSuffix(strings.Repeat(element+",", 900), ",") }
	for name, message := range map[string]string{
		"references": `"content":[{"type":"text","text":"Hi"},` + many(`{"type":"reference","reference_ids":[`+many("7")+`]}`) + `]`,
		"citations":  `"annotations":[` + many(`{"type":"url_citation","url_citation":{"url":"https://a.example","content":"`+long+`"}}`) + `]`,
		"searches":   `"executed_tools":[` + many(`{"type":"search","arguments":"{\"query\":\"`+long+`\"}"}`) + `]`,
	} {
		reply, err := d.DecodeReply([]byte(`{"id":"a","model":"m","choices":[{"index":0,"message":{"role":"assistant",`+message+`}}]}`), &llm.Quirks{})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, p := range reply.Choices[0].Message.Parts {
			if got := len(p.Claims()); got > 4096 {
				t.Errorf("%s: %d claims are read, want 4096 at most", name, got)
			}
		}
		dec := d.NewDecoder(&llm.Quirks{})
		var events []llm.Event
		for range 3 {
			if events, err = dec.Decode(events, sse.Event{Data: []byte(`{"id":"a","model":"m","choices":[{"index":0,"delta":{` + message + `}}]}`)}); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		claims := 0
		for i := range events {
			if events[i].Kind == llm.EventClaim {
				claims++
			}
		}
		if kept := dec.(dialect.Sized).Size(); claims > 4096 || kept > 4<<20 {
			t.Errorf("%s: a stream has %d claims and retains %d bytes, want 4096 and 4 MiB at most", name, claims, kept)
		}
	}
}

// vendorAnswers lists answers as vendors document or send them.
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
			// https://docs.mistral.ai/capabilities/citations, undated copy of 2026: the ids are those in the results of
			// the client's tool. Streams of JSON have empty lists, too.
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
		{
			// after answers of api.x.ai of November 2025 (https://github.com/vercel/ai, packages/xai/src/responses/__fixtures__ at
			// ed857f50, Apache-2.0), and with places as in https://docs.x.ai/developers/tools/citations, undated copy of 2026
			name: "xAI's web search", dialect: "responses",
			whole: `{"created_at":1762189566,"id":"25de2f84","model":"grok-4-fast-reasoning","object":"response","output":[` +
				`{"arguments":"{\"query\":\"what is xAI\",\"num_results\":5}","call_id":"","name":"web_search","type":"web_search_call","id":"fc_1","status":"completed"},` +
				`{"content":[{"type":"output_text","text":"Elon’s 🚀 [[1]](https://x.ai/company) firm.","logprobs":[],"annotations":[` +
				`{"type":"url_citation","url":"https://x.ai/company","start_index":9,"end_index":36,"title":"1"},{"type":"url_citation","url":"https://x.ai/"}]}],` +
				`"id":"msg_1","role":"assistant","type":"message","status":"completed"}],"status":"completed","usage":{"input_tokens":1941,` +
				`"input_tokens_details":{"cached_tokens":947},"output_tokens":583,"output_tokens_details":{"reasoning_tokens":380},"total_tokens":2524,` +
				`"num_sources_used":0,"num_server_side_tools_used":1,"server_side_tool_usage_details":{"web_search_calls":1}}}`,
			stream: []string{
				`{"sequence_number":0,"type":"response.created","response":{"created_at":1762189785,"id":"98a8d4aa","model":"grok-4-fast-reasoning","object":"response","output":[],"status":"in_progress"}}`,
				`{"sequence_number":2,"type":"response.output_item.added","item":{"arguments":"{\"query\":\"what is xAI\",\"num_results\":5}","call_id":"","name":"web_search","type":"web_search_call","id":"fc_1","status":"completed"},"output_index":0}`,
				`{"sequence_number":3,"type":"response.output_item.done","item":{"arguments":"{\"query\":\"what is xAI\",\"num_results\":5}","call_id":"","name":"web_search","type":"web_search_call","id":"fc_1","status":"completed"},"output_index":0}`,
				`{"sequence_number":4,"type":"response.output_item.added","item":{"content":[],"id":"msg_1","role":"assistant","type":"message","status":"in_progress"},"output_index":1}`,
				`{"sequence_number":5,"type":"response.content_part.added","content_index":0,"item_id":"msg_1","output_index":1,"part":{"type":"output_text","text":"","logprobs":[],"annotations":[]}}`,
				`{"sequence_number":6,"type":"response.output_text.delta","content_index":0,"item_id":"msg_1","output_index":1,"delta":"Elon’s 🚀 [[1]](https://x.ai/company) firm."}`,
				`{"sequence_number":7,"type":"response.output_text.annotation.added","annotation":{"type":"url_citation","url":"https://x.ai/company","start_index":9,"end_index":36,"title":"1"},"annotation_index":0,"content_index":0,"item_id":"msg_1","output_index":1}`,
				`{"sequence_number":8,"type":"response.output_text.annotation.added","annotation":{"type":"url_citation","url":"https://x.ai/"},"annotation_index":1,"content_index":0,"item_id":"msg_1","output_index":1}`,
				`{"sequence_number":9,"type":"response.output_item.done","item":{"content":[{"type":"output_text","text":"Elon’s 🚀 [[1]](https://x.ai/company) firm.","logprobs":[],"annotations":[` +
					`{"type":"url_citation","url":"https://x.ai/company","start_index":9,"end_index":36,"title":"1"},{"type":"url_citation","url":"https://x.ai/"}]}],"id":"msg_1","role":"assistant","type":"message","status":"completed"},"output_index":1}`,
				`{"sequence_number":10,"type":"response.completed","response":{"created_at":1762189785,"id":"98a8d4aa","model":"grok-4-fast-reasoning","object":"response","output":[],"status":"completed",` +
					`"usage":{"input_tokens":1941,"output_tokens":583,"total_tokens":2524,"server_side_tool_usage_details":{"web_search_calls":1}}}}`,
			},
			text: "Elon’s 🚀 [[1]](https://x.ai/company) firm.", claims: []string{"https://x.ai/company [[1]](https://x.ai/company)", "https://x.ai/ "},
			queries: []string{"what is xAI"}, searches: 1, end: true,
		},
		{
			// after answers of openrouter.ai of August 2026 (https://github.com/pydantic/pydantic-ai,
			// tests/models/cassettes/test_openrouter of 2026-08-23, MIT): places of 0 are none, and in a stream the
			// results of the search precede the text
			name: "OpenRouter's web search", dialect: "openai",
			whole: `{"id":"gen-1","object":"chat.completion","created":1786680764,"model":"deepseek/deepseek-chat","provider":"OpenAI","choices":[{"index":0,` +
				`"message":{"role":"assistant","content":"https://github.com/pydantic/pydantic-ai","refusal":null,"reasoning":null,"annotations":[` +
				`{"type":"url_citation","url_citation":{"url":"https://github.com/p","title":"P","start_index":0,"end_index":0,"content":"# pydantic"}},` +
				`{"type":"url_citation","url_citation":{"url":"https://pydantic.dev/","title":"","start_index":0,"end_index":0,"content":"Get started"}}]},` +
				`"finish_reason":"stop"}],"usage":{"prompt_tokens":2315,"completion_tokens":40,"total_tokens":2355,"cost":0.007637029,` +
				`"server_tool_use_details":{"tool_calls_executed":1,"tool_calls_requested":1,"web_search_requests":1}}}`,
			stream: []string{
				`{"id":"gen-1","object":"chat.completion.chunk","created":1786680764,"model":"deepseek/deepseek-chat","provider":"OpenAI","choices":[{"index":0,"delta":{"content":"","role":"assistant",` +
					`"annotations":[{"type":"url_citation","url_citation":{"url":"https://github.com/p","title":"P","start_index":0,"end_index":0,"content":"# pydantic"}}]},"finish_reason":null}]}`,
				`{"id":"gen-1","object":"chat.completion.chunk","created":1786680764,"model":"deepseek/deepseek-chat","provider":"OpenAI","choices":[{"index":0,"delta":{"content":"","role":"assistant",` +
					`"annotations":[{"type":"url_citation","url_citation":{"url":"https://pydantic.dev/","title":"","start_index":0,"end_index":0,"content":"Get started"}}]},"finish_reason":null}]}`,
				`{"id":"gen-1","object":"chat.completion.chunk","created":1786680764,"model":"deepseek/deepseek-chat","choices":[{"index":0,"delta":{"content":"https://github.com/pydantic/pydantic-ai","role":"assistant"},"finish_reason":null}]}`,
				`{"id":"gen-1","object":"chat.completion.chunk","created":1786680764,"model":"deepseek/deepseek-chat","choices":[{"index":0,"delta":{"content":"","role":"assistant"},"finish_reason":"stop"}]}`,
				`{"id":"gen-1","object":"chat.completion.chunk","created":1786680764,"model":"deepseek/deepseek-chat","choices":[{"index":0,"delta":{"content":"","role":"assistant"},"finish_reason":"stop"}],` +
					`"usage":{"prompt_tokens":2315,"completion_tokens":40,"total_tokens":2355,"cost":0.007637029,"server_tool_use_details":{"web_search_requests":1,"tool_calls_requested":1,"tool_calls_executed":1}}}`,
				`[DONE]`,
			},
			text: "https://github.com/pydantic/pydantic-ai", claims: []string{"https://github.com/p ", "https://pydantic.dev/ "}, searches: 1,
			end: true,
		},
	}
}
