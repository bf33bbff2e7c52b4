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
	// reconciledDays is how many days are compared where nobody says, up to yesterday.
	reconciledDays = 7
	// reconciledShown is how many rows the page has.
	reconciledShown = 120
)

// reconciliationPage is what a provider reports beside what the ledger has.
type reconciliationPage struct {
	Provider, Path string
	Filters        Filters
	Compared       bool
	Tiles          []Tile
	Chart          Chart
	Rows           []reconciledRow
	Notes          []Fact // what the findings of the rows say
	Left           int    // rows that are not shown
	Agreed         int    // rows of which both say the same, which are not shown
	File           string // all rows
	Problems       []Problem
}

// reconciledRow is a model on a day.
type reconciledRow struct {
	Day, Model               string
	Input, Output, TheirIn   int64
	TheirOut                 int64
	Ours, Theirs, Difference string
	Badge                    Badge
}

// findingText is what a finding is called, and what it says.
func findingText(f reconcile.Finding) (name, note string) {
	switch f {
	case reconcile.Agrees:
		return "Agrees", ""
	case reconcile.Rounded:
		return "Rounding", "The costs differ by no more than is rounded."
	case reconcile.Midnight:
		return "Midnight", "The provider counts some of it on the day before or after."
	case reconcile.Unseen:
		return "Unseen ends", "Requests whose end the gateway did not see, within what these may have cost."
	case reconcile.Unpriced:
		return "No price", "The ledger has no price for some of it. Set one, so that later requests have it."
	case reconcile.Priced:
		return "Another price", "As many tokens at another price: a tier, a discount, or a wrong price here."
	case reconcile.Cached:
		return "Another cache", "As many tokens, but not as many from a cache."
	case reconcile.More:
		return "More there", "The provider has more: its keys are used elsewhere too, or the ledger lacks something."
	case reconcile.Less:
		return "Less there", "The provider has less than the ledger."
	case reconcile.Mixed:
		return "More and less", "More of some tokens, and less of others."
	}
	return string(f), ""
}

// asked is the comparison that a page is asked for. It reports false where nobody has chosen days yet.
func (h *providerHandlers) asked(r *http.Request) (a reconcile.Ask, f *form, chosen bool) {
	q := r.URL.Query()
	a.Provider, a.To = r.PathValue("provider"), today(h.site.now()).AddDate(0, 0, -1)
	a.From = a.To.AddDate(0, 0, 1-reconciledDays)
	elsewhere := r.Header.Get("Sec-Fetch-Site") == "cross-site" // a link there does not ask a provider
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

// reconciliation compares the days that were chosen. What the provider says of a failure is on the page.
func (h *providerHandlers) reconciliation(w http.ResponseWriter, r *http.Request, v *people.Visit) error {
	if _, _, _, err := h.one(r); err != nil {
		return err
	}
	a, f, chosen := h.asked(r)
	var result reconcile.Result
	status := f.status()
	if compared := chosen && !f.bad(); compared {
		var err error
		if result, err = h.installation.Reconcile(r.Context(), a); err != nil {
			chosen = false
			if status, err = f.notCompared(err); err != nil {
				return err
			}
		}
	}
	p := reconciliationPageOf(&a, f, &result, chosen && !f.bad())
	return h.site.show(w, r, v, page{
		name: "reconciliation", title: "Does " + a.Provider + " agree?", status: status, data: p,
	})
}

// notCompared says on the page why nothing was compared, and with which status; or returns an error that is not for it.
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
		{Label: "Not explained", Value: number(int64(result.Unexplained())), Note: "models on a day"},
	}
	p.Chart = reconciliationChart(span{a.From, a.To}, result.Rows)
	return p
}

func otherNote(other llm.Money) string {
	if other == 0 {
		return ""
	}
	return "and " + dollars(other) + " of no model"
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

// reconciliationChart is what both sides have of each day.
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
	c := Chart{Title: "Cost by day", Summary: of.String(), Legend: []string{"Ledger"}, Columns: []string{"Day", "Ledger"}}
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
	result, err := h.installation.Reconcile(r.Context(), a)
	if err != nil {
		return err
	}
	name := "reconciliation-" + a.From.Format(time.DateOnly) + "-" + a.To.Format(time.DateOnly) + ".csv"
	out := &download{w: w, contentType: "text/csv; charset=utf-8", name: name}
	defer out.end()
	to := csv.NewWriter(out)
	// What fails is the connection, which Error tells of at the end.
	_ = to.Write([]string{
		"date", "model", "input_tokens", "input_tokens_provider", "cached_tokens", "cached_tokens_provider",
		"output_tokens", "output_tokens_provider", "cost_usd", "cost_at_most_usd", "cost_usd_provider", "finding", "explained",
	})
	for i := range result.Rows {
		_ = to.Write(reconciledCells(&result.Rows[i]))
	}
	to.Flush()
	if err := to.Error(); err != nil {
		panic(http.ErrAbortHandler) // the server's way to end an answer that is not whole
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
