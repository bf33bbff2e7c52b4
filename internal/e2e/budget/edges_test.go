package budget_test

import (
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"weir/internal/budget"
	"weir/internal/e2e/harness"
	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/report"
)

// edge describes a charge that the gateway does not see, or has no price for.
type edge struct {
	name    string
	as      string // the provider's name, as in the catalogue; empty for house
	dialect string // of the provider; empty for openai's, at /v1
	path    string // of the wire format
	budget  llm.Money
	ask     harness.Ask
	leaves  time.Duration // the client's longest wait; 0 for none
	refused bool          // the provider must receive no request
	alone   bool          // one client after the other

	input, output int64 // prices in dollars per million tokens; 0 is 10 and 1000
}

func edges() []edge {
	const words = `"messages":[{"role":"user","content":"Hi"}]`
	pdf := base64.StdEncoding.EncodeToString([]byte("%PDF-1.7 " + strings.Repeat("stream ", 12_000)))
	custom := make([]string, 300)
	for i := range custom {
		custom[i] = fmt.Sprintf(`{"type":"custom","name":"c%d"}`, i)
	}
	chat := func(members string) harness.Ask {
		return harness.Ask{Path: "/v1/chat/completions", Body: "{" + members + "}"}
	}
	return []edge{
		{
			name: "whole answers whose clients leave", budget: 2 * llm.USD, leaves: 150 * time.Millisecond,
			ask: chat(`"model":"house/chat:tokens=200,pace=3ms,after=bill","max_tokens":200,` + words),
		},
		{
			name: "streams whose clients leave while the model thinks", budget: 2 * llm.USD, leaves: 150 * time.Millisecond,
			ask: chat(`"model":"house/chat:tokens=50,reasoning=200,ttft=3s,after=bill","stream":true,"max_tokens":250,` + words),
		},
		{
			name: "a late first byte", budget: 2 * llm.USD,
			ask: chat(`"model":"house/chat:tokens=200,ttft=20s,after=bill","max_tokens":250,` + words),
		},
		{
			name: "a stream that breaks off behind hidden reasoning", budget: 2 * llm.USD,
			ask: chat(`"model":"house/chat:tokens=50,reasoning=200,fault=cut,at=3,after=bill","stream":true,"max_tokens":250,` + words),
		},
		{
			name: "a PDF whose client leaves", budget: 3 * llm.USD, leaves: 400 * time.Millisecond, input: 2, output: 1, alone: true,
			ask: chat(`"model":"house/chat:files=90000,ttft=3s,after=bill","stream":true,"max_tokens":20,"messages":[{"role":"user","content":[` +
				`{"type":"file","file":{"filename":"a.pdf","file_data":"data:application/pdf;base64,` + pdf + `"}}]}]`),
		},
		{
			name: "search by Google", dialect: "gemini", path: "/v1beta", budget: 40 * llm.USD, refused: true, input: 1, output: 1,
			ask: harness.Ask{Path: "/v1beta/models/house/chat:generateContent", Body: `{"contents":[{"role":"user","parts":[{"text":"Hi"}]}],"tools":[{"google_search":{}}]}`},
		},
		{
			name: "code interpreter", dialect: "responses", path: "/v1", budget: 40 * llm.USD, refused: true, input: 1, output: 1,
			ask: harness.Ask{Path: "/v1/responses", Body: `{"model":"house/chat","input":"Hi","tools":[{"type":"code_interpreter","container":{"type":"auto"}}]}`},
		},
		{
			name: "web search of a chat", budget: 40 * llm.USD, refused: true, input: 1, output: 1,
			ask: chat(`"model":"house/chat","web_search_options":{},` + words),
		},
		{
			name: "a model that searches by its name", budget: 40 * llm.USD, refused: true, input: 1, output: 1,
			ask: chat(`"model":"house/chat:Online",` + words),
		},
		{
			name: "answers by a new field", budget: 40 * llm.USD, input: 1,
			ask: chat(`"model":"house/chat:n=20,tokens=200","num_outputs":20,"max_tokens":200,` + words),
		},
		{
			name: "more answers than anybody makes", budget: 40 * llm.USD, refused: true, input: 1, output: 1,
			ask: chat(`"model":"house/chat","sampling_params":{"n":"1e3"},` + words),
		},
		{
			name: "reasoning beside the cap", budget: llm.USD, output: 100,
			ask: chat(`"model":"house/chat:tokens=10,reasoning=3000,uncapped","thinking_budget":3000,"max_tokens":10,` + words),
		},
		{
			name: "agents beside the answer", budget: 40 * llm.USD, refused: true, input: 1, output: 1,
			ask: chat(`"model":"house/grok-4.20-multi-agent",` + words),
		},
		{
			name: "tools beside the tools", dialect: "responses", path: "/v1", budget: 40 * llm.USD, refused: true, input: 1, output: 1,
			ask: harness.Ask{Path: "/v1/responses", Body: `{"model":"house/chat","input":[{"type":"additional_tools","role":"developer","tools":[{"type":"web_search"}]},{"role":"user","content":"Hi"}]}`},
		},
		{
			name: "tools of the client's in an item, which are longer as functions", budget: llm.USD * 15 / 100, refused: true,
			ask: harness.Ask{Path: "/v1/responses", Body: `{"model":"house/chat","max_output_tokens":10,"store":false,"input":[{"type":"additional_tools","role":"developer","tools":[` +
				strings.Join(custom, ",") + `]},{"role":"user","content":"Hi"}]}`},
		},
		{
			name: "tools in a message", budget: 40 * llm.USD, refused: true, input: 1, output: 1,
			ask: chat(`"model":"house/chat","messages":[{"role":"user","content":"Hi","tools":[{"type":"web_search"}]}]`),
		},
		{
			name: "tools by a new field", budget: 40 * llm.USD, refused: true, input: 1, output: 1,
			ask: chat(`"model":"house/chat","more_tools":[{"type":"web_search"}],` + words),
		},
		{
			name: "a document that is parsed", as: "openrouter", budget: 40 * llm.USD, refused: true, input: 1, output: 1,
			ask: chat(`"model":"openrouter/chat","messages":[{"role":"user","content":[` +
				`{"type":"file","file":{"filename":"a.pdf","file_data":"data:application/pdf;base64,` + pdf + `"}}]}]`),
		},
		{
			name: "a seller by the model's name", budget: 40 * llm.USD, refused: true, input: 1, output: 1,
			ask: chat(`"model":"house/chat:Nitro",` + words),
		},
		{
			name: "a seller by a field", budget: 40 * llm.USD, refused: true, input: 1, output: 1,
			ask: chat(`"model":"house/chat","provider":{"only":["dear"]},` + words),
		},
		{
			name: "tools by a stored preset", budget: 40 * llm.USD, refused: true, input: 1, output: 1,
			ask: chat(`"model":"house/chat","preset":"research",` + words),
		},
	}
}

// TestEdgesStayWithinBudget checks that a provider's true charge stays within a budget even if the gateway cannot see
// all of it: each case once exceeded its budget.
func TestEdgesStayWithinBudget(t *testing.T) {
	t.Parallel()
	for _, e := range edges() {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			up := harness.NewUpstream(t)
			input, output := cmp.Or(e.input, 10), cmp.Or(e.output, 1000)
			h := harness.Open(t, harness.Setup{YAML: e.named("providers:" + e.provider(up.URL) + harness.PricedAt(input, output))})
			h.SetBudget(e.budget, budget.PeriodTotal)
			clients, each := 8, 5
			if e.alone {
				clients, each = 1, 20
			}
			var all sync.WaitGroup
			for range clients {
				all.Go(func() {
					for range each {
						try(h, e.ask, e.leaves)
					}
				})
			}
			all.Wait()
			truth, asked := llm.Money(0), 0
			for _, r := range up.Records(t) {
				asked++
				truth += llm.Money(1000 * (input*r.Usage.InputTokens() + output*r.Usage.OutputTokens()))
			}
			t.Logf("asked %d times, the provider charges $%s of a budget of $%s", asked, truth, e.budget)
			if (asked == 0) != e.refused {
				t.Errorf("the provider got %d requests, want a refusal: %t", asked, e.refused)
			}
			if truth > e.budget {
				t.Errorf("the provider charges $%s of a budget of $%s", truth, e.budget)
			}
		})
	}
}

// named returns a configuration in which the provider has the edge's name.
func (e *edge) named(yaml string) string {
	if e.as == "" {
		return yaml
	}
	return strings.NewReplacer("\n  house:", "\n  "+e.as+":", " house/", " "+e.as+"/").Replace(yaml)
}

// provider returns the configuration of the edge's provider.
func (e *edge) provider(url string) string {
	yaml := harness.Hasty(harness.ProviderYAML("house", url), "700ms", "5s")
	if e.dialect != "" {
		yaml = strings.Replace(yaml, "dialect: openai", "dialect: "+e.dialect, 1)
		yaml = strings.Replace(yaml, "/v1\n", e.path+"\n", 1)
	}
	return yaml
}

// try makes a request with a time limit, and ignores the result.
func try(h *harness.Gateway, a harness.Ask, limit time.Duration) {
	ctx, cancel := context.WithTimeout(h.T.Context(), harness.Patience)
	if limit > 0 {
		ctx, cancel = context.WithTimeout(h.T.Context(), limit)
	}
	defer cancel()
	resp, err := h.Client.Do(h.Request(a).WithContext(ctx))
	if err != nil {
		return
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body) // a client that leaves has no answer
}

// TestRescuesThatRefuse checks that providers that refused to continue a broken answer cost nothing.
func TestRescuesThatRefuse(t *testing.T) {
	t.Parallel()
	up := harness.NewUpstream(t)
	yaml := "providers:" + harness.ProviderYAML("house", up.URL) + harness.PricedAt(10, 1000) + `
aliases:
  torn: {targets: ["house/story:tokens=60,fault=cut,at=20", "house/story:status=429", "house/story:status=400"]}
`
	h := harness.Open(t, harness.Setup{YAML: yaml})
	h.Stream("torn")
	rejected := 0
	harness.Await(t, "three rows", func() bool {
		rows := 0
		rejected = 0
		h.EachEntry(func(e *report.Exported) {
			rows++
			if e.Outcome == ledger.OutcomeRejected {
				rejected++
				if e.Charged() != 0 {
					t.Errorf("%s, which answered with %d, costs $%s", e.FullModel(), e.Status, e.Charged())
				}
			}
		})
		return rows == 3
	})
	if rejected != 2 {
		t.Errorf("%d attempts were rejected, want 2", rejected)
	}
}
