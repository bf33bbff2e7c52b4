package dashboard

import (
	"slices"

	"weir/internal/report"
)

// usageRead holds the reports of a page, which are of one moment.
type usageRead struct {
	groups, chart, speeds report.UsesPage
	before                report.Totals
}

// usesReader reads a report.
type usesReader = func(report.UsesQuery) (report.UsesPage, error)

// all reads the groups, the chart, and the same time before.
func (x *usageRead) all(u *usageQuery, q report.UsesQuery, uses usesReader) (err error) {
	if len(u.by) > 0 {
		if x.groups, err = uses(q); err != nil {
			return err
		}
	}
	charted := u.charted(q)
	// A key has one account, so groups by both are those by key.
	isOne := len(u.by) == 1 || slices.Equal(u.by, []report.Dimension{report.ByAccount, report.ByKey})
	if isOne && q.Offset == 0 && q.Sort == charted.Sort && charted.Top > 0 {
		charted.Apart = groupValues(x.groups.Uses[:min(len(x.groups.Uses), charted.Top)], u.ranked())
	}
	if q.Speeds {
		if x.speeds, err = uses(charted); err != nil {
			return err
		}
		charted.Speeds = false
	}
	if x.chart, err = uses(charted); err != nil {
		return err
	}
	before := q
	before.By, before.Top, before.Limit, before.Offset = []report.Dimension{report.ByMonth}, 0, 1, 0
	before.Speeds, before.Failed = false, false
	u.when.restrictBefore(&before)
	past, err := uses(before)
	x.before = past.Total
	return err
}
