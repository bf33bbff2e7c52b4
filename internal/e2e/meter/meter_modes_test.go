package meter_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"weir/internal/budget"
	"weir/internal/e2e/harness"
	"weir/internal/ledger"
	"weir/internal/llm"
)

// openVendor opens a gateway with a provider of the catalogue that always sends the same answer, at its own price.
func openVendor(t *testing.T, name, dialect, contentType string, status int, body string) *harness.Gateway {
	t.Helper()
	ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(ts.Close)
	return harness.Open(t, harness.Setup{YAML: "providers:" + harness.SpokenBy(name, dialect, ts.URL, "/v1")})
}

// TestUnreportedTierIsChargedAsRequested checks that a service tier is charged as requested at a provider whose answers
// do not report it, and is a bound elsewhere.
func TestUnreportedTierIsChargedAsRequested(t *testing.T) {
	t.Parallel()
	const (
		usage  = `"usage":{"prompt_tokens":20000,"completion_tokens":1500,"prompt_tokens_details":{"cached_tokens":16000}}`
		whole  = `{"id":"a","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"Done."},"finish_reason":"stop"}],` + usage + `}`
		stream = `data: {"id":"a","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"Done."},"finish_reason":"stop"}]}` + "\n\n" +
			`data: {"id":"a","object":"chat.completion.chunk","choices":[],` + usage + "}\n\ndata: [DONE]\n\n"
		kimi = "accounts/fireworks/models/kimi-k3"
	)
	for _, tt := range []struct{ provider, model, member, want, most string }{
		{"fireworks", kimi, `,"service_tier":"priority"`, "0.049125", "0"},
		{"fireworks", kimi, `,"service_tier":"auto"`, "0.0393", "0"},
		{"fireworks", kimi, "", "0.0393", "0"},
		{"openai", "gpt-5-mini", `,"service_tier":"priority"`, "0.0044", "0.00792"}, // it reports tiers, and did not
	} {
		for _, streamed := range []bool{false, true} {
			contentType, body, member := "application/json", whole, tt.member
			if streamed {
				contentType, body, member = "text/event-stream", stream, tt.member+`,"stream":true`
			}
			h := openVendor(t, tt.provider, "openai", contentType, http.StatusOK, body)
			r := h.Do(harness.Ask{Path: "/v1/chat/completions", Body: `{"model":"` + tt.provider + "/" + tt.model + `","messages":[{"role":"user","content":"Hi"}]` + member + `}`})
			row := h.Entry(t, r.Header.Get("X-Request-Id"))
			exact := row.Provenance == ledger.Exact
			if row.Cost.String() != tt.want || row.AtMost.String() != tt.most || exact != (tt.most == "0") || row.Unpriced != 0 {
				t.Errorf("%s%s: got %+v, want $%s: %s", tt.provider, member, row.Settlement, tt.want, r.Body)
			}
		}
	}
}

// TestFeeOfRefusal checks that a request that xAI refuses for its content costs xAI's fee if it has one, and that the
// client gets the error as its own mistake.
func TestFeeOfRefusal(t *testing.T) {
	t.Parallel()
	const refusal = `{"code":"The caller does not have permission to execute the specified operation","error":"Content violates usage guidelines. Failed check: SAFETY_CHECK_TYPE_BIO"}`
	for _, tt := range []struct {
		provider, dialect, path, model, input, body, want string
		status                                            int
	}{
		{"xai", "responses", "/v1/responses", "grok-4.3", `"input":"Hi"`, refusal, "0.05", 400},
		{"xai", "openai", "/v1/chat/completions", "grok-4.3", `"messages":[{"role":"user","content":"Hi"}]`, refusal, "0", 400},
		{"openai", "responses", "/v1/responses", "gpt-5-mini", `"input":"Hi"`, refusal, "0", 400},
		{"xai", "responses", "/v1/responses", "grok-4.3", `"input":"Hi"`, `{"error":"No such key"}`, "0", 403},
	} {
		h := openVendor(t, tt.provider, tt.dialect, "application/json", http.StatusForbidden, tt.body)
		r := h.Do(harness.Ask{Path: tt.path, Body: `{"model":"` + tt.provider + "/" + tt.model + `",` + tt.input + `}`})
		row := h.Entry(t, r.Header.Get("X-Request-Id"))
		if row.Cost.String() != tt.want || row.Outcome != ledger.OutcomeRejected || row.Provenance != ledger.Exact || row.Status != tt.status {
			t.Errorf("%s at %s: got %+v, want $%s and status %d", tt.provider, tt.path, row.Settlement, tt.want, tt.status)
		}
		if strings.Contains(r.Body, "credentials") != (tt.status == 403) {
			t.Errorf("%s at %s: got %s", tt.provider, tt.path, r.Body)
		}
		h.Verify(t)
	}
}

// TestShortRecording checks that Groq charges for at least ten seconds of a recording
// (https://console.groq.com/docs/speech-to-text), reported or not, and that as much is held.
func TestShortRecording(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		provider, body string
		seconds        int
		want           string
	}{
		{"groq", `{"text":"Hi","duration":2.5}`, 3, "0.000308333"},
		{"groq", `{"text":"Hi"}`, 3, "0.000308333"},
		{"groq", `{"text":"Hi","duration":12}`, 12, "0.00037"},
		{"openai", `{"text":"Hi","duration":2.5}`, 3, "0.00025"},
	} {
		h := openVendor(t, tt.provider, "openai", "application/json", http.StatusOK, tt.body)
		model := map[string]string{"groq": "groq/whisper-large-v3", "openai": "openai/whisper-1"}[tt.provider]
		r := h.Transcribe("/v1/audio/transcriptions", harness.WAV(tt.seconds), "model", model)
		row := h.Entry(t, r.Header.Get("X-Request-Id"))
		if row.Cost.String() != tt.want || row.Hold < row.Cost || row.Outcome != ledger.OutcomeOK {
			t.Errorf("%s, %s: got %+v of a hold of $%s, want $%s: %s", model, tt.body, row.Settlement, row.Hold, tt.want, r.Body)
		}
	}
}

// TestFastMode checks that Anthropic's fast mode is passed on, charged at its price if the reply says that it served,
// and refused under a budget if its price is unknown (https://platform.claude.com/docs/build-with-claude/fast-mode,
// 2026-09-30: 8 / 40 for Opus 5.5, with the multiples for caching on top).
func TestFastMode(t *testing.T) {
	t.Parallel()
	const (
		usage = `"input_tokens":1000,"output_tokens":2000,"cache_read_input_tokens":100000,"cache_creation_input_tokens":10000,` +
			`"cache_creation":{"ephemeral_5m_input_tokens":0,"ephemeral_1h_input_tokens":10000},"service_tier":"standard"`
		slow = `{"model":"MODEL","max_tokens":2000,"messages":[{"role":"user","content":"Hi"}]`
		fast = slow + `,"speed":"fast"`
	)
	for _, tt := range []struct {
		model, body, told string
		budget            bool
		status            int
		provenance        ledger.Provenance
		cost, most        string
		unpriced          bool
	}{
		{"claude-opus-5-5", fast, `,"speed":"fast"`, false, 200, ledger.Exact, "0.288", "0", false},
		{"claude-opus-5-5", fast, `,"speed":"fast"`, true, 200, ledger.Exact, "0.288", "0", false},
		{"claude-opus-5-5", fast, `,"speed":"standard"`, false, 200, ledger.Exact, "0.144", "0", false},
		{"claude-opus-5-5", fast, "", false, 200, ledger.Estimated, "0.144", "0.288", false},
		{"claude-opus-5-5", slow, "", false, 200, ledger.Exact, "0.144", "0", false},
		{"claude-haiku-5-5", fast, `,"speed":"fast"`, false, 200, ledger.Exact, "0", "0", true},
		{"claude-haiku-5-5", fast, `,"speed":"fast"`, true, 400, "", "", "", false},
		{"claude-opus-5-5", strings.Replace(fast, "fast", "faster", 1), "", true, 400, "", "", "", false},
	} {
		h, seen := openAnthropic(t, `{"id":"msg_1","type":"message","role":"assistant","content":[{"type":"text","text":"Hi"}],"stop_reason":"end_turn","usage":{`+usage+tt.told+`}}`)
		if tt.budget {
			h.SetBudget(100*llm.USD, budget.PeriodTotal)
		}
		r := h.Do(harness.Ask{Path: "/v1/messages", Body: strings.Replace(tt.body, "MODEL", "anthropic/"+tt.model, 1) + "}", Header: []string{"Anthropic-Beta", "fast-mode-2026-02-01"}})
		if r.Status != tt.status {
			t.Errorf("%s%s: got %d %s, want %d", tt.body, tt.told, r.Status, r.Body, tt.status)
		}
		if tt.status != http.StatusOK || r.Status != http.StatusOK {
			continue
		}
		if speed := strings.Contains(seen(), `"speed":"fast"`) && strings.HasPrefix(seen(), "fast-mode-"); speed != (tt.body == fast) {
			t.Errorf("%s: the provider saw %s", tt.body, seen())
		}
		e := h.Entry(t, r.Header.Get("X-Request-Id"))
		if e.Provenance != tt.provenance || !tt.unpriced && (e.Cost.String() != tt.cost || e.AtMost.String() != tt.most) || e.Unpriced != 0 != tt.unpriced {
			t.Errorf("%s%s: got %s, %s, %s at most, unpriced %v, want %s, %s, %s", tt.body, tt.told, e.Provenance, e.Cost, e.AtMost, e.Unpriced.Names(), tt.provenance, tt.cost, tt.most)
		}
		if !tt.unpriced && e.Hold < 2000*40*1000 {
			t.Errorf("%s: got a hold of %s, want the cost of 2,000 output tokens at 40 per million", tt.body, e.Hold)
		}
	}
}

// openAnthropic opens a gateway with an Anthropic that always sends the same answer, and returns its last request.
func openAnthropic(t *testing.T, body string) (h *harness.Gateway, seen func() string) {
	t.Helper()
	var last atomic.Pointer[string]
	ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent, _ := io.ReadAll(r.Body)
		text := r.Header.Get("Anthropic-Beta") + string(sent)
		last.Store(&text)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(ts.Close)
	h = harness.Open(t, harness.Setup{YAML: "providers:" + harness.SpokenBy("anthropic", "anthropic", ts.URL, "")})
	return h, func() string { return *last.Load() }
}
