package dashboard

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"weir/internal/account"
	"weir/internal/admin"
	"weir/internal/llm"
	"weir/internal/people"
	"weir/internal/report"
)

// overviewHandlers serves the first page of an account.
type overviewHandlers struct {
	site      *site
	admin     *admin.Admin
	flush     func(context.Context)
	publicURL func(*http.Request) string
	model     func() string // returns the model for a first request; empty if there is a default
}

// overviewPage shows the usage of an account in a range of dates.
type overviewPage struct {
	Suspended  bool
	Hooks      []hookNotice
	Refused    refusalNotice
	Alerts     alertNotice
	Range      string
	Views      []Link
	Used       bool // whether there is usage in the range
	Spend      Chart
	Health     []Chart // failures and times to first token, if there are any
	Tiles      []Tile
	Notes      []string
	Models     []modelSpend
	MoreModels string // path of the other models; empty for none
	Keys       []keySpend
	KeysPath   string
	Allowances []allowance
}

// mostListed bounds the models and keys of an overview.
const mostListed = 8

// modelSpend shows the usage of a model.
type modelSpend struct {
	Name       string
	Href       string
	Level      Level
	Spent      spending
	Requests   int64
	Errors     int64
	Tokens     int64
	FirstToken string
}

// keySpend shows the usage of a key.
type keySpend struct {
	Label, Href string
	Level       Level
	Spent       spending
	Requests    int64
}

// boundOf returns the upper bound of a cost; 0 if the cost is known.
func boundOf(cost, uncertain llm.Money) llm.Money {
	if uncertain <= 0 {
		return 0
	}
	return cost + uncertain
}

// withBound adds the upper bound of a cost to the exact cost, if there is one.
func withBound(note string, bound llm.Money) string {
	if bound == 0 {
		return note
	}
	return strings.TrimPrefix(note+", at most "+dollars(bound), ", ")
}

func (h *overviewHandlers) show(w http.ResponseWriter, r *http.Request, v *people.Visit) error {
	ctx := r.Context()
	keys, err := h.admin.Accounts.Keys(ctx, v.Account.ID)
	if err != nil {
		return err
	}
	now := h.site.now()
	read, err := h.chosen(now, r.URL.Query())
	if err != nil {
		return err
	}
	hooks, err := hookNotices(ctx, h.admin.Webhooks, v, now)
	if err != nil {
		return err
	}
	refused, err := refusedNotice(ctx, h.admin, v, "", now)
	if err != nil {
		return err
	}
	h.flush(ctx)
	sums, err := read(ctx, v.Account.ID)
	if err != nil {
		return err
	}
	if sums.whole.Total.Attempts == 0 {
		used, err := h.everUsed(ctx, v.Account.ID)
		if err != nil {
			return err
		}
		if !used {
			return h.start(w, r, v, keys, hooks, refused)
		}
	}
	p := overviewPageOf(v.Account, keys, sums, now)
	p.Hooks, p.Refused = hooks, refused
	if p.Alerts, err = alertNoticeOf(ctx, h.admin, v); err != nil {
		return err
	}
	if p.Allowances, err = h.allowances(ctx, v.Account, sums, now); err != nil {
		return err
	}
	return h.site.show(w, r, v, page{name: "overview", title: "Overview", scripts: []string{"chart.js"}, data: p})
}

// flushWait bounds how long a page waits until the reports include the latest attempts.
const flushWait = time.Second

// flusher returns a function that waits until the reports include the latest attempts. If that takes too long, the
// page shows slightly older data.
func flusher(flush func(context.Context) error, log *slog.Logger) func(context.Context) {
	return func(ctx context.Context) {
		within, cancel := context.WithTimeout(ctx, flushWait)
		defer cancel()
		if err := flush(within); err != nil && ctx.Err() == nil {
			log.WarnContext(ctx, "a page is shown without the latest attempts", "err", err)
		}
	}
}

// everUsed reports whether the account has any usage.
func (h *overviewHandlers) everUsed(ctx context.Context, accountID string) (bool, error) {
	p, err := h.admin.Reports.Uses(ctx, report.UsesQuery{Account: accountID, Limit: 1})
	return p.Count > 0, err
}

// chosen returns the function that reads the sums of the requested range: range=24h, or that of chosenSpan.
func (h *overviewHandlers) chosen(now time.Time, q url.Values) (func(context.Context, string) (*spentSums, error),
	error,
) {
	if name := q.Get("range"); name == hoursRange {
		return func(ctx context.Context, id string) (*spentSums, error) { return h.readHours(ctx, id, now) }, nil
	} else if name != "" {
		return nil, llm.Invalidf("range", "range is %.20q. Use %s, or choose a number of days.", name, hoursRange)
	}
	days, err := chosenSpan(now, q)
	return func(ctx context.Context, id string) (*spentSums, error) { return h.readSums(ctx, id, days) }, err
}

// spentSums holds the sums of an overview.
type spentSums struct {
	span   span
	since  time.Time // the start of the first hour, if they are by hour; else zero
	whole  report.Overview
	before llm.Money         // cost of the same time before
	series []report.ModelSum // the most expensive models
	others bool              // there are more models
	keys   []report.KeySum
}

// readSums reads the usage of an account.
func (h *overviewHandlers) readSums(ctx context.Context, accountID string, of span) (*spentSums, error) {
	q := report.OverviewQuery{Account: accountID, From: of.first(), To: of.last(), Models: mostListed}
	x := &spentSums{span: of}
	var err error
	if x.whole, err = h.admin.Reports.Overview(ctx, q); err != nil {
		return nil, err
	}
	past := report.OverviewQuery{Account: accountID, From: of.before().first(), To: of.before().last()}
	before, err := h.admin.Reports.Overview(ctx, past)
	if err != nil {
		return nil, err
	}
	x.before = before.Total.Cost
	x.drawApart()
	x.keys, err = h.admin.Reports.KeySpend(ctx, accountID, q.From, q.To, mostListed)
	return x, err
}

// drawApart gives the most expensive models a series of their own.
func (x *spentSums) drawApart() {
	n := min(len(x.whole.Models), maxSeries)
	if x.others = len(x.whole.Models) > maxSeries; x.others { // mostListed is more than maxSeries
		n--
	}
	x.series = x.whole.Models[:n]
}

// names returns the names of the series, with one for all other models.
func (x *spentSums) names() (names []string) {
	for i := range x.series {
		names = append(names, x.series[i].Model)
	}
	if x.others {
		names = append(names, "Others")
	}
	return names
}

// day returns the cost of the i-th day, by series.
func (x *spentSums) day(i int) (values []int64) {
	var known int64
	for s := range x.series {
		cost := max(int64(x.series[s].Costs[i]), 0) // a correction may be larger than the day's cost
		values, known = append(values, cost), known+cost
	}
	if x.others {
		values = append(values, max(int64(x.whole.Days[i].Cost)-known, 0))
	}
	return values
}

func overviewPageOf(a *account.Account, keys []account.Key, x *spentSums, now time.Time) overviewPage {
	base := accountPath(a.Name)
	p := overviewPage{
		Suspended: a.Suspended, Range: x.rangeText(), Views: x.views(now, base),
		Used: x.whole.Total.Attempts > 0, Spend: spendChart(x), Health: healthCharts(x), Tiles: overviewTiles(x),
		Notes: notesOf(&x.whole.Total), Keys: keySpends(base, keys, x), KeysPath: base + "/keys",
	}
	for i := range x.whole.Models {
		p.Models = append(p.Models, modelSpendOf(base, x, &x.whole.Models[i]))
	}
	places := placesOf(p.Models, func(s *modelSpend) llm.Money { return s.Spent.Cost })
	for i := range p.Models {
		p.Models[i].Spent.Places = places
	}
	if x.whole.More {
		p.MoreModels = usagePath(base, x.when(), "")
	}
	return p
}

// usagePath returns the path of the usage of a model, or of all models, in a range.
func usagePath(base string, of *usageRange, model string) string {
	q := url.Values{}
	of.set(q)
	if model != "" {
		q.Set("model", model)
	}
	return base + "/usage?" + q.Encode()
}

func modelSpendOf(base string, x *spentSums, m *report.ModelSum) modelSpend {
	return modelSpend{
		Name: m.Model, Href: usagePath(base, x.when(), m.Model),
		Level: levelOf(int64(m.Cost), int64(x.whole.Total.Cost), ""),
		Spent: spendingOf(m.Cost, m.Uncertain, m.Unpriced), Requests: m.Requests, Errors: m.Errors,
		Tokens: m.Usage.TotalTokens(), FirstToken: speedText(m.Speed.Median()),
	}
}

func keySpends(base string, keys []account.Key, x *spentSums) (all []keySpend) {
	labels := labelsOf(keys)
	for _, k := range x.keys {
		q := url.Values{"key": {k.Key}, "start_date": {x.span.first()}, "end_date": {x.span.last()}}
		all = append(all, keySpend{
			Label: cmp.Or(labels[k.Key], "Unknown key"), Href: base + "/requests?" + q.Encode(),
			Level: levelOf(int64(k.Cost), int64(x.whole.Total.Cost), ""),
			Spent: spendingOf(k.Cost, k.Uncertain, k.Unpriced), Requests: k.Requests,
		})
	}
	places := placesOf(all, func(s *keySpend) llm.Money { return s.Spent.Cost })
	for i := range all {
		all[i].Spent.Places = places
	}
	return all
}

func overviewTiles(x *spentSums) []Tile {
	t := &x.whole.Total
	errors := "no attempt failed"
	if t.Errors > 0 {
		errors = fmt.Sprintf("%s failed (%s)", many(t.Errors, "attempt"), percentText(t.Errors, t.Attempts))
	}
	speed := "no stream yet"
	if t.Speed.Answers() > 0 {
		speed = "median; 95 % within " + withinText(t.Speed.P95())
	}
	spend := spendTile(t.Cost, t.Uncertain)
	spend.Note = noted(spend.Note, against(t.Cost, x.before, x.when().length()))
	return []Tile{
		spend,
		{"Requests", compact(t.Requests), errors},
		{"Tokens", compact(t.Usage.TotalTokens()), compact(t.Usage.InputTokens()) + " in, " +
			compact(t.Usage.OutputTokens()) + " out"},
		{"First token", speedText(t.Speed.Median()), speed},
	}
}

// notesOf describes the uncertain parts of the sums.
func notesOf(t *report.Sum) (notes []string) {
	if t.Unpriced > 0 {
		notes = append(notes,
			fmt.Sprintf("No price: %s. The cost is unknown and not included in the spend.",
				many(t.Unpriced, "attempt")))
	}
	if t.Estimated > 0 {
		notes = append(notes, fmt.Sprintf("Estimated: %s. The provider did not report the usage.",
			many(t.Estimated, "attempt")))
	}
	if t.Unknown > 0 {
		notes = append(notes,
			fmt.Sprintf("Unknown outcome: %s. The upper bound of the cost counts until this is resolved.",
				many(t.Unknown, "attempt")))
	}
	if t.Uncertain > 0 {
		notes = append(notes,
			fmt.Sprintf("The actual cost may be up to %s higher than the spend. Budgets count this amount until the "+
				"attempts are resolved.", dollars(t.Uncertain)))
	}
	return notes
}
