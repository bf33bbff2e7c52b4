package app_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"weir/internal/ledger"
	"weir/internal/llm"
)

// TestProviderCostDiffers counts by how much a provider's own cost is above or below ours.
func TestProviderCostDiffers(t *testing.T) {
	t.Parallel()
	costs := make(chan string, 3) // 30 tokens in, 10 out, at $3 and $11 a million: $0.0002
	for _, cost := range []string{"0.0002", "0.0003", "0.00015"} {
		costs <- cost
	}
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"id":"1","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"Hi"},"finish_reason":"stop"}],`+
			`"usage":{"prompt_tokens":30,"completion_tokens":10,"total_tokens":40,"cost":%s}}`, <-costs)
	}))
	defer up.Close()
	h := open(t, setup{yaml: "providers:" + providerYAML("house", up.URL) + "prices:\n  house/*: {input: \"3\", output: \"11\"}\n"})
	for range 3 {
		h.mustAnswer(h.chat("house/m"))
	}
	text := h.do(ask{path: "/metrics", key: noKey}).body
	for _, want := range []string{
		`weir_provider_cost_difference_nanousd_total{provider="house",sign="above"} 100000`,
		`weir_provider_cost_difference_nanousd_total{provider="house",sign="below"} 50000`,
		`weir_provider_cost_differs_total{provider="house"} 2`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in the metrics:\n%s", want, text)
		}
	}
}

// TestUsesHaveBound shows the upper bound in the entry of what nobody saw the end of, and
// in no other.
func TestUsesHaveBound(t *testing.T) {
	t.Parallel()
	h, _ := openSimulated(t)
	h.mustAnswer(h.chat("house/echo"))
	cut := h.stream("house/chat:fault=cut,at=3")
	e := h.entry(t, cut.header.Get("X-Request-Id"))
	r := h.do(ask{path: "/v1/uses"})
	if want := fmt.Sprintf(`"cost":%s,"cost_at_most":%s}`, e.Cost, e.AtMost); e.AtMost <= e.Cost || !strings.Contains(r.body, want) || strings.Count(r.body, "cost_at_most") != 1 {
		t.Errorf("got %s, want %s once", r.body, want)
	}
}

// TestDearerThanThePrice has budgets count what a provider says that it charges where that
// is above what the price comes to.
func TestDearerThanThePrice(t *testing.T) {
	t.Parallel()
	var told atomic.Pointer[string]
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"id":"1","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"Hi"},"finish_reason":"stop"}],`+
			`"usage":{"prompt_tokens":30,"completion_tokens":10,"total_tokens":40,"cost":%s}}`, *told.Load())
	}))
	defer up.Close()
	for _, c := range []struct {
		told, atMost string // what it costs by its price is 0.0002
		provenance   ledger.Provenance
	}{
		{"0.00015", "0", ledger.Exact},
		{"0.0002", "0", ledger.Exact},
		{"0.000200000004", "0", ledger.Exact},
		{"0.00020002", "0", ledger.Exact},
		{"0.0002003", "0.0002003", ledger.Assumed},
		{"0.5", "0.5", ledger.Assumed},
	} {
		told.Store(&c.told)
		h := open(t, setup{yaml: "providers:" + providerYAML("house", up.URL) + "prices:\n  house/*: {input: \"3\", output: \"11\"}\n"})
		h.setBudget(60*llm.USD/100, ledger.PeriodTotal)
		r := h.chat("house/m")
		h.mustAnswer(r)
		e := h.entry(t, r.header.Get("X-Request-Id"))
		if e.Cost.String() != "0.0002" || e.AtMost.String() != c.atMost || e.Provenance != c.provenance {
			t.Errorf("it says $%s: got $%s, at most $%s, %s; want at most $%s, %s", c.told, e.Cost, e.AtMost, e.Provenance, c.atMost, c.provenance)
		}
		if c.told != "0.5" {
			continue
		}
		h.mustAnswer(h.chat("house/m"))
		if r := h.chat("house/m"); r.status != http.StatusPaymentRequired {
			t.Errorf("after $1 of $0.60 the status is %d", r.status)
		}
		h.verify(t)
	}
}

// TestParsedDocuments marks what a provider may charge for reading documents to a model
// that takes none, and for sound that its price has no rate for.
func TestParsedDocuments(t *testing.T) {
	t.Parallel()
	up := answering(t, http.StatusOK, `{"id":"1","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"Hi"},"finish_reason":"stop"}],`+
		`"usage":{"prompt_tokens":30,"completion_tokens":10,"total_tokens":40}}`)
	h := open(t, setup{yaml: "providers:" + providerYAML("openrouter", up.URL) + providerYAML("house", up.URL) +
		"prices:\n  openrouter/*: {input: \"3\", output: \"11\"}\n  openrouter/hears: {input: \"3\", output: \"11\", audio_in: \"20\"}\n  house/*: {input: \"3\", output: \"11\"}\n" +
		"models:\n  openrouter/reads: {documents: true}\n  openrouter/reads-not: {documents: false}\n"})
	const (
		words = `"messages":[{"role":"user","content":"Which file?"}]`
		file  = `"messages":[{"role":"user","content":[{"type":"file","file":{"filename":"a.pdf","file_data":"data:application/pdf;base64,JVBERi0xLjcK"}}]}]`
	)
	sound := `"messages":[{"role":"user","content":[{"type":"input_audio","input_audio":"https://example.com/a.mp3"}]}]`
	chat, messages := "/v1/chat/completions", "/v1/messages"
	document := `"max_tokens":9,"messages":[{"role":"user","content":[{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"JVBERi0xLjcK"}}]}]`
	for _, c := range []struct {
		model, path, body string
		want              int64
	}{
		{"openrouter/reads-not", chat, file, 1},
		{"openrouter/unknown", chat, file, 1},
		{"openrouter/unknown", chat, strings.Replace(file, "file", `f\u0069le`, 1), 1},
		{"openrouter/unknown", messages, document, 1},
		{"openrouter/unknown", chat, words, 0},
		{"openrouter/reads", chat, file, 0},
		{"openrouter/unknown", chat, sound, 1},
		{"openrouter/hears", chat, sound, 0},
		{"house/unknown", chat, sound, 0},
		{"house/unknown", chat, file, 0},
	} {
		r := h.do(ask{path: c.path, body: `{"model":"` + c.model + `",` + c.body + `}`})
		e := h.entry(t, r.header.Get("X-Request-Id"))
		if r.status != http.StatusOK || e.Usage[llm.OtherTools] != c.want || (e.Unpriced == llm.Classes(0).With(llm.OtherTools)) != (c.want > 0) {
			t.Errorf("%s: %s: status %d, usage %v, without a price %v; want %d documents", c.model, c.body, r.status, e.Usage, e.Unpriced.Names(), c.want)
		}
	}
}
