package store_test

import (
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"weir/internal/budget"
	"weir/internal/charge"
	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/promptcache"
	"weir/internal/store"
)

// TestEveryAcceptedRecordIsStored offers attempts and settlements with extreme values to the ledger. Those that it
// accepts must pass through the journal into the database, also after a restart.
func TestEveryAcceptedRecordIsStored(t *testing.T) {
	t.Parallel()
	everywhere(t, testEveryAcceptedRecordIsStored)
}

func testEveryAcceptedRecordIsStored(t *testing.T, o store.Options) {
	db := open(t, o)
	dir, x := t.TempDir(), extremes{rand.New(rand.NewPCG(1, 2))}
	start := func() *ledger.Ledger {
		return must.Get(ledger.New(t.Context(), ledger.Options{
			Dir: dir, Store: db.Ledger, Leases: db.Leases, Now: time.Now, SharedNow: db.Now, Log: slog.New(slog.DiscardHandler),
		}))(t)
	}
	l := start()
	var accepted []ledger.AttemptID
	refused, unsettled := 0, 0
	for range 3000 {
		a := x.attempt()
		h, err := l.Open(a)
		if err != nil {
			refused++
			continue
		}
		accepted = append(accepted, a.ID)
		if _, err := h.Settle(x.settlement()); err != nil {
			unsettled++
		}
	}
	if len(accepted) < 300 || refused < 300 || unsettled < 100 || len(accepted)-unsettled < 100 {
		t.Errorf("%d accepted, %d refused, %d not settled: some kinds are rare", len(accepted), refused, unsettled)
	}
	must.Do(t, l.Close(t.Context()))
	l = start() // those that are not settled become unknown
	must.Do(t, l.Close(t.Context()))
	if n := l.SetAside(); n != 0 {
		t.Errorf("set aside: got %d, want 0", n)
	}
	v := must.Get(db.Ledger.Verify(t.Context(), nil))(t)
	if len(v.Differences)+len(v.SetAside) > 0 || v.Rows != int64(len(accepted)) || v.Open != 0 || v.Unknown < int64(unsettled) {
		v.Differences = v.Differences[:min(len(v.Differences), 3)]
		t.Errorf("got %.3000s; want %d rows, %d unknown, no difference", fmt.Sprintf("%+v", v), len(accepted), unsettled)
	}
	for _, id := range accepted[:100] {
		if _, there, err := db.Reports.Attempt(t.Context(), id); err != nil || !there {
			t.Errorf("attempt %s: got %v, %v; want a row", id, there, err)
		}
	}
}

// extremes makes values, most of them usual.
type extremes struct{ *rand.Rand }

func (x extremes) text() string {
	odd := []string{
		"", "\x00", "a\x00b", "\xff", "\xed\xa0\x80", strings.Repeat("x", 513), strings.Repeat(`"\`, 256), strings.Repeat("\x01", 64),
		strings.Repeat("é", 200), "a/b", "\u2028", strings.Repeat("m", 70_000),
	}
	if x.IntN(20) == 0 {
		return odd[x.IntN(len(odd))]
	}
	return "usual"
}

// unlike returns a random text of that many printable bytes, which no database can compress.
func (x extremes) unlike(bytes int) string {
	b := make([]byte, bytes)
	for i := range b {
		b[i] = byte('!' + x.IntN('~'-'!'))
	}
	return string(b)
}

func (x extremes) number() int64 {
	odd := []int64{math.MinInt64, -1, 0, 1, 1 << 31, 1 << 40, 1 << 62, math.MaxInt64, int64(llm.MaxCost), int64(llm.MaxCost) + 1}
	if x.IntN(10) == 0 {
		return odd[x.IntN(len(odd))]
	}
	return x.Int64N(1000)
}

func (x extremes) money() llm.Money { return llm.Money(x.number()) }

func (x extremes) time() time.Time {
	odd := []time.Time{{}, time.Unix(0, 0), time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC), time.Date(300_000, 1, 1, 0, 0, 0, 0, time.UTC)}
	if x.IntN(20) == 0 {
		return odd[x.IntN(len(odd))].UTC()
	}
	return time.Date(2026, 11, 30, x.IntN(24), 0, 0, 0, time.UTC)
}

func (x extremes) usage() (u llm.Usage) {
	for range x.IntN(3) {
		u[x.IntN(llm.NumClasses)] = x.number()
	}
	return u
}

func (x extremes) attempt() ledger.Attempt {
	price := llm.Price{Version: x.text(), Rates: llm.Rates{llm.Input: 1 << 30}}
	a := ledger.Attempt{
		ID: ledger.AttemptID{Request: x.id(), N: 1}, Account: x.text(), Key: x.text(), Requested: x.text(), Provider: x.text(),
		Model: x.text(), Region: x.text(), Opened: x.time(), Arrived: x.time(), Price: price, Bound: x.usage(), Hold: x.money(),
		ChargeHold: x.money(), Parts: budget.Parts(0),
		Attribution: llm.Attribution{User: x.text(), Tags: []llm.Tag{{Name: x.text(), Value: x.text()}}},
	}
	if x.IntN(4) == 0 {
		a.Terms = &charge.Terms{Markup: charge.Markup(x.IntN(1000))}
	}
	if x.IntN(10) == 0 { // as long as a name may be, and of texts that do not repeat
		a.Requested, a.Model, a.Price.Version = x.unlike(512), x.unlike(512), x.unlike(512)
	}
	return a
}

func (x extremes) settlement() ledger.Settlement {
	outcomes := []ledger.Outcome{"", "odd", ledger.OutcomeOpen, ledger.OutcomeOK, ledger.OutcomeOK, ledger.OutcomeOK, ledger.OutcomeCut}
	sources := []ledger.Provenance{"", "odd", ledger.Exact, ledger.Exact, ledger.Estimated, ledger.Unknown}
	causes := promptcache.Causes()
	s := ledger.Settlement{
		Outcome: outcomes[x.IntN(len(outcomes))], Provenance: sources[x.IntN(len(sources))], Usage: x.usage(), AtMost: x.money(),
		Counts: true, Finish: llm.FinishReason(x.text()), Tier: x.text(), Code: llm.Code(x.text()), Status: int(x.number()),
		FirstToken: time.Duration(x.number()), Duration: time.Duration(x.number()), ReplyID: x.text(), Ask: x.IntN(2) == 0,
		Served: ledger.Served{Model: x.text(), Other: x.IntN(2) == 0},
	}
	if x.IntN(3) == 0 {
		s.ProviderCost = new(x.money())
	}
	if x.IntN(3) == 0 {
		s.Missed.Tokens, s.Missed.Cause = x.number(), causes[x.IntN(len(causes))]
	}
	if x.IntN(5) == 0 {
		s.Cached = ledger.Cached{Hit: true, Saved: x.money()}
	}
	if x.IntN(5) == 0 {
		s.Served.Model = x.unlike(128)
	}
	return s
}

func (x extremes) id() uuid.UUID {
	if x.IntN(10) == 0 {
		return uuid.New() // of version 4
	}
	return uuid.Must(uuid.NewV7())
}
