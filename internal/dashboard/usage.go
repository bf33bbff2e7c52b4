package dashboard

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"weir/internal/account"
	"weir/internal/admin"
	"weir/internal/llm"
	"weir/internal/people"
	"weir/internal/report"
)

// usageHandlers serves the page of usage and its file.
type usageHandlers struct {
	site      *site
	admin     *admin.Admin
	flush     func(context.Context)
	publicURL func(*http.Request) string
	files     *slots // limits the running downloads
}

// usagePage shows usage by day and model, like GET /v1/uses.
type usagePage struct {
	Filters  Filters
	Problems []Problem
	Chart    Chart
	Used     bool // whether the filters match any usage
	Tiles    []Tile
	Uses     []report.Use
	Heads    []string   // of groups; empty for usage by day and model
	Groups   []groupRow // instead of Uses
	Purchase bool       // whether the purchase cost is shown
	Total    report.Totals
	Pager    Pager
	CSV      string
	FOCUS    string // path of a file of all attempts, for operators; empty for none
	Query    Code
	Empty    Empty
}

// usesShown is the number of entries per page.
const usesShown = 50

// usageQuery holds the parameters of a page of usage.
type usageQuery struct {
	grouping
	form   *form
	span   span
	model  string
	offset int
}

// maxModelName bounds the bytes of a model's name in a filter.
const maxModelName = 256

func usageQueryOf(q url.Values, now time.Time) *usageQuery {
	f := &form{values: q}
	u := &usageQuery{form: f, span: datesOf(f, now), model: q.Get("model")}
	if len(u.model) > maxModelName {
		f.mistake("model", "The model name is longer than 256 bytes. Enter a shorter one.")
	}
	u.grouping = groupingOf(f)
	u.offset = f.offset()
	return u
}

// offset returns the number of entries before the page.
func (f *form) offset() int {
	text := f.values.Get("offset")
	n, err := strconv.Atoi(text)
	if text != "" && (err != nil || n < 0 || n > 1<<31) {
		f.mistake("offset", "The offset is not a whole number from 0. Enter how many entries to skip, such as 50.")
		return 0
	}
	return n
}

// fields returns the filters with their values.
func (u *usageQuery) fields(keys []account.Key) []Field {
	if !u.form.bad() {
		u.form.values = url.Values{"start_date": {u.span.first()}, "end_date": {u.span.last()}, "model": {u.model}}
	}
	return append([]Field{
		u.form.field(Field{Name: "start_date", Label: "From", Kind: "date"}),
		u.form.field(Field{Name: "end_date", Label: "To", Kind: "date"}),
		u.form.field(Field{Name: "model", Label: "Model", Example: "provider/model", Max: maxModelName}),
	}, u.grouping.fields(u.form, keys)...)
}

// query returns the parameters of the same filters, with another offset.
func (u *usageQuery) query(offset int) string {
	q := u.parameters(offset)
	if u.sort != "" {
		q.Set("sort", string(u.sort))
	}
	return q.Encode()
}

// parameters returns the parameters for GET /v1/uses.
func (u *usageQuery) parameters(offset int) url.Values {
	q := url.Values{"start_date": {u.span.first()}, "end_date": {u.span.last()}}
	if u.model != "" {
		q.Set("model", u.model)
	}
	u.set(q)
	if offset > 0 {
		q.Set("offset", strconv.Itoa(offset))
	}
	return q
}

// narrowed returns the query by day and model, with more filters.
func (u *usageQuery) narrowed(filters url.Values) string {
	q := u.parameters(0)
	q.Del("group_by")
	for name, values := range filters {
		q[name] = values
	}
	return q.Encode()
}

func (u *usageQuery) uses(accountID string) report.UsesQuery {
	return report.UsesQuery{
		Account: accountID, From: u.span.first(), To: u.span.last(), Model: u.model, Key: u.key, By: u.by, Tags: u.tags,
		Sort: u.sort, Limit: usesShown, Offset: u.offset,
	}
}

// usageFound holds the usage that matches the filters.
type usageFound struct {
	days   []report.DaySum // all days of the range, in order
	usage  llm.Usage       // in all
	before report.Totals   // of the same number of days before
	page   report.UsesPage
	keys   []account.Key
}

func (h *usageHandlers) show(w http.ResponseWriter, r *http.Request, v *people.Visit) error {
	u := usageQueryOf(r.URL.Query(), h.site.now())
	if u.form.bad() {
		return h.refused(w, r, v, u)
	}
	h.flush(r.Context())
	found, err := h.find(r.Context(), v.Account.ID, u)
	if err != nil {
		if u.form.refuse(err) {
			return h.refused(w, r, v, u)
		}
		return err
	}
	p := usagePageOf(accountPath(v.Account.Name)+"/usage", h.publicURL(r), u, found)
	if v.Operator() {
		p.FOCUS = "/admin/v1/ledger/export?" + url.Values{
			"format": {"focus"}, "account": {v.Account.ID}, "start_date": {u.span.first()}, "end_date": {u.span.last()},
		}.Encode()
	}
	p.Purchase = v.Operator() && len(v.Account.PriceLists) > 0
	if t := &p.Total; p.Purchase {
		purchase := spendingOf(t.Cost-t.Margin.Margin, 0, t.PurchaseUnpriced(t.Unpriced))
		p.Tiles[0].Note = noted(p.Tiles[0].Note, "purchase cost "+purchase.String())
	}
	return h.site.show(w, r, v, page{name: "usage", title: "Usage", scripts: []string{"chart.js"}, data: p})
}

// refused shows only the filters, with their mistakes.
func (h *usageHandlers) refused(w http.ResponseWriter, r *http.Request, v *people.Visit, u *usageQuery) error {
	base := accountPath(v.Account.Name) + "/usage"
	p := usagePage{
		Filters:  Filters{Action: base, Label: "Usage to show", Fields: u.fields(nil), Reset: base},
		Problems: u.form.problems(),
	}
	return h.site.show(w, r, v, page{name: "usage", title: "Usage", status: u.form.status(), data: p})
}

func (h *usageHandlers) find(ctx context.Context, accountID string, u *usageQuery) (*usageFound, error) {
	f := &usageFound{}
	q := u.uses(accountID)
	var err error
	if f.page, err = h.admin.Reports.Uses(ctx, q); err != nil {
		return nil, err
	}
	if f.days, err = h.findDays(ctx, q, u); err != nil {
		return nil, err
	}
	for i := range f.days {
		f.usage.Add(&f.days[i].Usage)
	}
	before := q
	before.From, before.To = u.span.before().first(), u.span.before().last()
	before.By, before.Limit, before.Offset = []report.Dimension{report.ByMonth}, 1, 0
	past, err := h.admin.Reports.Uses(ctx, before)
	if err != nil {
		return nil, err
	}
	f.before = past.Total
	if u.key != "" || slices.Contains(u.by, report.ByKey) {
		f.keys, err = h.admin.Accounts.Keys(ctx, accountID)
	}
	return f, err
}

// findDays returns the sums of all days of the range.
func (h *usageHandlers) findDays(ctx context.Context, q report.UsesQuery, u *usageQuery) ([]report.DaySum, error) {
	if !u.narrow() {
		whole, err := h.admin.Reports.Overview(ctx, report.OverviewQuery{
			Account: q.Account, From: q.From, To: q.To, Model: q.Model,
		})
		return whole.Days, err
	}
	q.By, q.Sort, q.Limit, q.Offset = []report.Dimension{report.ByDay}, "", u.span.days(), 0
	page, err := h.admin.Reports.Uses(ctx, q)
	days := make([]report.DaySum, u.span.days())
	for i := range days {
		days[i].Date = u.span.from.AddDate(0, 0, i).Format(time.DateOnly)
	}
	for i := range page.Uses {
		x := &page.Uses[i]
		at := slices.IndexFunc(days, func(d report.DaySum) bool { return x.Group[0] != nil && d.Date == *x.Group[0] })
		if at < 0 {
			continue // a group without a day is outside of the range
		}
		days[at].Sum = report.Sum{
			Usage: x.Usage, Cost: x.Cost, Requests: x.Requests, Attempts: x.Requests, Uncertain: x.Uncertain,
			Unpriced: x.Unpriced,
		}
	}
	return days, err
}

func usagePageOf(base, public string, u *usageQuery, found *usageFound) usagePage {
	uses := &found.page
	p := usagePage{
		Filters: Filters{Action: base, Label: "Usage to show", Fields: u.fields(found.keys), Reset: base},
		Used:    uses.Count > 0, Total: uses.Total, CSV: base + ".csv?" + u.query(0),
		Empty: Empty{
			Icon: "usage", Title: "No usage",
			Text:   "No request matches these filters. Enter the full name of a model, such as openai/gpt-5.",
			Action: "All models, last 30 days", Href: base,
		},
		Query: Code{
			Ident: "uses-call", Label: "The same request to the API",
			Text: fmt.Sprintf("curl '%s/v1/uses?%s' \\\n  -H \"Authorization: Bearer $WEIR_KEY\"", public,
				u.parameters(u.offset).Encode()),
		},
	}
	spend := spendTile(uses.Total.Cost, uses.Total.Uncertain)
	spend.Note = noted(
		noted(spend.Note, unpricedNote(uses.Total.Unpriced)),
		against(uses.Total.Cost, found.before.Cost, u.span.days()),
	)
	p.Tiles = []Tile{
		spend,
		exactly("Requests", compact(uses.Total.Requests), number(uses.Total.Requests)),
		exactly("Tokens", compact(uses.Total.Tokens), number(uses.Total.Tokens)),
		{Label: "Read from caches", Value: cachedOf(&found.usage), Note: "of the tokens in"},
	}
	if len(u.by) == 0 {
		p.Uses = uses.Uses
	} else {
		for _, d := range u.by {
			p.Heads = append(p.Heads, headOf(d))
		}
		p.Groups = u.rows(uses.Uses, found.keys, func(q url.Values) string { return base + "?" + u.narrowed(q) })
	}
	p.Chart = tokenChart(u.span, found.days)
	p.Pager = u.pager(base, uses)
	return p
}

// noted joins two notes.
func noted(note, more string) string {
	if note == "" || more == "" {
		return note + more
	}
	return note + "; " + more
}

// unpricedNote reports that a sum lacks usage without a price.
func unpricedNote(attempts int64) string {
	if attempts <= 0 {
		return ""
	}
	return "no price: " + many(attempts, "attempt")
}

func spendTile(cost, uncertain llm.Money) Tile {
	t := exactly("Spend", amount(cost), dollars(cost))
	t.Note = withBound(t.Note, boundOf(cost, uncertain))
	return t
}

// exactly returns a tile with a short figure, and with all its digits below if they differ.
func exactly(label, short, whole string) Tile {
	if short == whole {
		whole = ""
	}
	return Tile{label, short, whole}
}

func (u *usageQuery) pager(base string, uses *report.UsesPage) (p Pager) {
	end := u.offset + len(uses.Uses)
	if len(uses.Uses) > 0 {
		p.Shown = fmt.Sprintf("%s to %s of %s", number(int64(u.offset+1)), number(int64(end)),
			number(int64(uses.Count)))
	}
	if u.offset > 0 {
		p.Newer = base + "?" + u.query(max(u.offset-usesShown, 0))
	}
	if len(uses.Uses) > 0 && end < uses.Count {
		p.Older = base + "?" + u.query(end)
	}
	return p
}

// mostBars bounds the days that are drawn separately; longer ranges are drawn by month.
const mostBars = 92

// tokenChart draws input and output tokens, by day or by month.
func tokenChart(of span, days []report.DaySum) Chart {
	c := Chart{Title: "Tokens by day", Legend: []string{"In", "Out"}, Columns: []string{
		"Day", "In", "Out", "Requests", "Spend",
	}}
	layout, long := "2 Jan", "2 Jan 2006"
	if of.days() > mostBars {
		c.Title, c.Columns[0] = "Tokens by month", "Month"
		layout, long = "Jan 06", "January 2006"
		days = byMonth(days)
	}
	var total int64
	b := bars{unit: compact}
	for i := range days {
		d := &days[i]
		date, _ := time.Parse(time.DateOnly, d.Date) // cannot fail: the date is from a report
		in, out := max(d.Usage.InputTokens(), 0), max(d.Usage.OutputTokens(), 0)
		total += in + out
		b.stack = append(b.stack, stack{
			name: date.Format(layout), values: []int64{in, out},
			title: fmt.Sprintf("%s: %s in, %s out", date.Format(layout), compact(in), compact(out)),
		})
		row := []string{date.Format(long), none, none, none, none}
		if d.Attempts > 0 {
			spent := spendingOf(d.Cost, d.Uncertain, d.Unpriced)
			row = []string{row[0], number(in), number(out), number(d.Requests), spent.String()}
		}
		c.Rows = append(c.Rows, row)
	}
	c.Summary = fmt.Sprintf("%s, total %s tokens", of, compact(total))
	b.label = c.Title + ", " + c.Summary
	c.Picture = b.picture()
	return c
}

// byMonth adds up the days of each month.
func byMonth(days []report.DaySum) (months []report.DaySum) {
	for i := range days {
		n := len(months)
		if n == 0 || months[n-1].Date[:len(monthLayout)] != days[i].Date[:len(monthLayout)] {
			months = append(months, days[i])
			continue
		}
		months[n-1].Add(&days[i].Sum)
	}
	return months
}
