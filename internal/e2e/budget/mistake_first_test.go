package budget_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"weir/internal/account"
	"weir/internal/budget"
	"weir/internal/e2e/harness"
	"weir/internal/llm"
)

// TestMistakeComesBeforeMoney shows that a request with a mistake gets 400 under a budget, whether that is too small or
// the price of the request cannot be bounded, at every client API; and that the same request without the mistake gets
// the refusal of the budget.
func TestMistakeComesBeforeMoney(t *testing.T) {
	t.Parallel()
	mistakes := map[string][]string{ // members that make a request of each client API invalid
		"openai":    {`{"model":%q%s}`, `{"model":%q,"messages":[]%s}`, `{"model":%q,"messages":[{"role":"nobody","content":"Hi"}]%s}`, `{"model":%q,"messages":[{"role":"user","content":"Hi"}],"temperature":"hot"%s}`},
		"responses": {`{"model":%q,"input":5%s}`, `{"model":%q,"input":[{"role":"user","content":7}]%s}`},
		"anthropic": {`{"model":%q,"max_tokens":5%s}`, `{"model":%q,"max_tokens":5,"messages":[{"role":"nobody","content":"Hi"}]%s}`},
		"gemini":    {`{"house":%q%s}`, `{"contents":[{"role":"nobody","parts":[{"text":"Hi"}]}],"house":%q%s}`},
	}
	for _, d := range harness.VendorAPIs() {
		t.Run(d.Dialect, func(t *testing.T) {
			t.Parallel()
			up := harness.NewUpstream(t)
			h := harness.Open(t, harness.Setup{YAML: "providers:" + harness.SpokenBy("house", d.Dialect, up.URL, harness.Spoken()[d.Dialect]) +
				"prices:\n  house/*: {input: \"1\", output: \"1\"}\n"})
			keys := map[string]string{
				"ample": h.NewKey(account.KeyOptions{Account: "default", Budget: account.Budget{Limit: 1000 * llm.USD, Period: budget.PeriodTotal}}),
				"small": h.NewKey(account.KeyOptions{Account: "default", Budget: account.Budget{Limit: 1, Period: budget.PeriodTotal}}),
			}
			for name, key := range keys {
				for _, stream := range []bool{false, true} {
					members := ""
					if stream && d.Dialect != "gemini" {
						members = `,"stream":true`
					}
					for _, form := range mistakes[d.Dialect] {
						body := fmt.Sprintf(form, "house/echo", members)
						r := h.Do(harness.Ask{Path: d.At("house/echo", stream), Body: body, Key: key})
						if r.Status != http.StatusBadRequest || strings.Contains(r.Body, "price") || strings.Contains(r.Body, "budget") {
							t.Errorf("%s budget, %s: got %d %s, want 400 about the request", name, body, r.Status, r.Body)
						}
					}
				}
			}
			a := d.Ask("house/echo", false)
			a.Key = keys["small"]
			if r := h.Do(a); r.Status != http.StatusPaymentRequired && r.Status != http.StatusTooManyRequests {
				t.Errorf("small budget, a valid request: got %d %s, want the refusal of the budget", r.Status, r.Body)
			}
		})
	}
}

// TestBudgetRefusalSaysWhatHelps shows that a refusal names the next period only if that has room for the request.
func TestBudgetRefusalSaysWhatHelps(t *testing.T) {
	t.Parallel()
	up := harness.NewUpstream(t)
	h := harness.Open(t, harness.Setup{YAML: "providers:" + harness.ProviderYAML("house", up.URL) + harness.PerRequest})
	for _, tt := range []struct {
		budget       account.Budget
		served       int // requests before the refusal
		want, avoids string
	}{
		{account.Budget{Limit: llm.USD, Period: budget.PeriodDay}, 1, "It will reset at 20", "larger"},
		{account.Budget{Limit: llm.USD, Period: budget.PeriodMonth}, 1, "It will reset at 20", "larger"},
		{account.Budget{Limit: llm.USD, Period: budget.PeriodTotal}, 1, "It does not reset: ask for a larger one.", "reset at"},
		{account.Budget{Limit: llm.USD / 2, Period: budget.PeriodDay}, 0, "That is more than the whole budget", "reset"},
		{account.Budget{Limit: llm.USD / 2, Period: budget.PeriodTotal}, 0, "That is more than the whole budget", "reset"},
	} {
		key := h.NewKey(account.KeyOptions{Account: "default", Budget: tt.budget})
		ask := func(stream bool) harness.Reply {
			a := harness.Ask{Path: "/v1/chat", Body: harness.Hello("house/echo"), Key: key}
			if stream {
				a.Header = []string{"Accept", "text/event-stream"}
			}
			return h.Do(a)
		}
		for range tt.served {
			h.MustAnswer(ask(false))
		}
		for _, stream := range []bool{false, true} {
			if r := ask(stream); r.Status != http.StatusPaymentRequired || !strings.Contains(r.Body, tt.want) || strings.Contains(r.Body, tt.avoids) {
				t.Errorf("%v, stream %t: got %d %s, want 402 with %q, without %q", tt.budget, stream, r.Status, r.Body, tt.want, tt.avoids)
			}
		}
	}
}
