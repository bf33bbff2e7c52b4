package meter_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"weir/internal/budget"
	"weir/internal/e2e/harness"
	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/must"
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
	h := harness.Open(t, harness.Setup{YAML: "providers:" + harness.ProviderYAML("house", up.URL) + "prices:\n  house/*: {input: \"3\", output: \"11\"}\n"})
	for range 3 {
		h.MustAnswer(h.Chat("house/m"))
	}
	text := h.Do(harness.Ask{Path: "/metrics", Key: harness.NoKey}).Body
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

// TestUsesHaveBound checks that the entry of an attempt with an unseen end has the upper bound, and the total, and no
// other entry.
func TestUsesHaveBound(t *testing.T) {
	t.Parallel()
	h, _ := harness.OpenSimulated(t)
	h.MustAnswer(h.Chat("house/echo"))
	cut := h.Stream("house/chat:fault=cut,at=3")
	e := h.Entry(t, cut.Header.Get("X-Request-Id"))
	r := h.Do(harness.Ask{Path: "/v1/uses"})
	if want := fmt.Sprintf(`"cost":%s,"cost_at_most":%s}`, e.Cost, e.AtMost); e.AtMost <= e.Cost || !strings.Contains(r.Body, want) || strings.Count(r.Body, "cost_at_most") != 2 {
		t.Errorf("got %s, want %s in one entry", r.Body, want)
	}
	if total := h.Uses("").Total; must.Get(llm.ParseMoney(string(total.AtMost)))(t)-must.Get(llm.ParseMoney(string(total.Cost)))(t) != e.AtMost-e.Cost {
		t.Errorf("in all: got %+v, want it bounded by as much", total)
	}
}

// TestFigureAbovePriceCountsInBudgets checks that budgets count a provider's own figure if it is above the cost by the
// price, which stays the cost.
func TestFigureAbovePriceCountsInBudgets(t *testing.T) {
	t.Parallel()
	var told atomic.Pointer[string]
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"id":"1","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"Hi"},"finish_reason":"stop"}],`+
			`"usage":{"prompt_tokens":30,"completion_tokens":10,"total_tokens":40,"cost":%s}}`, *told.Load())
	}))
	defer up.Close()
	for _, c := range []struct {
		told, atMost string // its cost by price is 0.0002
		provenance   ledger.Provenance
	}{
		{"0.00015", "0", ledger.Exact},
		{"0.0002", "0", ledger.Exact},
		{"0.000200000004", "0", ledger.Exact},
		{"0.00020002", "0", ledger.Exact},
		{"0.0002003", "0.0002003", ledger.Assumed},
		{"0.5", "0.5", ledger.Assumed},
		{"1000001", "the hold", ledger.Assumed},
		{`"0.5"`, "the hold", ledger.Assumed},
		{"-1", "the hold", ledger.Assumed},
		{"null", "0", ledger.Exact},
	} {
		told.Store(&c.told)
		h := harness.Open(t, harness.Setup{YAML: "providers:" + harness.ProviderYAML("house", up.URL) + "    bill_by: computed\nprices:\n  house/*: {input: \"3\", output: \"11\"}\n"})
		h.SetBudget(60*llm.USD/100, budget.PeriodTotal)
		r := h.Chat("house/m")
		h.MustAnswer(r)
		e := h.Entry(t, r.Header.Get("X-Request-Id"))
		if c.atMost == "the hold" {
			c.atMost = e.Hold.String()
		}
		if e.Cost.String() != "0.0002" || e.AtMost.String() != c.atMost || e.Provenance != c.provenance {
			t.Errorf("reported $%s: got $%s, at most $%s, %s; want at most $%s, %s", c.told, e.Cost, e.AtMost, e.Provenance, c.atMost, c.provenance)
		}
		if c.told != "0.5" {
			continue
		}
		if r := h.Chat("house/m"); r.Status != http.StatusPaymentRequired { // it may charge the same again
			t.Errorf("after $0.50 of $0.60 the status is %d", r.Status)
		}
		h.Verify(t)
	}
}

// TestParsedDocuments checks the marks of charges that a provider may add: for reading documents to a model that
// accepts none, and for sound without a rate in its price.
func TestParsedDocuments(t *testing.T) {
	t.Parallel()
	up := answering(t, http.StatusOK, `{"id":"1","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"Hi"},"finish_reason":"stop"}],`+
		`"usage":{"prompt_tokens":30,"completion_tokens":10,"total_tokens":40}}`)
	h := harness.Open(t, harness.Setup{YAML: "providers:" + harness.ProviderYAML("openrouter", up.URL) + harness.ProviderYAML("house", up.URL) +
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
		r := h.Do(harness.Ask{Path: c.path, Body: `{"model":"` + c.model + `",` + c.body + `}`})
		e := h.Entry(t, r.Header.Get("X-Request-Id"))
		if r.Status != http.StatusOK || e.Usage[llm.OtherTools] != c.want || (e.Unpriced == llm.Classes(0).With(llm.OtherTools)) != (c.want > 0) {
			t.Errorf("%s: %s: status %d, usage %v, without a price %v; want %d documents", c.model, c.body, r.Status, e.Usage, e.Unpriced.Names(), c.want)
		}
	}
}

// TestModalitiesWithoutARate checks that sound and images in a request or its answer are refused under a budget if the
// model's price has no rate for them: the rate of text does not replace it.
func TestModalitiesWithoutARate(t *testing.T) {
	t.Parallel()
	up := answering(t, http.StatusOK, `{"id":"1","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"Hi"},"finish_reason":"stop"}],`+
		`"usage":{"prompt_tokens":30,"completion_tokens":10,"total_tokens":40}}`)
	gemini := answering(t, http.StatusOK, `{"candidates":[{"content":{"role":"model","parts":[{"text":"Hi"}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":30,"candidatesTokenCount":10,"totalTokenCount":40},"modelVersion":"m"}`)
	yaml := "providers:"
	for _, name := range []string{"mistral", "openrouter", "openai"} {
		yaml += harness.ProviderYAML(name, up.URL)
	}
	yaml += "  gemini: {api_keys: [x], base_url: " + gemini.URL + ", allow_private: true}\n"
	h := harness.Open(t, harness.Setup{YAML: yaml})
	h.SetBudget(1000*llm.USD, budget.PeriodTotal)
	const (
		words = `"max_tokens":9,"messages":[{"role":"user","content":"Hi"}]`
		sound = `"max_tokens":9,"messages":[{"role":"user","content":[{"type":"input_audio","input_audio":{"data":"UklGRgAA","format":"wav"}}]}]`
		named = `"max_tokens":9,"messages":[{"role":"user","content":"Hi"},{"role":"assistant","audio":{"id":"audio_1"}},{"role":"user","content":"Hi"}]`
		heard = `"contents":[{"role":"user","parts":[{"inlineData":{"mimeType":"audio/wav","data":"UklGRgAA"}}]}]`
		speak = `"contents":[{"role":"user","parts":[{"text":"Hi"}]}],"generationConfig":{"maxOutputTokens":9,"responseModalities":[`
	)
	for _, c := range []struct {
		model, body string
		refused     bool
	}{
		{"mistral/mistral-small-latest", sound, true},
		{"mistral/voxtral-small-latest", sound, false}, // which has a price by the second
		{"mistral/voxtral-small-latest", words, false},
		{"openrouter/mistralai/voxtral-small-24b-2507", sound, true},
		{"openai/gpt-4o-mini-audio-preview", words, false},
		{"openai/gpt-4o-mini-audio-preview", sound, true},
		{"openai/gpt-4o-mini-audio-preview", `"modalities":["text","audio"],` + words, true},
		{"openai/gpt-4o-mini-audio-preview", `"audio":{"voice":"alloy","format":"mp3"},` + words, true},
		{"openai/gpt-4o-mini-audio-preview", named, true},
		{"openai/gpt-audio-mini", named, false},
		{"openai/gpt-audio-mini", `"modalities":["text","audio"],"audio":{"voice":"alloy","format":"mp3"},` + sound, false},
		{"openrouter/openai/gpt-audio", `"modalities":["text","Audio"],` + words, true},
		{"openrouter/google/gemini-2.5-flash-image", `"modalities":["image","text"],` + words, true},
		{"openrouter/google/gemini-2.5-flash-image", words, false},
		{"gemini/gemini-2.5-flash-image", speak + `"IMAGE"]}`, false},
		{"gemini/gemini-2.5-flash", speak + `"AUDIO"]}`, true},
		{"gemini/gemini-2.5-flash", speak + `3]}`, true}, // the number of AUDIO
		{"gemini/gemini-2.5-flash", heard, false},
		{"gemini/gemini-3.5-flash", heard, false},
		{"gemini/gemini-2.5-pro-tts", speak + `"AUDIO"]}`, false},
	} {
		a := harness.Ask{Path: "/v1/chat/completions", Body: `{"model":"` + c.model + `",` + c.body + `}`}
		if name, ok := strings.CutPrefix(c.model, "gemini/"); ok {
			a = harness.Ask{Path: "/v1beta/models/" + name + ":generateContent", Body: "{" + c.body + "}"}
		}
		if r := h.Do(a); (r.Status != http.StatusOK) != c.refused {
			t.Errorf("%s: %s: status %d, want it refused: %t: %s", c.model, c.body, r.Status, c.refused, r.Body)
		}
	}
}

// TestUnreportedImageHasBound checks that an answer with an image that its usage does not mention has the cost of an
// image as its upper bound.
func TestUnreportedImageHasBound(t *testing.T) {
	t.Parallel()
	const answer = `{"candidates":[{"content":{"role":"model","parts":[{"inlineData":{"mimeType":"image/png","data":"iVBORw0KGgo="}}]},"finishReason":"STOP"}],` +
		`"usageMetadata":{"promptTokenCount":10,"candidatesTokenCount":1290,"totalTokenCount":1300%s},"modelVersion":"gemini-2.5-flash-image"}`
	for _, c := range []struct {
		details    string
		provenance ledger.Provenance
		cost       llm.Money
		most       llm.Money
	}{
		{`,"candidatesTokensDetails":[{"modality":"IMAGE","tokenCount":1290}]`, ledger.Exact, 38_703_000, 0},
		{"", ledger.Estimated, 3_228_000, 38_703_000},
	} {
		up := answering(t, http.StatusOK, fmt.Sprintf(answer, c.details))
		h := harness.Open(t, harness.Setup{YAML: "providers:\n  gemini: {api_keys: [x], base_url: " + up.URL + ", allow_private: true}\n"})
		r := h.Do(harness.Ask{Path: "/v1beta/models/gemini-2.5-flash-image:generateContent", Body: `{"contents":[{"role":"user","parts":[{"text":"A cat"}]}]}`})
		e := h.Entry(t, r.Header.Get("X-Request-Id"))
		if e.Provenance != c.provenance || e.Cost != c.cost || e.AtMost != c.most {
			t.Errorf("%q: %s, $%s, at most $%s; want %s, $%s, at most $%s", c.details, e.Provenance, e.Cost, e.AtMost, c.provenance, c.cost, c.most)
		}
	}
}
