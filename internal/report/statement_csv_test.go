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
		{Date: "2026-09-30", Model: "=cmd()", Requests: -1, Tokens: -20, Charge: -llm.USD},
		{Date: "2026-10-01", Model: `a/"b",c`, Requests: 3, Tokens: 40, Charge: llm.USD / 2, Uncertain: llm.USD, Unpriced: 2},
	}}
	var out strings.Builder
	must.Do(t, s.WriteCSV(&out))
	must.Equal(t, out.String(), "account,statement,month,date,model,requests,tokens,charge_usd,charge_at_most_usd,correction,unpriced_attempts\n"+
		"acc,7,2026-10,2026-09-30,'=cmd(),-1,-20,-1.000000000,-1.000000000,true,0\n"+
		`acc,7,2026-10,2026-10-01,"a/""b"",c",3,40,0.500000000,1.500000000,false,2`+"\n", "the file")
}
