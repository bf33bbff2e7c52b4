// Package reconcile compares what the ledger has of a provider with what the provider itself reports, day by day and model
// by model, and says of each difference what it is.
package reconcile

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"weir/internal/llm"
)

// Usage is tokens. Input has those that a cache served, which are Cached.
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

// Ours is what the ledger has of a place.
type Ours struct {
	Usage     Usage
	Cost      llm.Money
	Uncertain llm.Money // what it may have cost beyond that: by a price that is assumed, or as Unseen says
	Unseen    bool      // nobody saw how some requests ended
	Price     llm.Price // on the day; not Known where nobody knows it
	Unpriced  bool      // some of it has no price and adds 0 to the cost
}

// Theirs is what the provider reports.
type Theirs struct {
	Usage map[Place]Usage
	Costs map[Place]llm.Money // none where it tells none by model
	Other llm.Money           // costs that are of no model
	// Uncached says that it does not tell how many tokens a cache served.
	Uncached bool

	first, last string // days
}

func newTheirs(from, to time.Time) Theirs {
	return Theirs{
		Usage: map[Place]Usage{}, Costs: map[Place]llm.Money{}, first: from.Format(time.DateOnly), last: to.Format(time.DateOnly),
	}
}

// Finding is what a place comes to.
type Finding string

// The findings. The first ones explain what they stand for.
const (
	Agrees   Finding = "agrees"
	Rounded  Finding = "rounding" // the costs differ by no more than is rounded
	Midnight Finding = "midnight" // the provider counts some of it on the day before, or after
	Unseen   Finding = "unseen"   // requests whose end nobody saw, within what these may have cost
	Unpriced Finding = "unpriced" // as many tokens, and the ledger has no price for some of it
	Priced   Finding = "price"    // as many tokens, at another price: a tier, a discount, or a wrong price
	Cached   Finding = "cache"    // as many tokens, but not as many from a cache
	More     Finding = "more"     // the provider has more: others use its keys, or the ledger lacks something
	Less     Finding = "less"     // the provider has less
	Mixed    Finding = "mixed"    // more of some tokens, and less of others
)

// Explained reports whether the difference is no cause for worry.
func (f Finding) Explained() bool {
	return f == Agrees || f == Rounded || f == Midnight || f == Unseen
}

// Row is a place with both sides.
type Row struct {
	Place
	Ours    Ours
	Theirs  Usage
	Cost    *llm.Money // the provider's; nil where it tells none of the model
	Finding Finding
	// Uncached says that the provider does not tell how many tokens a cache served.
	Uncached bool
}

// Ask says what is compared: a provider, and UTC days, both inclusive.
type Ask struct {
	Provider string
	From, To time.Time
}

// Result is what came of a comparison.
type Result struct {
	Rows     []Row
	Other    llm.Money // what the provider charges for what is of no model
	Resolved int       // attempts that the provider's figures have resolved
}

// Decided is what an attempt used whose end nobody saw, where it alone makes the difference of the row: usage is what the
// ledger has of it. It reports false where the figures do not say so much.
func (r *Row) Decided(usage llm.Usage) (llm.Usage, bool) {
	d := r.Theirs.minus(r.Ours.Usage)
	usage[llm.Input] += d.Input - d.Cached
	usage[llm.CacheRead] += d.Cached
	usage[llm.Output] += d.Output
	ok := r.Finding == Unseen && !r.Uncached && usage[llm.Input] >= 0 && usage[llm.CacheRead] >= 0 && usage[llm.Output] >= 0
	return usage, ok
}

// Unexplained is how many rows have a difference that is not explained.
func (r *Result) Unexplained() (n int) {
	for i := range r.Rows {
		if !r.Rows[i].Finding.Explained() {
			n++
		}
	}
	return n
}

// Compare compares both sides, by day and model. A model that the provider names with the day of its version is the one
// that was asked for without.
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

// named has the values by the names that the ledger has for models.
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

// withoutDay is a model's name without the day of its version at its end, as vendors write it: -2025-08-07 or -20250807.
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

// find is what the row comes to by itself.
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

// within reports whether what the provider has more of costs no more than the ledger has as the bound: what it charges,
// as far as it tells, and these tokens by our price, where there is one.
func (r *Row) within(more Usage) bool {
	most := r.Ours.Uncertain + rounding(r.Ours.Cost)
	if r.Cost != nil && *r.Cost > r.Ours.Cost+most {
		return false
	}
	price := r.Ours.Price
	if !price.Known() {
		return r.Cost != nil
	}
	price.Tiers = nil // it may be of several requests
	u := llm.Usage{llm.CacheRead: max(0, more.Cached), llm.Output: more.Output}
	if u[llm.Input] = more.Input - u[llm.CacheRead]; r.Uncached {
		u[llm.Input], u[llm.CacheRead] = 0, more.Input
	}
	if price.Unpriced(&u, "") != 0 {
		return r.Cost != nil
	}
	return price.Cost(&u, "") <= most
}

// findCost is what the costs come to, of as many tokens.
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

// rounding is by how much a cost may differ where it is rounded: a cent, and a thousandth of it.
func rounding(cost llm.Money) llm.Money { return llm.USD/100 + cost/1000 }

// shifted sees whether what differs on a day is what differs the other way on the next one.
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
