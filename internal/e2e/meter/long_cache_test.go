package meter_test

import (
	"net/http"
	"testing"

	"weir/internal/budget"
	"weir/internal/e2e/harness"
	"weir/internal/ledger"
	"weir/internal/llm"
)

// TestLongCache checks that cache writes for longer than the prices cover have no price: they are refused under a
// budget, and marked without one.
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

// TestVectorsForAll checks that a reply with fewer or more vectors than texts is refused, in every wire format of
// client and provider, and that its usage counts.
func TestVectorsForAll(t *testing.T) {
	t.Parallel()
	up := answering(t, http.StatusOK, `{"object":"list","data":[{"object":"embedding","index":0,"embedding":[0.1,0.2]}],"usage":{"prompt_tokens":9,"total_tokens":9}}`)
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

// TestUnreportedCacheDurationIsBound checks that cache writes of unknown duration may all be for an hour if the request
// asks for one, and that such a request is refused under a budget if their price is unknown.
func TestUnreportedCacheDurationIsBound(t *testing.T) {
	t.Parallel()
	const (
		answer = `{"id":"msg_1","type":"message","role":"assistant","content":[{"type":"text","text":"Hi"}],"stop_reason":"end_turn",` +
			`"usage":{"input_tokens":10,"output_tokens":10,"cache_read_input_tokens":0,"cache_creation_input_tokens":1000`
		hour, five = `,"cache_control":{"type":"ephemeral","ttl":"1h"}`, `,"cache_control":{"type":"ephemeral"}`
		prices     = "\nprices:\n  bedrock/dear: {input: \"1\", output: \"1\", cache_write: \"1\", cache_write_1h: \"2\"}\n"
		open       = "anthropic.claude-sonnet-4-6-v1:0" // the price data has no rate of it for an hour
	)
	for _, c := range []struct {
		told, mark  string
		exact       bool
		cost, bound llm.Money // in micro-dollars
	}{
		{"", five, true, 1020, 0},
		{"", hour, false, 1020, 2020},
		{`,"cache_creation":{"ephemeral_5m_input_tokens":400,"ephemeral_1h_input_tokens":600}`, hour, true, 1620, 0},
		{`,"cache_creation":{"ephemeral_5m_input_tokens":0,"ephemeral_1h_input_tokens":600}`, hour, false, 1620, 2020},
	} {
		up := answering(t, http.StatusOK, answer+c.told+"}}")
		h := harness.Open(t, harness.Setup{YAML: "providers:\n  bedrock: {dialect: anthropic, base_url: " + up.URL + "/v1, allow_private: true, api_keys: [k]}" + prices})
		ask := func(model string) harness.Ask {
			return harness.Ask{Path: "/v1/messages", Body: `{"model":"bedrock/` + model + `","max_tokens":20,"messages":[{"role":"user","content":[{"type":"text","text":"Hi"` + c.mark + `}]}]}`}
		}
		e := h.Entry(t, h.Do(ask("dear")).Header.Get("X-Request-Id"))
		if exact := e.Provenance == ledger.Exact; exact != c.exact || e.Cost != c.cost*1000 || e.AtMost != c.bound*1000 {
			t.Errorf("%s told of %s: %s, %s to %s; want exact %t, %d to %d µ$", c.told, c.mark, e.Provenance, e.Cost, e.AtMost, c.exact, c.cost, c.bound)
		}
		h.SetBudget(1000*llm.USD, budget.PeriodTotal)
		want := http.StatusOK
		if c.mark == hour {
			want = http.StatusBadRequest
		}
		if r := h.Do(ask(open)); r.Status != want {
			t.Errorf("%s without a rate, under a budget: %d %s, want %d", c.mark, r.Status, r.Body, want)
		}
	}
}
