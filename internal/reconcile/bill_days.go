package reconcile

import (
	"maps"
	"slices"
	"strings"

	"weir/internal/llm"
)

// Day is a UTC day by the ledger and by a bill.
type Day struct {
	Day       string
	Through   string // the last day, where the bill charges for more than one at once; else empty
	Ours      llm.Money
	Uncertain llm.Money // what ours may have been beyond that
	Unpriced  bool      // some of ours has no price and adds 0
	Theirs    llm.Money
	Finding   Finding
}

// CompareDays compares the ledger with a bill by day, for bills name models in words of their own. Days of a period that
// the bill has in one row are compared together.
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

// joined are periods, those that have days in common together.
func joined(all map[Period]llm.Money) (list []Period) {
	for _, p := range slices.SortedFunc(maps.Keys(all), func(a, b Period) int { return strings.Compare(a.From, b.From) }) {
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

// shiftedDays sees whether what differs on a day is what differs the other way on the next one.
func shiftedDays(a, b *Day) {
	if a.Through != "" || b.Through != "" { // what falls on another day is in them
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
