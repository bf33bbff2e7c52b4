package reconcile_test

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/reconcile"
)

const billHeads = "BilledCost,BillingCurrency,ChargeCategory,ChargePeriodStart,ServiceName,x_Other\n"

// TestBillReadsFOCUS reads rows as exports of the clouds write them.
func TestBillReadsFOCUS(t *testing.T) {
	t.Parallel()
	file := "\ufeffServiceName,x_a,ChargeCategory,BillingCurrency,BilledCost,ChargePeriodStart\n" +
		"Amazon Bedrock,,Usage,USD,0.0000012,2026-11-01T00:00:00Z\n" +
		"Amazon Bedrock,,Usage,USD,1.5E-6,2026-11-01T23:00:00.000Z\n" + // hours
		"Amazon Bedrock,,Usage,USD,2,2026-11-02 00:00:00 UTC\n" +
		"Amazon Bedrock,,Usage,USD,2.00000000049,2026-11-02 13:00:00\n" +
		"Vertex AI,,Usage,USD,3,2026-11-02T20:00:00-08:00\n" + // the third by UTC
		"Vertex AI,\"a\nb\",Usage,USD,+4.,2026-11-02\n" +
		"Amazon Bedrock,,Tax,USD,0.4,2026-11-02T00:00:00Z\n" +
		"Amazon Bedrock,,Credit,USD,-0.1,2026-11-02T00:00:00Z\n" +
		"Amazon S3,,Usage,EUR,never read,nor this\n"
	b := must.Get(reconcile.ReadBill(strings.NewReader(file), []string{"Amazon *edr*ock", "Vertex AI"}))(t)
	want := map[string]llm.Money{"2026-11-01": 2700, "2026-11-02": 8 * llm.USD, "2026-11-03": 3 * llm.USD}
	if !maps.Equal(b.Costs, want) || b.Other != 3*llm.USD/10 || !slices.Equal(b.Services, []string{"Amazon Bedrock", "Amazon S3", "Vertex AI"}) {
		t.Errorf("got %+v, want %v", b, want)
	}
	must.Do(t, b.Add(&reconcile.Bill{Costs: map[string]llm.Money{"2026-11-03": llm.USD, "2026-11-04": 5}, Other: 1, Services: []string{"Amazon S3", "X"}}))
	want["2026-11-03"], want["2026-11-04"] = 4*llm.USD, 5
	if !maps.Equal(b.Costs, want) || b.Other != 3*llm.USD/10+1 || !slices.Equal(b.Services, []string{"Amazon Bedrock", "Amazon S3", "Vertex AI", "X"}) {
		t.Errorf("with another file: got %+v, want %v", b, want)
	}
	if err := b.Add(&reconcile.Bill{Costs: map[string]llm.Money{"2026-11-03": 1_000_000_000 * llm.USD}}); err == nil {
		t.Error("more than there can be: got no error")
	}
}

// TestBillMistakes checks the errors for invalid files.
func TestBillMistakes(t *testing.T) {
	t.Parallel()
	row := func(cost, code, start string) string {
		return billHeads + strings.Join([]string{cost, code, "Usage", start, "S", ""}, ",") + "\n"
	}
	const day = "2026-11-01"
	for _, test := range []struct{ name, file, want string }{
		{"nothing", "", "the file is empty"},
		{"no column", "BilledCost,BillingCurrency,ChargeCategory,ServiceName\n", `the column ChargePeriodStart is missing; the file has "BilledCost", "BillingCurrency", "ChargeCategory", "ServiceName". Export`},
		{"a column twice", strings.TrimSpace(billHeads) + ",BilledCost\n", "BilledCost appears twice"},
		{"too many columns", strings.TrimSpace(billHeads) + strings.Repeat(",x", 1000) + "\n", "more than 1000 columns"},
		{"another currency", row("1", "EUR", day), `line 2: BillingCurrency is "EUR"`},
		{"no number", row("1.2.3", "USD", day), `BilledCost is "1.2.3"`},
		{"no cost", row("", "USD", day), "BilledCost"},
		{"a comma", row(`"1,000"`, "USD", day), "BilledCost"},
		{"not a number", row("NaN", "USD", day), "BilledCost"},
		{"an exponent without end", row("1e999999999", "USD", day), "BilledCost"},
		{"a large exponent", row("1e99", "USD", day), "at most $1000000000"},
		{"too much", row("1000000001", "USD", day), "at most $1000000000"},
		{"too much in all", row("1000000000", "USD", day) + "1,USD,Usage,2026-11-01,S,\n", "line 3: the billed amount is more"},
		{"no time", row("1", "USD", "November"), `ChargePeriodStart is "November"`},
		{"fewer cells", billHeads + "1,USD\n", "wrong number of fields"},
		{"a row without end", billHeads + `"` + strings.Repeat("x", 1<<21), "longer than"},
		{"a quote without end", billHeads + `1,USD,Usage,2026-11-01,S,"` + strings.Repeat("1,USD,Usage,2026-11-01,S,\n", 50_000), "longer than"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := reconcile.ReadBill(strings.NewReader(test.file), []string{"S"})
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
	var many strings.Builder
	many.WriteString(billHeads)
	for i := range 1001 {
		fmt.Fprintf(&many, "1,USD,Usage,2026-11-01,%d,\n", i)
	}
	if _, err := reconcile.ReadBill(strings.NewReader(many.String()), nil); err == nil || !strings.Contains(err.Error(), "1000 services") {
		t.Errorf("services without end: got %v", err)
	}
}

// TestCompareDays finds each inserted difference, and no other.
func TestCompareDays(t *testing.T) {
	t.Parallel()
	day := func(n int) string { return fmt.Sprintf("2026-11-%02d", n) }
	ours, bill, want := map[reconcile.Place]reconcile.Ours{}, map[string]llm.Money{}, map[string]reconcile.Finding{}
	for n := 1; n <= 12; n++ {
		ours[reconcile.Place{Day: day(n), Model: "a"}] = reconcile.Ours{Cost: 3 * llm.USD, Uncertain: llm.USD / 2, Unseen: true}
		ours[reconcile.Place{Day: day(n), Model: "b"}] = reconcile.Ours{Cost: 7 * llm.USD, Uncertain: llm.USD / 2, Unseen: true}
		bill[day(n)], want[day(n)] = 10*llm.USD, reconcile.Agrees
	}
	for n, d := range map[int]struct {
		more llm.Money
		find reconcile.Finding
	}{
		2: {llm.USD / 100, reconcile.Rounded}, 4: {llm.USD, reconcile.Unseen}, 6: {2 * llm.USD, reconcile.More}, 8: {-llm.USD, reconcile.Less},
		10: {2 * llm.USD, reconcile.Midnight}, 11: {-2 * llm.USD, reconcile.Midnight},
	} {
		bill[day(n)] += d.more
		want[day(n)] = d.find
	}
	delete(bill, day(12)) // a day that the bill does not have
	want[day(12)] = reconcile.Less
	bill[day(13)], want[day(13)] = llm.USD, reconcile.More // and one that the ledger does not
	for _, d := range reconcile.CompareDays(ours, &reconcile.Bill{Costs: bill}) {
		if d.Finding != want[d.Day] {
			t.Errorf("%s: got %s of %+v, want %s", d.Day, d.Finding, d, want[d.Day])
		}
		delete(want, d.Day)
	}
	if len(want) > 0 {
		t.Errorf("not compared: %v", want)
	}
}

// FuzzBill checks that a file needs no more work than its bytes.
func FuzzBill(f *testing.F) {
	f.Add(billHeads+"1,USD,Usage,2026-11-01,S,\n", "S")
	f.Add(parquetOf(f, []exactRow{{1, "USD", "Usage", 20_777, "S"}}, parquet.Compression(&parquet.Zstd)), "S")
	f.Add(archived(f, map[string]string{"a": zipped(f, billHeads)}), "S")
	f.Add(billHeads+"-1e9,USD,Credit,2026-11-01T00:00:00.000Z,S,\"\n\"\n", "S")
	f.Fuzz(func(t *testing.T, file, service string) {
		b, err := reconcile.ReadBill(io.LimitReader(strings.NewReader(file), 1<<16), []string{service})
		if err != nil {
			return
		}
		for _, d := range reconcile.CompareDays(nil, &reconcile.Bill{Costs: b.Costs}) {
			if d.Ours != 0 || d.Theirs != b.Costs[d.Day] {
				t.Errorf("got %+v of %v", d, b.Costs)
			}
		}
	})
}
