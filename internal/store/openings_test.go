package store_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"weir/internal/account"
	"weir/internal/audit"
	"weir/internal/budget"
	"weir/internal/imports"
	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/store"
)

// TestOpeningsModel imports rising and falling opening balances on passing days, between attempts with a cost: the
// budgets' spending always equals a model's, no period has an amount of another one, usage has none of it, and verify
// finds nothing.
func TestOpeningsModel(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, o store.Options) {
		runs := 0
		now := noonOfOpenings
		o.Clock = func() time.Time { return now }
		s := open(t, o)
		rapid.Check(t, func(rt *rapid.T) {
			if runs++; runs > 20 && !o.URL.IsZero() { // each step is a request to a server
				return
			}
			now = noonOfOpenings
			m := &openingsModel{store: s, name: fmt.Sprint("team", runs), opened: map[int64]llm.Money{}, journal: uuid.New()}
			m.period = rapid.SampledFrom([]budget.Period{budget.PeriodDay, budget.PeriodMonth, budget.PeriodTotal}).Draw(rt, "period")
			for range rapid.IntRange(1, 8).Draw(rt, "steps") {
				switch rapid.SampledFrom([]string{"import", "import", "attempt", "wait"}).Draw(rt, "step") {
				case "import":
					m.take(rt, now, llm.Money(rapid.IntRange(0, 50).Draw(rt, "spent")))
				case "attempt":
					m.attempt(rt, now, llm.Money(rapid.IntRange(1, 9).Draw(rt, "cost")))
				default:
					now = now.Add(time.Duration(rapid.IntRange(1, 40).Draw(rt, "days")) * 24 * time.Hour)
				}
			}
			m.check(rt, now)
		})
		v := must.Get(s.Ledger.Verify(t.Context(), nil))(t)
		if len(v.Differences) != 0 {
			t.Errorf("verify: got %+v, want no difference", v.Differences)
		}
	})
}

var noonOfOpenings = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// openingsModel is an account with one key that is imported again and again.
type openingsModel struct {
	store   *store.DB
	name    string
	period  budget.Period
	opened  map[int64]llm.Money // by period: the greatest imported amount
	costs   []dated
	id, key string
	journal uuid.UUID
	at      int
}

type dated struct {
	at   time.Time
	cost llm.Money
}

func (m *openingsModel) take(rt *rapid.T, now time.Time, spent llm.Money) {
	a := &imports.Account{From: m.name, Opening: spent}
	a.Name, a.OnDisconnect = m.name, account.DisconnectDefault
	a.Budget = account.Budget{Limit: 1000, Period: m.period}
	k := imports.Key{From: "key", Opening: spent}
	k.Hash[0], k.Hash[1] = byte(len(m.name)), m.name[len(m.name)-1]
	copy(k.Hash[2:], m.name)
	k.Label, k.Permissions, k.Budget = "key", []account.Permission{account.Chat}, a.Budget
	a.Keys = append(a.Keys, k)
	done := must.Get(m.store.Accounts.Import(rt.Context(), audit.Gateway(), a, false))(rt)
	m.id = done.ID
	m.key = must.Get(m.store.Accounts.Keys(rt.Context(), m.id))(rt)[0].ID
	number := m.period.Number(now)
	m.opened[number] = max(m.opened[number], spent)
}

func (m *openingsModel) attempt(rt *rapid.T, now time.Time, cost llm.Money) {
	if m.id == "" {
		return
	}
	e := settled(now, m.at)
	e.ID.Request = uuid.New()
	e.Account, e.Key, e.Cost = m.id, m.key, cost
	e.Usage, e.Price = llm.Usage{llm.Output: int64(cost)}, llm.Price{Version: "nano@1", Rates: llm.Rates{llm.Output: 1000}}
	b := batchOf(m.journal, ledger.Position(m.at), e)
	b.Prices = append(b.Prices, ledger.PriceRecord{Version: "nano@1", Rates: e.Price.Rates})
	m.at++
	must.Do(rt, m.store.Ledger.Apply(rt.Context(), b))
	m.costs = append(m.costs, dated{now, cost})
}

// check compares the spending in the period of now and in total.
func (m *openingsModel) check(rt *rapid.T, now time.Time) {
	if m.id == "" {
		return
	}
	for _, p := range []budget.Period{m.period, budget.PeriodTotal} {
		number, want := p.Number(now), llm.Money(0)
		for of, amount := range m.opened {
			if p == budget.PeriodTotal || of == number {
				want += amount
			}
		}
		for _, c := range m.costs {
			if p.Number(c.at) == number {
				want += c.cost
			}
		}
		for _, scope := range []string{m.id, m.key} {
			if got := must.Get(m.store.Ledger.Spent(rt.Context(), scope, number))(rt); got != want {
				rt.Fatalf("spent in %s %d: got %v, want %v", p, number, got, want)
			}
		}
	}
}

// TestOpeningsAreVerified checks that verify finds an opening balance that was changed by hand, or that is not in the
// balances.
func TestOpeningsAreVerified(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, o store.Options) {
		s := open(t, o)
		a := &imports.Account{From: "team", Opening: 7}
		a.Name, a.Budget = "team", account.Budget{Limit: 10, Period: budget.PeriodMonth}
		done := must.Get(s.Accounts.Import(t.Context(), audit.Gateway(), a, false))(t)
		for _, change := range [][2]string{
			{"UPDATE openings SET amount = amount + 1", "UPDATE openings SET amount = amount - 1"},
			{"UPDATE openings SET period = period - 1", "UPDATE openings SET period = period + 1"},
			{"UPDATE balances SET spent = spent - 2", "UPDATE balances SET spent = spent + 2"},
		} {
			tamper(t, o, change[0])
			if v := must.Get(s.Ledger.Verify(t.Context(), nil))(t); len(v.Differences) == 0 || v.Differences[0].Account != done.ID {
				t.Errorf("after %s: got %+v, want differences of %s", change[0], v.Differences, done.ID)
			}
			tamper(t, o, change[1])
			if v := must.Get(s.Ledger.Verify(t.Context(), nil))(t); len(v.Differences) != 0 {
				t.Errorf("after %s: got %+v, want none", change[1], v.Differences)
			}
		}
	})
}

// TestImportAtOnce has several processes import the same account at once: it is created once.
func TestImportAtOnce(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, o store.Options) {
		var wait sync.WaitGroup
		var mu sync.Mutex
		changes := 0
		for range 4 {
			s := open(t, o)
			wait.Go(func() {
				a := &imports.Account{From: "team", Opening: 7}
				a.Name, a.Budget = "team", account.Budget{Limit: 10, Period: budget.PeriodMonth}
				for i := range 5 {
					k := imports.Key{From: fmt.Sprint(i), Hash: account.Hash{byte(i + 1)}}
					k.Label, k.Permissions = fmt.Sprint(i), []account.Permission{account.Chat}
					a.Keys = append(a.Keys, k)
				}
				done, err := s.Accounts.Import(t.Context(), audit.Gateway(), a, false)
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				changes += len(done.Changes)
			})
		}
		wait.Wait()
		if changes != 7 {
			t.Errorf("got %d changes in all, want 7: an account, five keys and an opening balance", changes)
		}
	})
}
