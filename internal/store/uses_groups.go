package store

import (
	"context"
	"database/sql"
	"slices"
	"strconv"
	"strings"

	"weir/internal/report"
)

// usesGroups adds up usage by dimensions, from the smallest rollup that has them.
type usesGroups struct {
	*usesFilter
	by      []report.Dimension
	grouped bool      // has groups; without any, entries are by date and model
	rank    []int     // measures of which the groups with most come first; nil for none
	failed  bool      // also groups with nothing but failed attempts
	apart   *separate // nil if all values have groups of their own
	daily   string    // the smallest rollup of days that has the dimensions
	table   string    // that, or the rollup of hours
	scale   int64     // how many of its period numbers a day covers
	on      string    // the condition on the periods
}

func newUsesGroups(f *usesFilter, q report.UsesQuery, apart *separate) *usesGroups {
	g := &usesGroups{
		usesFilter: f, by: q.By, grouped: len(q.By) > 0, rank: measuresOf(q.Sort), failed: q.Failed, apart: apart,
		daily: tableUses, scale: 1,
	}
	if !g.grouped {
		g.by = []report.Dimension{report.ByDay, report.ByModel}
	}
	if f.key != "" || f.provider != "" || slices.Contains(g.by, report.ByKey) ||
		slices.Contains(g.by, report.ByProvider) {
		g.daily = tableDays
	}
	if g.table = g.daily; slices.Contains(g.by, report.ByHour) || f.isPart() {
		g.table, g.scale = tableHours, 100
	}
	return g
}

// column returns the expression of a dimension.
func (g *usesGroups) column(d report.Dimension) string {
	switch d {
	case report.ByHour:
		return "r.period"
	case report.ByDay:
		return "r.period / " + count(g.scale)
	case report.ByMonth:
		return "r.period / " + count(100*g.scale)
	}
	return "r." + string(d) // account, model, provider, key
}

// query returns the query for the dimensions of groups and the sums of measures.
func (g *usesGroups) query(measures []string) (text string, args []any) {
	var columns, places []string
	for i, d := range g.by {
		column := g.column(d)
		if g.apart != nil && g.apart.at == i {
			column, args = g.apart.column(column)
		}
		columns, places = append(columns, column+" AS by"+count(int64(i))), append(places, count(int64(i+1)))
	}
	for _, m := range measures {
		columns = append(columns, "sum(r."+m+") AS "+m)
	}
	where, more := g.among()
	return "SELECT " + strings.Join(columns, ", ") + " FROM " + g.table + " r WHERE " + g.on + " AND " + where +
		" GROUP BY " + strings.Join(places, ", "), append(args, more...)
}

// having returns the condition on groups.
func (g *usesGroups) having() string {
	if g.failed {
		return " HAVING (" + used("sum", "r.") + " OR sum(r.errors) <> 0)"
	}
	return " HAVING " + used("sum", "r.")
}

// order returns the ORDER BY clause: by descending rank if requested, then newest first, then by the other
// dimensions.
func (g *usesGroups) order() string {
	var first, times, others []string
	if len(g.rank) > 0 {
		first = []string{rank(g.rank) + " DESC"}
	}
	for i, d := range g.by {
		if place := count(int64(i + 1)); d.IsTime() {
			times = append(times, place+" DESC")
		} else {
			others = append(others, place)
		}
	}
	return " ORDER BY " + strings.Join(slices.Concat(first, times, others), ", ")
}

func (g *usesGroups) page(ctx context.Context, tx *sql.Tx, limit, offset int) (page report.UsesPage, err error) {
	first, last := g.periods(g.scale)
	if g.on, err = periodsOf(ctx, tx, g.table, first, last); err != nil {
		return page, err
	}
	having := g.having()
	text, args := g.query([]string{
		"tokens", "requests", "cost", "uncertain", "margin", "margin_uncertain", "unpriced",
		"margin_unpriced",
	})
	err = tx.QueryRowContext(ctx, "SELECT count(*), "+totalsOrNone(totalColumns(""))+" FROM ("+text+having+
		") AS g", args...).
		Scan(append([]any{&page.Count}, totalsDest(&page.Total)...)...)
	if err != nil || offset >= page.Count {
		return page, err
	}
	text, args = g.query(measureColumns())
	rows, err := tx.QueryContext(ctx, text+having+g.order()+" LIMIT ? OFFSET ?", append(args, limit, offset)...)
	page.Uses, err = collect(rows, err, g.scan)
	return page, err
}

func (g *usesGroups) scan(row scanner) (report.Use, error) {
	group, err := g.scanGroup(row)
	u := group.use()
	if u.Group = group.values; !g.grouped && err == nil {
		u.Group, u.Date, u.Model = nil, *group.values[0], *group.values[1]
	}
	return u, err
}

func (g *usesGroups) scanGroup(row scanner) (group rowGroup, err error) {
	periods, texts := make([]int64, len(g.by)), make([]string, len(g.by))
	var dest []any
	for i, d := range g.by {
		if d.IsTime() {
			dest = append(dest, &periods[i])
		} else {
			dest = append(dest, &texts[i])
		}
	}
	if err := row.Scan(append(dest, group.dest()...)...); err != nil {
		return group, err
	}
	for i, d := range g.by {
		if d.IsTime() {
			texts[i] = periodText(periods[i])
		}
		group.values = append(group.values, &texts[i])
	}
	return group, nil
}

func count(n int64) string { return strconv.FormatInt(n, 10) }
