package chat_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"weir/internal/e2e/harness"
	"weir/internal/simulator"
)

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
			up := harness.NewUpstream(t)
			h := harness.Open(t, harness.Setup{YAML: harness.DialectYAML(name, up.URL+prefix)})
			whole := h.MustAnswer(h.Chat("house/echo"))
			if got := whole.Choices[0]; got.Message.Content != "Say it again, please" || got.FinishReason != "stop" {
				t.Errorf("whole: %+v", got)
			}
			wantServed(t, up, name, whole.Usage)
			events, end := harness.SplitStream(t, h.Stream("house/chat:tokens=40,pace=1ms,chunk=7").Body)
			if end != nil || !strings.HasPrefix(harness.Text(events), "Hello! This is a demo") {
				t.Errorf("stream: %q, %+v", harness.Text(events), end)
			}
			checkVendorAPI(t, h, up, name)
			checkBroken(t, h)
		})
	}
}

// wantServed holds the usage that a client was told against the last answer of
// the provider.
func wantServed(t *testing.T, up *harness.Upstream, dialect string, told harness.Tokens) {
	t.Helper()
	all := up.Records(t)
	last := all[len(all)-1]
	if last.Dialect != dialect || last.Outcome != simulator.Served || last.Usage.InputTokens() != told.Prompt || last.Usage.OutputTokens() != told.Completion {
		t.Errorf("told %+v, served %+v", told, last)
	}
}

// checkVendorAPI asks for a stream, for tools and for a schema in OpenAI's
// words.
func checkVendorAPI(t *testing.T, h *harness.Gateway, up *harness.Upstream, dialect string) {
	t.Helper()
	ask := func(model, members string) (r harness.Reply, c struct {
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
		Usage harness.Tokens
	},
	) {
		t.Helper()
		r = h.Do(harness.Ask{Path: "/v1/chat/completions", Body: harness.Completion("house/"+model, members)})
		if err := json.Unmarshal([]byte(r.Body), &c); err != nil || r.Status != http.StatusOK || len(c.Choices) != 1 {
			t.Fatalf("%s: status %d, %s", model, r.Status, r.Body)
		}
		return r, c
	}
	r, c := ask("reason:tokens=9,reasoning=5", `,"temperature":0.5,"seed":7,"user":"ann","reasoning_effort":"low"`)
	if m := c.Choices[0].Message; !strings.HasPrefix(m.Reasoning, "Thinking:") || m.Content == "" || r.Header.Get("X-Weir-Dropped") != "user" {
		t.Errorf("thinking: %s, dropped %q", r.Body, r.Header.Get("X-Weir-Dropped"))
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

	body := h.Do(vendorAsk(harness.Completion("house/tools:calls=2", harness.AsksUsage+tools))).Body
	for _, want := range []string{`"name":"weather"`, `"finish_reason":"tool_calls"`, `"prompt_tokens":`, "data: [DONE]\n\n"} {
		if !strings.Contains(body, want) {
			t.Errorf("streamed tools: no %s in %s", want, body)
		}
	}
	file := fmt.Sprintf(`{"model":"house/chat","messages":[{"role":"user","content":[{"type":"file","file":{"file_data":"data:application/pdf;base64,%s"}}]}]}`, "AAAA")
	if r := h.Do(vendorAsk(file)); r.Status != http.StatusBadRequest || !strings.Contains(r.Body, "messages[0].content[0]") {
		t.Errorf("a file: status %d, %s", r.Status, r.Body)
	}
}

// vendorAsk is a request at the vendor's client API.
func vendorAsk(body string) harness.Ask { return harness.Ask{Path: "/v1/chat/completions", Body: body} }

// checkBroken holds that what breaks off is told.
func checkBroken(t *testing.T, h *harness.Gateway) {
	t.Helper()
	for _, fault := range []string{"cut", "eof", "malformed", "error-event"} {
		events, end := harness.SplitStream(t, h.Stream("house/chat:fault="+fault).Body)
		if end == nil || len(events) == 0 {
			t.Errorf("%s: %d events, %+v; want some and an error", fault, len(events), end)
		}
	}
	for status, code := range map[int]string{429: "RATE_LIMITED", 500: "PROVIDER_ERROR", 401: "PROVIDER_ERROR", 404: "MODEL_NOT_FOUND"} {
		if e := harness.ReadError(t, h.Chat(fmt.Sprintf("house/chat:status=%d", status)).Body); e.Code != code {
			t.Errorf("status %d: %+v, want %s", status, e, code)
		}
	}
	harness.WantError(t, h.Chat("house/chat:fault=context-length"), http.StatusBadRequest, "INVALID_REQUEST")
}
