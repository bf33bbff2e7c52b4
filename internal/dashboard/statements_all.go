package dashboard

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"time"

	"weir/internal/account"
	"weir/internal/admin"
	"weir/internal/llm"
	"weir/internal/people"
	"weir/internal/report"
)

// allStatementsPath is the path of the page of all accounts' statements.
const allStatementsPath = "/operator/statements"

// draft returns the draft of the month in the query, by default the month that is closed next.
func (h *statementHandlers) draft(r *http.Request, v *people.Visit) (st admin.Statement, err error) {
	var month int64
	if text := r.URL.Query().Get("month"); text != "" {
		if month, err = monthNumber(text); err != nil {
			return st, llm.Invalidf("month", "month is %.20q. Use a month such as 2026-11.", text)
		}
	}
	return h.admin.Statements.Draft(r.Context(), v.Account.ID, month)
}

func (h *statementHandlers) showDraft(w http.ResponseWriter, r *http.Request, v *people.Visit) error {
	st, err := h.draft(r, v)
	if err != nil {
		return err
	}
	p := statementPageOf(&st)
	return h.site.show(w, r, v, page{name: "statement", title: p.Title, data: p})
}

func (h *statementHandlers) downloadDraft(w http.ResponseWriter, r *http.Request, v *people.Visit) error {
	st, err := h.draft(r, v)
	if err != nil {
		return err
	}
	return h.write(w, r, v, &st, "draft")
}

// monthStatementsPage lists the statements of all accounts for a month, and the accounts without one.
type monthStatementsPage struct {
	Month   string // in words
	Months  Filters
	Tiles   []Tile
	Rows    []monthStatementRow
	Shown   string // set if there are more than are shown
	Command Code   // closes the open ones
}

// monthStatementRow shows the statement of an account, or what it was charged so far.
type monthStatementRow struct {
	Account, Path string
	Number        int64 // 0 if the month is open
	Charge        spending
	Payable       llm.Money
}

// ofMonth lists the statements of the month in the query, by default the last one.
func (h *statementHandlers) ofMonth(w http.ResponseWriter, r *http.Request, v *people.Visit) error {
	now := h.site.now()
	months := recentMonths(now)
	month := cmp.Or(r.URL.Query().Get("month"), months[1].Value)
	number, err := monthNumber(month)
	if err != nil {
		return llm.Invalidf("month", "month is %.20q. Use a month such as 2026-11.", month)
	}
	closed, err := h.admin.Statements.OfMonth(r.Context(), number)
	if err != nil {
		return err
	}
	accounts, err := h.admin.Accounts.Accounts(r.Context())
	if err != nil {
		return err
	}
	sums, err := h.admin.Reports.AccountsOverview(r.Context(), number)
	if err != nil {
		return err
	}
	p := monthStatementsPageOf(month, months, closed, accounts, sums)
	return h.site.show(w, r, v, page{name: "operator-statements", title: "Statements", data: p})
}

func monthStatementsPageOf(month string, months []Choice, closed []admin.Statement, accounts []account.Account,
	sums []report.AccountSum,
) monthStatementsPage {
	p := monthStatementsPage{Month: monthText(month), Months: monthFilter(allStatementsPath, month, months)}
	p.Command = Code{
		Ident: "close-all", Label: "Close all statements", Text: "weir statements close --all --month " + month,
	}
	var payable, due llm.Money
	names, done := namesOf(accounts), map[string]bool{}
	for i := range closed {
		st := statementRowOf(&closed[i])
		done[st.Account] = true
		payable += st.Payable
		p.Rows = append(p.Rows, monthStatementRow{st.AccountName, st.Path, st.Number, st.Charge, st.Payable})
	}
	open := 0
	for i := range sums {
		x := &sums[i]
		if name := names[x.Account]; name != "" && !done[x.Account] {
			open++
			due += report.Payable(x.Cost)
			p.Rows = append(p.Rows, monthStatementRow{
				Account: name, Path: statementsPath(name) + "/draft?month=" + month,
				Charge: spendingOf(x.Cost, x.Uncertain, x.Unpriced), Payable: report.Payable(x.Cost),
			})
		}
	}
	slices.SortStableFunc(p.Rows, func(a, b monthStatementRow) int {
		return cmp.Or(cmp.Compare(b.Payable, a.Payable), strings.Compare(a.Account, b.Account))
	})
	p.Tiles = []Tile{
		{Label: "Payable", Value: dollars(payable), Note: "of closed statements"},
		{Label: "Closed", Value: number(int64(len(closed))), Note: "statements"},
		{
			Label: "Open", Value: dollars(due),
			Note: "so far, of " + many(int64(open), "account") + " without a statement",
		},
	}
	p.Shown = shownOf(int64(len(p.Rows)), most, "accounts, highest amount first.")
	p.Rows = p.Rows[:min(len(p.Rows), most)]
	places := placesOf(p.Rows, func(r *monthStatementRow) llm.Money { return r.Charge.Cost })
	for i := range p.Rows {
		p.Rows[i].Charge.Places = places
	}
	return p
}

// monthsShown is the number of months that pages of all accounts offer.
const monthsShown = 24

// recentMonths returns the running month and those before it.
func recentMonths(now time.Time) (months []Choice) {
	for i := range monthsShown {
		at := firstOfMonth(now).AddDate(0, -i, 0)
		months = append(months, Choice{Value: at.Format(monthLayout), Label: at.Format("January 2006")})
	}
	return months
}

// monthFilter returns a form that chooses a month.
func monthFilter(path, month string, months []Choice) Filters {
	for i := range months {
		months[i].Chosen = months[i].Value == month
	}
	return Filters{Action: path, Label: "Month to show", Fields: []Field{{
		Name: "month", Label: "Month", Choices: months,
	}}}
}
