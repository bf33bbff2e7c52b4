package dashboard

import (
	"encoding/csv"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"weir/internal/audit"
	"weir/internal/llm"
	"weir/internal/people"
	"weir/internal/reconcile"
)

const (
	// reconciledDays is the default number of days to compare, up to yesterday.
	reconciledDays = 7
	// reconciledShown bounds the rows of the page.
	reconciledShown = 120
)

// reconciliationPage compares a provider's report with the ledger.
type reconciliationPage struct {
	Provider, Path string
	Filters        Filters
	Compared       bool
	Tiles          []Tile
	Chart          Chart
	Rows           []reconciledRow
	Notes          []Fact // explanations of the rows' findings
	Left           int    // number of rows that are not shown
	Agreed         int    // number of rows that agree, which are not shown
	File           string // path of a file with all rows
	Problems       []Problem
}

// reconciledRow compares a model on a day.
type reconciledRow struct {
	Day, Model               string
	Input, Output, TheirIn   int64
	TheirOut                 int64
	Ours, Theirs, Difference string
	Badge                    Badge
}

// findingText returns the name and the explanation of a finding.
func findingText(f reconcile.Finding) (name, note string) {
	switch f {
	case reconcile.Agrees:
		return "Agrees", ""
	case reconcile.Rounded:
		return "Rounding", "The costs differ only by rounding."
	case reconcile.Midnight:
		return "Midnight", "The provider counts some usage on the day before or after."
	case reconcile.Unseen:
		return "Unknown ends", "Requests with an unknown end. The difference is within the bounds of their cost."
	case reconcile.Unpriced:
		return "No price", "The ledger has no price for some usage. Set one for later requests."
	case reconcile.Priced:
		return "Another price", "The same tokens at another price: a tier, a discount, or a wrong price in the ledger."
	case reconcile.Cached:
		return "Another cache", "The same number of tokens, but another number of cached ones."
	case reconcile.More:
		return "Provider has more", "The provider reports more usage: its keys are also used elsewhere, or the " +
			"ledger lacks usage."
	case reconcile.Less:
		return "Provider has less", "The provider reports less usage than the ledger."
	case reconcile.Mixed:
		return "More and less", "The provider reports more tokens of some kinds and fewer of others."
	}
	return string(f), ""
}

// asked returns the requested comparison. It reports false if no days are chosen yet.
func (h *providerHandlers) asked(r *http.Request) (a reconcile.Ask, f *form, chosen bool) {
	q := r.URL.Query()
	a.Provider, a.To = r.PathValue("provider"), today(h.site.now()).AddDate(0, 0, -1)
	a.From = a.To.AddDate(0, 0, 1-reconciledDays)
	elsewhere := r.Header.Get("Sec-Fetch-Site") == "cross-site" // a link on another site must not query a provider
	if !q.Has("from") && !q.Has("to") || elsewhere {
		return a, &form{}, false
	}
	f = &form{values: q}
	for name, to := range map[string]*time.Time{"from": &a.From, "to": &a.To} {
		var err error
		if *to, err = time.Parse(time.DateOnly, q.Get(name)); err != nil {
			f.mistake(name, "The date does not exist. Enter one such as 2026-11-20.")
		}
	}
	return a, f, true
}

// reconciliation compares the chosen days. The page shows the provider's error message.
func (h *providerHandlers) reconciliation(w http.ResponseWriter, r *http.Request, v *people.Visit) error {
	if _, _, _, err := h.one(r); err != nil {
		return err
	}
	a, f, chosen := h.asked(r)
	var result reconcile.Result
	status := f.status()
	if compared := chosen && !f.bad(); compared {
		var err error
		if result, err = h.admin.Reconciliation.Ask(r.Context(), a); err != nil {
			chosen = false
			if status, err = f.notCompared(err); err != nil {
				return err
			}
		}
	}
	p := reconciliationPageOf(&a, f, &result, chosen && !f.bad())
	return h.site.show(w, r, v, page{
		name: "reconciliation", title: "Reconciliation: " + a.Provider, status: status, data: p,
	})
}

// notCompared shows on the page why the comparison failed, and returns the status; or it returns an error that the
// page does not show.
func (f *form) notCompared(err error) (status int, other error) {
	e, ok := errors.AsType[*llm.Error](err)
	switch {
	case ok && e.Code == llm.CodeProviderError:
		f.general = append(f.general, e.Message)
		return http.StatusBadGateway, nil
	case ok && e.Code == llm.CodeOverloaded:
		f.general = append(f.general, e.Message)
		return http.StatusServiceUnavailable, nil
	case f.refuse(err):
		return f.status(), nil
	}
	return 0, err
}

func reconciliationPath(provider string) string { return providerPath(provider) + "/reconciliation" }

func reconciliationPageOf(a *reconcile.Ask, f *form, result *reconcile.Result, compared bool) reconciliationPage {
	from, to := a.From.Format(time.DateOnly), a.To.Format(time.DateOnly)
	p := reconciliationPage{
		Provider: a.Provider, Path: providerPath(a.Provider), Compared: compared,
		Filters: Filters{
			Action: reconciliationPath(a.Provider), Label: "Days to compare", Fields: []Field{
				f.field(Field{Name: "from", Label: "From", Kind: "date", Short: true, Value: from}),
				f.field(Field{Name: "to", Label: "To", Kind: "date", Short: true, Value: to}),
			},
		},
	}
	p.Problems = f.problems()
	if !compared {
		return p
	}
	p.File = reconciliationPath(a.Provider) + "/csv?" + url.Values{"from": {from}, "to": {to}}.Encode()
	var ours, theirs llm.Money
	for i := range result.Rows {
		row := &result.Rows[i]
		ours += row.Ours.Cost
		if row.Cost != nil {
			theirs += *row.Cost
		}
		switch {
		case row.Finding == reconcile.Agrees:
			p.Agreed++
		case len(p.Rows) == reconciledShown:
			p.Left++
		default:
			p.Rows = append(p.Rows, reconciledRowOf(row))
			name, note := findingText(row.Finding)
			if n := (Fact{name, note}); !slices.Contains(p.Notes, n) {
				p.Notes = append(p.Notes, n)
			}
		}
	}
	p.Tiles = []Tile{
		{Label: "By the ledger", Value: dollars(ours), Note: "purchase cost"},
		{Label: "By the provider", Value: dollars(theirs), Note: otherNote(result.Other)},
		{Label: "Difference", Value: dollars(theirs - ours)},
		{Label: "Unexplained", Value: number(int64(result.Unexplained())), Note: "models on a day"},
	}
	p.Chart = reconciliationChart(span{a.From, a.To}, result.Rows)
	return p
}

func otherNote(other llm.Money) string {
	if other == 0 {
		return ""
	}
	return "and " + dollars(other) + " that belongs to no model"
}

func reconciledRowOf(r *reconcile.Row) reconciledRow {
	row := reconciledRow{
		Day: r.Day, Model: r.Model, Input: r.Ours.Usage.Input, Output: r.Ours.Usage.Output, TheirIn: r.Theirs.Input,
		TheirOut: r.Theirs.Output, Ours: dollars(r.Ours.Cost), Theirs: none, Difference: none,
	}
	if r.Ours.Uncertain > 0 {
		row.Ours += " to " + dollars(r.Ours.Cost+r.Ours.Uncertain)
	}
	if r.Cost != nil {
		row.Theirs, row.Difference = dollars(*r.Cost), dollars(*r.Cost-r.Ours.Cost)
	}
	kind := "bad"
	if r.Finding.Explained() {
		kind = "good"
	}
	row.Badge.Kind = kind
	row.Badge.Text, _ = findingText(r.Finding)
	return row
}

// reconciliationChart draws the cost of each day by the ledger and the provider.
func reconciliationChart(of span, rows []reconcile.Row) Chart {
	type sides struct{ ours, theirs llm.Money }
	days, known := map[string]*sides{}, false
	for i := range rows {
		r := &rows[i]
		if days[r.Day] == nil {
			days[r.Day] = &sides{}
		}
		days[r.Day].ours += r.Ours.Cost
		if r.Cost != nil {
			days[r.Day].theirs += *r.Cost
			known = true
		}
	}
	c := Chart{Title: "Cost by " +
		"day", Summary: of.String(), Legend: []string{"Ledger"}, Columns: []string{"Day", "Ledger"}}
	if known {
		c.Legend, c.Columns = append(c.Legend, "Provider"), append(c.Columns, "Provider")
	}
	l := lines{
		label: c.Title + ", " + c.Summary, series: len(c.Legend),
		unit: func(n int64) string { return amount(llm.Money(n)) },
	}
	for i := range of.days() {
		date := of.from.AddDate(0, 0, i)
		d := days[date.Format(time.DateOnly)]
		if d == nil {
			d = &sides{}
		}
		values, row := []int64{max(0, int64(d.ours))}, []string{day(date), dollars(d.ours)}
		if known {
			values, row = append(values, max(0, int64(d.theirs))), append(row, dollars(d.theirs))
		}
		title := fmt.Sprintf("%s: %s by the ledger", date.Format("2 Jan"), dollars(d.ours))
		if known {
			title += ", " + dollars(d.theirs) + " by the provider"
		}
		l.points = append(l.points, point{name: date.Format("2 Jan"), title: title, values: values})
		c.Rows = append(c.Rows, row)
	}
	c.Picture = l.picture()
	return c
}

// reconciliationFile answers with all rows, as a file (RFC 4180).
func (h *providerHandlers) reconciliationFile(w http.ResponseWriter, r *http.Request, _ *people.Visit) error {
	a, f, chosen := h.asked(r)
	if f.bad() || !chosen {
		return llm.Invalid("from", "No days are chosen. Choose them on the page of the provider.")
	}
	result, err := h.admin.Reconciliation.Ask(r.Context(), a)
	if err != nil {
		return err
	}
	name := "reconciliation-" + a.From.Format(time.DateOnly) + "-" + a.To.Format(time.DateOnly) + ".csv"
	out := &download{w: w, contentType: "text/csv; charset=utf-8", name: name}
	defer out.end()
	to := csv.NewWriter(out)
	// Only the connection can fail, and Error reports that at the end.
	_ = to.Write([]string{
		"date", "model", "input_tokens", "input_tokens_provider", "cached_tokens", "cached_tokens_provider",
		"output_tokens", "output_tokens_provider", "cost_usd", "cost_at_most_usd", "cost_usd_provider", "finding",
		"explained",
	})
	for i := range result.Rows {
		_ = to.Write(reconciledCells(&result.Rows[i]))
	}
	to.Flush()
	if err := to.Error(); err != nil {
		panic(http.ErrAbortHandler) // makes the server abort the incomplete answer
	}
	return nil
}

func reconciledCells(r *reconcile.Row) []string {
	cells := []string{r.Day, audit.PlainCell(r.Model)}
	for _, n := range []int64{
		r.Ours.Usage.Input, r.Theirs.Input, r.Ours.Usage.Cached, r.Theirs.Cached, r.Ours.Usage.Output, r.Theirs.Output,
	} {
		cells = append(cells, strconv.FormatInt(n, 10))
	}
	theirs := ""
	if r.Cost != nil {
		theirs = r.Cost.Fixed()
	}
	return append(cells, r.Ours.Cost.Fixed(), (r.Ours.Cost + r.Ours.Uncertain).Fixed(), theirs, string(r.Finding),
		strconv.FormatBool(r.Finding.Explained()))
}
