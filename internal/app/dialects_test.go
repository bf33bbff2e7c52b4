package app_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"weir/internal/simulator"
)

// dialectYAML is the provider house, in a wire format other than the client APIs'.
func dialectYAML(dialect, baseURL string) string {
	yaml := strings.Replace(providersYAML(baseURL), "dialect: openai", "dialect: "+dialect, 1)
	return strings.Replace(yaml, baseURL+"/v1", baseURL, 1)
}

// providerDialects are wire formats that only providers speak, with what stands
// between the simulator's address and their path.
var providerDialects = map[string]string{"cohere": "/v2", "ollama": ""}

// TestProviderDialects asks providers of each wire format at both client APIs, and
// holds what is told and metered against what was served.
func TestProviderDialects(t *testing.T) {
	t.Parallel()
	for name, prefix := range providerDialects {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			up := newUpstream(t)
			h := open(t, setup{yaml: dialectYAML(name, up.url+prefix)})
			whole := h.mustAnswer(h.chat("house/echo"))
			if got := whole.Choices[0]; got.Message.Content != "Say it again, please" || got.FinishReason != "stop" {
				t.Errorf("whole: %+v", got)
			}
			wantServed(t, up, name, whole.Usage)
			events, end := splitStream(t, h.stream("house/chat:tokens=40,pace=1ms,chunk=7").body)
			if end != nil || !strings.HasPrefix(text(events), "Hello! This is a demo") {
				t.Errorf("stream: %q, %+v", text(events), end)
			}
			checkVendorAPI(t, h, up, name)
			checkBroken(t, h)
		})
	}
}

// wantServed holds the usage that a client was told against the last answer of
// the provider.
func wantServed(t *testing.T, up *upstream, dialect string, told tokens) {
	t.Helper()
	all := up.records(t)
	last := all[len(all)-1]
	if last.Dialect != dialect || last.Outcome != simulator.Served || last.Usage.InputTokens() != told.Prompt || last.Usage.OutputTokens() != told.Completion {
		t.Errorf("told %+v, served %+v", told, last)
	}
}

// checkVendorAPI asks for a stream, for tools and for a schema in OpenAI's
// words.
func checkVendorAPI(t *testing.T, h *testGateway, up *upstream, dialect string) {
	t.Helper()
	ask := func(model, members string) (r reply, c struct {
		Choices []struct {
			Message struct {
				Content   string
				Reasoning string `json:"reasoning_content"`
				Calls     []struct {
					ID       string
					Function struct{ Name, Arguments string }
				} `json:"tool_calls"`
			}
			Finish string `json:"finish_reason"`
		}
		Usage tokens
	},
	) {
		t.Helper()
		r = h.do(ask{path: "/v1/chat/completions", body: completion("house/"+model, members)})
		if err := json.Unmarshal([]byte(r.body), &c); err != nil || r.status != http.StatusOK || len(c.Choices) != 1 {
			t.Fatalf("%s: status %d, %s", model, r.status, r.body)
		}
		return r, c
	}
	r, c := ask("reason:tokens=9,reasoning=5", `,"temperature":0.5,"seed":7,"user":"ann","reasoning_effort":"low"`)
	if m := c.Choices[0].Message; !strings.HasPrefix(m.Reasoning, "Thinking:") || m.Content == "" || r.header.Get("X-Weir-Dropped") != "user" {
		t.Errorf("thinking: %s, dropped %q", r.body, r.header.Get("X-Weir-Dropped"))
	}
	wantServed(t, up, dialect, c.Usage)

	const tools = `,"tools":[{"type":"function","function":{"name":"weather","parameters":{"type":"object","properties":{"city":{"type":"string"}}}}}]`
	_, c = ask("tools:calls=2", tools)
	if m := c.Choices[0]; len(m.Message.Calls) != 2 || m.Message.Calls[1].Function.Name != "weather" || !json.Valid([]byte(m.Message.Calls[1].Function.Arguments)) || m.Finish != "tool_calls" {
		t.Errorf("tools: %+v", m)
	}
	_, c = ask("json", `,"response_format":{"type":"json_schema","json_schema":{"name":"n","schema":{"type":"object","properties":{"height":{"type":"integer"}}}}}`)
	if !strings.Contains(c.Choices[0].Message.Content, `"height":`) {
		t.Errorf("schema: %+v", c)
	}

	body := h.do(vendorAsk(completion("house/tools:calls=2", asksUsage+tools))).body
	for _, want := range []string{`"name":"weather"`, `"finish_reason":"tool_calls"`, `"prompt_tokens":`, "data: [DONE]\n\n"} {
		if !strings.Contains(body, want) {
			t.Errorf("streamed tools: no %s in %s", want, body)
		}
	}
	file := fmt.Sprintf(`{"model":"house/chat","messages":[{"role":"user","content":[{"type":"file","file":{"file_data":"data:application/pdf;base64,%s"}}]}]}`, "AAAA")
	if r := h.do(vendorAsk(file)); r.status != http.StatusBadRequest || !strings.Contains(r.body, "messages[0].content[0]") {
		t.Errorf("a file: status %d, %s", r.status, r.body)
	}
}

// vendorAsk is a request at the vendor's client API.
func vendorAsk(body string) ask { return ask{path: "/v1/chat/completions", body: body} }

// checkBroken holds that what breaks off is told.
func checkBroken(t *testing.T, h *testGateway) {
	t.Helper()
	for _, fault := range []string{"cut", "eof", "malformed", "error-event"} {
		events, end := splitStream(t, h.stream("house/chat:fault="+fault).body)
		if end == nil || len(events) == 0 {
			t.Errorf("%s: %d events, %+v; want some and an error", fault, len(events), end)
		}
	}
	for status, code := range map[int]string{429: "RATE_LIMITED", 500: "PROVIDER_ERROR", 401: "PROVIDER_ERROR", 404: "MODEL_NOT_FOUND"} {
		if e := readError(t, h.chat(fmt.Sprintf("house/chat:status=%d", status)).body); e.Code != code {
			t.Errorf("status %d: %+v, want %s", status, e, code)
		}
	}
	wantError(t, h.chat("house/chat:fault=context-length"), http.StatusBadRequest, "INVALID_REQUEST")
}
