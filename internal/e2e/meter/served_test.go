package meter_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"weir/internal/e2e/harness"
	"weir/internal/ledger"
)

// servedAnswers are whole answers and streams of the wire formats, with 1,000,000 tokens of input, by a model.
var servedAnswers = map[string][2]string{
	"openai": {
		`{"id":"c","object":"chat.completion","created":1,"model":"SERVED","choices":[{"index":0,"message":{"role":"assistant","content":"Hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1000000,"completion_tokens":1,"total_tokens":1000001}}`,
		"data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"SERVED\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"Hi\"},\"finish_reason\":\"stop\"}]}\n\n" +
			"data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"SERVED\",\"choices\":[],\"usage\":{\"prompt_tokens\":1000000,\"completion_tokens\":1,\"total_tokens\":1000001}}\n\ndata: [DONE]\n\n",
	},
	"anthropic": {
		`{"id":"m","type":"message","role":"assistant","model":"SERVED","content":[{"type":"text","text":"Hi"}],"stop_reason":"end_turn","usage":{"input_tokens":1000000,"output_tokens":1}}`,
		"event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"SERVED\",\"content\":[],\"usage\":{\"input_tokens\":1000000,\"output_tokens\":1}}}\n\n" +
			"event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n" +
			"event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"Hi\"}}\n\n" +
			"event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n" +
			"event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":1}}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
	},
	"gemini": {
		`{"responseId":"g","modelVersion":"SERVED","candidates":[{"index":0,"content":{"role":"model","parts":[{"text":"Hi"}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":1000000,"candidatesTokenCount":1,"totalTokenCount":1000001}}`,
		"data: {\"responseId\":\"g\",\"modelVersion\":\"SERVED\",\"candidates\":[{\"index\":0,\"content\":{\"role\":\"model\",\"parts\":[{\"text\":\"Hi\"}]},\"finishReason\":\"STOP\"}],\"usageMetadata\":{\"promptTokenCount\":1000000,\"candidatesTokenCount\":1,\"totalTokenCount\":1000001}}\n\n",
	},
	"responses": {
		`{"id":"r","object":"response","status":"completed","model":"SERVED","output":[{"type":"message","id":"m1","role":"assistant","status":"completed","content":[{"type":"output_text","text":"Hi","annotations":[]}]}],"usage":{"input_tokens":1000000,"output_tokens":1,"total_tokens":1000001}}`,
		"event: response.created\ndata: {\"type\":\"response.created\",\"sequence_number\":0,\"response\":{\"id\":\"r\",\"object\":\"response\",\"status\":\"in_progress\",\"model\":\"SERVED\",\"output\":[]}}\n\n" +
			"event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\",\"sequence_number\":1,\"item_id\":\"m1\",\"output_index\":0,\"content_index\":0,\"delta\":\"Hi\"}\n\n" +
			"event: response.completed\ndata: {\"type\":\"response.completed\",\"sequence_number\":2,\"response\":{\"id\":\"r\",\"object\":\"response\",\"status\":\"completed\",\"model\":\"SERVED\",\"output\":[{\"type\":\"message\",\"id\":\"m1\",\"role\":\"assistant\",\"status\":\"completed\",\"content\":[{\"type\":\"output_text\",\"text\":\"Hi\",\"annotations\":[]}]}],\"usage\":{\"input_tokens\":1000000,\"output_tokens\":1,\"total_tokens\":1000001}}}\n\n",
	},
}

// servedGateway is a gateway with a provider that answers with the model named behind "as-" in the requested one.
func servedGateway(t *testing.T, dialect string) *harness.Gateway {
	t.Helper()
	ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		served := "big"
		if _, name, ok := strings.Cut(string(body)+r.URL.Path, "as-"); ok {
			served = name[:strings.IndexAny(name, `":`)]
		}
		answer, kind := servedAnswers[dialect][0], "application/json"
		if strings.Contains(string(body), `"stream":true`) || strings.Contains(r.URL.Path, "stream") {
			answer, kind = servedAnswers[dialect][1], "text/event-stream"
		}
		w.Header().Set("Content-Type", kind)
		_, _ = io.WriteString(w, strings.ReplaceAll(answer, "SERVED", served))
	}))
	t.Cleanup(ts.Close)
	return harness.Open(t, harness.Setup{YAML: fmt.Sprintf("providers:\n  house: {dialect: %s, base_url: %q, allow_private: true, retries: 2}\n", dialect, ts.URL+"/v1") + `prices:
  house/big-as-small: {input: "10", output: "0"}
  house/big-as-unheard: {input: "10", output: "0"}
  house/big: {input: "10", output: "0"}
  house/small: {input: "1", output: "0"}
aliases:
  accept: {targets: [house/big-as-small], served_model: accept}
  refuse: {targets: [house/big-as-small, house/big], served_model: refuse}
  refuse-all: {targets: [house/big-as-small], served_model: refuse}
`})
}

// TestMoneyIsOfTheServedModel checks name, mark and cost of answers by other models, whole and streamed. The controls
// are an answer by the requested model and one with another price.
func TestMoneyIsOfTheServedModel(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		served     ledger.Served
		cost       string
		provenance ledger.Provenance
	}{
		"house/big":            {ledger.Served{}, "10", ledger.Exact},
		"house/big-as-small":   {ledger.Served{Model: "small", Other: true}, "1", ledger.Exact},
		"house/big-as-unheard": {ledger.Served{Model: "unheard", Other: true}, "10", ledger.Assumed},
		"accept":               {ledger.Served{Model: "small"}, "1", ledger.Exact},
	}
	for dialect := range servedAnswers {
		h := servedGateway(t, dialect)
		for model, test := range tests {
			for _, stream := range []bool{false, true} {
				r := h.Do(harness.Ask{Path: "/v1/chat/completions", Body: fmt.Sprintf(
					`{"model":%q,"stream":%t,"messages":[{"role":"user","content":"Hi"}]}`, model, stream)})
				e := h.Entry(t, r.Header.Get("X-Request-Id"))
				if e.Served != test.served || e.Cost.String() != test.cost || e.Provenance != test.provenance {
					t.Errorf("%s at %s, stream %t: served %+v, $%s, %s; want %+v, $%s, %s", model, dialect, stream, e.Served,
						e.Cost, e.Provenance, test.served, test.cost, test.provenance)
				}
			}
		}
		h.Verify(t)
	}
}

// TestLateAnswerOfRefusedModelIsNotOffered checks that a repeat of a request with a late answer is sent again if the
// alias refuses the model of the late answer, which is metered.
func TestLateAnswerOfRefusedModelIsNotOffered(t *testing.T) {
	t.Parallel()
	release, calls := make(chan struct{}), atomic.Int64{}
	ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		served := "big"
		if calls.Add(1) == 1 {
			<-release
			served = "small"
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, strings.ReplaceAll(servedAnswers["openai"][0], "SERVED", served))
	}))
	t.Cleanup(ts.Close)
	h := harness.Open(t, harness.Setup{YAML: "providers:" + harness.Hasty(harness.ProviderYAML("house", ts.URL), "1s", "20s") +
		"prices: {house/*: {input: \"1\", output: \"0\"}}\naliases: {refuse: {targets: [house/big], served_model: refuse}}\n"})
	ask := harness.Ask{Path: "/v1/chat", Body: harness.Hello("refuse")}
	first := h.Do(ask)
	close(release)
	if first.Status != http.StatusGatewayTimeout {
		t.Fatalf("%d %s, want 504", first.Status, first.Body)
	}
	r := h.Do(ask)
	if of := r.Header.Get("X-Weir-Answer-Of"); r.Status != http.StatusOK || of != "" {
		t.Errorf("a repeat: %d, answer of %q, want 200 and an answer of its own: %s", r.Status, of, r.Body)
	}
	if e := h.Entry(t, first.Header.Get("X-Request-Id")); e.Served.Model != "small" || !e.Served.Other {
		t.Errorf("the late answer is by %+v", e.Served)
	}
	h.Verify(t)
}

// TestRefusedModelFallsBack checks that an alias that refuses other models answers by its next target, or with an error,
// and that the client receives nothing of the refused answer, which is metered.
func TestRefusedModelFallsBack(t *testing.T) {
	t.Parallel()
	for dialect := range servedAnswers {
		h := servedGateway(t, dialect)
		for _, stream := range []bool{false, true} {
			ask := func(model string) harness.Reply {
				return h.Do(harness.Ask{Path: "/v1/chat/completions", Body: fmt.Sprintf(
					`{"model":%q,"stream":%t,"messages":[{"role":"user","content":"Hi"}]}`, model, stream)})
			}
			r := ask("refuse")
			if r.Status != http.StatusOK || r.Header.Get("X-Weir-Model") != "house/big" || strings.Contains(r.Body, `"small"`) ||
				strings.Count(r.Body, "Hi") != 1 {
				t.Errorf("%s, stream %t: %d by %s: %s", dialect, stream, r.Status, r.Header.Get("X-Weir-Model"), r.Body)
			}
			rows := h.Rows(r.Header.Get("X-Request-Id"))
			if len(rows) != 2 {
				t.Errorf("%s, stream %t: %d attempts, want 2: one at each target", dialect, stream, len(rows))
			}
			refused := h.EntryOf(t, "house/big-as-small")
			if most := refused.MostCost().String(); refused.Served.Model != "small" || !refused.Served.Other ||
				!stream && (most != "1" || refused.Cost.String() != "1") || most == "0" {
				t.Errorf("%s, stream %t: the refused answer is by %+v, for $%s, at most $%s", dialect, stream, refused.Served,
					refused.Cost, most)
			}
			r = ask("refuse-all")
			if r.Status == http.StatusOK && !stream || !strings.Contains(r.Body, "served_model") || strings.Contains(r.Body, "Hi") {
				t.Errorf("%s, stream %t: without another target: %d %s", dialect, stream, r.Status, r.Body)
			}
		}
		h.Verify(t)
	}
}
