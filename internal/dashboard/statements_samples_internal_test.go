package dashboard

import (
	"testing"
	"time"

	"weir/internal/account"
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
		return sample{name, "/accounts/acme/statements", role, page{name: "statements", title: "Statements", data: statementsPageOf(v, all, dueSample(role, all, v), f)}}
	}
	one := func(name string, st *admin.Statement) sample {
		p := statementPageOf(st)
		return sample{name, "/accounts/acme/statements/1", people.Viewer, page{name: "statement", title: p.Title, data: p}}
	}
	draft := big
	draft.Number, draft.Hash = 0, ""
	months := monthStatementsPageOf("2026-10", recentMonths(testTime), []admin.Statement{big}, []account.Account{{ID: "acc-1", Name: "acme"}, {ID: "acc-2", Name: "research"}}, []report.AccountSum{{Account: "acc-1"}, {Account: "acc-2", Cost: 1_234_567_890, Uncertain: llm.USD, Unpriced: 2}})
	return []sample{
		one("statement-draft", &draft),
		{"operator-statements", allStatementsPath, "", page{name: "operator-statements", title: "Statements", data: months}},
		{"operator-statements-none", allStatementsPath, "", page{name: "operator-statements", title: "Statements", data: monthStatementsPageOf("2026-10", recentMonths(testTime), nil, nil, nil)}},
		list("statements", people.Owner, []admin.Statement{st, big}, &form{}), list("statements-none", people.Viewer, nil, &form{}),
		list("statements-operator", "", []admin.Statement{st}, wrong), list("statements-first", "", nil, &form{}),
		one("statement", &big), one("statement-empty", &st),
	}
}

// dueSample returns the months that an operator may close.
func dueSample(role people.Role, all []admin.Statement, v *people.Visit) []Choice {
	if role != "" {
		return nil
	}
	return closable(all, v.Account.Created, testTime)
}

// TestNewestDueMonthIsChosen checks that the form which closes a first statement offers the newest month first.
func TestNewestDueMonthIsChosen(t *testing.T) {
	t.Parallel()
	v := visitOf("")
	p := statementsPageOf(v, nil, dueSample("", nil, v), &form{})
	months := p.Close.Fields[0].Choices
	for i, c := range months {
		if c.Chosen != (c.Value == "2026-10") || len(months) < 2 {
			t.Errorf("%d of %d, %s: got chosen %v, want only October 2026", i+1, len(months), c.Value, c.Chosen)
		}
	}
}
