package dashboard

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"weir/internal/admin"
	"weir/internal/budget"
	"weir/internal/llm"
	"weir/internal/people"
	"weir/internal/report"
)

// statementHandlers serves the pages of an account's statements.
type statementHandlers struct {
	site  *site
	admin *admin.Admin
}

// statementsPage lists the statements, newest first.
type statementsPage struct {
	Statements []statementRow
	Draft      string   // path of the draft
	Close      *Confirm // for operators, if a month can be closed; else nil
	Problems   []Problem
	Empty      Empty
}

// statementRow shows a statement and its sums.
type statementRow struct {
	*admin.Statement
	Path             string
	Charge           spending
	Payable          llm.Money
	File             string // path of the lines as CSV
	All, Corrections report.Totals
}

// statementPage shows one statement.
type statementPage struct {
	statementRow
	Title  string
	Tiles  []Tile
	Models []report.StatementLine
	Usage  []Link // the usage of the month by other groups
	// Rounding is the amount to pay minus the sum of the lines.
	Rounding llm.Money
	Places   int // decimals of the charges by model
	Tables   []statementTable
}

// statementTable shows lines of a statement.
type statementTable struct {
	Ident, Title string
	Lines        []report.StatementLine
	Count        string
	Left         int  // number of lines that are not shown
	Folded       bool // the lines are folded on screens; prints have them
	Total        report.Totals
	Places       int // decimals of the charges
}

const (
	// linesShown bounds the lines of a table of a statement.
	linesShown = 150
	// monthsToClose is the number of recent months that the first statement may cover.
	monthsToClose = 36
	// linesUnfolded is the most lines of a table that are not folded. More fill several screens of a phone.
	linesUnfolded = 20
)

func statementsPath(account string) string { return accountPath(account) + "/statements" }

func (h *statementHandlers) list(w http.ResponseWriter, r *http.Request, v *people.Visit, f *form) error {
	all, err := h.admin.Statements.List(r.Context(), v.Account.ID)
	if err != nil {
		return err
	}
	due, err := h.due(r.Context(), v, all)
	if err != nil {
		return err
	}
	return h.site.show(w, r, v, page{
		name: "statements", title: "Statements", status: f.status(), data: statementsPageOf(v, all, due, f),
	})
}

// due returns the months that an operator may close, each with the amount to pay.
func (h *statementHandlers) due(ctx context.Context, v *people.Visit, all []admin.Statement) ([]Choice, error) {
	months := closable(all, v.Account.Created, h.site.now())
	if !v.Operator() || len(months) == 0 {
		return nil, nil
	}
	if len(all) > 0 { // its corrections of earlier months count
		number, err := monthNumber(months[0].Value)
		if err != nil {
			return nil, err
		}
		st, err := h.admin.Statements.Draft(ctx, v.Account.ID, number)
		amount, _ := st.Payable()
		months[0].Label += ": " + dollars(amount)
		return months, err
	}
	page, err := h.admin.Reports.Uses(ctx, report.UsesQuery{
		Account: v.Account.ID, By: []report.Dimension{report.ByMonth}, Limit: report.MaxLimit,
	})
	for i := range months {
		var charge llm.Money
		for k := range page.Uses {
			if u := &page.Uses[k]; *u.Group[0] == months[i].Value {
				charge = u.Cost
			}
		}
		months[i].Label += ": " + dollars(report.Payable(charge))
	}
	return months, err
}

// monthNumber parses a month, and returns yyyymm.
func monthNumber(text string) (int64, error) {
	at, err := time.Parse(monthLayout, text)
	return budget.PeriodMonth.Number(at), err
}

func statementsPageOf(v *people.Visit, all []admin.Statement, due []Choice, f *form) statementsPage {
	p := statementsPage{
		Draft: statementsPath(v.Account.Name) + "/draft",
		Empty: Empty{
			Icon: "audit", Title: "No statements yet", Text: "Operators close a statement once its month is over.",
		},
	}
	for i := range slices.Backward(all) {
		p.Statements = append(p.Statements, statementRowOf(&all[i]))
	}
	if len(due) > 0 {
		due[len(due)-1].Chosen = f.values == nil
		path := statementsPath(v.Account.Name)
		p.Close = &Confirm{
			Ident: "close", Button: "Close a month", Object: "of " + v.Account.Name, Title: "Close a statement?",
			Text: "A statement never changes. Later usage and corrections go into the next one.",
			Fields: []Field{f.field(Field{
				Name: "month", Label: "Month and amount payable", Choices: due,
				Hint: "Each further statement covers the following month. Usage before the first one is in none.",
			})},
			Action: path + "/close", Verb: "Close the statement", Keep: "Leave it open",
		}
	}
	p.Problems = f.problems()
	return p
}

// closable returns the months that the next statement may cover: the one after the last statement or, if there is
// none, each since the account was created.
func closable(all []admin.Statement, created, now time.Time) []Choice {
	first, most := firstOfMonth(now).AddDate(0, -monthsToClose, 0), monthsToClose
	if created.After(first) {
		first = created
	}
	if n := len(all); n > 0 {
		last, err := time.Parse(monthLayout, all[n-1].Month)
		if err != nil {
			return nil
		}
		first, most = last.AddDate(0, 1, 0), 1
	}
	var months []Choice
	over := firstOfMonth(now)
	for at := firstOfMonth(first); at.Before(over) && len(months) < most; at = at.AddDate(0, 1, 0) {
		months = append(months, Choice{Value: at.Format(monthLayout), Label: at.Format("January 2006")})
	}
	return months
}

func firstOfMonth(t time.Time) time.Time {
	t = t.UTC()
	return time.Date(t.Year(), t.Month(), 1, 0, 0, 0, 0, time.UTC)
}

func statementRowOf(st *admin.Statement) statementRow {
	list := statementsPath(st.AccountName)
	row := statementRow{
		Statement: st, Path: list + "/draft?month=" + st.Month, File: list + "/draft/csv?month=" + st.Month,
	}
	if !st.Draft() {
		row.Path = list + "/" + strconv.FormatInt(st.Number, 10)
		row.File = row.Path + "/csv"
	}
	row.Payable, _ = st.Payable()
	row.All, row.Corrections = st.Totals()
	row.Charge = spendingOf(row.All.Cost, row.All.Uncertain, row.All.Unpriced)
	return row
}

func (h *statementHandlers) close(w http.ResponseWriter, r *http.Request, v *people.Visit) error {
	f := sent(r)
	at, err := time.Parse(monthLayout, r.PostFormValue("month"))
	if err != nil {
		err = llm.Invalid("month", "The month is not in the list. Choose one from the list.")
	} else {
		_, err = h.admin.Statements.Close(r.Context(), v.By, v.Account.ID, budget.PeriodMonth.Number(at))
	}
	return f.followed(w, r, v, statementsPath(v.Account.Name)+"?done=statement-closed", err, h.list)
}

// one returns the statement in the path.
func (h *statementHandlers) one(r *http.Request, v *people.Visit) (admin.Statement, error) {
	return h.admin.Statements.Get(r.Context(), v.Account.ID, r.PathValue("number"))
}

func (h *statementHandlers) show(w http.ResponseWriter, r *http.Request, v *people.Visit) error {
	st, err := h.one(r, v)
	if err != nil {
		return err
	}
	p := statementPageOf(&st)
	return h.site.show(w, r, v, page{name: "statement", title: p.Title, data: p})
}

func statementPageOf(st *admin.Statement) statementPage {
	p := statementPage{statementRow: statementRowOf(st), Title: "Statement " + strconv.FormatInt(st.Number, 10)}
	if st.Draft() {
		p.Title = "Draft of " + monthText(st.Month)
	}
	p.Models, p.Rounding = st.ByModel(), p.Payable-p.All.Cost
	charges := placesOf(p.Models, func(l *report.StatementLine) llm.Money { return l.Charge })
	p.Places = max(charges, decimals(dollars(p.All.Cost)), decimals(dollars(p.Rounding)))
	p.Usage = usageOfMonth(st)
	p.Tiles = []Tile{
		{
			Label: "Amount payable", Value: dollars(p.Payable),
			Note: noted(atMostNote(&p.All), unpricedNote(p.All.Unpriced)),
		},
		{Label: "Charge", Value: amount(p.All.Cost), Note: dollars(p.All.Cost) + ", the exact sum of the lines"},
		{Label: "Corrections", Value: dollars(p.Corrections.Cost), Note: "of earlier months, included in the charge"},
		{Label: "Requests", Value: number(p.All.Requests)},
		{Label: "Tokens", Value: number(p.All.Tokens)},
	}
	month := p.All
	month.Requests -= p.Corrections.Requests
	month.Tokens -= p.Corrections.Tokens
	month.Cost -= p.Corrections.Cost
	month.Uncertain -= p.Corrections.Uncertain
	month.Unpriced -= p.Corrections.Unpriced
	at := slices.IndexFunc(st.Lines, func(l report.StatementLine) bool { return !st.IsCorrection(&l) })
	if at < 0 {
		at = len(st.Lines)
	}
	p.Tables = []statementTable{
		statementTableOf("lines", "By day and model", st.Lines[at:], month),
		statementTableOf("corrections", "Corrections of earlier months", st.Lines[:at], p.Corrections),
	}
	return p
}

// MonthText returns the month of the statement in words.
func (p statementPage) MonthText() string { return monthText(p.Month) }

// monthText writes a month such as 2026-11 in words.
func monthText(month string) string {
	at, err := time.Parse(monthLayout, month)
	if err != nil {
		return month
	}
	return at.Format("January 2006")
}

func statementTableOf(ident, title string, lines []report.StatementLine, total report.Totals) statementTable {
	shown := min(len(lines), linesShown)
	places := placesOf(lines[:shown], func(l *report.StatementLine) llm.Money { return l.Charge })
	return statementTable{
		Ident: ident, Title: title, Lines: lines[:shown], Count: many(int64(shown), "line"), Left: len(lines) - shown,
		Folded: shown > linesUnfolded, Total: total, Places: max(places, decimals(dollars(total.Cost))),
	}
}

// atMostNote describes the upper bound of the charge; empty if it is exact.
func atMostNote(t *report.Totals) string {
	if t.Uncertain == 0 {
		return ""
	}
	return "at most " + dollars(t.Cost+t.Uncertain)
}

// usageOfMonth returns links to the usage of a statement's month by other groups than models.
func usageOfMonth(st *admin.Statement) (links []Link) {
	first, err := time.Parse(monthLayout, st.Month)
	if err != nil || st.AccountName == "" {
		return nil
	}
	q := url.Values{
		"start_date": {first.Format(time.DateOnly)}, "end_date": {first.AddDate(0, 1, -1).Format(time.DateOnly)},
	}
	for _, d := range []report.Dimension{report.ByKey, report.ByUser} {
		q.Set("group_by", string(d))
		links = append(links, Link{
			Label: (&grouping{by: []report.Dimension{d}}).byText(),
			Href:  accountPath(st.AccountName) + "/usage?" + q.Encode(),
		})
	}
	return links
}

// download answers with the lines of a statement as a file.
func (h *statementHandlers) download(w http.ResponseWriter, r *http.Request, v *people.Visit) error {
	st, err := h.one(r, v)
	if err != nil {
		return err
	}
	return h.write(w, r, v, &st, strconv.FormatInt(st.Number, 10))
}

// write answers with the lines of a statement as a file. Kind is its number, or "draft".
func (h *statementHandlers) write(w http.ResponseWriter, r *http.Request, v *people.Visit, st *admin.Statement,
	kind string,
) error {
	out := &download{
		w: w, contentType: "text/csv; charset=utf-8",
		name: "statement-" + v.Account.Name + "-" + kind + "-" + st.Month + ".csv",
	}
	defer out.end()
	if err := st.WriteCSV(out, st.AccountName); err != nil {
		h.site.log.DebugContext(r.Context(), "the download of a statement was aborted",
			"account", v.Account.ID, "err", err)
		panic(http.ErrAbortHandler) // makes the server abort the incomplete answer
	}
	return nil
}
