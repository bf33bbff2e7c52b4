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

// maxUsesRows, maxUsesSums, maxUsesGroups and maxUsesText bound how many attempts and sums of days one report reads,
// and how many groups it has.
const (
	maxUsesRows   = 200_000
	maxUsesSums   = 5_000_000
	maxUsesGroups = 200_000
	maxUsesText   = 64 << 20 // bytes of the texts that name the groups
)

// usesRows adds up usage by end users and tags from the sums of days. By hour, and for attempts that are not in sums
// yet, it reads rows and the sums of deleted rows, which have neither a user nor tags. It adds corrections to both.
type usesRows struct {
	*usesGroups
	speeds   bool      // times to first token are counted, and nothing else
	byMinute bool      // the report needs minutes
	tags     []llm.Tag // an attempt must have all of them
	user     string    // the end user; empty for all
	groups   map[string]*rowGroup
	most     int                      // groups
	text     int                      // bytes of the texts that name the groups
	name     []byte                   // of the current group
	ofDay    map[packedName]*rowGroup // the groups of the current day
	byText   namedGroups
	times    map[timeOf]timeValue
	// summed are the days that are read only from their sums, and byRow the other days with usage.
	summed, byRow []int64
	// upto is where the sums of days of byRow end; earlier requests are in them, but some accounts may have fewer.
	upto map[int64]string
	rows int // that were read
	// corrected are the corrections of attempts that may be in sums or rows, and byAttempt the corrections of
	// attempts that are read from rows.
	corrected map[accountOn][]*correction
	byAttempt map[ledger.AttemptID]*correction
}

// accountOn is an account's day.
type accountOn struct {
	account string
	day     int64
}

// rowGroup is a group with its values, which determine its order.
type rowGroup struct {
	values []*string
	sums   // times to first token as measures of speedColumns
}

// speed returns the measures of speedColumns.
func (s *sums) speed() report.Speed { return report.Speed(s[:report.NumSpeeds]) }

func newUsesRows(g *usesGroups, q report.UsesQuery) *usesRows {
	return &usesRows{
		usesGroups: g, byMinute: g.byMinute(q.By), tags: q.Tags, user: q.User, groups: map[string]*rowGroup{},
		most:  maxUsesGroups,
		ofDay: map[packedName]*rowGroup{}, byText: namedGroups{}, times: map[timeOf]timeValue{},
		upto: map[int64]string{}, corrected: map[accountOn][]*correction{},
		byAttempt: map[ledger.AttemptID]*correction{},
	}
}

func (u *usesRows) page(ctx context.Context, m *moment, limit, offset int) (page report.UsesPage, err error) {
	if err := u.read(ctx, m); err != nil {
		return page, err
	}
	return u.sorted(limit, offset), nil
}

// sorted returns a page of the groups.
func (u *usesRows) sorted(limit, offset int) (page report.UsesPage) {
	maps.DeleteFunc(u.groups, func(_ string, g *rowGroup) bool {
		return !u.speeds && g.isNothing() && (!u.failed || g.sums[measureErrors] == 0)
	})
	sorted := slices.SortedFunc(maps.Values(u.groups), u.compare)
	for _, g := range sorted {
		if u.speeds {
			break
		}
		page.Total.Add(&report.Totals{
			Tokens: g.sums[measureTokens], Requests: g.sums[measureRequests], Cost: g.charge(),
			Uncertain: g.uncertain(),
			Unpriced:  g.unpriced(), Margin: g.marginOf(),
		})
	}
	page.Count = len(sorted)
	for _, g := range sorted[min(offset, len(sorted)):min(offset+limit, len(sorted))] {
		use := g.use()
		if u.speeds {
			use = report.Use{Speed: g.speed()}
		}
		if use.Group = g.values; !u.grouped {
			use.Group, use.Date, use.Model = nil, *g.values[0], *g.values[1]
		}
		page.Uses = append(page.Uses, use)
	}
	return page
}

// compare orders groups by descending rank if requested, then newest first, then by the other values in ascending
// order; groups without a value come last.
func (u *usesRows) compare(a, b *rowGroup) int {
	first, times, others := 0, 0, 0
	if first = cmp.Compare(b.of(u.rank), a.of(u.rank)); u.speeds && len(u.rank) > 0 {
		x, y := a.speed(), b.speed()
		first = cmp.Compare(y.Answers(), x.Answers())
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

// compareValues orders nil last in both directions.
func compareValues(a, b *string, downward bool) int {
	switch {
	case a == nil || b == nil:
		return cmp.Compare(number(a == nil), number(b == nil))
	case downward:
		a, b = b, a
	}
	return strings.Compare(*a, *b)
}

func (u *usesRows) read(ctx context.Context, m *moment) error {
	tx := m.tx
	if err := u.days(ctx, tx); err != nil {
		return err
	}
	corrections, err := readCorrections(ctx, tx, u.from, u.to, u.account) // of all accounts if it is empty
	if err != nil {
		return err
	}
	for i := range corrections {
		c := &corrections[i]
		on := accountOn{c.bucket.account, c.bucket.ofDay().period}
		u.corrected[on] = append(u.corrected[on], c)
	}
	if err := u.readSums(ctx, tx); err != nil {
		return err
	}
	for _, day := range u.byRow {
		if err := u.readAttempts(ctx, m, day); err != nil {
			return err
		}
	}
	for _, c := range u.byAttempt { // of rows that are deleted, or of other models, keys or times
		if u.isPart() {
			break // no row of the time is deleted: see deleted
		}
		day := c.bucket.ofDay()
		if err := u.add(&day, &attributed{}, c.sums()); err != nil {
			return err
		}
	}
	deleted, err := u.deleted(ctx, tx)
	for i := range deleted {
		if err == nil {
			err = u.add(&deleted[i].bucket, &attributed{}, &deleted[i].sums)
		}
	}
	return err
}

// days decides how each day is read.
func (u *usesRows) days(ctx context.Context, tx *sql.Tx) (err error) {
	if u.byRow, err = daysOf(ctx, tx, tableUses, "period", u.from, u.to); err != nil ||
		u.byHour() {
		return err
	}
	if u.summed, err = attributedDays(ctx, tx, isAttributed, isAttributed); err != nil {
		return err
	}
	u.summed = slices.DeleteFunc(u.summed, func(day int64) bool { return day < u.from || day > u.to })
	u.byRow = slices.DeleteFunc(u.byRow, func(day int64) bool { return slices.Contains(u.summed, day) })
	return nil
}

// readAttempts adds up the rows of a day that are not in its sums.
func (u *usesRows) readAttempts(ctx context.Context, m *moment, day int64) error {
	upto := u.upto[day]
	query := rowsQuery{account: u.account, least: stateKnown, limit: settledPiece}
	query.from, query.to = u.places(day, upto)
	if err := m.settled.walk(ctx, query, u.addRow); err != nil || !u.all || upto == "" {
		return err
	}
	fewer, err := accountsBefore(ctx, m.tx, day, upto)
	for i := 0; i < len(fewer) && err == nil; i++ {
		query.account, query.from, query.to = fewer[i].account, placeAt(day, fewer[i].upto), placeAt(day, upto)
		err = m.settled.walk(ctx, query, u.addRow)
	}
	return err
}

// accountsBefore returns the accounts with usage on a day whose sums end before a request, with their ends.
func accountsBefore(ctx context.Context, tx *sql.Tx, day int64, upto string) ([]accountDay, error) {
	rows, err := tx.QueryContext(ctx, "SELECT DISTINCT d.account, coalesce(s.upto, '') FROM "+tableDays+
		" d LEFT JOIN attribution_sums s ON s.account = d.account AND s.day = d.period WHERE d.period = ?"+
		" AND coalesce(s.upto, '') < ?", day, upto)
	return collect(rows, err, func(row scanner) (a accountDay, err error) {
		return a, row.Scan(&a.account, &a.upto)
	})
}

// addRow adds an attempt with its corrections, which it removes from byAttempt.
func (u *usesRows) addRow(r *settledRow) error {
	if u.model != "" && r.model != u.model || u.key != "" && r.key != u.key || !u.timeRange.has(r.arrived) {
		return nil
	}
	if u.rows++; u.rows > maxUsesRows {
		return errUsesRows(maxUsesRows, "attempts")
	}
	b := u.bucketOf(r)
	g, err := u.group(&b, &r.attribution)
	if g != nil {
		r.addTo(&g.sums)
	}
	if c := u.byAttempt[r.id]; c != nil {
		if g != nil {
			g.add(c.sums())
		}
		delete(u.byAttempt, r.id)
	}
	return err
}

// deleted returns the sums of rows that retention has deleted, by day.
func (u *usesRows) deleted(ctx context.Context, tx *sql.Tx) ([]rolled, error) {
	if (len(u.tags) > 0 || u.user != "") && !u.isPart() {
		return nil, nil
	}
	where, args := u.among()
	notSummed := ""
	if !u.byHour() {
		notSummed = " AND NOT EXISTS (SELECT 1 FROM attribution_sums s WHERE s.account = r.account" +
			" AND s.day = r.period AND s.upto <> '')"
	}
	rows, err := tx.QueryContext(ctx, "SELECT "+newRollup(tableCheckpoints).columns()+" FROM "+
		tableCheckpoints+" r WHERE "+isOn("r.period", u.byRow...)+" AND "+where+notSummed, args...)
	list, err := collect(rows, err, scanRolled)
	if err == nil && len(list) > 0 && u.isPart() {
		err = llm.Invalid("from", "Attempts of this time were deleted because of their age, and with them the hours "+
			"of end users and tags. Use whole days, or another group.")
	}
	return list, err
}

// byHour reports whether the report needs the hours of attempts.
func (u *usesRows) byHour() bool { return u.has(report.ByHour) || u.has(report.ByMinute) || u.isPart() }

// byModel reports whether the report needs the models or providers of sums.
func (u *usesRows) byModel() bool {
	return u.model != "" || u.provider != "" || u.has(report.ByModel) || u.has(report.ByProvider)
}

// bucketOf returns the bucket of an attempt's hour or, by minute, of its minute.
func (u *usesRows) bucketOf(r *settledRow) bucket {
	b := r.bucket
	if u.has(report.ByMinute) {
		b.period = b.period*100 + int64(r.arrived.UTC().Minute())
	}
	return b
}

func (u *usesRows) has(d report.Dimension) bool { return slices.Contains(u.by, d) }

// add adds sums to the group of a bucket. The bucket is a day's if the hour is not known.
func (u *usesRows) add(b *bucket, a *attributed, s *sums) error {
	g, err := u.group(b, a)
	if g != nil {
		g.add(s)
	}
	return err
}

// group returns the group of a bucket; nil if a filter excludes it.
func (u *usesRows) group(b *bucket, a *attributed) (*rowGroup, error) {
	if u.account != "" && b.account != u.account || u.model != "" && b.model != u.model ||
		u.key != "" && b.key != u.key || u.provider != "" && b.provider != u.provider ||
		u.user != "" && a.User != u.user {
		return nil, nil
	}
	for _, t := range u.tags {
		if value, ok := a.tag(t.Name); !ok || value != t.Value {
			return nil, nil
		}
	}
	u.name = u.name[:0]
	for i, d := range u.by {
		value, ok := u.valueOf(d, b, a)
		u.addName(u.apart.value(i, value, ok))
	}
	if g := u.groups[string(u.name)]; g != nil {
		return g, nil
	}
	values := make([]*string, len(u.by))
	for i, d := range u.by {
		value, ok := u.valueOf(d, b, a)
		if value, ok = u.apart.value(i, value, ok); ok {
			value = strings.Clone(value) // it may be a substring of a much longer text
			values[i] = &value
		}
	}
	return u.newGroup(values)
}

// addName appends a value, if there is one, to the current name.
func (u *usesRows) addName(value string, ok bool) {
	if ok {
		u.name = append(append(u.name, '='), value...)
	}
	u.name = append(u.name, 0) // no value contains it
}

// newGroup adds a group with the current name.
func (u *usesRows) newGroup(values []*string) (*rowGroup, error) {
	if len(u.groups) == u.most {
		return nil, errManyGroups
	}
	if u.text += len(u.name); u.text > maxUsesText {
		return nil, errLongGroups
	}
	g := &rowGroup{values: values}
	u.groups[string(u.name)] = g
	return g, nil
}

// groupOf returns the group of values, which must all be set.
func (u *usesRows) groupOf(values []*string) (*rowGroup, error) {
	u.name = u.name[:0]
	for _, value := range values {
		u.addName(*value, true)
	}
	if g := u.groups[string(u.name)]; g != nil {
		return g, nil
	}
	return u.newGroup(values)
}
