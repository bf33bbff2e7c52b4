package meter_test

import (
	"net/http"
	"testing"

	"weir/internal/budget"
	"weir/internal/e2e/harness"
	"weir/internal/ledger"
	"weir/internal/llm"
)

// TestLongCache holds that what a cache keeps for longer than the prices are for has no price: it
// is refused under a budget, and marked without one.
func TestLongCache(t *testing.T) {
	t.Parallel()
	const answer = `{"id":"1","object":"chat.completion","created":1,"model":"gpt-6.1-sol","choices":[{"index":0,"message":{"role":"assistant","content":"Hi"},"finish_reason":"stop"}],` +
		`"usage":{"prompt_tokens":20000,"completion_tokens":10,"total_tokens":20010,"prompt_tokens_details":`
	writes := answering(t, http.StatusOK, answer+`{"cache_write_tokens":19900}}}`)
	named := answering(t, http.StatusOK, answer+`{"cache_write_tokens":0,"cache_write_12h_tokens":19900}}}`)
	for _, c := range []struct {
		url, options string
		unpriced     bool
	}{
		{writes.URL, ``, false},
		{writes.URL, `"prompt_cache_options":{"mode":"implicit","ttl":"30m"},`, false},
		{writes.URL, `"prompt_cache_options":{"ttl":"12h"},`, true},
		{named.URL, ``, true},
	} {
		h := harness.Open(t, harness.Setup{YAML: "providers:" + harness.ProviderYAML("openai", c.url)})
		a := harness.Ask{Path: "/v1/chat/completions", Body: `{"model":"openai/gpt-6.1-sol",` + c.options + `"max_tokens":20,"messages":[{"role":"user","content":"Hi"}]}`}
		e := h.Entry(t, h.Do(a).Header.Get("X-Request-Id"))
		if got := e.Unpriced.Has(llm.CacheWrite1h); got != c.unpriced {
			t.Errorf("%s: unpriced %v, want it marked: %t", c.options, e.Unpriced.Names(), c.unpriced)
		}
		h.SetBudget(1000*llm.USD, budget.PeriodTotal)
		want := http.StatusOK
		if c.unpriced && c.options != "" {
			want = http.StatusBadRequest
		}
		if r := h.Do(a); r.Status != want {
			t.Errorf("%s under a budget: %d %s, want %d", c.options, r.Status, r.Body, want)
		}
	}
}

// TestVectorsForAll holds that a reply with fewer or more vectors than texts is none, whoever
// speaks to whom, and that its usage counts.
func TestVectorsForAll(t *testing.T) {
	t.Parallel()
	up := answering(t, http.StatusOK, `{"object":"list","model":"m","data":[{"object":"embedding","index":0,"embedding":[0.1,0.2]}],"usage":{"prompt_tokens":9,"total_tokens":9}}`)
	h := harness.Open(t, harness.Setup{YAML: "providers:" + harness.ProviderYAML("openai", up.URL)})
	for _, c := range []struct {
		path, body string
		want       int
	}{
		{"/v1/embeddings", `{"model":"openai/text-embedding-3-small","input":"a"}`, http.StatusOK},
		{"/v1/embeddings", `{"model":"openai/text-embedding-3-small","input":[1,2]}`, http.StatusOK},
		{"/v1/embeddings", `{"model":"openai/text-embedding-3-small","input":["a","b"]}`, http.StatusBadGateway},
		{"/v1beta/models/openai%2Ftext-embedding-3-small:batchEmbedContents", `{"requests":[{"content":{"parts":[{"text":"a"}]}},{"content":{"parts":[{"text":"b"}]}}]}`, http.StatusBadGateway},
	} {
		r := h.Do(harness.Ask{Path: c.path, Body: c.body})
		if r.Status != c.want {
			t.Errorf("%s %s: %d %s, want %d", c.path, c.body, r.Status, r.Body, c.want)
		}
		if e := h.Entry(t, r.Header.Get("X-Request-Id")); e.Usage[llm.Input] != 9 || e.Provenance != ledger.Exact {
			t.Errorf("%s %s: %+v, want the provider's 9 tokens", c.path, c.body, e)
		}
	}
}
