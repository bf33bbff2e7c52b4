package dashboard

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"weir/internal/admin"
	"weir/internal/people"
	"weir/internal/report"
)

// usageHandlers serves the pages of usage and their files, of an account and of all accounts.
type usageHandlers struct {
	site      *site
	admin     *admin.Admin
	flush     func(context.Context)
	publicURL func(*http.Request) string
	files     *slots // limits the running downloads
}

// usagePage shows usage by time and by groups, like the usage of the administration API.
type usagePage struct {
	All      bool // of all accounts
	Ranges   []Link
	Filters  Filters
	Problems []Problem
	Chart    Chart
	Used     bool // whether the filters match anything
	Tiles    []Tile
	Cached   cachedInput
	By       string // names of the groups; empty without groups
	Heads    []tableHead
	Rows     []usageRow
	Pager    Pager
	CSV      string
	FOCUS    string // path of a file of all attempts, for operators; empty for none
	Query    Code
	Empty    Empty
}

// usesShown is the number of entries per page.
const usesShown = 50

// allUsagePath is the path of the page of all accounts.
const allUsagePath = "/operator/usage"

// usageQuery holds the parameters of a page of usage.
type usageQuery struct {
	grouping
	base   string // path of the page
	form   *form
	when   usageRange
	metric metric
	offset int
}

// Bounds of filters, in bytes.
const maxModelName, maxUserName = 256, 512

func usageQueryOf(q url.Values, v *people.Visit, now time.Time) *usageQuery {
	f := &form{values: q}
	u := &usageQuery{base: allUsagePath, form: f, when: rangeOf(f, now), metric: metricOf(f)}
	if v.Account != nil {
		u.base = accountPath(v.Account.Name) + "/usage"
	}
	u.grouping = groupingOf(f, v.Account == nil)
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

// filters returns the fields with their values.
func (u *usageQuery) filters(names *usageNames) Filters {
	if !u.form.bad() {
		u.form.values = url.Values{
			"start_date": {u.when.first()}, "end_date": {u.when.last()}, "metric": {u.metric.Value}, "model": {u.model},
		}
	}
	metrics := metricChoices()
	for i := range metrics {
		metrics[i].Chosen = metrics[i].Value == u.metric.Value
	}
	f := Filters{Action: u.base, Label: "Usage to show", Reset: u.base}
	if u.when.name != "" {
		f.Hidden = append(f.Hidden, Choice{Value: u.when.name, Label: "range"})
	}
	f.Fields = append([]Field{
		u.form.field(Field{Name: "start_date", Label: "From", Kind: "date"}),
		u.form.field(Field{Name: "end_date", Label: "To", Kind: "date"}),
		u.form.field(Field{Name: "metric", Label: "Show", Choices: metrics}),
	}, u.fields(u.form, names, u.metric.Value == metricRefused)...)
	return f
}

// parameters returns the parameters of the page.
func (u *usageQuery) parameters() url.Values {
	q := url.Values{}
	u.when.set(q)
	if u.metric.Value != metricSpend {
		q.Set("metric", u.metric.Value)
	}
	if u.sort != "" {
		q.Set("sort", u.sort)
	}
	u.set(q)
	return q
}

// with returns the page's path with other parameters; empty values remove them.
func (u *usageQuery) with(changes url.Values) string {
	q := u.parameters()
	for name, values := range changes {
		if q[name] = values; values[0] == "" {
			q.Del(name)
		}
	}
	return u.base + "?" + q.Encode()
}

// narrowed returns the path of the page with another filter, by other groups than the one of the filter.
func (u *usageQuery) narrowed(name, value string) string {
	changes := url.Values{name: {value}, "group_by": {""}, "tag": {""}}
	if name == "model" {
		changes.Set("group_by", string(report.ByKey))
	}
	return u.with(changes)
}

// uses returns the query of the groups.
func (u *usageQuery) uses(v *people.Visit) report.UsesQuery {
	q := report.UsesQuery{
		All: v.Account == nil, Model: u.model, Provider: u.provider, Key: u.key, User: u.user, By: u.by, Tags: u.tags,
		Limit: usesShown, Offset: u.offset,
	}
	if v.Account != nil {
		q.Account = v.Account.ID
	}
	u.when.restrict(&q)
	q.Sort = cmp.Or(report.Measure(u.sort), u.metric.measure, report.MeasureCost)
	if u.sort == sortByName {
		q.Sort = ""
	}
	q.Failed, q.Speeds = u.metric.measure == report.MeasureErrors, u.metric.Value == metricSpeed
	return q
}

// usageFound holds the usage that matches the filters.
type usageFound struct {
	page   report.UsesPage // the groups
	whole  report.Use      // the sum of all
	before report.Totals   // of the same time before
	chart  Chart
	names  usageNames
}

func (h *usageHandlers) show(w http.ResponseWriter, r *http.Request, v *people.Visit) error {
	u := usageQueryOf(r.URL.Query(), v, h.site.now())
	if u.form.bad() {
		return h.refused(w, r, v, u)
	}
	h.flush(r.Context())
	if u.metric.Value == metricRefused {
		return h.showRefused(w, r, v, u)
	}
	found, err := h.find(r.Context(), v, u)
	if err != nil {
		if u.form.refuse(err) {
			return h.refused(w, r, v, u)
		}
		return err
	}
	p := usagePageOf(v, h.publicURL(r), u, found, h.site.now())
	return h.site.show(w, r, v, page{name: "usage", title: "Usage", scripts: []string{"chart.js"}, data: p})
}

// refused shows only the filters, with their mistakes.
func (h *usageHandlers) refused(w http.ResponseWriter, r *http.Request, v *people.Visit, u *usageQuery) error {
	p := usagePage{All: v.Account == nil, Filters: u.filters(&usageNames{}), Problems: u.form.problems()}
	return h.site.show(w, r, v, page{name: "usage", title: "Usage", status: u.form.status(), data: p})
}

func (h *usageHandlers) find(ctx context.Context, v *people.Visit, u *usageQuery) (*usageFound, error) {
	q := u.uses(v)
	var read usageRead
	err := h.admin.Reports.UsesTogether(ctx, q.Account, func(uses usesReader) error { return read.all(u, q, uses) })
	if err != nil {
		return nil, err
	}
	f := &usageFound{page: read.groups, before: read.before}
	shown := usageValues{}
	shown.add(u.by, f.page.Uses, 0)
	if at := u.ranked(); at >= 0 && !q.Speeds {
		shown.add(u.by[at:at+1], read.chart.Uses, 1)
	}
	if f.names, err = h.namesOf(ctx, v, u, shown); err != nil {
		return nil, err
	}
	if q.Speeds {
		f.chart = speedsChart(&u.when, h.site.now(), &read.speeds)
	} else {
		f.chart = f.draw(u, &read.chart, h.site.now())
	}
	for i := range read.chart.Uses {
		f.whole.Add(&read.chart.Uses[i])
	}
	return f, nil
}

// charted returns the query of the chart for that of the groups: the largest groups by the unit.
func (u *usageQuery) charted(q report.UsesQuery) report.UsesQuery {
	at := q.Ranked()
	q.Sort = cmp.Or(u.metric.measure, report.MeasureCost)
	q.By, q.Limit, q.Offset, q.Failed = []report.Dimension{u.when.unit}, report.MaxLimit, 0, true
	if at >= 0 && !q.Speeds {
		q.By, q.Top = append(q.By, u.by[at]), apartInChart
	}
	return q
}

// draw draws the groups of a chart.
func (f *usageFound) draw(u *usageQuery, chart *report.UsesPage, now time.Time) Chart {
	s := newUsageSeries(&u.when, now)
	for i := range chart.Uses {
		x := &chart.Uses[i]
		if x.Group[0] == nil {
			continue
		}
		name := ""
		if len(x.Group) > 1 {
			name = f.names.text(u.by[u.ranked()], x.Group[1])
		}
		s.add(*x.Group[0], name, u.metric.measure.Of(x))
		if at, there := s.at[*x.Group[0]]; there {
			s.sums[at].Add(x)
		}
	}
	return usageChart(&u.metric, &u.when, s)
}

// ranked returns the index of the dimension that the chart stacks.
func (u *usageQuery) ranked() int { return (&report.UsesQuery{By: u.by}).Ranked() }

func usagePageOf(v *people.Visit, public string, u *usageQuery, found *usageFound, now time.Time) usagePage {
	uses := &found.page
	p := usagePage{
		All: v.Account == nil, Ranges: u.ranges(), Filters: u.filters(&found.names), Chart: found.chart,
		Used: found.whole.Attempts > 0, By: u.byText(), CSV: u.base + ".csv?" + u.fileParameters().Encode(),
		Empty: Empty{
			Icon: "usage", Title: "No usage",
			Text:   "No request matches these filters. Enter the full name of a model, such as openai/gpt-5.",
			Action: "All models, last 30 days", Href: u.base,
		},
		Query: Code{Ident: "uses-call", Label: "The same request to the API", Text: u.call(v, public)},
	}
	purchase := v.Operator() && (v.Account == nil || len(v.Account.PriceLists) > 0)
	p.Tiles, p.Cached = usageTiles(u, found, purchase), cachedInputOf(&found.whole)
	if v.Operator() {
		focus := url.Values{"format": {"focus"}, "start_date": {u.when.first()}, "end_date": {u.when.last()}}
		if v.Account != nil {
			focus.Set("account", v.Account.ID)
		}
		p.FOCUS = "/admin/v1/ledger/export?" + focus.Encode()
	}
	if len(u.by) > 0 {
		p.Heads, p.Rows = u.table(uses.Uses, &found.names, purchase)
		p.Pager = u.pager(uses)
	}
	return p
}

func usageTiles(u *usageQuery, found *usageFound, purchase bool) []Tile {
	x := &found.whole
	spend := spendTile(x.Cost, x.Uncertain)
	spend.Note = noted(noted(spend.Note, unpricedNote(x.Unpriced)), against(x.Cost, found.before.Cost, u.when.length()))
	if purchase && x.Margin != (report.Margin{}) {
		spend.Note = noted(spend.Note, "purchase cost "+
			spendingOf(x.Cost-x.Margin.Margin, 0, x.PurchaseUnpriced(x.Unpriced)).String())
	}
	failed := Tile{Label: "Failed attempts", Value: number(x.Errors)}
	if x.Errors > 0 {
		failed.Note = percentText(x.Errors, x.Attempts) + " of " + many(x.Attempts, "attempt")
	}
	tokens := x.Usage.TotalTokens()
	return []Tile{
		spend,
		exactly("Requests", compact(x.Requests), number(x.Requests)),
		exactly("Tokens", compact(tokens), number(tokens)),
		cacheTile(x),
		failed,
	}
}

// ranges returns links to the same page with other ranges.
func (u *usageQuery) ranges() (links []Link) {
	for _, r := range usageRanges {
		links = append(links, Link{
			Label: r.label, Current: u.when.name == r.name,
			Href: u.with(url.Values{"range": {r.name}, "start_date": {""}, "end_date": {""}}),
		})
	}
	return links
}

// fileParameters returns the parameters of the file: the groups by the unit of the chart.
func (u *usageQuery) fileParameters() url.Values {
	q := u.parameters()
	q.Set("group_by", dimensionsText(u.withUnit()))
	q.Del("tag")
	q.Del("sort")
	q.Del("metric")
	return q
}

// withUnit returns the groups by the unit of the chart.
func (u *usageQuery) withUnit() []report.Dimension {
	if slices.ContainsFunc(u.by, report.Dimension.IsTime) {
		return u.by
	}
	return append([]report.Dimension{u.when.unit}, u.by...)
}

// call returns the request to the API for the amounts of the chart.
func (u *usageQuery) call(v *people.Visit, public string) string {
	q := url.Values{"group_by": {dimensionsText(u.withUnit())}}
	u.when.ask(q)
	u.filter(q)
	if u.ranked() >= 0 && u.metric.Value != metricSpeed {
		q.Set("sort", string(cmp.Or(u.metric.measure, report.MeasureCost)))
		q.Set("top", strconv.Itoa(apartInChart))
	}
	path, key := "/v1/uses", "WEIR_KEY"
	switch m := u.metric.measure; {
	case v.Account == nil:
		path, key = "/admin/v1/usage", "KEY"
	case m != report.MeasureCost && m != report.MeasureRequests && m != report.MeasureTokens:
		path, key = "/admin/v1"+accountPath(v.Account.Name)+"/uses", "KEY"
	}
	if u.metric.Value == metricSpeed {
		q.Set("first_token", "true")
	}
	return fmt.Sprintf("curl '%s%s?%s' \\\n  -H \"Authorization: Bearer $%s\"", public, path, q.Encode(), key)
}

func (u *usageQuery) pager(uses *report.UsesPage) (p Pager) {
	end := u.offset + len(uses.Uses)
	if len(uses.Uses) > 0 {
		p.Shown = fmt.Sprintf("%s to %s of %s", number(int64(u.offset+1)), number(int64(end)),
			number(int64(uses.Count)))
	}
	at := func(offset int) string {
		return strings.TrimSuffix(u.with(url.Values{"offset": {strconv.Itoa(offset)}}), "&offset=0")
	}
	if u.offset > 0 {
		p.Previous = at(max(u.offset-usesShown, 0))
	}
	if len(uses.Uses) > 0 && end < uses.Count {
		p.Next = at(end)
	}
	return p
}
