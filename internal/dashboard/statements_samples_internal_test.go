package dashboard

import (
	"time"

	"weir/internal/admin"
	"weir/internal/llm"
	"weir/internal/people"
	"weir/internal/report"
)

// statementSamples returns the pages of statements, one with more lines than a page shows.
func statementSamples() []sample {
	st := admin.Statement{AccountName: "acme", Statement: report.Statement{Account: "acc-1", Number: 1, Month: "2026-09", Closed: testTime, Hash: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"}}
	big := st
	big.Number, big.Month = 2, "2026-10"
	for _, from := range []time.Time{testTime.AddDate(0, -2, -20), testTime.AddDate(0, -1, -20)} {
		for d := range 30 {
			for _, name := range sampleModels(8) {
				big.Lines = append(big.Lines, report.StatementLine{Date: from.AddDate(0, 0, d).Format(time.DateOnly), Model: name, Requests: 1204, Tokens: 12_345_678, Charge: 1_234_567_891, Uncertain: llm.USD, Unpriced: int64(d%3 - 1)})
			}
		}
	}
	wrong := &form{}
	wrong.refuse(llm.Invalid("month", "Statements are closed month after month."))
	list := func(name string, role people.Role, all []admin.Statement, f *form) sample {
		v := visitOf(role)
		return sample{name, "/accounts/acme/statements", role, page{name: "statements", title: "Statements", data: statementsPageOf(v, all, f, testTime)}}
	}
	one := func(name string, st *admin.Statement) sample {
		return sample{name, "/accounts/acme/statements/1", people.Viewer, page{name: "statement", title: "Statement 1", data: statementPageOf(st)}}
	}
	return []sample{
		list("statements", people.Owner, []admin.Statement{st, big}, &form{}), list("statements-none", people.Viewer, nil, &form{}),
		list("statements-operator", "", []admin.Statement{st}, wrong), list("statements-first", "", nil, &form{}),
		one("statement", &big), one("statement-empty", &st),
	}
}
