package app_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"weir/internal/account"
	"weir/internal/app"
	"weir/internal/audit"
	"weir/internal/budget"
	"weir/internal/ledger"
	"weir/internal/llm"
)

// perRequest prices each request of the provider house, and of two more, at a
// dollar, and nothing else.
const perRequest = `
prices:
  house/*: {input: "0", output: "0", request: "1"}
  broken/*: {input: "0", output: "0", request: "1"}
default_model: house/chat
`

// setBudget gives the account default a budget.
func (h *testGateway) setBudget(usd llm.Money, period budget.Period) {
	h.t.Helper()
	h.administer(func(ctx context.Context, s *account.Service) error {
		_, err := s.SetBudget(ctx, audit.Gateway(), account.DefaultName, account.Budget{Limit: usd, Period: period})
		return err
	})
	time.Sleep(time.Second) // as long as it may take until a running gateway knows it
}

// TestBudgetRace sends a thousand requests at once to a budget that affords
// exactly 37 of them: with and without caps and streams, with a first target
// that fails, and with clients that leave.
func TestBudgetRace(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	h := open(t, setup{yaml: "providers:" + providerYAML("house", up.url) + providerYAML("broken", up.url) + perRequest +
		"aliases:\n  second: {targets: [\"broken/chat:status=500\", house/chat], strategy: fallback}\n"})
	h.setBudget(37*llm.USD, budget.PeriodMonth)
	bodies := []string{
		`{"model":"house/chat","messages":[{"role":"user","content":"Hi"}]}`,
		`{"model":"house/chat","max_tokens":10,"messages":[{"role":"user","content":"Hi"}]}`,
		`{"model":"second","messages":[{"role":"user","content":"Hi"}]}`,
		`{"model":"house/chat","stream":true,"messages":[{"role":"user","content":"Hi"}]}`,
		`{"model":"house/chat:ttft=3s","stream":true,"messages":[{"role":"user","content":"Hi"}]}`, // whose client leaves
	}
	var served, refused, busy, left, other atomic.Int64
	var clients sync.WaitGroup
	for i := range 1000 {
		clients.Go(func() {
			body := bodies[i%len(bodies)]
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			if strings.Contains(body, "ttft") {
				ctx, cancel = context.WithTimeout(t.Context(), 300*time.Millisecond)
				defer cancel()
			}
			resp, err := h.client.Do(h.request(ask{path: "/v1/chat/completions", body: body}).WithContext(ctx))
			if err != nil {
				left.Add(1)
				return
			}
			defer resp.Body.Close()
			switch resp.StatusCode {
			case 200:
				served.Add(1)
			case 429:
				refused.Add(1)
			case 503: // the machine is too busy for all of them at once
				busy.Add(1)
			default:
				other.Add(1)
			}
		})
	}
	clients.Wait()
	// Whoever left before its provider was reached had held room that others were
	// refused meanwhile: it is all there again.
	await(t, "the end of the budget", func() bool { return h.chat("house/chat").status == 402 })
	if err := h.stop(); err != nil {
		t.Fatal(err)
	}
	h.verify(t)
	if got := h.spent(t); got != 37*llm.USD || other.Load() > 0 || served.Load() > 37 {
		t.Errorf("spent %v by %d served, %d refused, %d for whom the machine was too busy, %d that left and %d others; want 37 dollars", got, served.Load(), refused.Load(), busy.Load(), left.Load(), other.Load())
	}
}

// spent is what the account default has spent in all.
func (h *testGateway) spent(t *testing.T) (sum llm.Money) {
	t.Helper()
	data, err := app.OpenData(t.Context(), h.config(), discard())
	if err != nil {
		t.Fatalf("open data: %v", err)
	}
	defer data.Close()
	_, page, err := data.Uses(t.Context(), account.DefaultName, nil)
	if err != nil {
		t.Fatalf("uses: %v", err)
	}
	return page.Total.Cost
}

// settled is what the account has spent, once so many requests are booked.
func (h *testGateway) settled(t *testing.T, requests int64) (sum llm.Money) {
	t.Helper()
	await(t, "the requests' rows", func() bool {
		n, err := h.uses("").Total.Requests.Int64()
		return err == nil && n >= requests
	})
	return h.spent(t)
}

// TestBudgetRefusals holds what a client is told whose budget has no room, at
// each client API, and that its provider hears nothing.
func TestBudgetRefusals(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	h := open(t, setup{yaml: "providers:" + providerYAML("house", up.url) + perRequest})
	h.setBudget(llm.USD/2, budget.PeriodDay)
	for _, tt := range []struct {
		path, body string
		status     int
		want       string
	}{
		{"/v1/chat", hello("house/chat"), 402, `"code":"BUDGET_EXCEEDED"`},
		{"/v1/chat/completions", `{"model":"house/chat","messages":[{"role":"user","content":"Hi"}]}`, 429, `"code":"insufficient_quota"`},
		{"/v1/responses", `{"model":"house/chat","input":"Hi"}`, 429, `"code":"insufficient_quota"`},
		{"/v1/messages", `{"model":"house/chat","max_tokens":5,"messages":[{"role":"user","content":"Hi"}]}`, 402, `"type":"billing_error"`},
	} {
		r := h.do(ask{path: tt.path, body: tt.body})
		if r.status != tt.status || !strings.Contains(r.body, tt.want) || !strings.Contains(r.body, "$0.5 per day") {
			t.Errorf("%s: got %d %s, want %d with %s and the budget", tt.path, r.status, r.body, tt.status, tt.want)
		}
		if got := r.header.Get("X-Should-Retry"); got != "false" {
			t.Errorf("%s: X-Should-Retry is %q, want false", tt.path, got)
		}
	}
	if n := len(up.records(t)); n != 0 {
		t.Errorf("the provider was asked %d times, want none", n)
	}
	h.setBudget(2*llm.USD, budget.PeriodDay)
	for want, n := range []int{200, 200, 402} {
		if r := h.chat("house/chat"); r.status != n {
			t.Errorf("request %d of a budget for two: got %d %s, want %d", want, r.status, r.body, n)
		}
	}
	h.setBudget(3*llm.USD, budget.PeriodDay)
	if r := h.chat("house/chat"); r.status != 200 {
		t.Errorf("after the budget was raised: got %d %s, want 200", r.status, r.body)
	}
	h.administer(func(ctx context.Context, s *account.Service) error {
		_, err := s.SetBudget(ctx, audit.Gateway(), account.DefaultName, account.Budget{})
		return err
	})
	await(t, "a request without a budget", func() bool { return h.chat("house/chat").status == 200 })
}

// TestBudgetPeriod holds that a new day has a budget of its own, by the clock of
// UTC.
func TestBudgetPeriod(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	var ahead atomic.Int64
	start := time.Date(2026, 2, 28, 23, 0, 0, 0, time.UTC)
	began := time.Now()
	now := func() time.Time { return start.Add(time.Since(began) + time.Duration(ahead.Load())) }
	h := open(t, setup{yaml: "providers:" + providerYAML("house", up.url) + perRequest, now: now})
	h.setBudget(llm.USD, budget.PeriodDay)
	for i, want := range []int{200, 402} {
		if r := h.chat("house/chat"); r.status != want {
			t.Errorf("request %d of the first day: got %d %s, want %d", i, r.status, r.body, want)
		}
	}
	if r := h.chat("house/chat"); !strings.Contains(r.body, "2026-03-01T00:00:00Z") {
		t.Errorf("got %s, want it to say when the next day begins", r.body)
	}
	ahead.Store(int64(2 * time.Hour))
	for i, want := range []int{200, 402} {
		if r := h.chat("house/chat"); r.status != want {
			t.Errorf("request %d of the next day: got %d %s, want %d", i, r.status, r.body, want)
		}
	}
}

// TestCredit holds that an account spends what it has paid and no more, and
// that what it had spent before does not count.
func TestCredit(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	h := open(t, setup{yaml: "providers:" + providerYAML("house", up.url) + perRequest})
	if r := h.chat("house/chat"); r.status != 200 {
		t.Fatalf("before any credit: %d %s", r.status, r.body)
	}
	await(t, "the first request's row", func() bool { return h.spent(t) == llm.USD })
	h.administer(func(ctx context.Context, s *account.Service) error {
		_, err := s.AddGoodwill(ctx, audit.Gateway(), account.DefaultName, llm.USD/2)
		return err
	})
	time.Sleep(time.Second)
	if r := h.chat("house/chat"); r.status != 200 { // it does not pay beforehand
		t.Fatalf("after half a dollar of goodwill: %d %s", r.status, r.body)
	}
	await(t, "the second request's row", func() bool { return h.spent(t) == 2*llm.USD })
	h.credit(2 * llm.USD)
	for i, want := range []int{200, 200, 402} {
		if r := h.chat("house/chat"); r.status != want {
			t.Errorf("request %d of a credit for two: got %d %s, want %d", i, r.status, r.body, want)
		}
	}
	h.credit(llm.USD)
	for i, want := range []int{200, 402} {
		if r := h.chat("house/chat"); r.status != want {
			t.Errorf("request %d after one more dollar: got %d %s, want %d", i, r.status, r.body, want)
		}
	}
}

// TestCreditNoteMakesRoom holds that a credit note gives room back to a budget that was
// spent, and that what corrects a cost upwards takes it.
func TestCreditNoteMakesRoom(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	h := open(t, setup{yaml: "providers:" + providerYAML("house", up.url) + perRequest})
	h.setBudget(2*llm.USD, budget.PeriodTotal)
	var last string
	for i, want := range []int{200, 200, 402} {
		r := h.chat("house/chat")
		if r.status != want {
			t.Fatalf("request %d of a budget for two: got %d %s, want %d", i, r.status, r.body, want)
		}
		if want == 200 {
			last = r.header.Get("X-Request-Id") + ".1"
		}
	}
	await(t, "both rows", func() bool { return h.spent(t) == 2*llm.USD })
	h.correct(last, -llm.USD)
	await(t, "room for one more", func() bool { return h.chat("house/chat").status == 200 })
	if r := h.chat("house/chat"); r.status != 402 {
		t.Errorf("another one: got %d %s, want 402", r.status, r.body)
	}
	await(t, "the third row", func() bool { return h.spent(t) == 2*llm.USD })
	h.correct(last, llm.USD)
	h.setBudget(3*llm.USD, budget.PeriodTotal)
	if r := h.chat("house/chat"); r.status != 402 {
		t.Errorf("with a dollar more of budget, which a correction took: got %d %s, want 402", r.status, r.body)
	}
	h.verify(t)
}

// correct corrects what an attempt cost by an amount.
func (h *testGateway) correct(attempt string, amount llm.Money) {
	h.t.Helper()
	data, err := app.OpenData(h.t.Context(), h.config(), discard())
	if err != nil {
		h.t.Fatalf("open data: %v", err)
	}
	defer data.Close()
	id, err := ledger.ParseAttemptID(attempt)
	if err == nil {
		err = data.Correct(h.t.Context(), audit.Gateway(), ledger.Correct{ID: id, Amount: amount, Reason: "credit note"})
	}
	if err != nil {
		h.t.Fatalf("correct %s by %s: %v", attempt, amount, err)
	}
}

func (h *testGateway) credit(usd llm.Money) {
	h.t.Helper()
	h.administer(func(ctx context.Context, s *account.Service) error {
		_, err := s.AddCredit(ctx, audit.Gateway(), account.DefaultName, usd)
		return err
	})
	time.Sleep(time.Second)
}

// TestBudgetOfKey holds that the budgets of a key and of its account count
// side by side.
func TestBudgetOfKey(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	h := open(t, setup{yaml: "providers:" + providerYAML("house", up.url) + perRequest})
	h.setBudget(3*llm.USD, budget.PeriodTotal)
	poor := h.newKey(account.KeyOptions{Account: account.DefaultName, Budget: account.Budget{Limit: llm.USD, Period: budget.PeriodMonth}})
	for i, tt := range []struct {
		key    string
		status int
		want   string
	}{
		{poor, 200, ""},
		{poor, 402, "this API key"},
		{h.key, 200, ""},
		{h.key, 200, ""},
		{h.key, 402, "this account"},
	} {
		r := h.do(ask{path: "/v1/chat", body: hello("house/chat"), key: tt.key})
		if r.status != tt.status || !strings.Contains(r.body, tt.want) {
			t.Errorf("request %d: got %d %s, want %d with %q", i, r.status, r.body, tt.status, tt.want)
		}
	}
}

// TestBudgetCap holds that a cap is put in where a budget affords less than the
// model could say, in the words of the provider; that a client's own cap is
// left alone; and that the answer costs no more than the budget.
func TestBudgetCap(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	const prices = "prices:\n  house/*: {input: \"0\", output: \"1000\"}\n"
	for name, path := range spoken() {
		h := open(t, setup{yaml: "providers:" + spokenBy("house", name, up.url, path) + prices})
		h.setBudget(llm.USD, budget.PeriodTotal) // a thousand tokens
		const words = `"messages":[{"role":"user","content":"Say it"}]`
		r := h.do(ask{path: "/v1/chat/completions", body: `{"model":"house/chat:tokens=5000",` + words + `}`})
		if r.status != 200 || !strings.Contains(r.body, `"finish_reason":"length"`) {
			t.Errorf("%s: without a cap: got %d %s, want an answer of a thousand tokens", name, r.status, r.body)
		}
		if got := h.settled(t, 1); got > llm.USD || got < llm.USD*9/10 {
			t.Errorf("%s: spent %v, want nearly a dollar", name, got)
		}
		h.setBudget(2*llm.USD, budget.PeriodTotal)
		r = h.do(ask{path: "/v1/chat/completions", body: `{"model":"house/chat","max_tokens":1500,` + words + `}`})
		if r.status != 429 {
			t.Errorf("%s: a cap of the client's that is not affordable: got %d %s, want it refused", name, r.status, r.body)
		}
	}
}

// TestBudgetOverage holds that a provider which bills more than it was asked for
// stops the account, and that what it billed is booked.
func TestBudgetOverage(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	h := open(t, setup{yaml: "providers:" + providerYAML("house", up.url) + "prices:\n  house/*: {input: \"0\", output: \"1\"}\n"})
	h.setBudget(llm.USD/2, budget.PeriodTotal)
	body := `{"model":"house/chat:usage=over","max_tokens":50,"messages":[{"role":"user","content":"Hi"}]}`
	if r := h.do(ask{path: "/v1/chat/completions", body: body}); r.status != 200 {
		t.Fatalf("got %d %s", r.status, r.body)
	}
	if got := h.settled(t, 1); got < llm.USD {
		t.Errorf("spent %v, want what was billed: a million tokens for more than a dollar", got)
	}
	if r := h.do(ask{path: "/v1/chat/completions", body: body}); r.status != 429 {
		t.Errorf("after that: got %d %s, want it refused", r.status, r.body)
	}
}

// TestBudgetUnpriced holds that what has no price is refused under a budget, and
// says how to give it one.
func TestBudgetUnpriced(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	h := open(t, setup{yaml: "providers:" + providerYAML("house", up.url)})
	h.setBudget(llm.USD, budget.PeriodTotal)
	r := h.chat("house/chat")
	if r.status != 402 || !strings.Contains(r.body, "under prices") {
		t.Errorf("got %d %s, want 402 that says where prices are given", r.status, r.body)
	}
}

// TestBudgetRestart holds that what was spent counts after a restart, and that
// nothing is held any more.
func TestBudgetRestart(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	yaml := "providers:" + providerYAML("house", up.url) + perRequest
	h := open(t, setup{yaml: yaml})
	h.setBudget(3*llm.USD, budget.PeriodMonth)
	if r := h.chat("house/chat"); r.status != 200 {
		t.Fatalf("got %d %s", r.status, r.body)
	}
	if err := h.stop(); err != nil {
		t.Fatal(err)
	}
	again := open(t, setup{yaml: yaml, dir: h.data, key: h.key})
	for i, want := range []int{200, 200, 402} {
		if r := again.chat("house/chat"); r.status != want {
			t.Errorf("request %d: got %d %s, want %d", i, r.status, r.body, want)
		}
	}
}

// TestBudgetEvents holds that a budget tells when it has reached a threshold,
// once.
func TestBudgetEvents(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	h := open(t, setup{yaml: "providers:" + providerYAML("house", up.url) + perRequest})
	h.setBudget(10*llm.USD, budget.PeriodMonth)
	for range 10 {
		h.chat("house/chat")
	}
	await(t, "the last threshold", func() bool { return strings.Contains(h.log.String(), "percent=100") })
	for _, percent := range []int{50, 80, 95, 100} {
		if n := strings.Count(h.log.String(), fmt.Sprintf("percent=%d ", percent)); n != 1 {
			t.Errorf("%d %%: told %d times, want once", percent, n)
		}
	}
}

// TestCorrectionsReachRunningBudgets holds that what corrections add counts in the budgets of a running gateway within a second.
func TestCorrectionsReachRunningBudgets(t *testing.T) {
	t.Parallel()
	for name, limit := range map[string]func(context.Context, *account.Service) error{
		"in all": func(ctx context.Context, s *account.Service) error {
			_, err := s.SetBudget(ctx, audit.Gateway(), account.DefaultName, account.Budget{Limit: 10 * llm.USD, Period: budget.PeriodTotal})
			return err
		},
		"a day": func(ctx context.Context, s *account.Service) error {
			_, err := s.SetBudget(ctx, audit.Gateway(), account.DefaultName, account.Budget{Limit: 10 * llm.USD, Period: budget.PeriodDay})
			return err
		},
		"credit": func(ctx context.Context, s *account.Service) error {
			_, err := s.AddCredit(ctx, audit.Gateway(), account.DefaultName, 10*llm.USD)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			up := newUpstream(t)
			h := open(t, setup{yaml: "providers:" + providerYAML("house", up.url) + perRequest})
			h.administer(func(ctx context.Context, s *account.Service) error { return limit(ctx, s) })
			time.Sleep(time.Second) // as long as it may take until a running gateway knows it
			r := h.chat("house/chat")
			if r.status != 200 {
				t.Fatalf("the first request: %d %s", r.status, r.body)
			}
			await(t, "its row", func() bool { return h.spent(t) == llm.USD })
			h.correct(r.header.Get("X-Request-Id")+".1", 9*llm.USD)
			time.Sleep(time.Second)
			if r := h.chat("house/chat"); r.status != 402 {
				t.Errorf("with $10 of $10 spent: got %d %s, want 402", r.status, r.body)
			}
		})
	}
}
