package report_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/report"
)

// TestSpeedQuantiles compares quantiles with those of the times themselves: they
// lie in the same bucket.
func TestSpeedQuantiles(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		times := rapid.SliceOfN(rapid.Int64Range(1, 90_000_000), 1, 50).Draw(rt, "microseconds")
		var s report.Speed
		for _, us := range times {
			s.Count(time.Duration(us) * time.Microsecond)
		}
		slices.Sort(times)
		percent := rapid.SampledFrom([]int64{1, 50, 95, 100}).Draw(rt, "percent")
		rank := (int64(len(times))*percent + 99) / 100
		exact := time.Duration(times[rank-1]) * time.Microsecond
		from, to := bucketOf(exact)
		if got := s.Quantile(percent); got < from || got > to {
			rt.Errorf("%d %% of %v: got %v, want from %v to %v, where %v is", percent, times, got, from, to, exact)
		}
		if got := s.Answers(); got != int64(len(times)) {
			rt.Errorf("got %d answers, want %d", got, len(times))
		}
	})
}

// bucketOf returns the bucket of a time; the last one ends beyond all times of the test.
func bucketOf(d time.Duration) (from, to time.Duration) {
	for to = 25 * time.Millisecond; d >= to && to < 100*time.Second; to *= 2 {
		from = to
	}
	return from, to
}

func TestSpeedMedian(t *testing.T) {
	t.Parallel()
	var s report.Speed
	if got := s.Median(); got != 0 {
		t.Errorf("median of nothing: got %v, want 0", got)
	}
	for range 4 {
		s.Count(120 * time.Millisecond)
	}
	s.Count(25 * time.Millisecond)
	s.Count(50*time.Millisecond - time.Microsecond)
	s.Count(time.Hour)
	want := report.Speed{1: 2, 3: 4, 12: 1}
	if s != want {
		t.Errorf("got %v, want %v", s, want)
	}
	// Rank 3.5 of 7: one and a half of the four between 100 and 200 ms.
	if got, want := s.Median(), 137500*time.Microsecond; got != want {
		t.Errorf("median: got %v, want %v", got, want)
	}
	if got := s.P95(); got < 51200*time.Millisecond || got > 102400*time.Millisecond {
		t.Errorf("p95: got %v, want it in the last bucket", got)
	}
}

func TestRequestCursor(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	c := report.CursorAt(at)
	if got, want := c.String(), "2026-11-21.01a1fdfa-4600-0000-0000-000000000000"; got != want {
		t.Errorf("cursor at %v: got %s, want %s", at, got, want)
	}
	id, err := uuid.NewV7()
	must.Do(t, err)
	if low, high := report.CursorAt(time.Now().Add(-time.Hour)), report.CursorAt(time.Now().Add(time.Hour)); id.String() < low.ID.String() || id.String() > high.ID.String() {
		t.Errorf("an id of now, %s: got it not between %s and %s", id, low, high)
	}
	for _, text := range []string{"", c.String()} {
		got, err := report.ParseCursor(text)
		if err != nil || got.String() != text {
			t.Errorf("parse %q: got %q, %v; want the same", text, got, err)
		}
	}
	for _, text := range []string{"2026-11-21", "2026-11-21.", "yesterday." + id.String(), "." + id.String(), "2026-11-21.x"} {
		if got, err := report.ParseCursor(text); err == nil {
			t.Errorf("parse %q: got %v, want an error", text, got)
		}
	}
}

func TestEndedOutcomes(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		outcome     ledger.Outcome
		ok, failure bool
	}{
		{ledger.OutcomeOpen, false, false},
		{ledger.OutcomeOK, true, false},
		{ledger.OutcomeRejected, false, true},
		{ledger.OutcomeClientGone, false, true},
		{ledger.OutcomeUnknown, false, true},
	} {
		if got := report.EndedOK.Has(test.outcome, true); got != test.ok {
			t.Errorf("%s is ok: got %v, want %v", test.outcome, got, test.ok)
		}
		if got := report.EndedError.Has(test.outcome, true); got != test.failure {
			t.Errorf("%s is an error: got %v, want %v", test.outcome, got, test.failure)
		}
		if !report.EndedAny.Has(test.outcome, false) {
			t.Errorf("%s is any: got false, want true", test.outcome)
		}
		if !report.EndedUnseen.Has(test.outcome, true) || report.EndedUnseen.Has(test.outcome, false) {
			t.Errorf("%s is unseen: want its explanation", test.outcome)
		}
	}
}

// TestExplainSumsToCost checks that the lines of random attempts add up to their cost.
func TestExplainSumsToCost(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		a := drawDetail(rt)
		a.Explain()
		_, want := a.Corrected()
		var got llm.Money
		for _, l := range a.Lines {
			got += l.Amount
		}
		if got != want {
			rt.Errorf("lines %+v: got %s in all, want %s", a.Lines, got, want)
		}
		other := slices.ContainsFunc(a.Lines, func(l report.CostLine) bool { return l.What == report.LineOther })
		if wrong := a.Provenance == ledger.Exact && a.Cost != a.Price.Cost(&a.Usage, ""); other != wrong {
			rt.Errorf("lines %+v: got something else %v, want %v", a.Lines, other, wrong)
		}
	})
}

func drawDetail(rt *rapid.T) report.Attempt {
	number := rapid.Int64Range(0, 3_000_000)
	a := report.Attempt{Row: ledger.Row{Entry: ledger.Entry{Settlement: ledger.Settlement{Provenance: ledger.Exact}}}}
	if rapid.Bool().Draw(rt, "priced") {
		a.Price.Version = "v"
		a.Price.Tiers = []llm.Tier{{Above: number.Draw(rt, "above")}}
	}
	for c := range llm.NumClasses {
		a.Usage[c] = number.Draw(rt, "count")
		a.Price.Rates[c] = llm.RateOf(number.Draw(rt, "rate"))
		if a.Price.Known() {
			a.Price.Tiers[0].Rates[c] = llm.RateOf(number.Draw(rt, "rate of tier"))
		}
	}
	a.Cost = a.Price.Cost(&a.Usage, "")
	switch {
	case rapid.Bool().Draw(rt, "unknown"):
		a.Provenance, a.Hold = ledger.Unknown, llm.Money(number.Draw(rt, "hold"))
		a.Cost = a.Hold
		if rapid.Bool().Draw(rt, "resolved") {
			a.Corrections = []ledger.Correction{{Kind: "resolved", Cost: llm.Money(number.Draw(rt, "resolved to")) - a.Hold}}
		}
	case rapid.Bool().Draw(rt, "wrong"):
		a.Cost++
	}
	return a
}
