package report_test

import (
	"strings"
	"testing"

	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/report"
)

// TestStatementCSV writes every line, marks corrections, and makes formulas plain.
func TestStatementCSV(t *testing.T) {
	t.Parallel()
	s := report.Statement{Account: "acc", Number: 7, Month: "2026-10", Lines: []report.StatementLine{
		{Date: "2026-09-30", Model: "=cmd()", Requests: -1, Tokens: -20, Charge: -llm.USD - 3_000_000},
		{Date: "2026-10-01", Model: `a/"b",c`, Requests: 3, Tokens: 40, Charge: llm.USD / 2, Uncertain: llm.USD, Unpriced: 2},
	}}
	var out strings.Builder
	must.Do(t, s.WriteCSV(&out, "=acme"))
	must.Equal(t, out.String(), "account,statement,month,date,model,requests,tokens,charge_usd,charge_at_most_usd,correction,unpriced_attempts,account_name,currency\n"+
		"acc,7,2026-10,2026-09-30,'=cmd(),-1,-20,-1.003000000,-1.003000000,true,0,'=acme,USD\n"+
		`acc,7,2026-10,2026-10-01,"a/""b"",c",3,40,0.500000000,1.500000000,false,2,'=acme,USD`+"\n"+
		"acc,7,2026-10,,(rounding),0,0,0.003000000,0.003000000,false,0,'=acme,USD\n", "the file")
}

// TestPayableRoundsToNearestCent checks the rule at its edges: half a cent goes away from zero.
func TestPayableRoundsToNearestCent(t *testing.T) {
	t.Parallel()
	const cent = llm.USD / 100
	for charge, want := range map[llm.Money]llm.Money{
		0: 0, 1: 0, cent/2 - 1: 0, cent / 2: cent, cent: cent, cent + cent/2 - 1: cent, 95_000_926_260: 9500 * cent,
		-1: 0, -cent/2 + 1: 0, -cent / 2: -cent, -3*cent - cent/2: -4 * cent,
	} {
		if got := report.Payable(charge); got != want {
			t.Errorf("%s: got %s, want %s", charge, got, want)
		}
	}
	s := report.Statement{Lines: []report.StatementLine{
		{Date: "2026-10-01", Model: "a", Charge: 4_999_999, Requests: 1},
		{Date: "2026-10-02", Model: "b", Charge: 7_000_000, Unpriced: -2},
		{Date: "2026-10-02", Model: "a", Charge: 1, Requests: 2, Tokens: 9},
	}}
	if amount, rounding := s.Payable(); amount != cent || rounding != -2_000_000 {
		t.Errorf("three lines: got %s with %s of rounding, want a cent with -0.002", amount, rounding)
	}
	must.Equal(t, s.ByModel(), []report.StatementLine{{Model: "b", Charge: 7_000_000}, {Model: "a", Charge: 5_000_000, Requests: 3, Tokens: 9}}, "models")
}
