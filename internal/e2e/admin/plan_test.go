package admin_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"weir/internal/account"
	"weir/internal/admin"
	"weir/internal/audit"
	"weir/internal/budget"
	"weir/internal/e2e/harness"
	"weir/internal/llm"
	"weir/internal/managed"
	"weir/internal/must"
	"weir/internal/plan"
)

// planKeys lists labels of keys. Each begins with the key's account.
var planKeys = []string{"a-one", "a-two", "b-one", "b-two", "c-one", "c-two"}

// planWeek is a gateway with a week of traffic, at its own time.
type planWeek struct {
	*harness.Gateway
	now    atomic.Int64
	tokens map[string]string // by label
	ids    map[string]string // of keys, by label
}

func newPlanWeek(t *testing.T, upstream string, start time.Time) *planWeek {
	w := &planWeek{tokens: map[string]string{}, ids: map[string]string{}}
	w.now.Store(start.UnixNano())
	w.Gateway = harness.Open(t, harness.Setup{
		YAML: "providers:" + harness.ProviderYAML("small", upstream) + harness.ProviderYAML("big", upstream),
		Now:  func() time.Time { return time.Unix(0, w.now.Load()) },
	})
	_, err := apply(w.Gateway, `prices: {small/echo: {input: "100", output: "300"}, big/echo: {input: "500", output: "900"}}
aliases: {fast: {targets: [small/echo]}, best: {targets: [big/echo]}}`, nil)
	must.Do(t, err)
	harness.Await(t, "the alias", func() bool { return w.Chat("fast").Status == http.StatusOK })
	for _, label := range planKeys {
		if strings.HasSuffix(label, "-one") {
			w.Administer(func(ctx context.Context, s *account.Service) error {
				_, err := s.CreateAccount(ctx, audit.Gateway(), label[:1])
				return err
			})
		}
		w.Administer(func(ctx context.Context, s *account.Service) error {
			k, token, err := s.CreateKey(ctx, audit.Gateway(), account.KeyOptions{Account: label[:1], Label: label})
			w.ids[label], w.tokens[label] = k.ID, token.Reveal()
			return err
		})
	}
	return w
}

// planStep is a request of the week.
type planStep struct {
	at    time.Time
	label string
	body  string
}

func planTraffic(r *rand.Rand, start time.Time) (steps []planStep) {
	at := start
	for range 400 {
		gap := time.Duration(r.ExpFloat64() * float64(25*time.Minute))
		if r.IntN(3) > 0 { // a burst
			gap = time.Duration(r.IntN(6000)) * time.Millisecond
		}
		at = at.Add(gap)
		words := strings.Repeat("word ", 1+r.IntN(60))
		body := fmt.Sprintf(`{"model":%q,"max_tokens":%d,"messages":[{"role":"user","content":%q}]}`,
			[]string{"fast", "best", "small/echo", "big/echo"}[r.IntN(4)], 20+r.IntN(80), words)
		if r.IntN(10) == 0 { // without a cap
			body = strings.Replace(body, `"max_tokens":`, `"seed":`, 1)
		}
		steps = append(steps, planStep{at, planKeys[r.IntN(len(planKeys))], body})
	}
	return steps
}

// met holds the outcome of a request.
type met struct {
	refused plan.Refusal
	cost    llm.Money
}

// run sends the traffic, and returns the outcome of each request, and its id.
func (w *planWeek) run(t *testing.T, steps []planStep) (all []met, ids map[string]int) {
	ids = map[string]int{}
	for i, s := range steps {
		w.now.Store(s.at.UnixNano())
		r := w.Do(harness.Ask{Path: "/v1/chat/completions", Key: w.tokens[s.label], Body: s.body})
		var m met
		switch {
		case r.Status == http.StatusOK:
			m.cost = must.Get(llm.ParseMoney(r.Header.Get("X-Weir-Cost-Usd")))(t)
		case r.Status == http.StatusForbidden:
			m.refused = plan.RefusedModel
		case r.Status == http.StatusTooManyRequests && strings.Contains(r.Body, "insufficient_quota"):
			m.refused = plan.RefusedBudget
		case r.Status == http.StatusTooManyRequests:
			m.refused = plan.RefusedLimit
		default:
			t.Fatalf("request %d: got %d %s", i, r.Status, r.Body)
		}
		all, ids[r.Header.Get("X-Request-Id")] = append(all, m), i
	}
	return all, ids
}

// TestPlanPredictsReplay replays a week of traffic by weir plan and through a gateway with the same change: certain
// predictions are right, request by request.
func TestPlanPredictsReplay(t *testing.T) {
	t.Parallel()
	for seed := range uint64(2) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			testPlanPredictsReplay(t, seed)
		})
	}
}

func testPlanPredictsReplay(t *testing.T, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 1))
	up := harness.NewUpstream(t)
	year, month, day := time.Now().UTC().Date()
	start := time.Date(year, month, day-6, 0, 0, 1, 0, time.UTC)
	steps := planTraffic(r, start)
	before, after := newPlanWeek(t, up.URL, start), newPlanWeek(t, up.URL, start)
	before.Administer(func(ctx context.Context, s *account.Service) error { // so that the decisions of budgets are recorded
		_, err := s.SetBudget(ctx, audit.Gateway(), "c", account.Budget{Limit: 1000 * llm.USD, Period: budget.PeriodTotal})
		return err
	})
	time.Sleep(time.Second)
	served, ids := before.run(t, steps)
	for i, m := range served {
		if m.refused != plan.NotRefused {
			t.Fatalf("without limits: request %d was refused: %s", i, m.refused)
		}
	}
	const change = `prices: {big/echo: {input: "1000", output: "900"}}
limits: {per_key: {rpm: 2}}`
	daily := account.Budget{Limit: 6 * llm.USD / 5, Period: budget.PeriodDay}
	monthly := account.Budget{Limit: 3 * llm.USD / 2, Period: budget.PeriodMonth}
	_, err := apply(after.Gateway, change, nil)
	must.Do(t, err)
	after.Administer(func(ctx context.Context, s *account.Service) error {
		if _, err := s.SetBudget(ctx, audit.Gateway(), "a", daily); err != nil {
			return err
		}
		if _, err := s.SetBudget(ctx, audit.Gateway(), "c", account.Budget{Limit: 1000 * llm.USD, Period: budget.PeriodTotal}); err != nil {
			return err
		}
		if _, err := s.SetLimits(ctx, audit.Gateway(), "b", account.Limits{RPM: 3}); err != nil {
			return err
		}
		_, err := s.UpdateKey(ctx, audit.Gateway(), after.ids["b-two"], account.KeyUpdate{Models: &[]string{"small/*", "fast"}})
		if err == nil {
			_, err = s.UpdateKey(ctx, audit.Gateway(), after.ids["c-one"], account.KeyUpdate{Budget: &monthly})
		}
		return err
	})
	harness.Await(t, "the change", func() bool {
		return strings.Contains(after.Do(harness.Ask{Path: "/v1/models/big/echo"}).Body, "1000")
	})
	time.Sleep(time.Second) // accounts and keys are known on all nodes
	truth, _ := after.run(t, steps)
	scopes := plan.Scopes{
		Accounts: must.Get(plan.ParseChanges("accounts", []byte(`{"a":{"budget":{"limit_usd":"1.2","period":"day"}},"b":{"limits":{"rpm":3}}}`)))(t),
		Keys: must.Get(plan.ParseChanges("keys", fmt.Appendf(nil, `{%q:{"models":["small/*","fast"]},%q:{"budget":{"limit_usd":1.5,"period":"month"}}}`,
			before.ids["b-two"], before.ids["c-one"])))(t),
	}
	compare := func(what string, change string, scopes plan.Scopes, truth []met) (result plan.Result, estimated, right int) {
		certain := map[plan.Refusal]int{}
		withPeople(before.Gateway, func(ctx context.Context, d *admin.Admin) (err error) {
			result, err = d.Plans.Ask(ctx, plan.Ask{
				Change: managed.Edit{Text: []byte(change)}, Scopes: scopes,
				Decided: func(d *plan.Decision) {
					i, known := ids[d.Request]
					if !known { // of the beginning
						return
					}
					want := truth[i]
					same := d.Refused == want.refused && d.Planned == want.cost
					switch {
					case d.Estimated && same:
						right++
						estimated++
					case d.Estimated:
						estimated++
					case same:
						certain[d.Refused]++
					default:
						t.Errorf("%s: request %d of %s, %s: got %q and $%s, want %q and $%s", what, i, steps[i].label, steps[i].body[:40], d.Refused, d.Planned, want.refused, want.cost)
					}
				},
			})
			return err
		})
		t.Logf("%s: certain %v, %d of %d estimates right", what, certain, right, estimated)
		return result, estimated, right
	}
	harness.Await(t, "all rows", func() bool {
		result, _, _ := compare("nothing changes", "", plan.Scopes{}, served)
		return result.Total.Requests >= int64(len(steps))
	})
	nothing, estimated, _ := compare("nothing changes", "", plan.Scopes{}, served)
	if n := nothing.Total; len(n.Refused) > 0 || n.Planned != n.Cost || n.Elsewhere+n.RefusedNow > 0 || estimated > 0 {
		t.Errorf("without a change: got %+v, want the recorded outcomes", n)
	}
	result, estimated, right := compare("the change", change, scopes, truth)
	t.Logf("%d requests: %+v; %d estimated", len(steps), result.Total, estimated)
	for _, refusal := range []plan.Refusal{plan.RefusedModel, plan.RefusedLimit, plan.RefusedBudget} {
		if result.Total.Refused[refusal] == 0 {
			t.Errorf("refused by %s: got none, so that this test shows nothing of it", refusal)
		}
	}
	if estimated > len(steps)*3/4 || right < estimated*19/20 {
		t.Errorf("%d of %d requests are estimates, %d of them right; want three quarters at most, and nearly all right", estimated, len(steps), right)
	}
	elsewhere, estimated, _ := compare("another target", "aliases: {best: {targets: [small/echo]}}", plan.Scopes{}, served)
	best := int64(0)
	for _, s := range steps {
		if strings.Contains(s.body, `"best"`) {
			best++
		}
	}
	if n := elsewhere.Total; n.Elsewhere != best || int64(estimated) < best || n.Planned >= n.Cost || len(n.Refused) > 0 {
		t.Errorf("another target of an alias: got %+v, want %d requests elsewhere, estimated", n, best)
	}
}
