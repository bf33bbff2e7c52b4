// Package reconcile compares the ledger's usage and costs of a provider with the provider's own reports, by day and
// model, and classifies each difference.
package reconcile

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"weir/internal/llm"
)

// Usage counts tokens. Input includes Cached, the tokens that a cache served.
type Usage struct{ Input, Cached, Output int64 }

func (u *Usage) add(more Usage) {
	u.Input += more.Input
	u.Cached += more.Cached
	u.Output += more.Output
}

func (u Usage) minus(other Usage) Usage {
	return Usage{u.Input - other.Input, u.Cached - other.Cached, u.Output - other.Output}
}

// Place is a model on a UTC day.
type Place struct{ Day, Model string }

// Ours holds the ledger's usage and cost of a place.
type Ours struct {
	Usage     Usage
	Cost      llm.Money
	Uncertain llm.Money // amount by which the true cost may be higher, because a price is assumed or as Unseen reports
	Unseen    bool      // the end of some requests was not observed
	Price     llm.Price // on that day; not Known if unknown
	Unpriced  bool      // part of it has no price and adds 0 to the cost
}

// Theirs holds the provider's report.
type Theirs struct {
	Usage map[Place]Usage
	Costs map[Place]llm.Money // empty if the provider reports no costs by model
	Other llm.Money           // costs without a model
	// Uncached reports that the provider does not report cached tokens.
	Uncached bool

	first, last string // reported days
}

func newTheirs(from, to time.Time) Theirs {
	return Theirs{
		Usage: map[Place]Usage{}, Costs: map[Place]llm.Money{},
		first: from.Format(time.DateOnly), last: to.Format(time.DateOnly),
	}
}

// Finding classifies a place.
type Finding string

// These are the findings. The first four are explained differences or none.
const (
	Agrees   Finding = "agrees"
	Rounded  Finding = "rounding" // the costs differ only by rounding
	Midnight Finding = "midnight" // the provider counts part of it on the previous or next day
	Unseen   Finding = "unseen"   // requests without an observed end, within their possible cost
	Unpriced Finding = "unpriced" // equal tokens, but the ledger has no price for some
	Priced   Finding = "price"    // equal tokens at another price: a tier, a discount or a wrong price
	Cached   Finding = "cache"    // equal tokens, but a different number of cached ones
	More     Finding = "more"     // the provider has more: others use its keys, or the ledger misses some
	Less     Finding = "less"     // the provider has less
	Mixed    Finding = "mixed"    // more of some tokens and less of others
)

// Explained reports whether the difference needs no action.
func (f Finding) Explained() bool {
	return f == Agrees || f == Rounded || f == Midnight || f == Unseen
}

// Row is a place with the data of both sides.
type Row struct {
	Place
	Ours    Ours
	Theirs  Usage
	Cost    *llm.Money // the provider's cost; nil if it reports none by model
	Finding Finding
	// Uncached reports that the provider does not report cached tokens.
	Uncached bool
}

// Ask selects the comparison: a provider, and UTC days, both inclusive.
type Ask struct {
	Provider string
	From, To time.Time
}

// Result is the result of a comparison.
type Result struct {
	Rows     []Row
	Other    llm.Money // the provider's costs without a model
	Resolved int       // attempts that the provider's figures have resolved
}

// Decided returns the usage of an attempt without an observed end, if this attempt is the only cause of the row's
// difference. Usage is the ledger's usage of the attempt. It returns false if the figures do not decide it.
func (r *Row) Decided(usage llm.Usage) (llm.Usage, bool) {
	d := r.Theirs.minus(r.Ours.Usage)
	usage[llm.Input] += d.Input - d.Cached
	usage[llm.CacheRead] += d.Cached
	usage[llm.Output] += d.Output
	ok := r.Finding == Unseen && !r.Uncached && usage[llm.Input] >= 0 && usage[llm.CacheRead] >= 0 &&
		usage[llm.Output] >= 0
	return usage, ok
}

// Unexplained returns the number of rows with an unexplained difference.
func (r *Result) Unexplained() (n int) {
	for i := range r.Rows {
		if !r.Rows[i].Finding.Explained() {
			n++
		}
	}
	return n
}

// Compare compares both sides, by day and model. If the provider reports a model with the date of its version, it
// matches the ledger's name without the date.
func Compare(ours map[Place]Ours, t *Theirs) []Row {
	usage, costs := named(ours, t.Usage), named(ours, t.Costs)
	byModel := len(costs) > 0
	places := map[Place]bool{}
	for _, at := range slices.Concat(slices.Collect(maps.Keys(ours)), slices.Collect(maps.Keys(usage)),
		slices.Collect(maps.Keys(costs))) {
		places[at] = true
	}
	var rows []Row
	for at := range places {
		r := Row{Place: at, Ours: ours[at], Theirs: usage[at], Uncached: t.Uncached}
		if t.Uncached {
			r.Theirs.Cached = r.Ours.Usage.Cached
		}
		if byModel {
			r.Cost = new(costs[at])
		}
		rows = append(rows, r)
	}
	slices.SortFunc(rows, func(a, b Row) int {
		return cmp.Or(cmp.Compare(a.Model, b.Model), cmp.Compare(a.Day, b.Day))
	})
	for i := range rows {
		rows[i].Finding = rows[i].find()
	}
	for i := 1; i < len(rows); i++ {
		shifted(&rows[i-1], &rows[i])
	}
	slices.SortStableFunc(rows, func(a, b Row) int { return cmp.Compare(a.Day, b.Day) })
	return rows
}

// named returns the values under the ledger's names of models.
func named[T Usage | llm.Money](ours map[Place]Ours, theirs map[Place]T) map[Place]T {
	all := map[Place]T{}
	for at, value := range theirs {
		if _, there := ours[at]; !there {
			if plain := withoutDay(at.Model); plain != at.Model {
				if _, there := ours[Place{at.Day, plain}]; there {
					at.Model = plain
				}
			}
		}
		all[at] = sum(all[at], value)
	}
	return all
}

func sum[T Usage | llm.Money](a, b T) T {
	switch a := any(a).(type) {
	case Usage:
		a.add(any(b).(Usage))
		return any(a).(T)
	case llm.Money:
		return any(a + any(b).(llm.Money)).(T)
	}
	return a
}

// withoutDay removes the date of the version from the end of a model's name, in vendors' forms: -2025-08-07 or
// -20250807.
func withoutDay(model string) string {
	for _, layout := range []string{"-" + time.DateOnly, "-20060102"} {
		if at := len(model) - len(layout); at > 0 {
			if _, err := time.Parse(layout, model[at:]); err == nil {
				return model[:at]
			}
		}
	}
	return model
}

// find classifies the row by itself.
func (r *Row) find() Finding {
	d := r.Theirs.minus(r.Ours.Usage)
	more, less := d.Input > 0 || d.Output > 0, d.Input < 0 || d.Output < 0
	switch {
	case more && !less && r.Ours.Unseen && r.Ours.Uncertain > 0 && r.within(d):
		return Unseen
	case more && less:
		return Mixed
	case more:
		return More
	case less:
		return Less
	case d.Cached != 0:
		return Cached
	}
	return r.findCost()
}

// within reports whether the provider's additional usage costs no more than the ledger's bound, by the provider's cost
// if it reports one and by our price if there is one.
func (r *Row) within(more Usage) bool {
	most := r.Ours.Uncertain + rounding(r.Ours.Cost)
	if r.Cost != nil && *r.Cost > r.Ours.Cost+most {
		return false
	}
	price := r.Ours.Price
	if !price.Known() {
		return r.Cost != nil
	}
	price.Tiers = nil // the tokens may be of several requests
	u := llm.Usage{llm.CacheRead: max(0, more.Cached), llm.Output: more.Output}
	if u[llm.Input] = more.Input - u[llm.CacheRead]; r.Uncached {
		u[llm.Input], u[llm.CacheRead] = 0, more.Input
	}
	if price.Unpriced(&u, "") != 0 {
		return r.Cost != nil
	}
	return price.Cost(&u, "") <= most
}

// findCost classifies the costs of equal tokens.
func (r *Row) findCost() Finding {
	if r.Cost == nil {
		return Agrees
	}
	d := *r.Cost - r.Ours.Cost
	switch near := rounding(r.Ours.Cost); {
	case d == 0:
		return Agrees
	case -near <= d && d <= near:
		return Rounded
	case d > 0 && r.Ours.Unseen && d <= r.Ours.Uncertain+near:
		return Unseen
	case d > 0 && r.Ours.Unpriced:
		return Unpriced
	}
	return Priced
}

// rounding returns the largest difference that rounding explains: a cent and a thousandth of the cost.
func rounding(cost llm.Money) llm.Money { return llm.USD/100 + cost/1000 }

// shifted sets both findings to Midnight if the differences of two consecutive days cancel out.
func shifted(a, b *Row) {
	if a.Model != b.Model || a.Finding == Midnight || !follows(a.Day, b.Day) {
		return
	}
	one, two := a.Theirs.minus(a.Ours.Usage), b.Theirs.minus(b.Ours.Usage)
	one.add(two)
	if one == (Usage{}) && two != (Usage{}) {
		a.Finding, b.Finding = Midnight, Midnight
	}
}

func follows(day, next string) bool {
	at, err := time.Parse(time.DateOnly, day)
	return err == nil && at.AddDate(0, 0, 1).Format(time.DateOnly) == next
}
