package budget_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"weir/internal/account"
	"weir/internal/admin"
	"weir/internal/audit"
	"weir/internal/budget"
	"weir/internal/config"
	"weir/internal/e2e/harness"
	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/must"
)

// TestBudgetRace sends a thousand requests at once to a budget that covers exactly 37 of them: with and without caps
// and streams, with a first target that fails, and with clients that leave.
func TestBudgetRace(t *testing.T) {
	t.Parallel()
	up := harness.NewUpstream(t)
	h := harness.Open(t, harness.Setup{YAML: "providers:" + harness.ProviderYAML("house", up.URL) + harness.ProviderYAML("broken", up.URL) + harness.PerRequest +
		"aliases:\n  second: {targets: [\"broken/chat:status=500\", house/chat], strategy: fallback}\n"})
	h.SetBudget(37*llm.USD, budget.PeriodMonth)
	bodies := []string{
		`{"model":"house/chat","messages":[{"role":"user","content":"Hi"}]}`,
		`{"model":"house/chat","max_tokens":10,"messages":[{"role":"user","content":"Hi"}]}`,
		`{"model":"second","messages":[{"role":"user","content":"Hi"}]}`,
		`{"model":"house/chat","stream":true,"messages":[{"role":"user","content":"Hi"}]}`,
		`{"model":"house/chat:ttft=3s","stream":true,"messages":[{"role":"user","content":"Hi"}]}`, // its client leaves
	}
	var served, refused, busy, left, other atomic.Int64
	var clients sync.WaitGroup
	for i := range 1000 {
		clients.Go(func() {
			body := bodies[i%len(bodies)]
			ctx, cancel := context.WithTimeout(t.Context(), harness.Patience)
			defer cancel()
			if strings.Contains(body, "ttft") {
				ctx, cancel = context.WithTimeout(t.Context(), 300*time.Millisecond)
				defer cancel()
			}
			resp, err := h.Client.Do(h.Request(harness.Ask{Path: "/v1/chat/completions", Body: body}).WithContext(ctx))
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
	// Clients that left before their provider was reached had held room, for which others were refused meanwhile: it is
	// all free again.
	harness.Await(t, "the end of the budget", func() bool { return h.Chat("house/chat").Status == 402 })
	must.Do(t, h.Stop())
	h.Verify(t)
	if got := spent(h, t); got != 37*llm.USD || other.Load() > 0 || served.Load() > 37 {
		t.Errorf("spent %v by %d served, %d refused, %d refused by the busy machine, %d that left and %d others; want 37 dollars", got, served.Load(), refused.Load(), busy.Load(), left.Load(), other.Load())
	}
}

// spent returns the total spending of the account default.
func spent(h *harness.Gateway, t *testing.T) (sum llm.Money) {
	t.Helper()
	data, err := admin.Open(t.Context(), h.Config(), config.Options{}, harness.Discard())
	if err != nil {
		t.Fatalf("open data: %v", err)
	}
	defer data.Close()
	_, page, err := data.Ledger.Uses(t.Context(), account.DefaultName, nil)
	if err != nil {
		t.Fatalf("uses: %v", err)
	}
	return page.Total.Cost
}

// settled returns the account's spending after the given number of requests is booked.
func settled(h *harness.Gateway, t *testing.T, requests int64) (sum llm.Money) {
	t.Helper()
	harness.Await(t, "the requests' rows", func() bool {
		n, err := h.Uses("").Total.Requests.Int64()
		return err == nil && n >= requests
	})
	return spent(h, t)
}

// TestBudgetRefusals checks the error of a budget without room, at each client API, and that the provider receives
// nothing.
func TestBudgetRefusals(t *testing.T) {
	t.Parallel()
	up := harness.NewUpstream(t)
	h := harness.Open(t, harness.Setup{YAML: "providers:" + harness.ProviderYAML("house", up.URL) + harness.PerRequest})
	h.SetBudget(llm.USD/2, budget.PeriodDay)
	for _, tt := range []struct {
		path, body string
		status     int
		want       string
	}{
		{"/v1/chat", harness.Hello("house/chat"), 402, `"code":"BUDGET_EXCEEDED"`},
		{"/v1/chat/completions", `{"model":"house/chat","messages":[{"role":"user","content":"Hi"}]}`, 429, `"code":"insufficient_quota"`},
		{"/v1/responses", `{"model":"house/chat","input":"Hi"}`, 429, `"code":"insufficient_quota"`},
		{"/v1/messages", `{"model":"house/chat","max_tokens":5,"messages":[{"role":"user","content":"Hi"}]}`, 402, `"type":"billing_error"`},
		{"/v1beta/models/house/chat:generateContent", `{"contents":[{"role":"user","parts":[{"text":"Hi"}]}]}`, 402, `"status":"RESOURCE_EXHAUSTED"`},
	} {
		r := h.Do(harness.Ask{Path: tt.path, Body: tt.body})
		if r.Status != tt.status || !strings.Contains(r.Body, tt.want) || !strings.Contains(r.Body, "$0.5 per day") || !strings.Contains(r.Body, "That is more than the whole budget") {
			t.Errorf("%s: got %d %s, want %d with %s and the budget", tt.path, r.Status, r.Body, tt.status, tt.want)
		}
		if got := r.Header.Get("X-Should-Retry"); got != "false" {
			t.Errorf("%s: X-Should-Retry is %q, want false", tt.path, got)
		}
	}
	if n := len(up.Records(t)); n != 0 {
		t.Errorf("the provider got %d requests, want none", n)
	}
	h.SetBudget(2*llm.USD, budget.PeriodDay)
	for want, n := range []int{200, 200, 402} {
		if r := h.Chat("house/chat"); r.Status != n {
			t.Errorf("request %d of a budget for two: got %d %s, want %d", want, r.Status, r.Body, n)
		}
	}
	h.SetBudget(3*llm.USD, budget.PeriodDay)
	if r := h.Chat("house/chat"); r.Status != 200 {
		t.Errorf("after the budget was raised: got %d %s, want 200", r.Status, r.Body)
	}
	h.Administer(func(ctx context.Context, s *account.Service) error {
		_, err := s.SetBudget(ctx, audit.Gateway(), account.DefaultName, account.Budget{})
		return err
	})
	harness.Await(t, "a request without a budget", func() bool { return h.Chat("house/chat").Status == 200 })
}

// TestBudgetPeriod checks that a new day has a budget of its own, by the clock of UTC.
func TestBudgetPeriod(t *testing.T) {
	t.Parallel()
	up := harness.NewUpstream(t)
	var ahead atomic.Int64
	start := time.Date(2026, 2, 28, 23, 0, 0, 0, time.UTC)
	began := time.Now()
	now := func() time.Time { return start.Add(time.Since(began) + time.Duration(ahead.Load())) }
	h := harness.Open(t, harness.Setup{YAML: "providers:" + harness.ProviderYAML("house", up.URL) + harness.PerRequest, Now: now})
	h.SetBudget(llm.USD, budget.PeriodDay)
	for i, want := range []int{200, 402} {
		if r := h.Chat("house/chat"); r.Status != want {
			t.Errorf("request %d of the first day: got %d %s, want %d", i, r.Status, r.Body, want)
		}
	}
	if r := h.Chat("house/chat"); !strings.Contains(r.Body, "2026-03-01T00:00:00Z") {
		t.Errorf("got %s, want it to say when the next day begins", r.Body)
	}
	ahead.Store(int64(2 * time.Hour))
	for i, want := range []int{200, 402} {
		if r := h.Chat("house/chat"); r.Status != want {
			t.Errorf("request %d of the next day: got %d %s, want %d", i, r.Status, r.Body, want)
		}
	}
}

// TestCreditBoundsSpending checks that an account spends its paid credit and no more, and that its earlier spending
// does not count.
func TestCreditBoundsSpending(t *testing.T) {
	t.Parallel()
	up := harness.NewUpstream(t)
	h := harness.Open(t, harness.Setup{YAML: "providers:" + harness.ProviderYAML("house", up.URL) + harness.PerRequest})
	if r := h.Chat("house/chat"); r.Status != 200 {
		t.Fatalf("before any credit: %d %s", r.Status, r.Body)
	}
	harness.Await(t, "the first request's row", func() bool { return spent(h, t) == llm.USD })
	h.Administer(func(ctx context.Context, s *account.Service) error {
		_, err := s.AddGoodwill(ctx, audit.Gateway(), account.DefaultName, llm.USD/2)
		return err
	})
	time.Sleep(time.Second)
	if r := h.Chat("house/chat"); r.Status != 200 { // it does not pay beforehand
		t.Fatalf("after half a dollar of goodwill: %d %s", r.Status, r.Body)
	}
	harness.Await(t, "the second request's row", func() bool { return spent(h, t) == 2*llm.USD })
	credit(h, 2*llm.USD)
	for i, want := range []int{200, 200, 402} {
		if r := h.Chat("house/chat"); r.Status != want {
			t.Errorf("request %d of a credit for two: got %d %s, want %d", i, r.Status, r.Body, want)
		}
	}
	credit(h, llm.USD)
	for i, want := range []int{200, 402} {
		if r := h.Chat("house/chat"); r.Status != want {
			t.Errorf("request %d after one more dollar: got %d %s, want %d", i, r.Status, r.Body, want)
		}
	}
}

// TestCreditNoteMakesRoom checks that a credit note returns room to a spent budget, and that an upward correction of a
// cost takes it.
func TestCreditNoteMakesRoom(t *testing.T) {
	t.Parallel()
	up := harness.NewUpstream(t)
	h := harness.Open(t, harness.Setup{YAML: "providers:" + harness.ProviderYAML("house", up.URL) + harness.PerRequest})
	h.SetBudget(2*llm.USD, budget.PeriodTotal)
	var last string
	for i, want := range []int{200, 200, 402} {
		r := h.Chat("house/chat")
		if r.Status != want {
			t.Fatalf("request %d of a budget for two: got %d %s, want %d", i, r.Status, r.Body, want)
		}
		if want == 200 {
			last = r.Header.Get("X-Request-Id") + ".1"
		}
	}
	harness.Await(t, "both rows", func() bool { return spent(h, t) == 2*llm.USD })
	correct(h, last, -llm.USD)
	harness.Await(t, "room for one more", func() bool { return h.Chat("house/chat").Status == 200 })
	if r := h.Chat("house/chat"); r.Status != 402 {
		t.Errorf("another one: got %d %s, want 402", r.Status, r.Body)
	}
	harness.Await(t, "the third row", func() bool { return spent(h, t) == 2*llm.USD })
	correct(h, last, llm.USD)
	h.SetBudget(3*llm.USD, budget.PeriodTotal)
	if r := h.Chat("house/chat"); r.Status != 402 {
		t.Errorf("with a dollar more of budget, which a correction used: got %d %s, want 402", r.Status, r.Body)
	}
	h.Verify(t)
}

// correct corrects the cost of an attempt by an amount.
func correct(h *harness.Gateway, attempt string, amount llm.Money) {
	h.T.Helper()
	data, err := admin.Open(h.T.Context(), h.Config(), config.Options{}, harness.Discard())
	if err != nil {
		h.T.Fatalf("open data: %v", err)
	}
	defer data.Close()
	id, err := ledger.ParseAttemptID(attempt)
	if err == nil {
		err = data.Ledger.Correct(h.T.Context(), audit.Gateway(), ledger.Correct{ID: id, Amount: amount, Reason: "credit note"})
	}
	if err != nil {
		h.T.Fatalf("correct %s by %s: %v", attempt, amount, err)
	}
}

func credit(h *harness.Gateway, usd llm.Money) {
	h.T.Helper()
	h.Administer(func(ctx context.Context, s *account.Service) error {
		_, err := s.AddCredit(ctx, audit.Gateway(), account.DefaultName, usd)
		return err
	})
	time.Sleep(time.Second)
}

// TestBudgetOfKey checks that the budgets of a key and of its account both count.
func TestBudgetOfKey(t *testing.T) {
	t.Parallel()
	up := harness.NewUpstream(t)
	h := harness.Open(t, harness.Setup{YAML: "providers:" + harness.ProviderYAML("house", up.URL) + harness.PerRequest})
	h.SetBudget(3*llm.USD, budget.PeriodTotal)
	poor := h.NewKey(account.KeyOptions{Account: account.DefaultName, Budget: account.Budget{Limit: llm.USD, Period: budget.PeriodMonth}})
	for i, tt := range []struct {
		key    string
		status int
		want   string
	}{
		{poor, 200, ""},
		{poor, 402, "this API key"},
		{h.Key, 200, ""},
		{h.Key, 200, ""},
		{h.Key, 402, "this account"},
	} {
		r := h.Do(harness.Ask{Path: "/v1/chat", Body: harness.Hello("house/chat"), Key: tt.key})
		if r.Status != tt.status || !strings.Contains(r.Body, tt.want) {
			t.Errorf("request %d: got %d %s, want %d with %q", i, r.Status, r.Body, tt.status, tt.want)
		}
	}
}

// TestBudgetCap checks that a cap is inserted, in the provider's own member, if a budget covers less than the model's
// longest answer; that a client's own cap stays; and that the answer costs no more than the budget.
func TestBudgetCap(t *testing.T) {
	t.Parallel()
	up := harness.NewUpstream(t)
	const prices = "prices:\n  house/*: {input: \"0\", output: \"1000\"}\n"
	for name, path := range harness.Spoken() {
		h := harness.Open(t, harness.Setup{YAML: "providers:" + harness.SpokenBy("house", name, up.URL, path) + prices})
		h.SetBudget(llm.USD, budget.PeriodTotal) // a thousand tokens
		const words = `"messages":[{"role":"user","content":"Say it"}]`
		r := h.Do(harness.Ask{Path: "/v1/chat/completions", Body: `{"model":"house/chat:tokens=5000",` + words + `}`})
		if r.Status != 200 || !strings.Contains(r.Body, `"finish_reason":"length"`) {
			t.Errorf("%s: without a cap: got %d %s, want an answer of a thousand tokens", name, r.Status, r.Body)
		}
		if got := settled(h, t, 1); got > llm.USD || got < llm.USD*9/10 {
			t.Errorf("%s: spent %v, want nearly a dollar", name, got)
		}
		h.SetBudget(2*llm.USD, budget.PeriodTotal)
		r = h.Do(harness.Ask{Path: "/v1/chat/completions", Body: `{"model":"house/chat","max_tokens":1500,` + words + `}`})
		if r.Status != 429 {
			t.Errorf("%s: a cap of the client's that is not affordable: got %d %s, want it refused", name, r.Status, r.Body)
		}
	}
}

// TestBudgetOverage checks that a provider that bills more than requested stops the account, and that its bill is
// booked.
func TestBudgetOverage(t *testing.T) {
	t.Parallel()
	up := harness.NewUpstream(t)
	h := harness.Open(t, harness.Setup{YAML: "providers:" + harness.ProviderYAML("house", up.URL) + "prices:\n  house/*: {input: \"0\", output: \"1\"}\n"})
	h.SetBudget(llm.USD/2, budget.PeriodTotal)
	body := `{"model":"house/chat:usage=over","max_tokens":50,"messages":[{"role":"user","content":"Hi"}]}`
	if r := h.Do(harness.Ask{Path: "/v1/chat/completions", Body: body}); r.Status != 200 {
		t.Fatalf("got %d %s", r.Status, r.Body)
	}
	if got := settled(h, t, 1); got < llm.USD {
		t.Errorf("spent %v, want the bill: a million tokens for more than a dollar", got)
	}
	if r := h.Do(harness.Ask{Path: "/v1/chat/completions", Body: body}); r.Status != 429 {
		t.Errorf("after that: got %d %s, want it refused", r.Status, r.Body)
	}
}

// TestBudgetUnpriced checks that a model without a price is refused under a budget, at every client API, like one that
// the key may not use: no SDK treats it as an exhausted quota, or retries it. The error says how to set a price.
func TestBudgetUnpriced(t *testing.T) {
	t.Parallel()
	up := harness.NewUpstream(t)
	h := harness.Open(t, harness.Setup{YAML: "providers:" + harness.ProviderYAML("house", up.URL)})
	h.SetBudget(llm.USD, budget.PeriodTotal)
	for _, api := range harness.ChatAPIs() {
		ask, _ := api.Ask("", "house/chat", false)
		r := h.Do(ask)
		if r.Status != 403 || !strings.Contains(r.Body, "under prices") || strings.Contains(r.Body, "quota") {
			t.Errorf("%s: got %d %s, want 403 with the place of prices", ask.Path, r.Status, r.Body)
		}
	}
	if n := len(up.Records(t)); n != 0 {
		t.Errorf("the provider got %d requests, want none", n)
	}
}

// TestBudgetRestart checks that spending counts after a restart, and that nothing is held any more.
func TestBudgetRestart(t *testing.T) {
	t.Parallel()
	up := harness.NewUpstream(t)
	yaml := "providers:" + harness.ProviderYAML("house", up.URL) + harness.PerRequest
	h := harness.Open(t, harness.Setup{YAML: yaml})
	h.SetBudget(3*llm.USD, budget.PeriodMonth)
	if r := h.Chat("house/chat"); r.Status != 200 {
		t.Fatalf("got %d %s", r.Status, r.Body)
	}
	must.Do(t, h.Stop())
	again := harness.Open(t, harness.Setup{YAML: yaml, Dir: h.Data, Key: h.Key})
	for i, want := range []int{200, 200, 402} {
		if r := again.Chat("house/chat"); r.Status != want {
			t.Errorf("request %d: got %d %s, want %d", i, r.Status, r.Body, want)
		}
	}
}

// TestBudgetEvents checks that a budget reports a reached threshold once.
func TestBudgetEvents(t *testing.T) {
	t.Parallel()
	up := harness.NewUpstream(t)
	h := harness.Open(t, harness.Setup{YAML: "providers:" + harness.ProviderYAML("house", up.URL) + harness.PerRequest})
	h.SetBudget(10*llm.USD, budget.PeriodMonth)
	for range 10 {
		h.Chat("house/chat")
	}
	harness.Await(t, "the last threshold", func() bool { return strings.Contains(h.Log.String(), "percent=100") })
	for _, percent := range []int{50, 80, 95, 100} {
		if n := strings.Count(h.Log.String(), fmt.Sprintf("percent=%d ", percent)); n != 1 {
			t.Errorf("%d %%: got %d events, want one", percent, n)
		}
	}
}

// TestCorrectionsReachRunningBudgets checks that corrections count in the budgets of a running gateway within a second.
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
			up := harness.NewUpstream(t)
			h := harness.Open(t, harness.Setup{YAML: "providers:" + harness.ProviderYAML("house", up.URL) + harness.PerRequest})
			h.Administer(func(ctx context.Context, s *account.Service) error { return limit(ctx, s) })
			time.Sleep(time.Second) // the longest time until a running gateway knows it
			r := h.Chat("house/chat")
			if r.Status != 200 {
				t.Fatalf("the first request: %d %s", r.Status, r.Body)
			}
			harness.Await(t, "its row", func() bool { return spent(h, t) == llm.USD })
			correct(h, r.Header.Get("X-Request-Id")+".1", 9*llm.USD)
			// Without the correction nine more would be admitted. It counts within a second, on a busy machine within
			// several.
			const most = 4
			let := 0
			for time.Sleep(time.Second); h.Chat("house/chat").Status == 200; time.Sleep(time.Second) {
				if let++; let == most {
					t.Fatalf("with $10 of $10 spent: got %d requests admitted, want none", let)
				}
			}
			if r := h.Chat("house/chat"); r.Status != 402 {
				t.Errorf("with $10 of $10 spent: got %d %s, want 402", r.Status, r.Body)
			}
		})
	}
}
