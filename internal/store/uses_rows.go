package store

import (
	"cmp"
	"context"
	"database/sql"
	"maps"
	"slices"
	"strings"

	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/report"
)

// maxUsesRows bounds how many attempts one report reads.
const maxUsesRows = 200_000

// usesRows adds up usage by end users and tags: of days that are over from their sums, of others and by hour from the
// rows of attempts, with the sums of rows that retention has deleted, which have neither a user nor tags; and what was
// corrected of both.
type usesRows struct {
	*usesGroups
	tags   []llm.Tag // all of which an attempt has to have
	groups map[string]*rowGroup
	// summed are the days that are read from their sums, and byRow the others that have any.
	summed, byRow []int64
	toldApart     map[string]bool // what sums are of: see attributed.text
}

// rowGroup is a group with the values by which groups are sorted.
type rowGroup struct {
	values []*string
	sums
}

func newUsesRows(f *usesFilter, q report.UsesQuery) *usesRows {
	return &usesRows{usesGroups: newUsesGroups(f, q), tags: q.Tags, groups: map[string]*rowGroup{}, toldApart: map[string]bool{}}
}

func (u *usesRows) page(ctx context.Context, tx *sql.Tx, limit, offset int) (page report.UsesPage, err error) {
	if err := u.read(ctx, tx); err != nil {
		return page, err
	}
	maps.DeleteFunc(u.groups, func(_ string, g *rowGroup) bool { return g.isNothing() })
	sorted := slices.SortedFunc(maps.Values(u.groups), u.compare)
	for _, g := range sorted {
		page.Total.Add(&report.Totals{
			Tokens: g.sums[measureTokens], Requests: g.sums[measureRequests], Cost: g.charge(), Uncertain: g.uncertain(),
			Margin: g.marginOf(),
		})
	}
	page.Count = len(sorted)
	for _, g := range sorted[min(offset, len(sorted)):min(offset+limit, len(sorted))] {
		use := g.use()
		if use.Group = g.values; !u.grouped {
			use.Group, use.Date, use.Model = nil, *g.values[0], *g.values[1]
		}
		page.Uses = append(page.Uses, use)
	}
	return page, nil
}

// compare puts the dearest first where that is asked for; the newest first, then goes by the other values A to Z, and has those without a value last.
func (u *usesRows) compare(a, b *rowGroup) int {
	first, times, others := 0, 0, 0
	if u.byCost {
		first = cmp.Compare(b.charge(), a.charge())
	}
	for i, d := range u.by {
		if x, y := a.values[i], b.values[i]; d.IsTime() {
			times = cmp.Or(times, compareValues(x, y, true))
		} else {
			others = cmp.Or(others, compareValues(x, y, false))
		}
	}
	return cmp.Or(first, times, others)
}

// compareValues has nil last, whichever way round the others are.
func compareValues(a, b *string, downward bool) int {
	switch {
	case a == nil || b == nil:
		return cmp.Compare(number(a == nil), number(b == nil))
	case downward:
		a, b = b, a
	}
	return strings.Compare(*a, *b)
}

func (u *usesRows) read(ctx context.Context, tx *sql.Tx) error {
	if err := u.days(ctx, tx); err != nil {
		return err
	}
	if err := u.readSums(ctx, tx); err != nil {
		return err
	}
	corrections, err := readCorrections(ctx, tx, u.from, u.to, u.account) // of all accounts where it is empty
	if err != nil {
		return err
	}
	byAttempt := map[ledger.AttemptID]*correction{}
	for i := range corrections {
		c := &corrections[i]
		if day := c.bucket.ofDay(); slices.Contains(u.summed, day.period) {
			a := c.attribution
			if text := a.text(); text != "" && !u.toldApart[text] {
				a = *others()
			}
			u.add(&day, &a, c.sums())
			continue
		}
		if sum := byAttempt[c.id]; sum != nil {
			sum.add(c)
			continue
		}
		byAttempt[c.id] = c
	}
	if err := u.readAttempts(ctx, tx, byAttempt); err != nil {
		return err
	}
	for _, c := range byAttempt { // of rows that are deleted, or of other models or keys
		day := c.bucket.ofDay()
		u.add(&day, &attributed{}, c.sums())
	}
	deleted, err := u.deleted(ctx, tx)
	for i := range deleted {
		u.add(&deleted[i].bucket, &attributed{}, &deleted[i].sums)
	}
	return err
}

// days finds out where each day is read from.
func (u *usesRows) days(ctx context.Context, tx *sql.Tx) (err error) {
	if u.byRow, err = daysOf(ctx, tx, tableUses, "period", u.from, u.to); err != nil || slices.Contains(u.by, report.ByHour) {
		return err
	}
	if u.summed, err = attributedDays(ctx, tx, isAttributed, isAttributed); err != nil {
		return err
	}
	u.summed = slices.DeleteFunc(u.summed, func(day int64) bool { return day < u.from || day > u.to })
	u.byRow = slices.DeleteFunc(u.byRow, func(day int64) bool { return slices.Contains(u.summed, day) })
	return nil
}

// readSums adds up days from their sums, of which the database adds up what the report does not tell apart.
func (u *usesRows) readSums(ctx context.Context, tx *sql.Tx) error {
	columns, by := []string{"0", "''", "''", "''", "''", "r.attribution"}, []string{"r.attribution"}
	for i, column := range []struct {
		name string
		used bool
	}{
		{"r.period", slices.ContainsFunc(u.by, report.Dimension.IsTime)},
		{"r.account", slices.Contains(u.by, report.ByAccount)},
		{"r.model", u.model != "" || slices.Contains(u.by, report.ByModel)},
		{"r.key", u.key != "" || slices.Contains(u.by, report.ByKey)},
		{"r.provider", slices.Contains(u.by, report.ByProvider)},
	} {
		if column.used {
			columns[i], by = column.name, append(by, column.name)
		}
	}
	where, args := u.among()
	rows, err := tx.QueryContext(ctx, "SELECT "+strings.Join(columns, ", ")+", "+columnsBy("sum", measureColumns())+" FROM "+
		tableAttribution+" r WHERE "+isOn("r.period", u.summed...)+" AND "+where+" GROUP BY "+strings.Join(by, ", ")+" LIMIT ?",
		append(args, maxUsesRows+1)...)
	read := 0
	return each(rows, err, scanRolled, func(r *rolled) error {
		if read++; read > maxUsesRows {
			return errUsesRows()
		}
		u.toldApart[r.attribution] = true
		a, err := parseAttributed(r.attribution)
		if err == nil {
			u.add(&r.bucket, &a, &r.sums)
		}
		return err
	})
}

func errUsesRows() error {
	return llm.Invalidf("start_date", "More than %d attempts, or sums of days, are too many to add up by users or tags. "+
		"Ask for fewer days with start_date and end_date, or for one key or model.", maxUsesRows)
}

// readAttempts adds up rows, each with what was corrected of it, which it takes out of corrected.
func (u *usesRows) readAttempts(ctx context.Context, tx *sql.Tx, corrected map[ledger.AttemptID]*correction) error {
	where, args := u.among()
	rows, err := tx.QueryContext(ctx, "SELECT "+attemptColumns+" FROM attempts r WHERE "+where+
		" AND "+isOn("r.day", u.byRow...)+" AND r.outcome <> 'open' LIMIT ?", append(args, maxUsesRows+1)...)
	read := 0
	return each(rows, err, scanEntry, func(e *ledger.Entry) error {
		if read++; read > maxUsesRows {
			return errUsesRows()
		}
		b, s := bucketOf(&e.Attempt), sumsOf(e)
		if c := corrected[e.ID]; c != nil {
			s.add(c.sums())
			delete(corrected, e.ID)
		}
		a := attributedOf(&e.Attribution)
		u.add(&b, &a, s)
		return nil
	})
}

// deleted are the sums of rows that retention has deleted, by day.
func (u *usesRows) deleted(ctx context.Context, tx *sql.Tx) ([]rolled, error) {
	if len(u.tags) > 0 {
		return nil, nil
	}
	where, args := u.among()
	rows, err := tx.QueryContext(ctx, "SELECT "+newRollup(tableCheckpoints).columns()+" FROM "+
		tableCheckpoints+" r WHERE "+isOn("r.period", u.byRow...)+" AND "+where, args...)
	return collect(rows, err, scanRolled)
}

// add adds sums to the group of a bucket, which is of a day where the hour is not known.
func (u *usesRows) add(b *bucket, a *attributed, s *sums) {
	if u.model != "" && b.model != u.model || u.key != "" && b.key != u.key {
		return
	}
	for _, t := range u.tags {
		if value, ok := a.tag(t.Name); !ok || value != t.Value {
			return
		}
	}
	values := make([]*string, len(u.by))
	var name strings.Builder
	for i, d := range u.by {
		if value, ok := valueOf(d, b, a); ok {
			values[i] = &value
			name.WriteString("=" + value)
		}
		name.WriteByte(0) // which is in no value
	}
	g := u.groups[name.String()]
	if g == nil {
		g = &rowGroup{values: values}
		u.groups[name.String()] = g
	}
	g.add(s)
}

// valueOf is the value of a dimension, and whether there is one.
func valueOf(d report.Dimension, b *bucket, a *attributed) (string, bool) {
	day, isHour := b.period, b.period > lastDay
	if isHour {
		day /= 100
	}
	switch d {
	case report.ByAccount:
		return b.account, true
	case report.ByModel:
		return b.model, true
	case report.ByProvider:
		return b.provider, true
	case report.ByKey:
		return b.key, true
	case report.ByDay:
		return periodText(day), true
	case report.ByMonth:
		return periodText(day / 100), true
	case report.ByHour:
		return periodText(b.period), isHour
	case report.ByUser:
		return a.User, a.User != ""
	}
	return a.tag(d.Tag())
}
