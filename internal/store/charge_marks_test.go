package store_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"weir/internal/audit"
	"weir/internal/charge"
	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/report"
	"weir/internal/store"
)

// TestMarksOfCharges checks that an attempt with a priced charge and an unpriced cost has no mark for its account, and
// that a correction by an amount removes the marks everywhere, also in the next statement. Rows from before these
// marks, whose charge was marked like its cost, verify unchanged and are corrected in the same way.
func TestMarksOfCharges(t *testing.T) {
	t.Parallel()
	everywhere(t, testMarksOfCharges)
}

func testMarksOfCharges(t *testing.T, o store.Options) {
	db := open(t, o)
	at := time.Date(2025, 3, 4, 5, 0, 0, 0, time.UTC)
	attempt := func(n int, terms *charge.Terms, set func(*ledger.Attempt, *ledger.Settlement)) ledger.Entry {
		e := settled(at, n)
		e.Price, e.Cost, e.Terms = llm.Price{}, 0, terms
		e.Unpriced = e.Price.Unpriced(&e.Usage, "")
		e.ChargeHold = terms.Bound(0, &e.Price, &e.Bound, "")
		set(&e.Attempt, &e.Settlement)
		return e
	}
	own, now, before := &charge.Terms{Price: ownPrice()}, (*ledger.Attempt).SetCharge, (*ledger.Attempt).SetChargeBefore
	owned, old, marked := attempt(1, own, now), attempt(2, own, before), attempt(3, &charge.Terms{Markup: 5000}, now)
	old.Model = "old"
	b := batchOf(uuid.UUID{7}, 0, owned, old, marked)
	b.Prices = append(b.Prices, ledger.PriceRecord{Version: ownPrice().Version, Rates: ownPrice().Rates})
	must.Do(t, db.Ledger.Apply(t.Context(), b))
	check := func(what string, charged, bought, oldCharged int64) {
		t.Helper()
		v := must.Get(db.Ledger.Verify(t.Context(), nil))(t)
		if len(v.Differences) > 0 {
			t.Errorf("%s: verify: %+v", what, v.Differences)
		}
		page := must.Get(db.Reports.Uses(t.Context(), report.UsesQuery{Account: "a", Limit: 10}))(t)
		if got := page.Total.PurchaseUnpriced(page.Total.Unpriced); page.Total.Unpriced != charged || got != bought {
			t.Errorf("%s: got %d attempts without a price, and %d bought without one; want %d, %d", what, page.Total.Unpriced, got, charged, bought)
		}
		for i := range page.Uses {
			if u := &page.Uses[i]; u.Model == "p/old" && u.Unpriced != oldCharged {
				t.Errorf("%s: the old row: got %d, want %d", what, u.Unpriced, oldCharged)
			}
		}
	}
	check("as they were settled", 2, 3, 1)
	month := func(number int64) report.Statement {
		return must.Get(db.Ledger.CloseStatement(t.Context(), audit.Gateway(), "a", number))(t)
	}
	if all, _ := func() (report.Totals, report.Totals) { st := month(2025_03); return st.Totals() }(); all.Unpriced != 2 {
		t.Errorf("the statement: got %d attempts without a price, want 2", all.Unpriced)
	}
	for i, e := range []*ledger.Entry{&owned, &old, &marked} {
		must.Do(t, db.Corrections.Correct(t.Context(), audit.Gateway(), ledger.Correct{ID: e.ID, Amount: 100, Reason: "bill"}))
		want := [][3]int64{{2, 2, 1}, {1, 1, 0}, {0, 0, 0}}[i]
		check("corrected", want[0], want[1], want[2])
	}
	st := month(2025_04)
	if all, _ := st.Totals(); all.Unpriced != 0 || len(st.Lines) != 2 || st.Lines[0].Unpriced+st.Lines[1].Unpriced != -2 {
		t.Errorf("the next statement: got %+v, want 2 marks removed", st.Lines)
	}
	if entries := must.Get(db.Audit.Entries(t.Context(), audit.Query{Action: audit.AttemptCorrected, Limit: 10}))(t); !strings.Contains(string(entries[0].Before), `"unpriced":true`) {
		t.Errorf("the audit log: got %s, want the mark", entries[0].Before)
	}
	// Both texts contradict the rows: the first charge is called unpriced, and the last one is not.
	text := owned.ID.Request.String()
	must.Do(t, db.Ledger.ChangeRows(t.Context(), func(e *ledger.Entry) {
		if e.ID == owned.ID && e.ChargeUnpriced != nil {
			*e.ChargeUnpriced = e.ChargeUnpriced.With(llm.Input)
		}
	}))
	v := must.Get(db.Ledger.Verify(t.Context(), nil))(t)
	found := false
	for i := range v.Differences {
		found = found || strings.Contains(v.Differences[i].What, "classes without a price in the charge of attempt "+text)
	}
	if !found {
		t.Errorf("a changed mark: got %+v, want it named", v.Differences)
	}
}
