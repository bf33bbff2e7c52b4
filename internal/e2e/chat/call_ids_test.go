package chat_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"weir/internal/e2e/harness"
)

// callProvider answers every chat with two calls of the function f, with the given ids.
type callProvider struct {
	wire string
	ids  [2]string // members of the calls' objects with their commas, as `"id":"call_0",`
	got  chan string
}

// bodies has the whole answers of the wire formats; %[1]s and %[2]s are the members with the ids.
var callAnswers = map[string]string{
	"openai": `{"choices":[{"index":0,"message":{"role":"assistant","tool_calls":[{%[1]s"type":"function","function":{"name":"f","arguments":"{}"}},{%[2]s"type":"function","function":{"name":"f","arguments":"{}"}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":9,"completion_tokens":9,"total_tokens":18}}`,
	"gemini": `{"candidates":[{"index":0,"content":{"role":"model","parts":[{"functionCall":{%[1]s"name":"f","args":{}}},{"functionCall":{%[2]s"name":"f","args":{}}}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":9,"candidatesTokenCount":9,"totalTokenCount":18}}`,
	"ollama": `{"model":"m","message":{"role":"assistant","content":"","tool_calls":[{%[1]s"function":{"name":"f","arguments":{}}},{%[2]s"function":{"name":"f","arguments":{}}}]},"done":true,"done_reason":"stop","prompt_eval_count":9,"eval_count":9}`,
}

func (p *callProvider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	p.got <- string(body)
	answer := fmt.Sprintf(callAnswers[p.wire], p.ids[0], p.ids[1])
	stream := strings.Contains(r.URL.Path, ":streamGenerateContent") || strings.Contains(string(body), `"stream":true`)
	switch {
	case !stream || p.wire == "ollama":
		w.Header().Set("Content-Type", map[bool]string{true: "application/x-ndjson", false: "application/json"}[stream])
		_, _ = io.WriteString(w, answer+"\n")
	case p.wire == "gemini":
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: "+answer+"\n\n")
	default:
		w.Header().Set("Content-Type", "text/event-stream")
		for i, id := range p.ids {
			_, _ = fmt.Fprintf(w, `data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":%d,%s"type":"function","function":{"name":"f","arguments":""}}]}}]}`+"\n\n", i, id)
			_, _ = fmt.Fprintf(w, `data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":%d,"function":{"arguments":"{}"}}]}}]}`+"\n\n", i)
		}
		_, _ = io.WriteString(w, `data: {"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":9,"completion_tokens":9,"total_tokens":18}}`+"\n\ndata: [DONE]\n\n")
	}
}

// callAPI describes a client API: its requests with a history of calls, and the place of the ids in an answer.
type callAPI struct {
	path, body string
	turn       func(calls []string) string // a turn of the assistant with these calls, and their results
	id         *regexp.Regexp
}

// each writes one text for each id.
func each(ids []string, format string) string {
	all := make([]string, len(ids))
	for i, id := range ids {
		all[i] = fmt.Sprintf(format, id)
	}
	return strings.Join(all, ",")
}

func callAPIs() map[string]callAPI {
	return map[string]callAPI{
		"chat": {
			"/v1/chat/completions", `{"model":"house/m","stream":%t,"messages":[{"role":"user","content":"go"}%s],"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object"}}}]}`,
			func(calls []string) string {
				return `,{"role":"assistant","content":null,"tool_calls":[` + each(calls, `{"id":%q,"type":"function","function":{"name":"f","arguments":"{}"}}`) + `]},` +
					each(calls, `{"role":"tool","tool_call_id":%q,"content":"r"}`)
			},
			regexp.MustCompile(`"id":"([^"]*)",(?:"index":\d+,)?"type":"function"`),
		},
		"responses": {
			"/v1/responses", `{"model":"house/m","stream":%t,"input":[{"role":"user","content":"go"}%s],"tools":[{"type":"function","name":"f","parameters":{"type":"object"}}]}`,
			func(calls []string) string {
				return `,` + each(calls, `{"type":"function_call","call_id":%q,"name":"f","arguments":"{}"}`) + `,` + each(calls, `{"type":"function_call_output","call_id":%q,"output":"r"}`)
			},
			regexp.MustCompile(`"call_id":"([^"]*)"`),
		},
		"messages": {
			"/v1/messages", `{"model":"house/m","max_tokens":99,"stream":%t,"messages":[{"role":"user","content":"go"}%s],"tools":[{"name":"f","input_schema":{"type":"object"}}]}`,
			func(calls []string) string {
				return `,{"role":"assistant","content":[` + each(calls, `{"type":"tool_use","id":%q,"name":"f","input":{}}`) + `]},{"role":"user","content":[` +
					each(calls, `{"type":"tool_result","tool_use_id":%q,"content":"r"}`) + `]}`
			},
			regexp.MustCompile(`"type":"tool_use","id":"([^"]*)"`),
		},
		"gemini": {
			"/v1beta/models/house/m:generateContent", `{"contents":[{"role":"user","parts":[{"text":"go"}]}%s],"tools":[{"functionDeclarations":[{"name":"f","parameters":{"type":"object"}}]}]}`,
			func(calls []string) string {
				return `,{"role":"model","parts":[` + each(calls, `{"functionCall":{"id":%q,"name":"f","args":{}}}`) + `]},{"role":"user","parts":[` +
					each(calls, `{"functionResponse":{"id":%q,"name":"f","response":{}}}`) + `]}`
			},
			regexp.MustCompile(`"functionCall":\{"id":"([^"]*)"`),
		},
	}
}

func (a *callAPI) ask(h *harness.Gateway, stream bool, turns string) harness.Reply {
	ask := harness.Ask{Path: a.path}
	if strings.Contains(a.body, "%t") {
		ask.Body = fmt.Sprintf(a.body, stream, turns)
	} else {
		ask.Body = fmt.Sprintf(a.body, turns)
		if stream {
			ask.Path = strings.Replace(a.path, ":generateContent", ":streamGenerateContent?alt=sse", 1)
		}
	}
	return h.Do(ask)
}

// TestCallIDsAreUniqueInAConversation sends three requests, each with the calls so far: all ids of calls are different,
// every vendor accepts the ids, and the provider receives its own.
func TestCallIDsAreUniqueInAConversation(t *testing.T) {
	t.Parallel()
	valid := regexp.MustCompile(`^[A-Za-z0-9_-]{1,40}$`)
	providers := map[string]callProvider{
		"gemini without ids": {wire: "gemini"}, "ollama without ids": {wire: "ollama"},
		"openai without ids": {wire: "openai"}, "openai with empty ids": {wire: "openai", ids: [2]string{`"id":"",`, `"id":"",`}},
		"numbers in each answer": {wire: "openai", ids: [2]string{`"id":"call_0",`, `"id":"call_1",`}},
		"Kimi's":                 {wire: "openai", ids: [2]string{`"id":"functions.f:0",`, `"id":"functions.f:1",`}},
		"one id in an answer":    {wire: "openai", ids: [2]string{`"id":"call_same",`, `"id":"call_same",`}},
		"two ids in each answer": {wire: "gemini", ids: [2]string{`"id":"call_abc",`, `"id":"call_xyz",`}},
	}
	for name, p := range providers {
		for api, a := range callAPIs() {
			if given := p.ids[0] != "" && p.ids[0] != `"id":"",`; api == p.wire || api == "chat" && p.wire == "openai" && given {
				continue // the provider's own bytes pass
			}
			for _, stream := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, %s, stream %t", name, api, stream), func(t *testing.T) {
					t.Parallel()
					provider := p
					provider.got = make(chan string, 9)
					ts := httptest.NewServer(&provider)
					t.Cleanup(ts.Close)
					h := harness.Open(t, harness.Setup{YAML: harness.DialectYAML(p.wire, ts.URL)})
					seen, turns := map[string]bool{}, ""
					for range 3 {
						reply := a.ask(h, stream, turns)
						var calls []string
						for _, m := range a.id.FindAllStringSubmatch(reply.Body, -1) {
							if !strings.Contains(strings.Join(calls, " "), m[1]) || !strings.Contains(api, "responses") {
								calls = append(calls, m[1])
							}
						}
						if len(calls) != 2 {
							t.Fatalf("status %d, the ids %q in %s", reply.Status, calls, reply.Body)
						}
						for _, id := range calls {
							if seen[id] || !valid.MatchString(id) {
								t.Errorf("the id %q repeats an earlier one, or is not valid:\n%s", id, reply.Body)
							}
							seen[id] = true
						}
						turns += a.turn(calls)
						provider.wantOwnIDs(t, <-provider.got)
					}
				})
			}
		}
	}
}

// wantOwnIDs checks that a request has only the provider's own ids of calls, if some of these repeat.
func (p *callProvider) wantOwnIDs(t *testing.T, body string) {
	t.Helper()
	if !json.Valid([]byte(body)) {
		t.Fatalf("the provider was sent %s", body)
	}
	for _, m := range regexp.MustCompile(`"(?:id|tool_call_id)":\s*"([^"]*)"`).FindAllStringSubmatch(body, -1) {
		given := p.ids[0] + p.ids[1]
		if strings.Contains(given, `"`+m[1]+`"`) || p.wire == "openai" && !strings.ContainsAny(given, "01") {
			continue // the client's form of one of an answer's two equal ids is forwarded
		}
		if p.ids[0] == `"id":"call_abc",` && strings.HasPrefix(m[1], "call_w") {
			continue // Gemini before 3 is sent no ids, and of equal ones as the client has them
		}
		t.Errorf("the provider was sent the id %q, and gave %q: %s", m[1], given, body)
	}
}

// TestEqualIDsGoToTheirFunctions sends a history in which two calls have one id, as older ones have.
func TestEqualIDsGoToTheirFunctions(t *testing.T) {
	t.Parallel()
	const body = `{"model":"house/m","max_tokens":99,"messages":[{"role":"user","content":"Hello"},` +
		`{"role":"assistant","content":null,"tool_calls":[{"id":"call_0","type":"function","function":{"name":"toolA","arguments":"{}"}}]},` +
		`{"role":"tool","tool_call_id":"call_0","content":"ra"},` +
		`{"role":"assistant","content":null,"tool_calls":[{"id":"call_0","type":"function","function":{"name":"toolB","arguments":"{}"}}]},` +
		`{"role":"tool","tool_call_id":"call_0","content":"rb"}]}`
	for wire, want := range map[string]string{
		"gemini":    `"name":"toolA".*"functionResponse":{"name":"toolA".*"name":"toolB".*"functionResponse":{"name":"toolB"`,
		"ollama":    `"name":"toolA".*"tool_name":"toolA".*"name":"toolB".*"tool_name":"toolB"`,
		"anthropic": `"id":"call_0","name":"toolA".*"tool_use_id":"call_0".*"id":"call_0-2","name":"toolB".*"tool_use_id":"call_0-2"`,
		"bedrock":   `"toolUseId":"call_0","name":"toolA".*"toolUseId":"call_0".*"toolUseId":"call_0-2","name":"toolB".*"toolUseId":"call_0-2"`,
		"responses": `"call_id":"call_0".*"call_id":"call_0".*"call_id":"call_0-2".*"call_id":"call_0-2"`,
	} {
		got := make(chan string, 1)
		ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			got <- string(body)
			w.WriteHeader(http.StatusBadRequest)
		}))
		h := harness.Open(t, harness.Setup{YAML: harness.DialectYAML(wire, ts.URL)})
		h.Do(harness.Ask{Path: "/v1/chat/completions", Body: body})
		if sent := <-got; !regexp.MustCompile(want).MatchString(sent) {
			t.Errorf("%s was sent %s, want %s", wire, sent, want)
		}
		ts.Close()
	}
}
