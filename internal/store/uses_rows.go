package store

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strings"

	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/report"
)

// maxUsesRows, maxUsesSums and maxUsesGroups bound how many attempts and sums of days one report reads, and what it groups
// them by.
const (
	maxUsesRows   = 200_000
	maxUsesSums   = 5_000_000
	maxUsesGroups = 200_000
)

// usesRows adds up usage by end users and tags: of days that are over from their sums, of others and by hour from the
// rows of attempts, with the sums of rows that retention has deleted, which have neither a user nor tags; and what was
// corrected of both.
type usesRows struct {
	*usesGroups
	tags   []llm.Tag // all of which an attempt has to have
	groups map[string]*rowGroup
	name   []byte                   // of the group at hand
	ofDay  map[packedName]*rowGroup // those of the day at hand
	// summed are the days that are read from their sums, and byRow the others that have any.
	summed, byRow []int64
	// corrected are the corrections of days that are read from their sums.
	corrected map[accountOn][]*correction
}

// accountOn is an account's day.
type accountOn struct {
	account string
	day     int64
}

// rowGroup is a group with the values by which groups are sorted.
type rowGroup struct {
	values []*string
	sums
}

func newUsesRows(f *usesFilter, q report.UsesQuery) *usesRows {
	return &usesRows{usesGroups: newUsesGroups(f, q), tags: q.Tags, groups: map[string]*rowGroup{}, ofDay: map[packedName]*rowGroup{}, corrected: map[accountOn][]*correction{}}
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
	corrections, err := readCorrections(ctx, tx, u.from, u.to, u.account) // of all accounts where it is empty
	if err != nil {
		return err
	}
	byAttempt := map[ledger.AttemptID]*correction{}
	for i := range corrections {
		c := &corrections[i]
		if on := (accountOn{c.bucket.account, c.bucket.ofDay().period}); slices.Contains(u.summed, on.day) {
			u.corrected[on] = append(u.corrected[on], c)
			continue
		}
		if sum := byAttempt[c.id]; sum != nil {
			sum.add(c)
			continue
		}
		byAttempt[c.id] = c
	}
	if err := u.readSums(ctx, tx); err != nil {
		return err
	}
	if err := u.readAttempts(ctx, tx, byAttempt); err != nil {
		return err
	}
	for _, c := range byAttempt { // of rows that are deleted, or of other models or keys
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

// readSums adds up days from their sums.
func (u *usesRows) readSums(ctx context.Context, tx *sql.Tx) error {
	which, days, err := "r.account = ?", []int64(nil), error(nil)
	if u.all {
		if days, err = u.daysTogether(ctx, tx); err != nil {
			return err
		}
		which = "r.account <> ?"
	}
	query := func(which string, days []int64) string {
		return "SELECT r.account, r.day, r.sums FROM attribution_sums r WHERE " + which + " AND " + isOn("r.day", days...)
	}
	apart := slices.DeleteFunc(slices.Clone(u.summed), func(day int64) bool { return slices.Contains(days, day) })
	text, args := query(which, apart), []any{u.account} // which is the one for all together where all are asked for
	if len(days) > 0 {
		text, args = text+" UNION ALL "+query("r.account = ?", days), append(args, allAccounts)
	}
	rows, err := tx.QueryContext(ctx, text, args...)
	read := 0
	err = eachRow(rows, err, func(row scanner) error {
		var on accountOn
		var packed sql.RawBytes
		if err := row.Scan(&on.account, &on.day, &packed); err != nil {
			return err
		}
		sums, err := unpackSums(packed)
		if err != nil {
			return fmt.Errorf("account %s on %s: %w", on.account, dateText(on.day), err)
		}
		if read += sums.left; read > maxUsesSums {
			return llm.Invalidf("start_date", "More than %d sums of days are too many to add up by users or tags. Ask for fewer days "+
				"with start_date and end_date.", maxUsesSums)
		}
		return u.addDay(on, sums)
	})
	for _, corrections := range u.corrected { // of days without sums
		if err == nil {
			err = u.addCorrected(corrections, nil)
		}
	}
	return err
}

// daysTogether are the days on which all accounts are added up together, where nothing tells them or their keys apart.
func (u *usesRows) daysTogether(ctx context.Context, tx *sql.Tx) ([]int64, error) {
	if u.key != "" || u.has(report.ByKey) || u.has(report.ByAccount) {
		return nil, nil
	}
	rows, err := tx.QueryContext(ctx, "SELECT day FROM attribution_sums r WHERE account = ? AND sums IS NOT NULL AND "+isOn("r.day", u.summed...), allAccounts)
	days, err := collect(rows, err, func(row scanner) (day int64, err error) { return day, row.Scan(&day) })
	for on, corrections := range u.corrected {
		if slices.Contains(days, on.day) && on.account != allAccounts {
			delete(u.corrected, on)
			on.account = allAccounts
			u.corrected[on] = append(u.corrected[on], corrections...)
		}
	}
	return days, err
}

// addDay adds the sums of an account's day, and what was corrected of them: of whom they do not tell apart it is of others.
func (u *usesRows) addDay(on accountOn, sums *packedSums) error {
	corrections := u.corrected[on]
	delete(u.corrected, on)
	clear(u.ofDay)
	byModel, byKey := u.model != "" || u.has(report.ByModel) || u.has(report.ByProvider), u.key != "" || u.has(report.ByKey)
	for sums.next() {
		name := sums.packedName
		if !byModel {
			name.model, name.provider = 0, 0
		}
		if !byKey {
			name.key = 0
		}
		g, there := u.ofDay[name]
		if !there {
			var err error
			if g, err = u.group(sums.bucketOn(on), &sums.attributions[sums.attribution]); err != nil {
				return err
			}
			u.ofDay[name] = g
		}
		if g != nil {
			g.add(&sums.sums)
		}
	}
	if err := sums.failed(); err != nil {
		return err
	}
	return u.addCorrected(corrections, sums.attributions)
}

// addCorrected adds corrections to what they are of among those that are told apart.
func (u *usesRows) addCorrected(corrections []*correction, toldApart []attributed) error {
	for _, c := range corrections {
		day := c.bucket.ofDay()
		if err := u.add(&day, nearest(toldApart, &c.attribution), c.sums()); err != nil {
			return err
		}
	}
	return nil
}

func errUsesRows(most int, of string) error {
	return llm.Invalidf("start_date", "More than %d %s are too many to add up by users or tags. "+
		"Ask for fewer days with start_date and end_date, or for one key or model.", most, of)
}

// readAttempts adds up rows, each with what was corrected of it, which it takes out of corrected.
func (u *usesRows) readAttempts(ctx context.Context, tx *sql.Tx, corrected map[ledger.AttemptID]*correction) error {
	where, args := u.among()
	rows, err := tx.QueryContext(ctx, "SELECT "+attemptColumns+" FROM attempts r WHERE "+where+
		" AND "+isOn("r.day", u.byRow...)+" AND r.outcome <> 'open' LIMIT ?", append(args, maxUsesRows+1)...)
	read := 0
	return each(rows, err, scanEntry, func(e *ledger.Entry) error {
		if read++; read > maxUsesRows {
			return errUsesRows(maxUsesRows, "attempts")
		}
		b, s := bucketOf(&e.Attempt), sumsOf(e)
		if c := corrected[e.ID]; c != nil {
			s.add(c.sums())
			delete(corrected, e.ID)
		}
		a := attributedOf(&e.Attribution)
		return u.add(&b, &a, s)
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

func (u *usesRows) has(d report.Dimension) bool { return slices.Contains(u.by, d) }

// add adds sums to the group of a bucket, which is of a day where the hour is not known.
func (u *usesRows) add(b *bucket, a *attributed, s *sums) error {
	g, err := u.group(b, a)
	if g != nil {
		g.add(s)
	}
	return err
}

// group is that of a bucket; nil where it is not asked for.
func (u *usesRows) group(b *bucket, a *attributed) (*rowGroup, error) {
	if u.model != "" && b.model != u.model || u.key != "" && b.key != u.key {
		return nil, nil
	}
	for _, t := range u.tags {
		if value, ok := a.tag(t.Name); !ok || value != t.Value {
			return nil, nil
		}
	}
	u.name = u.name[:0]
	for _, d := range u.by {
		if value, ok := valueOf(d, b, a); ok {
			u.name = append(append(u.name, '='), value...)
		}
		u.name = append(u.name, 0) // which is in no value
	}
	if g := u.groups[string(u.name)]; g != nil {
		return g, nil
	}
	if len(u.groups) == maxUsesGroups {
		return nil, errUsesRows(maxUsesGroups, "groups")
	}
	g := &rowGroup{values: make([]*string, len(u.by))}
	for i, d := range u.by {
		if value, ok := valueOf(d, b, a); ok {
			value = strings.Clone(value) // it may be a part of what is much longer
			g.values[i] = &value
		}
	}
	u.groups[string(u.name)] = g
	return g, nil
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
