package dashboard

import (
	"context"
	"encoding/csv"
	"math"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/report"
)

func TestAmountRoundsMoney(t *testing.T) {
	t.Parallel()
	for m, want := range map[llm.Money]string{
		0: "$0.00", 1: "$0.000000001", 9_999: "$0.000009999", 12_344: "$0.00001234", 12_345: "$0.00001235", 999_999_999: "$1.00", 30_000_000: "$0.03",
		llm.USD: "$1.00", 1_004_999_999: "$1.00", 1_005_000_000: "$1.01", 1_204_184_311_877: "$1,204.18", -1_505_000_000: "-$1.51", math.MaxInt64: "$9,223,372,036.85",
	} {
		if got := amount(m); got != want {
			t.Errorf("amount(%d): got %s, want %s", m, got, want)
		}
	}
}

func TestCompactShortensCounts(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{
		0: "0", -3: "-3", 99_999: "99,999", 100_000: "100 k", 999_499: "999 k", 999_500: "1.00 M", 9_995_000: "10.0 M", 48_211_034: "48.2 M", 316_000_000: "316 M", math.MaxInt64: "9223372 T",
	} {
		if got := compact(n); got != want {
			t.Errorf("compact(%d): got %s, want %s", n, got, want)
		}
	}
}

func TestTookFormatsDurations(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		0: "0 ms", 1500 * time.Microsecond: "1.5 ms", 412 * time.Millisecond: "412 ms", 1300 * time.Millisecond: "1.30 s", 59_990 * time.Millisecond: "59.99 s",
		time.Minute: "1 min 0 s", 125*time.Second + 600*time.Millisecond: "2 min 6 s",
	} {
		if got := took(d); got != want {
			t.Errorf("took(%s): got %s, want %s", d, got, want)
		}
	}
}

// TestPercentText checks that a share is never shown larger than it is, except for the rounding of whole percents.
func TestPercentText(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		part, whole int64
		want        string
	}{
		{0, 0, "0 %"},
		{0, 5, "0 %"},
		{-1, 5, "0 %"},
		{5, 5, "100 %"},
		{7, 5, "100 %"},
		{3, 0, "0 %"},
		{1, 3, "33 %"},
		{224_900, 5_000_000_000, "< 1 %"},
		{9, 1000, "< 1 %"},
		{10, 1000, "1 %"},
		{990, 1000, "99 %"},
		{991, 1000, "> 99 %"},
	} {
		if got := percentText(tt.part, tt.whole); got != tt.want {
			t.Errorf("percentText(%d, %d): got %q, want %q", tt.part, tt.whole, got, tt.want)
		}
	}
}

func TestPercentIsWithinBounds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		part, whole := rapid.Int64().Draw(t, "part"), rapid.Int64().Draw(t, "whole")
		got := percent(part, whole)
		switch {
		case got < 0 || got > 100:
			t.Fatalf("percent(%d, %d): got %d, want one from 0 to 100", part, whole, got)
		case whole > 0 && (got == 0) != (part <= 0) || whole > 0 && (got == 100) != (part >= whole):
			t.Fatalf("percent(%d, %d): got %d: 0 is nothing and 100 is all", part, whole, got)
		}
	})
}

// TestAxisEndsAboveValues checks that the end of an axis is beyond the values, and not far.
func TestAxisEndsAboveValues(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64Range(1, math.MaxInt64).Draw(t, "n")
		got := niceTop(n)
		if got < n || n < 1e17 && (got > 2*n+1 || got%2 != 0) {
			t.Fatalf("niceTop(%d): got %d", n, got)
		}
	})
}

var drawn = regexp.MustCompile(`class="(d[1-6])" d="M([0-9.]+) ([0-9.]+)h([0-9.]+)v([0-9.]+)h-`)

// TestBarsMatchValues draws and measures random charts: each stack begins at the base, stays within the picture, and
// has the height of its values.
func TestBarsMatchValues(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		b := bars{label: hostile, unit: compact}
		values := rapid.SliceOfN(rapid.SliceOfN(rapid.Int64Range(0, 1_000_000), 0, maxSeries), 0, 100).Draw(t, "values")
		top := int64(1)
		for _, v := range values {
			s := stack{name: hostile, title: hostile, values: v}
			top = max(top, s.sum())
			b.stack = append(b.stack, s)
		}
		text := string(b.picture())
		if strings.Contains(text, "<script") || strings.Count(text, `<g class="slot">`) != len(values) {
			t.Fatalf("got %s, want %d bars and no markup of others", text, len(values))
		}
		for i, slot := range strings.Split(text, `<g class="slot">`)[1:] {
			checkStack(t, values[i], float64(niceTop(top)), drawn.FindAllStringSubmatch(slot, -1))
		}
	})
}

func checkStack(t *rapid.T, values []int64, top float64, boxes [][]string) {
	values = slices.Clone(values)
	values = slices.DeleteFunc(values, func(v int64) bool { return v == 0 })
	if len(boxes) != len(values) {
		t.Fatalf("got %d boxes, want %d", len(boxes), len(values))
	}
	at := chartBottom
	for i, box := range boxes {
		measure := func(n int) float64 { f, _ := strconv.ParseFloat(box[n], 64); return f }
		x, y, width, height := measure(2), measure(3), measure(4), measure(5)
		want := max(float64(values[i])/top*(chartBottom-chartTop), 1)
		if math.Abs(height-want) > .06 || math.Abs(y+height-at) > .2 || x < chartLeft || x+width > chartWidth+.2 || y < chartTop-maxSeries {
			t.Fatalf("%d of %v: got %s, want a height of %.1f on %.1f", values[i], values, box[0], want, at)
		}
		at = y
	}
}

func TestSpansAreUTCDays(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 1, 23, 59, 59, 0, time.FixedZone("", -3600)) // 2 March in UTC
	for query, want := range map[string]string{
		"": "2026-02-01 2026-03-02", "days=7": "2026-02-24 2026-03-02", "days=90": "2025-12-03 2026-03-02", "month=2026-03": "2026-03-01 2026-03-02", "month=2026-02": "2026-02-01 2026-02-28",
	} {
		q, _ := url.ParseQuery(query)
		got, err := chosenSpan(at, q)
		if text := got.first() + " " + got.last(); err != nil || text != want {
			t.Errorf("%q: got %s, %v, want %s", query, text, err, want)
		}
		current := 0
		for _, l := range spanLinks(at, "/x", got) {
			if l.Current {
				current++
			}
		}
		if current != 1 {
			t.Errorf("%q: got %d current links, want 1", query, current)
		}
	}
}

// TestArithmeticAddsUp reads the amounts of a page as people do, and adds them.
func TestArithmeticAddsUp(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		outcomes := rapid.SliceOfN(rapid.SampledFrom([]ledger.Outcome{ledger.OutcomeOK, ledger.OutcomeUnknown, ledger.OutcomeRejected, ledger.OutcomeClientGone}), 1, 8).Draw(t, "outcomes")
		d := sampleRequest(outcomes...)
		for i := range d.Parts {
			a := &d.Parts[i]
			if a.Provenance == ledger.Exact && !a.Billed {
				for c := range a.Usage {
					a.Usage[c] = rapid.Int64Range(0, 1_000_000).Draw(t, "count")
				}
				a.Cost = a.Price.Cost(&a.Usage, a.Settlement.Tier) + llm.Money(rapid.SampledFrom([]int64{0, 0, 7}).Draw(t, "more"))
			}
			a.Explain()
		}
		d.Request = report.Summarize(d.Parts)
		p := requestPageOf("/x", &d, nil)
		var whole llm.Money
		for _, a := range p.Attempts {
			var sum llm.Money
			for _, l := range a.Lines {
				if l.Amount != none {
					sum += parsed(t, l.Amount)
				}
			}
			if cost := parsed(t, a.Cost); sum != cost {
				t.Fatalf("attempt %d: got lines of %s, want its cost of %s: %+v", a.N, sum, cost, a.Lines)
			}
			whole += sum
		}
		if whole != d.Cost {
			t.Fatalf("attempts: got %s in all, want %s", whole, d.Cost)
		}
	})
}

func parsed(t *rapid.T, text string) llm.Money {
	m := must.Get(llm.ParseMoney(strings.NewReplacer("$", "", ",", "").Replace(text)))(t)
	return m
}

// shifting is usage with a day's new entry before each page.
type shifting struct{ all []report.Use }

func (s *shifting) Uses(_ context.Context, q report.UsesQuery) (report.UsesPage, error) {
	list := s.all[min(q.Offset, len(s.all)):min(q.Offset+q.Limit, len(s.all))]
	p := report.UsesPage{Uses: slices.Clone(list), Count: len(s.all)}
	s.all = slices.Insert(s.all, 0, report.Use{Date: "2026-11-21", Model: "a/" + strconv.Itoa(1e6-len(s.all))})
	return p, nil
}

// TestFileOfUsageHasEachOnce writes a file of several pages while usage grows.
func TestFileOfUsageHasEachOnce(t *testing.T) {
	t.Parallel()
	from := &shifting{}
	var want []string
	for i := range 3 * usesInPiece {
		u := report.Use{Date: testTime.AddDate(0, 0, -i/100).Format(time.DateOnly), Model: "m/" + strconv.Itoa(1000+i%100)}
		from.all, want = append(from.all, u), append(want, u.Date+" "+u.Model)
	}
	w := httptest.NewRecorder()
	f := &usageFile{to: csv.NewWriter(w)}
	q := report.UsesQuery{Limit: usesInPiece}
	first, err := from.Uses(t.Context(), q)
	if err == nil {
		err = f.writeAll(t.Context(), from.Uses, q, first)
	}
	rows, rerr := csv.NewReader(w.Body).ReadAll()
	if err != nil || rerr != nil {
		t.Fatal(err, rerr)
	}
	var got []string
	for _, row := range rows[1:] {
		got = append(got, row[0]+" "+row[1])
	}
	must.Equal(t, got, want, "entries")
}

func TestSpendHasItsDigitsBeforeItsBound(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		cost, uncertain llm.Money
		want            string
	}{
		{12_430_452_800, 960_043_625, "$12.4304528, at most $13.390496425"},
		{12_430_000_000, 1_000_000_000, "at most $13.43"},
		{12_430_452_800, 0, "$12.4304528"},
	} {
		if got := spendTile(test.cost, test.uncertain).Note; got != test.want {
			t.Errorf("%d and %d: got %q, want %q", test.cost, test.uncertain, got, test.want)
		}
	}
}

// TestAmountsOfColumnHaveTheSameDecimals checks that decimal points are below each other, and that no value changes.
func TestAmountsOfColumnHaveTheSameDecimals(t *testing.T) {
	t.Parallel()
	amounts := []llm.Money{12 * llm.USD, 5_007_000, 1_952_500, 871_750, 0, -20_000_000}
	places := placesOf(amounts, func(m *llm.Money) llm.Money { return *m })
	want := []string{"$12.00000000", "$0.00500700", "$0.00195250", "$0.00087175", "$0.00000000", "-$0.02000000"}
	for i, m := range amounts {
		if got := dollarsTo(places, m); got != want[i] {
			t.Errorf("%v: got %s, want %s", m, got, want[i])
		}
	}
	for _, text := range []string{none, "unpriced"} {
		must.Equal(t, padded(places, text), text, "a text without an amount")
	}
}
