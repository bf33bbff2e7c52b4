package store_test

import (
	"math/rand/v2"
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

// TestStatementsOfYear closes the statements of a simulated year, with late traffic and corrections of earlier months:
// they verify, equal the sum of the account's charges, and never change; a changed one is found.
func TestStatementsOfYear(t *testing.T) {
	t.Parallel()
	everywhere(t, testStatementsOfYear)
}

func testStatementsOfYear(t *testing.T, o store.Options) {
	const seed = 12
	r := rand.New(rand.NewPCG(seed, 4))
	db := open(t, o)
	y := &year{t: t, db: db, r: r, journal: uuid.UUID{9}}
	for month := range 12 {
		for range 1 + r.IntN(8) {
			y.book(month)
		}
		y.correct()
		number := int64(2025_01 + month)
		draft := must.Get(db.Reports.DraftStatement(t.Context(), "a", number))(t)
		st := must.Get(db.Ledger.CloseStatement(t.Context(), audit.Gateway(), "a", number))(t)
		must.Equal(t, draft.Lines, st.Lines, "the draft of %d", number)
		if !draft.Draft() || draft.Hash != "" || st.Draft() {
			t.Fatalf("drafted %d as number %d with the hash %q", number, draft.Number, draft.Hash)
		}
		if _, err := db.Reports.DraftStatement(t.Context(), "a", number); err == nil || llm.AsError(err).Param != "month" {
			t.Fatalf("a draft of the closed %d: got %v, want a refusal", number, err)
		}
		if of := must.Get(db.Reports.StatementsOf(t.Context(), number))(t); len(of) != 1 || of[0].Hash != st.Hash {
			t.Fatalf("statements of %d: got %d, want the one", number, len(of))
		}
		if st.Number != int64(month+1) || st.Hash == "" {
			t.Fatalf("seed %d: closed %+v as number %d", seed, st, month+1)
		}
		if month > 0 {
			if _, err := db.Ledger.CloseStatement(t.Context(), audit.Gateway(), "a", number); err == nil {
				t.Fatalf("closed month %d twice", number)
			}
		}
		y.check(month)
	}
	y.correct() // is in no statement yet
	y.check(11)
	year, month, _ := time.Now().UTC().Date()
	if _, err := db.Ledger.CloseStatement(t.Context(), audit.Gateway(), "b", int64(year)*100+int64(month)); err == nil || llm.AsError(err).Param != "month" {
		t.Errorf("this month: got %v, want a refusal", err)
	}
	if _, err := db.Ledger.CloseStatement(t.Context(), audit.Gateway(), "b", 1_01); err == nil || llm.AsError(err).Param != "month" {
		t.Errorf("the year 1: got %v, want a refusal", err)
	}
	raw := behind(t, o)
	defer raw.Close()
	for _, tt := range []struct {
		change string
		sound  bool
	}{
		{"UPDATE statement_lines SET charge = charge + 1 WHERE account = 'a' AND number = 3", false},
		{"UPDATE statement_lines SET charge = charge - 1 WHERE account = 'a' AND number = 3", true},
		{"UPDATE statement_lines SET unpriced = unpriced + 1 WHERE account = 'a' AND number = 3", false},
		{"UPDATE statement_lines SET unpriced = unpriced - 1 WHERE account = 'a' AND number = 3", true},
		{"DELETE FROM statements WHERE account = 'a' AND number = 5", false},
	} {
		must.Get(raw.ExecContext(t.Context(), tt.change))(t)
		_, faults, err := db.Reports.VerifyStatements(t.Context())
		if err != nil || tt.sound != (len(faults) == 0) {
			t.Errorf("%s: got %+v, %v", tt.change, faults, err)
		}
	}
}

// year is the traffic of a year.
type year struct {
	t       *testing.T
	db      *store.DB
	r       *rand.Rand
	journal uuid.UUID
	at      ledger.Position
	booked  []ledger.AttemptID
	first   []report.Statement // as they were closed
}

// book applies an attempt of some day up to the end of a month, from 0: most are of the month itself.
func (y *year) book(month int) {
	if y.r.IntN(4) == 0 {
		month = y.r.IntN(month + 1) // it arrives late
	}
	at := time.Date(2025, time.Month(month+1), 1+y.r.IntN(28), y.r.IntN(24), 0, 0, 0, time.UTC)
	e := settled(at, len(y.booked)+1)
	e.Account = "a"
	e.ID = ledger.AttemptID{Request: uuid.NewSHA1(uuid.Nil, []byte{byte(len(y.booked)), byte(len(y.booked) >> 8)}), N: 1}
	e.Terms = &charge.Terms{Markup: charge.Markup(y.r.IntN(5000))}
	if y.r.IntN(3) == 0 {
		e.Terms.Price = ownPrice()
	}
	e.ChargeHold = e.Terms.Markup.Of(e.Hold)
	if y.r.IntN(4) == 0 {
		e.Unpriced = llm.Classes(0).With(llm.Maps)
	} else if y.r.IntN(3) == 0 {
		e.Unpriced = llm.Classes(0).With(llm.Output)
	}
	e.SetCharge(&e.Settlement)
	b := &ledger.Batch{Journal: y.journal, From: y.at, To: y.at + 1, Settled: []ledger.Entry{e}}
	must.Do(y.t, y.db.Ledger.Apply(y.t.Context(), b))
	y.at, y.booked = b.To, append(y.booked, e.ID)
}

// correct corrects an attempt of any month.
func (y *year) correct() {
	id := y.booked[y.r.IntN(len(y.booked))]
	must.Do(y.t, y.db.Corrections.Correct(y.t.Context(), audit.Gateway(), ledger.Correct{ID: id, Amount: llm.Money(1 + y.r.IntN(1000)), Reason: "x"}))
}

// check compares the statements closed so far with each other and, if nothing arrived since, with the sums.
func (y *year) check(month int) {
	y.t.Helper()
	n, faults, err := y.db.Reports.VerifyStatements(y.t.Context())
	if err != nil || len(faults) > 0 || n != month+1 {
		y.t.Fatalf("%d statements: got %+v, %v", n, faults, err)
	}
	list := must.Get(y.db.Reports.Statements(y.t.Context(), "a"))(y.t)
	for i := range y.first {
		if list[i].Hash != y.first[i].Hash {
			y.t.Fatalf("statement %d has changed", i+1)
		}
	}
	var all report.Totals
	for i := range list {
		sum, _ := list[i].Totals()
		sum.Unpriced = 0
		for l := range list[i].Lines {
			sum.Unpriced += list[i].Lines[l].Unpriced
		}
		all.Add(&sum)
	}
	uses := must.Get(y.db.Reports.Uses(y.t.Context(), report.UsesQuery{Account: "a", Limit: 1}))(y.t).Total
	if isNew := len(list) > len(y.first); isNew && (all.Cost != uses.Cost || all.Requests != uses.Requests || all.Unpriced != uses.Unpriced) {
		y.t.Fatalf("statements add up to %+v, usage to %+v", all, uses)
	} else if !isNew && all.Cost == uses.Cost {
		y.t.Fatal("a correction after the last statement is in one")
	}
	y.first = list
}
