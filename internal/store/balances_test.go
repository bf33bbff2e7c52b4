package store_test

import (
	"fmt"
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

// TestThresholdsAreReportedOnce has budgets of accounts and keys, and a credit, reach their thresholds: each is
// reported once, by whichever process applies the next attempts.
func TestThresholdsAreReportedOnce(t *testing.T) {
	t.Parallel()
	everywhere(t, testThresholdsAreReportedOnce)
}

func testThresholdsAreReportedOnce(t *testing.T, o store.Options) {
	s := open(t, o)
	makeBudgets(t, s)
	journal, at := uuid.New(), time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for i := range 10 { // each costs 10, of budgets of 100
		if i == 6 {
			s = open(t, o) // another process remembers nothing
		}
		if i == 8 { // the store has learnt that it has none
			budget := account.Budget{Limit: 100, Period: budget.PeriodDay}
			must.Get(s.Accounts.UpdateAccount(t.Context(), audit.Gateway(), "none", account.Update{Budget: &budget}))(t)
		}
		var list []ledger.Entry
		for _, of := range []string{"month", "credit", "none"} {
			e := settled(at, 100*i+len(of))
			e.Account, e.Key, e.Cost = of, "key of "+of, 10
			list = append(list, e)
		}
		must.Do(t, s.Ledger.Apply(t.Context(), batchOf(journal, ledger.Position(i), list...)))
		var want []string
		for _, of := range []string{"credit ", "key key of month", "month ", "none "} {
			spent := 10 * (i + 1)
			if of == "none " && i < 8 {
				continue
			}
			if of == "credit " {
				spent += 45 // before, which does not count, and an amount that does
			}
			for _, percent := range []int{50, 80, 95, 100} {
				if spent >= percent {
					want = append(want, fmt.Sprintf("%s %d", of, percent))
				}
			}
		}
		must.Equal(t, toldEvents(t, o), want, "after %d batches", i+1)
	}
	// A database that has lost commits reports again.
	tamper(t, o, "DELETE FROM events")
	tamper(t, o, "DELETE FROM told")
	tamper(t, o, "UPDATE journals SET position = 9")
	e := settled(at, 5000)
	e.Account, e.Key, e.Cost = "month", "key of month", 10
	must.Do(t, s.Ledger.Apply(t.Context(), batchOf(journal, 9, e)))
	if got := toldEvents(t, o); len(got) != 8 {
		t.Errorf("after the database was rewound: got %q, want all 8 of the account and its key", got)
	}
}

// makeBudgets creates an account and a key with budgets of 100 nano-USD, one with as much credit, of which 45 are
// spent, and one without either.
func makeBudgets(t *testing.T, s *store.DB) {
	t.Helper()
	budget := account.Budget{Limit: 100, Period: budget.PeriodMonth}
	for _, name := range []string{"month", "credit", "none"} {
		a, k := account.Account{ID: name, Name: name}, account.Key{ID: "key of " + name, AccountID: name}
		if name == "month" {
			a.Budget, k.Budget = budget, budget
		}
		must.Do(t, s.Accounts.CreateAccount(t.Context(), audit.Gateway(), a))
		must.Do(t, s.Accounts.CreateKey(t.Context(), audit.Gateway(), k, account.Hash{byte(len(name))}))
	}
	for i, spent := range []llm.Money{30, 45} { // before the credit, and of it
		e := settled(time.Date(2026, 9, 1, 0, 0, 0, 0, time.UTC), 9000+i)
		e.Account, e.Key, e.Cost = "credit", "key of credit", spent
		must.Do(t, s.Ledger.Apply(t.Context(), batchOf(uuid.New(), 0, e)))
		if i == 0 {
			must.Get(s.Accounts.AddCredit(t.Context(), audit.Gateway(), account.CreditEntry{ID: "c", AccountID: "credit", Amount: 100}))(t)
		}
	}
}

// toldEvents lists the events, by the owner of the budget and the threshold.
func toldEvents(t *testing.T, o store.Options) (list []string) {
	t.Helper()
	db := behind(t, o)
	defer db.Close()
	key, threshold := "coalesce(json_extract(body, '$.data.key.id'), '')", "json_extract(body, '$.data.threshold_percent')"
	if !o.URL.IsZero() {
		key, threshold = "coalesce(body::json #>> '{data,key,id}', '')", "body::json #>> '{data,threshold_percent}'"
	}
	rows, err := db.QueryContext(t.Context(), "SELECT CASE WHEN "+key+" = '' THEN account ELSE 'key' END, "+key+
		", CAST("+threshold+" AS INTEGER) FROM events WHERE type = 'budget.threshold_reached' ORDER BY 1, 3")
	must.Do(t, err)
	defer rows.Close()
	for rows.Next() {
		var whose, key string
		var percent int
		must.Do(t, rows.Scan(&whose, &key, &percent))
		list = append(list, fmt.Sprintf("%s %s %d", whose, key, percent))
	}
	must.Do(t, rows.Err())
	return list
}
