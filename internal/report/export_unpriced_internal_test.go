package report

import (
	"bytes"
	"encoding/csv"
	"slices"
	"strings"
	"testing"

	"weir/internal/charge"
	"weir/internal/ledger"
	"weir/internal/llm"
)

// TestExportOfUnpriced checks the export of an attempt with an unpriced cost or charge: no unknown amount, and no bound
// if nothing bounds it.
func TestExportOfUnpriced(t *testing.T) {
	t.Parallel()
	own := &charge.Terms{Price: llm.Price{Version: "list/p/m#1", Rates: llm.Rates{llm.Input: 1_000_000}}}
	for _, tt := range []struct {
		name  string
		terms *charge.Terms
		s     ledger.Settlement
		want  string // cost_usd, unpriced, cost_at_most_usd, charge_usd, charge_at_most_usd, charge_unpriced
	}{
		{"no list", nil, ledger.Settlement{}, "|input||||input"},
		{"no list, a bound", nil, ledger.Settlement{AtMost: llm.USD}, "|input|1||1|input"},
		{"no list, a part known", nil, ledger.Settlement{Cost: llm.USD}, "1|input||1||input"},
		{"a markup", &charge.Terms{Markup: 5000}, ledger.Settlement{}, "|input||||input"},
		{"a markup, a bound", &charge.Terms{Markup: 5000}, ledger.Settlement{AtMost: llm.USD}, "|input|1||1.5|input"},
		{"an own price", own, ledger.Settlement{}, "|input||0.00001|0.00001|"},
		{"an own price, a bound of the cost", own, ledger.Settlement{AtMost: llm.USD}, "|input|1|0.00001|0.00001|"},
	} {
		e := &Exported{Entry: ledger.Entry{Settlement: tt.s}}
		e.Terms, e.Provenance, e.Usage, e.Unpriced = tt.terms, ledger.Exact, llm.Usage{llm.Input: 10}, llm.Classes(0).With(llm.Input)
		e.Hold, e.ChargeHold = llm.USD, 2*llm.USD
		e.SetCharge(&e.Settlement)
		var out bytes.Buffer
		if _, err := exportCSV(&out, func(fn func(*Exported) error) error { return fn(e) }); err != nil {
			t.Fatal(err)
		}
		rows, err := csv.NewReader(&out).ReadAll()
		if err != nil || len(rows) != 2 {
			t.Fatalf("%s: got %v, %v", tt.name, rows, err)
		}
		var got []string
		for _, head := range []string{"cost_usd", "unpriced", "cost_at_most_usd", "charge_usd", "charge_at_most_usd", "charge_unpriced"} {
			cell := rows[1][slices.Index(rows[0], head)]
			if strings.Contains(cell, ".") { // however many decimals
				cell = strings.TrimRight(strings.TrimRight(cell, "0"), ".")
			}
			got = append(got, cell)
		}
		if got := strings.Join(got, "|"); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.name, got, tt.want)
		}
	}
}
