package reconcile

import (
	"maps"
	"slices"
	"strings"

	"weir/internal/llm"
)

// Day compares the ledger with a bill on a UTC day.
type Day struct {
	Day       string
	Through   string // last day of a period that the bill charges at once; empty for a single day
	Ours      llm.Money
	Uncertain llm.Money // amount by which our cost may be higher
	Unpriced  bool      // part of our usage has no price and adds 0
	Theirs    llm.Money
	Finding   Finding
}

// CompareDays compares the ledger with a bill by day, because bills use their own names of models. It compares all days
// of a billed period together.
func CompareDays(ours map[Place]Ours, bill *Bill) []Day {
	days, periods := map[string]*Day{}, joined(bill.Periods)
	of := func(day string) *Day {
		found := Day{Day: day}
		for _, p := range periods {
			if p.From <= day && day <= p.To {
				found = Day{Day: p.From, Through: p.To}
			}
		}
		if days[found.Day] == nil {
			days[found.Day] = &found
		}
		return days[found.Day]
	}
	for at, o := range ours {
		d := of(at.Day)
		d.Ours += o.Cost
		if o.Unseen {
			d.Uncertain += o.Uncertain
		}
		d.Unpriced = d.Unpriced || o.Unpriced
	}
	for day, cost := range bill.Costs {
		of(day).Theirs += cost
	}
	for p, cost := range bill.Periods {
		of(p.From).Theirs += cost
	}
	var list []Day
	for _, day := range slices.Sorted(maps.Keys(days)) {
		d := days[day]
		d.Finding = d.find()
		list = append(list, *d)
	}
	for i := 1; i < len(list); i++ {
		shiftedDays(&list[i-1], &list[i])
	}
	return list
}

// joined merges overlapping periods.
func joined(all map[Period]llm.Money) (list []Period) {
	byStart := func(a, b Period) int { return strings.Compare(a.From, b.From) }
	for _, p := range slices.SortedFunc(maps.Keys(all), byStart) {
		if last := len(list) - 1; last >= 0 && p.From <= list[last].To {
			list[last].To = max(list[last].To, p.To)
		} else {
			list = append(list, p)
		}
	}
	return list
}

func (d *Day) find() Finding {
	switch more, near := d.Theirs-d.Ours, rounding(d.Ours); {
	case more == 0:
		return Agrees
	case -near <= more && more <= near:
		return Rounded
	case more < 0:
		return Less
	case more <= d.Uncertain+near:
		return Unseen
	case d.Unpriced:
		return Unpriced
	}
	return More
}

// shiftedDays sets both findings to Midnight if the differences of two consecutive days cancel out.
func shiftedDays(a, b *Day) {
	if a.Through != "" || b.Through != "" { // they already include shifted usage
		return
	}
	if a.Finding.Explained() || b.Finding.Explained() || a.Finding == b.Finding || !follows(a.Day, b.Day) {
		return
	}
	both := Day{Ours: a.Ours + b.Ours, Theirs: a.Theirs + b.Theirs}
	if both.find().Explained() {
		a.Finding, b.Finding = Midnight, Midnight
	}
}
