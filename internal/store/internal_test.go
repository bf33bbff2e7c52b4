package store

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/must"

	"weir/internal/worktest"
)

func TestOlderVersion(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		version string
		want    bool
	}{
		{"3.51.2", true}, {"3.51.3", false}, {"3.7.0", true}, {"3.54.1", false}, {"3.100.0", false}, {"4.0.0", false}, {"2.99.99", true}, {"", true},
	} {
		if got := olderVersion(test.version, oldestSQLite); got != test.want {
			t.Errorf("olderVersion(%q, %q): got %v, want %v", test.version, oldestSQLite, got, test.want)
		}
	}
}

// TestMeasuresHaveTheirColumns checks that each measure has its own column, in the order of the enum.
func TestMeasuresHaveTheirColumns(t *testing.T) {
	t.Parallel()
	columns := measureColumns()
	if len(columns) != numMeasures {
		t.Fatalf("got %d columns, want %d", len(columns), numMeasures)
	}
	for measure, want := range map[int]string{
		measureRequests: "requests", measureCost: "cost", measureTokens: "tokens", measureAttempts: "attempts",
		measureErrors: "errors", measureUnpriced: "unpriced", measureEstimated: "estimated", measureUnknown: "unknown",
		measureUsage: "use_input", measureUncertain: "uncertain", numMeasures - 1: "use_other_tool",
	} {
		if got := columns[measure]; got != want {
			t.Errorf("column of measure %d: got %q, want %q", measure, got, want)
		}
	}
	if n := len(slices.Compact(slices.Sorted(slices.Values(columns)))); n != numMeasures {
		t.Errorf("got %d different columns, want %d", n, numMeasures)
	}
	if n := len(strings.Split(rowValues, ", ")); n != numValues {
		t.Errorf("got %d columns of attempts, want %d", n, numValues)
	}
}

func TestPeriodsAreInUTC(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 1, 0, 30, 0, 0, time.FixedZone("", 3600)) // 23:30 UTC of the day before
	if got, want := dayOf(at), int64(20260228); got != want {
		t.Errorf("dayOf(%v): got %d, want %d", at, got, want)
	}
	if got, want := hourOf(at), int64(2026022823); got != want {
		t.Errorf("hourOf(%v): got %d, want %d", at, got, want)
	}
	for period, want := range map[int64]string{20260228: "2026-02-28", 2026022823: "2026-02-28T23:00:00Z"} {
		if got := periodText(period); got != want {
			t.Errorf("periodText(%d): got %q, want %q", period, got, want)
		}
	}
}

func TestPricesDecodeAsEncoded(t *testing.T) {
	t.Parallel()
	want := ledger.PriceRecord{
		Version: "v", Rates: llm.Rates{llm.Input: 1, llm.Milliseconds: 1<<62 + 1},
		Tiers: []llm.Tier{{Above: 100, Rates: llm.Rates{llm.Output: 3, llm.Milliseconds: 2000}}, {Above: 200}},
		Modes: []llm.Mode{{Name: "flex", Times: 500}, {Name: "priority", Rates: llm.Rates{llm.Input: 2, llm.Output: llm.Free}, Tiers: []llm.Tier{{Above: 5}}}},
	}
	stored := must.Get(encodePrice(&want))(t)
	got, err := decodePrice("v", stored)
	if record := (ledger.PriceRecord{Version: got.Version, Rates: got.Rates, Tiers: got.Tiers, Modes: got.Modes}); err != nil || !cmp.Equal(record, want) {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
	for _, bad := range []storedPrice{
		{"", "[]", "null"}, {"{}", "", "null"}, {"{}", "[]", ""}, {"{}", `[{"above":1,"rates":{"nonsense":1}}]`, "null"}, {"{}", "[]", `[{"name":"x","rates":{"x":1}}]`},
	} {
		if _, err := decodePrice("v", bad); err == nil {
			t.Errorf("decodePrice(%q): got no error, want one", bad)
		}
	}
}

func FuzzCounts(f *testing.F) {
	for _, seed := range []string{"{}", `{"input":12,"output":-3}`, `{"input":1,"input":2}`, "{,}", `{"x":1}`, `{"input":}`, "", "{"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		worktest.Check(t, []byte(text), func(text []byte) { _, _ = decodeCounts(string(text)) })
		counts, err := decodeCounts(text)
		if err != nil {
			return
		}
		again, err := decodeCounts(encodeCounts(&counts))
		if err != nil || again != counts {
			t.Errorf("%q: got %v, %v; want %v", text, again, err, counts)
		}
	})
}
