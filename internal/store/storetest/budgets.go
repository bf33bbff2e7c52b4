package storetest

import (
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"weir/internal/account"
	"weir/internal/audit"
	"weir/internal/budget"
	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/store"
)

// costing returns the n-th attempt, settled at a cost.
func costing(n int, cost llm.Money) ledger.Entry {
	e := entry(n)
	e.Usage = llm.Usage{llm.Output: int64(cost)}
	e.Price = llm.Price{Version: "dollar@1", Rates: llm.Rates{llm.Output: 1000}}
	e.Cost, e.Unpriced = e.Price.Cost(&e.Usage, e.Tier), e.Price.Unpriced(&e.Usage, e.Tier)
	return e
}

func (j *tape) costing(settled ...ledger.Entry) *ledger.Batch {
	b := j.next(nil, settled...)
	b.Prices = append(b.Prices, ledger.PriceRecord{Version: "dollar@1", Rates: llm.Rates{llm.Output: 1000}})
	return b
}

// month and day are the numbers of the periods that contain noon.
const (
	theMonth = 202611
	theDay   = 20261121
)

func spent(t *testing.T, f *fixture, scope string, period int64, want llm.Money) {
	t.Helper()
	if got, err := f.Ledger.Spent(t.Context(), scope, period); got != want || err != nil {
		t.Errorf("spent by %s in %d: got %v, %v; want %v", scope, period, got, err, want)
	}
	first, last := budget.DaysOf(period)
	if got, err := f.Ledger.SpentOn(t.Context(), scope, first, last); got != want || err != nil {
		t.Errorf("spent by %s from %d to %d: got %v, %v; want %v", scope, first, last, got, err, want)
	}
}

func testBalances(t *testing.T, f *fixture) {
	j, other := newTape(), newTape()
	apply(t, f, j.costing(costing(1, 30), costing(2, 12)))
	apply(t, f, other.costing(costing(3, 8)))
	yesterday := costing(4, 100)
	yesterday.Arrived = noon.Add(-24 * time.Hour)
	yesterday.Opened = yesterday.Arrived
	apply(t, f, j.costing(yesterday))
	for period, want := range map[int64]llm.Money{theDay: 50, theDay - 1: 100, theMonth: 150, 0: 150, theMonth - 1: 0} {
		spent(t, f, "acc_a", period, want)
		spent(t, f, "key_a", period, want)
	}
	u := unknown(5)
	u.Hold, u.Cost = 1000, 1000
	apply(t, f, j.costing(u))
	must.Do(t, f.Corrections.Resolve(t.Context(), audit.Gateway(), u.ID, 40, false))
	spent(t, f, "acc_a", theDay, 90)
	if v := verified(t, f); v.Rows != 5 {
		t.Errorf("verified %d rows, want 5", v.Rows)
	}
}

func testCredit(t *testing.T, f *fixture) {
	create(t, f, "a")
	apply(t, f, newTape().costing(costing(1, 30)))
	add := func(amount llm.Money) (account.Account, error) {
		return f.Accounts.AddCredit(t.Context(), audit.Gateway(), account.CreditEntry{
			ID: uuid.NewString(), AccountID: "acc_a",
			Amount: amount, At: f.now,
		})
	}
	for _, tt := range []struct {
		amount, paid llm.Money
	}{{20, 20}, {5, 25}, {-10, 15}} {
		got, err := add(tt.amount)
		if err != nil || got.Credit == nil || *got.Credit != (account.Credit{Paid: tt.paid, From: 30}) {
			t.Errorf("credit of %v: got %+v, %v; want %v from 30", tt.amount, got.Credit, err, tt.paid)
		}
	}
	if _, err := add(-16); !errors.Is(err, account.ErrOverdrawn) {
		t.Errorf("more removed than paid: got %v, want ErrOverdrawn", err)
	}
	if got, err := f.Accounts.List(t.Context(), "a"); err != nil || got[0].Credit.Paid != 15 {
		t.Errorf("after the refusals: got %+v, %v; want 15 paid", got[0].Credit, err)
	}
	if l := lease(t, f.DB, budget.LeaseRequest{
		Journal: uuid.New(), Budget: budget.ID{Scope: "acc_a"},
		Least: 1, Most: 100,
	}); l.Limit != 45 || l.Granted != 15 {
		t.Errorf("leased %+v, want a limit of 45 with 15 left", l)
	}
	if got, err := f.Accounts.UpdateAccount(t.Context(), audit.Gateway(), "acc_a",
		account.Update{EndCredit: true}); err != nil || got.Credit != nil {
		t.Errorf("credit ended: got %+v, %v; want none", got.Credit, err)
	}
}

// testGoodwill grants goodwill to an account without credit, which stays without, and to one with credit.
func testGoodwill(t *testing.T, f *fixture) {
	create(t, f, "a")
	apply(t, f, newTape().costing(costing(1, 30)))
	add := func(amount llm.Money, goodwill bool) (account.Account, error) {
		return f.Accounts.AddCredit(t.Context(), ann(), account.CreditEntry{
			ID: uuid.NewString(), AccountID: "acc_a",
			Amount: amount, Goodwill: goodwill, At: f.now,
		})
	}
	for _, tt := range []struct{ amount, goodwill llm.Money }{{20, 20}, {-5, 15}} {
		got, err := add(tt.amount, true)
		if err != nil || got.Credit != nil || got.Goodwill != tt.goodwill {
			t.Errorf("goodwill of %v: got %+v, %+v, %v; want %v and no credit", tt.amount, got.Goodwill, got.Credit,
				err, tt.goodwill)
		}
	}
	if _, err := add(-16, true); !errors.Is(err, account.ErrOverdrawn) {
		t.Errorf("more removed than credited: got %v, want ErrOverdrawn", err)
	}
	if got, err := add(account.MaxAmount, true); !errors.Is(err, account.ErrTooMuch) || got.Goodwill != 15 {
		t.Errorf("more than there may be: got %+v, %v; want ErrTooMuch, and the account as it is", got, err)
	}
	if l := lease(t, f.DB, budget.LeaseRequest{
		Journal: uuid.New(), Budget: budget.ID{Scope: "acc_a"},
		Least: 1, Most: 100,
	}); l.Limit != 0 {
		t.Errorf("leased %+v, want no limit", l)
	}
	for _, tt := range []struct {
		amount   llm.Money
		goodwill bool
		paid     llm.Money
	}{{7, false, 7}, {3, true, 10}, {-4, true, 6}} {
		got, err := add(tt.amount, tt.goodwill)
		if err != nil || got.Credit == nil || *got.Credit != (account.Credit{Paid: tt.paid, From: 30}) ||
			got.Goodwill != 15 {
			t.Errorf("credit of %v, goodwill %v: got %+v, %v, %v; want %v from 30", tt.amount, tt.goodwill, got.Credit,
				got.Goodwill, err, tt.paid)
		}
	}
	var actions []string
	for _, e := range logged(t, f, audit.Query{Action: "account.", Limit: 10}) {
		actions = append(actions, string(e.Action)+" "+string(e.After))
	}
	want := []string{
		`account.goodwill_given {"credit_usd":"0.000000006"}`, `account.goodwill_given {"credit_usd":"0.00000001"}`,
		`account.credited {"credit_from_usd":"0.00000003","credit_usd":"0.000000007"}`,
		`account.goodwill_given {"goodwill_usd":"0.000000015"}`, `account.goodwill_given {"goodwill_usd":"0.00000002"}`,
	}
	must.Equal(t, actions[:len(actions)-1], want, "the audit log, the newest first")
}

// testCreditAtOnce adds credit concurrently, and checks that the sum does not exceed the maximum.
func testCreditAtOnce(t *testing.T, f *fixture) {
	create(t, f, "a")
	const payers, fit = 8, 3
	s := account.NewService(f.Accounts.Stores(), f.clock, slog.New(slog.DiscardHandler))
	var paid atomic.Int64
	var all sync.WaitGroup
	for range payers {
		all.Go(func() {
			_, err := s.AddCredit(t.Context(), audit.Gateway(), "a", 300_000_000*llm.USD)
			switch e := llm.AsError(err); {
			case err == nil:
				paid.Add(1)
			case e.Code != llm.CodeInvalidRequest || !strings.Contains(e.Message,
				"at most $1000000000 of credit; this one already has $900000000."):
				t.Errorf("credit beyond the maximum: got %v, want an error with the maximum, and the paid amount", err)
			}
		})
	}
	all.Wait()
	a, err := f.Accounts.List(t.Context(), "a")
	if err != nil || paid.Load() != fit || a[0].Credit.Paid != fit*300_000_000*llm.USD {
		t.Errorf("%d pay $300,000,000 at once: got %d times, %+v, %v; want %d times", payers, paid.Load(), a[0].Credit,
			err, fit)
	}
}

func lease(t *testing.T, s *store.DB, r budget.LeaseRequest) budget.Lease {
	t.Helper()
	l, err := s.Leases.Lease(t.Context(), r)
	if err != nil {
		t.Fatalf("lease %+v: %v", r, err)
	}
	return l
}

// budgeted makes the account a with a budget, and nodes that are alive.
func budgeted(t *testing.T, f *fixture, limit llm.Money, period budget.Period, nodes ...uuid.UUID) {
	t.Helper()
	create(t, f, "a")
	if _, err := f.Accounts.UpdateAccount(t.Context(), audit.Gateway(), "acc_a",
		account.Update{Budget: &account.Budget{Limit: limit, Period: period}}); err != nil {
		t.Fatal(err)
	}
	f.advance(2 * time.Second) // until all nodes have reported their attempts in progress
	for _, n := range nodes {
		if _, err := f.Leases.Beat(t.Context(), budget.Node{
			Journal: n, Name: "host", Address: "here", Version: "1",
			Started: f.now,
		}); err != nil {
			t.Fatal(err)
		}
	}
}

func testLease(t *testing.T, f *fixture) {
	a, b := uuid.New(), uuid.New()
	budgeted(t, f, 1000, budget.PeriodMonth, a, b)
	id := budget.ID{Scope: "acc_a", Period: theMonth}
	j := &tape{journal: a}
	apply(t, f, j.costing(costing(1, 100)))
	first := lease(t, f.DB, budget.LeaseRequest{Journal: a, Budget: id, Unknown: true, Least: 10, Most: 200})
	if first.Spent != 100 || first.At != 100 || first.Limit != 1000 || first.Granted < 300 {
		t.Errorf("first lease: got %+v, want 100 spent at 100 and 300 or more", first)
	}
	second := lease(t, f.DB, budget.LeaseRequest{
		Journal: b, Budget: id, Unknown: true, Least: 1001 - first.Granted,
		Most: 2000,
	})
	if second.Granted != 0 {
		t.Errorf("more than is left: got %+v, want nothing", second)
	}
	rest := 1000 - first.Granted
	if l := lease(t, f.DB, budget.LeaseRequest{
		Journal: b, Budget: id, Least: rest,
		Most: rest,
	}); l.Granted != rest || rest > 0 && l.Left != 0 {
		t.Errorf("all that is left: got %+v, want %v", l, rest)
	}
	if l := lease(t, f.DB, budget.LeaseRequest{Journal: a, Budget: id, Used: 150}); l.Granted != 150 {
		t.Errorf("returned: got %+v, want 150", l)
	}
	if l := lease(t, f.DB, budget.LeaseRequest{
		Journal: b, Budget: id, Used: rest, Least: 850 - rest,
		Most: 850 - rest,
	}); l.Granted != 850 {
		t.Errorf("the returned amount: got %+v, want 850", l)
	}
	if l := lease(t, f.DB, budget.LeaseRequest{
		Journal: b, Budget: budget.ID{Scope: "acc_a", Period: theDay},
		Least: 1, Most: 1,
	}); l.Limit != 0 {
		t.Errorf("another period: got %+v, want no limit", l)
	}
	must.Do(t, f.Leases.Reconcile(t.Context(), b))
	if l := lease(t, f.DB, budget.LeaseRequest{
		Journal: a, Budget: id, Used: 150, Least: 850,
		Most: 850,
	}); l.Granted != 1000 {
		t.Errorf("after the other node was reconciled: got %+v, want all", l)
	}
}

// testLeases leases and returns in many nodes concurrently, and checks that the sum never exceeds the limit.
func testLeases(t *testing.T, f *fixture) {
	const limit, rounds = 1000, 25
	nodes := []uuid.UUID{uuid.New(), uuid.New(), uuid.New(), uuid.New()}
	budgeted(t, f, limit, budget.PeriodTotal, nodes...)
	id := budget.ID{Scope: "acc_a"}
	var may atomic.Int64 // the most that all nodes may spend
	var all sync.WaitGroup
	for i, n := range nodes {
		s := f.open(t)
		all.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(i), 7))
			granted := llm.Money(0)
			for range rounds {
				used := llm.Money(rng.Int64N(int64(granted) + 1))
				r := budget.LeaseRequest{Journal: n, Budget: id, Used: used, Least: 1 + llm.Money(rng.IntN(300))}
				r.Most = r.Least + llm.Money(rng.IntN(300))
				if rng.IntN(2) == 0 {
					r.Least, r.Most = 0, 0
					may.Add(int64(used - granted)) // before the call, because a returned amount is not used any more
				}
				l, err := s.Leases.Lease(t.Context(), r)
				if err != nil {
					t.Errorf("lease: %v", err)
					return
				}
				if r.GivesBack() {
					granted = used
					continue
				}
				if sum := may.Add(int64(l.Granted - granted)); sum > limit {
					t.Errorf("the nodes may spend %d of a limit of %d", sum, limit)
				}
				granted = l.Granted
			}
		})
	}
	all.Wait()
}

func testNodes(t *testing.T, f *fixture) {
	a, b := uuid.New(), uuid.New()
	n := budget.Node{Journal: a, Name: "host-a", Address: "10.0.0.1:8080", Version: "1", Started: noon}
	beat, err := f.Leases.Beat(t.Context(), n)
	if err != nil || beat.Alive != 1 || beat.Told != beat.Incarnation {
		t.Errorf("the first beat: got %+v, %v", beat, err)
	}
	if list, err := f.Leases.Nodes(t.Context()); err != nil || len(list) != 1 || !list[0].Alive ||
		list[0].Name != "host-a" ||
		list[0].Journal != a {
		t.Errorf("nodes: got %+v, %v", list, err)
	}
	shared := beat.For > 0
	if beat, err := f.Leases.Beat(t.Context(), budget.Node{Journal: b, Name: "host-b", Started: noon}); err != nil ||
		shared && beat.Alive != 2 {
		t.Errorf("a second node: got %+v, %v", beat, err)
	}
	if err := f.Leases.ForgetNode(t.Context(), audit.Gateway(), a); !errors.Is(err, store.ErrNodeAlive) {
		t.Errorf("forget a node that is alive: got %v, want ErrNodeAlive", err)
	}
	must.Do(t, f.Leases.Leave(t.Context(), a))
	if beat, err := f.Leases.Beat(t.Context(), budget.Node{Journal: b, Name: "host-b", Started: noon}); err != nil ||
		beat.Alive != 1 {
		t.Errorf("after the other left: got %+v, %v; want one alive", beat, err)
	}
	if err := f.Leases.ForgetNode(t.Context(), audit.Gateway(), a); err != nil {
		t.Errorf("forget a node that has left: %v", err)
	}
	if err := f.Leases.ForgetNode(t.Context(), audit.Gateway(), a); !errors.Is(err, store.ErrNoNode) {
		t.Errorf("forget it again: got %v, want ErrNoNode", err)
	}
	want := audit.Object{Kind: "node", ID: a.String(), Name: "host-a"}
	if e := logged(t, f, audit.Query{Limit: 9}); len(e) != 1 || e[0].Action != audit.NodeForgotten ||
		e[0].Object != want || string(e[0].Before) != `{"address":"10.0.0.1:8080"}` {
		t.Errorf("audit log: got %+v, want one entry about %+v", e, want)
	}
}

func testWanted(t *testing.T, f *fixture) {
	a, b := uuid.New(), uuid.New()
	budgeted(t, f, 100, budget.PeriodTotal, a, b)
	id := budget.ID{Scope: "acc_a"}
	if l := lease(t, f.DB, budget.LeaseRequest{Journal: a, Budget: id, Least: 80, Most: 80}); l.Granted < 80 {
		t.Fatalf("got %+v, want 80", l)
	}
	lease(t, f.DB, budget.LeaseRequest{Journal: b, Budget: id, Least: 50, Most: 50})
	beat, err := f.Leases.Beat(t.Context(), budget.Node{Journal: a, Started: noon})
	if err != nil || beat.For > 0 && (len(beat.Wanted) != 1 || beat.Wanted[0] != id) {
		t.Errorf("got %+v, %v; want it to say that the budget is wanted", beat, err)
	}
	beat, err = f.Leases.Beat(t.Context(), budget.Node{Journal: b, Started: noon})
	if err != nil || len(beat.Wanted) != 0 {
		t.Errorf("the next one: got %+v, %v; want nothing", beat, err)
	}
	// It returns everything except what it has spent.
	apply(t, f, (&tape{journal: a}).costing(costing(1, 30)))
	lease(t, f.DB, budget.LeaseRequest{Journal: a, Budget: id, Used: 30})
	lease(t, f.DB, budget.LeaseRequest{Journal: b, Budget: id, Least: 1000, Most: 1000})
	if beat, err := f.Leases.Beat(t.Context(), budget.Node{Journal: a, Started: noon}); err != nil ||
		len(beat.Wanted) > 0 {
		t.Errorf("a node with nothing to return: got %v wanted, %v; want nothing", beat.Wanted, err)
	}
}

// testPassed checks that the other nodes learn of a passed budget, so that they return their leases of it.
func testPassed(t *testing.T, f *fixture) {
	a, b := uuid.New(), uuid.New()
	budgeted(t, f, 100, budget.PeriodMonth, a, b)
	id := budget.ID{Scope: "acc_a", Period: theMonth}
	j := &tape{journal: a}
	for _, n := range []uuid.UUID{a, b} {
		lease(t, f.DB, budget.LeaseRequest{Journal: n, Budget: id, Least: 10, Most: 10})
	}
	for n, want := range []int{0, 1} {
		apply(t, f, j.costing(costing(n+1, 60)))
		beat, err := f.Leases.Beat(t.Context(), budget.Node{Journal: b, Started: noon})
		if err != nil || beat.For > 0 && len(beat.Wanted) != want {
			t.Errorf("after %d of 100 were spent: got %+v, %v; want %d budgets wanted", 60*(n+1), beat, err, want)
		}
	}
	if l := lease(t, f.DB, budget.LeaseRequest{Journal: b, Budget: id, Least: 1, Most: 1}); l.Left != 0 {
		t.Errorf("of a budget that is passed: got %+v, want nothing left", l)
	}
}

// testLowered checks that a node learns that all leases together exceed the limit, and the others that their unused
// amounts are wanted.
func testLowered(t *testing.T, f *fixture) {
	a, b := uuid.New(), uuid.New()
	budgeted(t, f, 100, budget.PeriodTotal, a, b)
	id := budget.ID{Scope: "acc_a"}
	if l := lease(t, f.DB, budget.LeaseRequest{Journal: a, Budget: id, Used: 0, Least: 60, Most: 60}); l.Excess != 0 {
		t.Errorf("within the limit: got %+v, want it not over", l)
	}
	must.Get(f.Accounts.UpdateAccount(t.Context(), audit.Gateway(), "acc_a",
		account.Update{Budget: &account.Budget{Limit: 40, Period: budget.PeriodTotal}}))(t)
	if l := lease(t, f.DB, budget.LeaseRequest{Journal: a, Budget: id, Used: 50}); l.Excess != 10 || l.Granted != 50 {
		t.Errorf("50 in use of 40: got %+v, want it over", l)
	}
	beat, err := f.Leases.Beat(t.Context(), budget.Node{Journal: b, Started: noon})
	if err != nil || len(beat.Wanted) != 0 {
		t.Errorf("a node that has nothing of it: got %+v, %v; want nothing wanted", beat, err)
	}
	if l := lease(t, f.DB, budget.LeaseRequest{Journal: b, Budget: id, Used: 1, Least: 1, Most: 1}); l.Excess != 11 ||
		l.Granted != 1 {
		t.Errorf("another node: got %+v, want it over, with its spending counted", l)
	}
	lease(t, f.DB, budget.LeaseRequest{Journal: a, Budget: id, Used: 30})
	if l := lease(t, f.DB, budget.LeaseRequest{Journal: a, Budget: id, Used: 30, Least: 9, Most: 9}); l.Excess != 0 ||
		l.Granted != 39 {
		t.Errorf("30 in use of 40: got %+v, want 9 more", l)
	}
}

func testRetainBudgets(t *testing.T, f *fixture) {
	a, b := uuid.New(), uuid.New()
	create(t, f, "a")
	for kind, kept := range map[budget.Period]map[int64]bool{
		budget.PeriodDay:   {20261121: true, 20261119: true, 20261118: false, 20251231: false},
		budget.PeriodMonth: {202611: true, 202609: true, 202608: false, 202512: false},
		budget.PeriodTotal: {0: true},
	} {
		if _, err := f.Accounts.UpdateAccount(t.Context(), audit.Gateway(), "acc_a",
			account.Update{Budget: &account.Budget{Limit: 100, Period: kind}}); err != nil {
			t.Fatal(err)
		}
		for period := range kept {
			lease(t, f.DB, budget.LeaseRequest{
				Journal: a, Budget: budget.ID{Scope: "acc_a", Period: period},
				Used: 7,
			})
		}
		must.Do(t, f.Leases.RetainBudgets(t.Context()))
		for period, is := range kept {
			l := lease(t, f.DB, budget.LeaseRequest{Journal: b, Budget: budget.ID{
				Scope:  "acc_a",
				Period: period,
			}, Least: 1, Most: 1})
			if there := l.Granted+l.Left == 93; there != is {
				t.Errorf("slice of period %d: stored is %t, want %t: %+v", period, there, is, l)
			}
		}
	}
}

func testThresholds(t *testing.T, f *fixture) {
	budgeted(t, f, 100, budget.PeriodMonth)
	j := newTape()
	for i, cost := range []llm.Money{40, 20, 1, 30, 20} {
		apply(t, f, j.costing(costing(i, cost)))
	}
	text := f.logged()
	for _, percent := range []int{50, 80, 95, 100} {
		if n := strings.Count(text, fmt.Sprintf("percent=%d ", percent)); n != 1 {
			t.Errorf("%d %%: got %d events, want one: %s", percent, n, text)
		}
	}
}
