package app_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
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
	h, _ := openHoused(t)
	h.mustAnswer(h.chat("house/echo"))
	cut := h.stream("house/chat:fault=cut,at=3")
	e := h.entry(t, cut.header.Get("X-Request-Id"))
	r := h.do(ask{path: "/v1/uses"})
	if want := fmt.Sprintf(`"cost":%s,"cost_at_most":%s}`, e.Cost, e.AtMost); e.AtMost <= e.Cost || !strings.Contains(r.body, want) || strings.Count(r.body, "cost_at_most") != 1 {
		t.Errorf("got %s, want %s once", r.body, want)
	}
}
