package dashboard

import (
	"context"
	"time"

	"weir/internal/llm"
	"weir/internal/report"
)

// hoursRange is the name of the range of an overview that is drawn by hour.
const hoursRange = "24h"

// when returns the time that the sums cover.
func (x *spentSums) when() *usageRange {
	if x.since.IsZero() {
		return &usageRange{span: x.span, unit: report.ByDay}
	}
	return &usageRange{hoursRange, x.span, x.since, report.ByHour}
}

// rangeText describes the time that the sums cover.
func (x *spentSums) rangeText() string {
	if x.since.IsZero() {
		return x.when().text() + ", days in UTC"
	}
	return "The last 24 hours, " + x.when().text()
}

// start returns the start of the i-th day or hour.
func (x *spentSums) start(i int) time.Time {
	if x.since.IsZero() {
		return x.span.from.AddDate(0, 0, i)
	}
	return x.since.Add(time.Duration(i) * time.Hour)
}

// views returns links to the ranges of the overview.
func (x *spentSums) views(now time.Time, base string) []Link {
	chosen, hours := x.span, !x.since.IsZero()
	if hours {
		chosen = span{}
	}
	first := Link{Label: "24 hours", Href: base + "?range=" + hoursRange, Current: hours}
	return append([]Link{first}, spanLinks(now, base, chosen)...)
}

// readHours reads the usage of an account in the last 24 hours, the present one included.
func (h *overviewHandlers) readHours(ctx context.Context, accountID string, now time.Time) (*spentSums, error) {
	when, _ := namedRange(hoursRange, now)
	r := hoursReader{account: accountID, when: when, at: map[string]int{}}
	for i, start := range when.starts(now) {
		r.at[when.groupText(start)] = i
	}
	x := &spentSums{span: when.span, since: when.since}
	x.whole.Days = make([]report.DaySum, len(r.at))
	err := h.admin.Reports.UsesTogether(ctx, accountID, func(uses usesReader) error {
		r.read = func(q report.UsesQuery) ([]report.Use, error) {
			page, err := uses(q)
			return page.Uses, err
		}
		for _, part := range []func(*spentSums) error{r.hours, r.models, r.costs, r.keys, r.speeds, r.before} {
			if err := part(x); err != nil {
				return err
			}
		}
		return nil
	})
	return x, err
}

// hoursReader reads the parts of an overview by hour.
type hoursReader struct {
	read    func(report.UsesQuery) ([]report.Use, error)
	account string
	when    usageRange
	at      map[string]int // index of an hour, by the value of its dimension
}

// by returns the query of the range by groups, the most expensive first.
func (r *hoursReader) by(limit int, groups ...report.Dimension) report.UsesQuery {
	q := report.UsesQuery{
		Account: r.account, By: groups, Sort: report.MeasureCost, Failed: true, Limit: limit,
	}
	r.when.restrict(&q)
	return q
}

// hours reads the sums of hours and their total.
func (r *hoursReader) hours(x *spentSums) error {
	list, err := r.read(r.by(report.MaxLimit, report.ByHour))
	for i := range list {
		sum := sumOf(&list[i])
		if at, there := r.hour(&list[i]); there {
			x.whole.Days[at].Add(&sum)
		}
		x.whole.Total.Add(&sum)
	}
	return err
}

// hour returns the index of a group's hour.
func (r *hoursReader) hour(u *report.Use) (at int, there bool) {
	if u.Group[0] == nil {
		return 0, false
	}
	at, there = r.at[*u.Group[0]]
	return at, there
}

// sumOf returns the sum of a group. It counts no attempts of unknown outcome: only their upper bound.
func sumOf(u *report.Use) report.Sum {
	return report.Sum{
		Usage: u.Usage, Cost: u.Cost, Requests: u.Requests, Attempts: u.Attempts, Errors: u.Errors,
		Unpriced: u.Unpriced, Uncertain: u.Uncertain, Estimated: u.Unseen, Speed: u.Speed, Margin: u.Margin,
	}
}

// models reads the sums of the most expensive models.
func (r *hoursReader) models(x *spentSums) error {
	list, err := r.read(r.by(mostListed+1, report.ByModel))
	x.whole.More = len(list) > mostListed
	for i := range list[:min(len(list), mostListed)] {
		if name := list[i].Group[0]; name != nil {
			m := report.ModelSum{Model: *name, Sum: sumOf(&list[i])}
			m.Costs = make([]llm.Money, len(x.whole.Days))
			x.whole.Models = append(x.whole.Models, m)
		}
	}
	return err
}

// costs reads the cost of each hour of the models with a series of their own.
func (r *hoursReader) costs(x *spentSums) error {
	q := r.by(report.MaxLimit, report.ByHour, report.ByModel)
	q.Top = mostListed
	list, err := r.read(q)
	for i := range list {
		at, there := r.hour(&list[i])
		name := list[i].Group[1]
		if !there || name == nil {
			continue
		}
		for m := range x.whole.Models {
			if x.whole.Models[m].Model == *name {
				x.whole.Models[m].Costs[at] += list[i].Cost
			}
		}
	}
	x.drawApart()
	return err
}

// keys reads the sums of the keys that cost most.
func (r *hoursReader) keys(x *spentSums) error {
	list, err := r.read(r.by(mostListed, report.ByKey))
	for i := range list {
		u := &list[i]
		if u.Group[0] != nil {
			x.keys = append(x.keys, report.KeySum{
				Key: *u.Group[0], Requests: u.Requests, Cost: u.Cost, Uncertain: u.Uncertain, Unpriced: u.Unpriced,
			})
		}
	}
	return err
}

// speeds reads the times to first token of each hour and model. Accounts with too many requests for a report have none.
func (r *hoursReader) speeds(x *spentSums) error {
	q := r.by(report.MaxLimit, report.ByHour, report.ByModel)
	q.Speeds = true
	for {
		list, err := r.read(q)
		if err != nil && llm.AsError(err).Code == llm.CodeInvalidRequest {
			return nil
		}
		for i := range list {
			r.addSpeed(x, &list[i])
		}
		if q.Offset += len(list); err != nil || len(list) < q.Limit {
			return err
		}
	}
}

func (r *hoursReader) addSpeed(x *spentSums, u *report.Use) {
	if at, there := r.hour(u); there {
		x.whole.Days[at].Speed.Add(&u.Speed)
	}
	x.whole.Total.Speed.Add(&u.Speed)
	for m := range x.whole.Models {
		if name := u.Group[1]; name != nil && x.whole.Models[m].Model == *name {
			x.whole.Models[m].Speed.Add(&u.Speed)
		}
	}
}

// before reads the cost of the 24 hours before.
func (r *hoursReader) before(x *spentSums) error {
	q := report.UsesQuery{Account: r.account, By: []report.Dimension{report.ByMonth}, Limit: 2}
	r.when.restrictBefore(&q)
	list, err := r.read(q)
	for i := range list {
		x.before += list[i].Cost
	}
	return err
}
