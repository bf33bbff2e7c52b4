package budget_test

import (
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"

	"weir/internal/account"
	"weir/internal/budget"
	"weir/internal/e2e/harness"
	"weir/internal/llm"
	"weir/internal/must"
)

// refusalRow is a row of the table of refusals in docs/limits.md.
type refusalRow struct {
	status        int
	request, used bool // counts for rpm, for tpm
}

// documentedRefusals reads the table.
func documentedRefusals(t *testing.T) map[string]refusalRow {
	t.Helper()
	text := string(must.Get(os.ReadFile("../../../docs/limits.md"))(t))
	_, table, _ := strings.Cut(text, "| refusal | status | `rpm` | `tpm` |\n|---|---|---|---|\n")
	rows := map[string]refusalRow{}
	for line := range strings.Lines(table) {
		cells := strings.Split(strings.TrimSpace(line), " | ")
		if len(cells) != 4 {
			break
		}
		status := must.Get(strconv.Atoi(cells[1]))(t)
		rows[strings.TrimPrefix(cells[0], "| ")] = refusalRow{status, cells[2] == "yes", strings.TrimSuffix(cells[3], " |") == "yes"}
	}
	return rows
}

// TestRefusalsCountAsDocumented sends a request that is refused for each reason of the table, and compares the requests
// and tokens that remain of the key's limits with the row.
func TestRefusalsCountAsDocumented(t *testing.T) {
	t.Parallel()
	up, clock := harness.NewUpstream(t), newHandClock()
	h := harness.Open(t, harness.Setup{Now: clock.now, YAML: "max_body: 1MiB\nproviders:" + harness.ProviderYAML("house", up.URL) +
		harness.ProviderYAML("bare", up.URL) + "prices:\n  house/*: {input: \"1\", output: \"1\"}\ndefault_model: house/echo\n"})
	hello := harness.Hello("house/echo")
	long := `{"messages":[{"role":"user","prompt":"` + strings.Repeat("x", 1<<20) + `"}]}`
	small := account.Budget{Limit: 1, Period: budget.PeriodTotal}
	ample := account.Budget{Limit: 1000 * llm.USD, Period: budget.PeriodTotal}
	other := hello[:len(hello)-1] + `,"max_tokens":5}`
	cases := map[string]struct {
		key    account.KeyOptions
		before []harness.Ask // requests that are served
		ask    harness.Ask
		none   bool // without the key
	}{
		"a missing or wrong key": {
			ask: harness.Ask{Body: hello}, none: true,
		},
		"a right that the key does not have, or a suspended account": {
			key: account.KeyOptions{Permissions: []account.Permission{account.Uses}}, ask: harness.Ask{Body: hello},
		},
		"a body above `max_body`": {
			ask: harness.Ask{Body: long},
		},
		"invalid JSON, or a field twice": {
			ask: harness.Ask{Body: `{"model":"house/echo","model":"house/echo","messages":[]}`},
		},
		"an unknown model": {
			ask: harness.Ask{Body: harness.Hello("nobody/echo")},
		},
		"a model that the key may not use": {
			key: account.KeyOptions{Models: []string{"house/other"}}, ask: harness.Ask{Body: hello},
		},
		"a rate limit": {
			key: account.KeyOptions{Limits: account.Limits{RPM: 1}}, before: []harness.Ask{{Body: hello}}, ask: harness.Ask{Body: hello},
		},
		"a mistake that a translation finds, such as a message without a role": {
			ask: harness.Ask{Body: `{"model":"house/echo","messages":[{"prompt":"Hi"}]}`},
		},
		"a budget": {
			key: account.KeyOptions{Budget: small}, ask: harness.Ask{Body: hello},
		},
		"a price that is unknown under a budget": {
			key: account.KeyOptions{Budget: ample}, ask: harness.Ask{Body: harness.Hello("bare/echo")},
		},
		"an `Idempotency-Key` with another body": {
			before: []harness.Ask{{Body: hello, Header: []string{"Idempotency-Key", "one"}}},
			ask:    harness.Ask{Body: other, Header: []string{"Idempotency-Key", "one"}},
		},
		"the provider, without charge": {
			ask: harness.Ask{Body: harness.Hello("house/chat:status=400")},
		},
	}
	rows := documentedRefusals(t)
	if len(rows) != len(cases) {
		t.Errorf("the table has %d rows, want the %d that are tested", len(rows), len(cases))
	}
	for reason, c := range cases {
		want, documented := rows[reason]
		if !documented {
			t.Errorf("%s: the table has no such row", reason)
			continue
		}
		c.key.Account = "default"
		if c.key.Limits.RPM == 0 {
			c.key.Limits = account.Limits{RPM: 9, TPM: 100_000}
		}
		key := h.NewKey(c.key)
		do := func(a harness.Ask) harness.Reply {
			a.Path, a.Key = "/v1/chat", key
			if c.none {
				a.Key = harness.StrangersKey()
			}
			return h.Do(a)
		}
		for _, a := range c.before {
			h.MustAnswer(do(a))
		}
		before := left(h, key)
		r := do(c.ask)
		after := left(h, key)
		got := refusalRow{r.Status, before[0] != after[0], before[1] != after[1]}
		if got != want {
			t.Errorf("%s: got %+v, want %+v; remaining requests and tokens %v, then %v; %s", reason, got, want, before, after, r.Body)
		}
		if got.request && before[0]-after[0] != 1 {
			t.Errorf("%s: counts as %d requests, want 1", reason, before[0]-after[0])
		}
	}
}

// left returns the requests and tokens that remain of a key's limits; 0 for those that it does not have.
func left(h *harness.Gateway, key string) [2]int {
	h.T.Helper()
	r := h.Do(harness.Ask{Path: "/v1/uses", Key: key})
	if r.Status != http.StatusOK {
		h.T.Fatalf("uses: %d %s", r.Status, r.Body)
	}
	of := limitHeaders(r.Header, "x-ratelimit-")
	requests, _ := strconv.Atoi(of["remaining-requests"])
	tokens, _ := strconv.Atoi(of["remaining-tokens"])
	return [2]int{requests, tokens}
}

// TestUnpricedModelIsRefusedForItsOwnReason checks that operators can tell a missing price from a missing right, which
// clients get as the same error.
func TestUnpricedModelIsRefusedForItsOwnReason(t *testing.T) {
	t.Parallel()
	up := harness.NewUpstream(t)
	h := harness.Open(t, harness.Setup{YAML: "providers:" + harness.ProviderYAML("house", up.URL) +
		harness.ProviderYAML("bare", up.URL) + harness.PricesYAML})
	operator := h.NewKey(account.KeyOptions{Account: "default", Permissions: []account.Permission{account.Admin}})
	ample := account.Budget{Limit: 1000 * llm.USD, Period: budget.PeriodTotal}
	key := h.NewKey(account.KeyOptions{Account: "default", Budget: ample, Models: []string{"bare/*"}})
	for reason, model := range map[string]string{"PRICE_UNKNOWN": "bare/echo", "FORBIDDEN": "house/echo"} {
		r := h.Do(harness.Ask{Path: "/v1/chat", Body: harness.Hello(model), Key: key})
		harness.WantError(t, r, http.StatusForbidden, "FORBIDDEN")
		list := h.Do(harness.Ask{Method: http.MethodGet, Path: "/admin/v1/refusals?reason=" + reason, Key: operator}).Body
		if !strings.HasPrefix(list, `{"total":1,`) || !strings.Contains(list, r.Header.Get("X-Request-Id")) {
			t.Errorf("%s: got %s, want this refusal alone", reason, list)
		}
	}
}
