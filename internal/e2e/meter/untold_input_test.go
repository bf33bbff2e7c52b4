package meter_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"weir/internal/e2e/harness"
	"weir/internal/ledger"
	"weir/internal/llm"
)

// TestUnreportedMediaMayBeAllInput checks that sound and images in a request may be all of the input if the usage does
// not count their tokens.
func TestUnreportedMediaMayBeAllInput(t *testing.T) {
	t.Parallel()
	const (
		sound = `{"type":"input_audio","input_audio":{"data":"AAAA","format":"wav"}}`
		image = `{"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw0KGgo="}}`
		text  = `{"type":"text","text":"say \"input_audio\" and \"image_url\""}`
	)
	prices := "\nprices:\n  house/m: {input: \"1\", output: \"1\", audio_in: \"50\", image_in: \"20\"}\n  house/same: {input: \"1\", output: \"1\", audio_in: \"1\"}\n"
	for _, c := range []struct {
		model, part, details string
		bound                llm.Money // in micro-dollars; 0 for an exact row
	}{
		{"m", sound, ``, 5010},
		{"m", sound, `,"prompt_tokens_details":{"cached_tokens":0}`, 5010},
		{"m", sound, `,"prompt_tokens_details":{"audio_tokens":90}`, 0},
		{"m", image, ``, 2010},
		{"m", image, `,"prompt_tokens_details":{"image_tokens":90}`, 0},
		{"m", text, ``, 0},
		{"same", sound, ``, 0},
	} {
		up := answering(t, http.StatusOK, `{"id":"1","object":"chat.completion","created":1,"choices":[{"index":0,"message":{"role":"assistant","content":"Hi"},"finish_reason":"stop"}],`+
			`"usage":{"prompt_tokens":100,"completion_tokens":10,"total_tokens":110`+c.details+`}}`)
		h := harness.Open(t, harness.Setup{YAML: "providers:" + harness.ProviderYAML("house", up.URL) + prices})
		a := harness.Ask{Path: "/v1/chat/completions", Body: `{"model":"house/` + c.model + `","max_tokens":20,"messages":[{"role":"user","content":[` + c.part + `]}]}`}
		e := h.Entry(t, h.Do(a).Header.Get("X-Request-Id"))
		if exact := e.Provenance == ledger.Exact; exact != (c.bound == 0) || e.AtMost != c.bound*1000 {
			t.Errorf("%s, %s%s: %s, at most $%s; want at most %d µ$, 0 for exact", c.model, c.part, c.details, e.Provenance, e.AtMost, c.bound)
		}
	}
}

// TestUnreportedTierIsBound checks that a requested service tier is the bound if the answer does not report the tier
// that served, and that a header of Google's reports it.
func TestUnreportedTierIsBound(t *testing.T) {
	t.Parallel()
	const (
		openai = `{"id":"1","object":"chat.completion","created":1,"model":"gpt-5-mini","choices":[{"index":0,"message":{"role":"assistant","content":"Hi"},"finish_reason":"stop"}],` +
			`"usage":{"prompt_tokens":1000,"completion_tokens":100,"total_tokens":1100}`
		google = `{"candidates":[{"content":{"role":"model","parts":[{"text":"Hi"}]},"finishReason":"STOP","index":0}],"modelVersion":"gemini-3.5-flash","responseId":"1",` +
			`"usageMetadata":{"promptTokenCount":1000,"candidatesTokenCount":100,"totalTokenCount":1100}}`
	)
	for _, c := range []struct {
		provider, model, tier, answer, header string
		exact, dear                           bool // the cost is that of the tier
	}{
		{"openai", "gpt-5-mini", "priority", openai + `}`, "", false, false},
		{"openai", "gpt-5-mini", "priority", openai + `,"service_tier":null}`, "", false, false},
		{"openai", "gpt-5-mini", "priority", openai + `,"service_tier":"default"}`, "", true, false},
		{"openai", "gpt-5-mini", "priority", openai + `,"service_tier":"priority"}`, "", true, true},
		{"openai", "gpt-5-mini", "default", openai + `}`, "", true, false},
		{"gemini", "gemini-3.5-flash", "priority", google, "", false, false},
		{"gemini", "gemini-3.5-flash", "priority", google, "priority", true, true},
		{"gemini", "gemini-3.5-flash", "priority", google, "standard", true, false},
	} {
		up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			if c.header != "" {
				w.Header().Set("X-Gemini-Service-Tier", c.header)
			}
			_, _ = io.WriteString(w, c.answer)
		}))
		t.Cleanup(up.Close)
		path, body := "/v1/chat/completions", `{"model":"openai/gpt-5-mini","service_tier":"`+c.tier+`","messages":[{"role":"user","content":"Hi"}]}`
		base := up.URL + "/v1"
		if c.provider == "gemini" {
			path, base = "/v1beta/models/gemini-3.5-flash:generateContent", up.URL+"/v1beta"
			body = `{"serviceTier":"` + c.tier + `","contents":[{"role":"user","parts":[{"text":"Hi"}]}]}`
		}
		h := harness.Open(t, harness.Setup{YAML: "providers:\n  " + c.provider + ": {base_url: " + base + ", allow_private: true, api_keys: [k]}\n"})
		e := h.Entry(t, h.Do(harness.Ask{Path: path, Body: body}).Header.Get("X-Request-Id"))
		own, asked := e.Price.Cost(&e.Usage, ""), e.Price.Cost(&e.Usage, "priority")
		want, most := own, llm.Money(0)
		if c.dear {
			want = asked
		}
		if !c.exact {
			most = asked
		}
		if exact := e.Provenance == ledger.Exact; own >= asked || exact != c.exact || e.Cost != want || e.AtMost != most {
			t.Errorf("%s requested with %s, header %q, answer %s: %s, $%s to $%s; want exact %t, $%s to $%s", c.model, c.tier, c.header, c.answer,
				e.Provenance, e.Cost, e.AtMost, c.exact, want, most)
		}
	}
}
