package meter_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"weir/internal/e2e/harness"
	"weir/internal/ledger"
)

// openVendor is a gateway before a provider of the catalogue that says one thing, at its
// own price.
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

// TestTierThatIsNotTold holds that a service tier is charged for at a provider whose
// answers do not tell it, by the request that asked for it, and is a bound elsewhere.
func TestTierThatIsNotTold(t *testing.T) {
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
		{"openai", "gpt-5-mini", `,"service_tier":"priority"`, "0.0044", "0.00792"}, // which would tell, and did not
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

// TestFeeOfRefusal holds that a request which xAI refuses for what it says costs xAI's
// fee where it has one, and that it is the caller's to put right.
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

// TestShortRecording holds that Groq charges for ten seconds of a recording at least
// (https://console.groq.com/docs/speech-to-text), told or not, and held for that. A rate is
// of whole pico-dollars a millisecond.
func TestShortRecording(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		provider, body string
		seconds        int
		want           string
	}{
		{"groq", `{"text":"Hi","duration":2.5}`, 3, "0.00030833"},
		{"groq", `{"text":"Hi"}`, 3, "0.00030833"},
		{"groq", `{"text":"Hi","duration":12}`, 12, "0.000369996"},
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
