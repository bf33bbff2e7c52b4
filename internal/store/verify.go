package store

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"time"

	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/report"
)

const (
	// mostDifferences is how many differences are listed; a database with more cannot be corrected one by one.
	mostDifferences = 1000
	progressRows    = 1000
)

// Verify recomputes every rollup from the rows, their corrections and the checkpoints of deleted rows, and the cost
// of every row from its price, all as of one moment. It reports progress, in rows, every thousand rows; progress may
// be nil. It lists at most the first thousand differences.
func (s *Ledger) Verify(ctx context.Context, progress func(done, total int64)) (report.Verification, error) {
	v := &verifier{book: priceBook{}, progress: progress}
	if progress == nil {
		v.progress = func(int64, int64) {}
	}
	err := s.moment(ctx, s.read, "verify", func(tx *sql.Tx) error {
		v.tx, v.now = tx, s.clock.now().UTC()
		return v.run(ctx)
	})
	return v.result, err
}

// verifier checks the database day by day, with the sums of one day in memory.
type verifier struct {
	tx       *sql.Tx
	book     priceBook
	now      time.Time
	progress func(done, total int64)
	total    int64
	// corrected holds what the corrections of the current day's attempts add to the cost and decide.
	corrected map[ledger.AttemptID][]ledger.Correction
	openings  balances
	parts     balances // of the current day
	result    report.Verification
}

func (v *verifier) run(ctx context.Context) error {
	if err := v.book.load(ctx, v.tx); err != nil {
		return err
	}
	if err := v.estimate(ctx); err != nil {
		return err
	}
	var err error
	if v.openings, err = readOpenings(ctx, v.tx, ""); err != nil {
		return err
	}
	days, err := v.days(ctx)
	if err != nil {
		return err
	}
	for _, day := range days {
		if err := v.day(ctx, day); err != nil {
			return fmt.Errorf("%s: %w", dateText(day), err)
		}
	}
	if err := v.packed(ctx); err != nil {
		return err
	}
	if v.result.SetAside, err = readAside(ctx, v.tx); err != nil {
		return fmt.Errorf("read records that are set aside: %w", err)
	}
	v.progress(v.result.Rows, max(v.total, v.result.Rows))
	return nil
}

// estimate computes how many rows there are, for the progress only: counting would read them all.
func (v *verifier) estimate(ctx context.Context) error {
	return v.tx.QueryRowContext(ctx, "SELECT (SELECT coalesce(sum(attempts), 0) FROM rollup_day)"+
		" - (SELECT coalesce(sum(attempts), 0) FROM checkpoints)"+
		" + (SELECT count(*) FROM attempt_rows WHERE state = 0)"+
		" + (SELECT count(*) FROM attempts WHERE outcome = 'open')").
		Scan(&v.total)
}

// days returns all days with any records, oldest first.
func (v *verifier) days(ctx context.Context) ([]int64, error) {
	all := map[int64]bool{}
	for _, t := range []struct {
		table, column string
		perDay        int64 // period numbers of the column in a day
	}{
		{"attempt_rows", "day", 1},
		{"attempts", "day", 1},
		{"corrections", "day", 1},
		{tableCheckpoints, "period", 1},
		{tableExplanations, "period", 1},
		{tableUses, "period", 1},
		{tableDays, "period", 1},
		{"attribution_sums", "day", 1},
		{tableHours, "period", 100},
	} {
		periods, err := daysOf(ctx, v.tx, t.table, t.column, firstDay, lastDay*t.perDay)
		if err != nil {
			return nil, err
		}
		for _, p := range periods {
			all[p/t.perDay] = true
		}
	}
	for o := range v.openings {
		all[o.day] = true
	}
	return slices.Sorted(maps.Keys(all)), nil
}

func (v *verifier) day(ctx context.Context, day int64) error {
	corrections, err := readCorrections(ctx, v.tx, day, day, "")
	if err != nil {
		return err
	}
	v.corrected = map[ledger.AttemptID][]ledger.Correction{}
	if v.parts, err = readPartCheckpoints(ctx, v.tx, day); err != nil {
		return err
	}
	for i := range corrections {
		c := &corrections[i]
		v.corrected[c.id] = append(v.corrected[c.id], ledger.Correction{
			Kind: c.kind, Cost: c.cost, Priced: c.unpriced != 0 || c.marginUnpriced != 0,
		})
		v.parts.addCorrection(&corrections[i])
	}
	hours, err := v.rows(ctx, day)
	if err != nil {
		return err
	}
	uncorrected := hours.days()
	for i := range corrections {
		hours.add(corrections[i].bucket, corrections[i].sums())
	}
	checkpoint, err := newRollup(tableCheckpoints).read(ctx, v.tx, day, day)
	if err != nil {
		return err
	}
	days := hours.days()
	for b, s := range checkpoint {
		days.add(b, s)
		uncorrected.add(b, s)
	}
	if err := v.attribution(ctx, day, uncorrected); err != nil {
		return err
	}
	if err := v.balances(ctx, day, days); err != nil {
		return err
	}
	if err := v.explanations(ctx, day, checkpoint); err != nil {
		return err
	}
	return v.rollups(ctx, day, hours, days, len(checkpoint) > 0)
}

// rollups compares the rollups of a day with its rows and corrections, and with the sums of deleted rows, which have
// no hours.
func (v *verifier) rollups(ctx context.Context, day int64, hours, days buckets, deleted bool) error {
	rolledDays, err := newRollup(tableDays).read(ctx, v.tx, day, day)
	if err != nil {
		return err
	}
	rolledUses, err := newRollup(tableUses).read(ctx, v.tx, day, day)
	if err != nil {
		return err
	}
	rolledHours, err := newRollup(tableHours).read(ctx, v.tx, day*100, day*100+99)
	if err != nil {
		return err
	}
	v.result.Rollups += int64(len(rolledDays) + len(rolledUses) + len(rolledHours))
	v.compare("day", days, rolledDays)
	v.compare("uses", days.uses(), rolledUses)
	if deleted { // the sums of the day must match
		v.compare("hour", days, rolledHours.days())
	} else {
		v.compare("hour", hours, rolledHours)
	}
	return nil
}

// attribution compares the sums by end user and tags of a complete day with the sums before corrections.
func (v *verifier) attribution(ctx context.Context, day int64, days buckets) error {
	var state int64
	err := v.tx.QueryRowContext(ctx, "SELECT state FROM attributed_days WHERE day = ?", day).Scan(&state)
	if isNone(err) || err == nil && state != isAttributed {
		return nil
	}
	if err != nil {
		return err
	}
	all, whole := buckets{}, buckets{}
	rows, err := v.tx.QueryContext(ctx, "SELECT account, attempts, sums FROM attribution_sums WHERE day = ?"+
		" AND sums IS NOT NULL", day)
	err = eachRow(rows, err, func(row scanner) error {
		var account string
		var a accountDay
		if err := row.Scan(&account, &a.attempts, &a.sums); err != nil {
			return err
		}
		sums, err := unpackBuckets(a.sums)
		if err != nil {
			v.differ("attribution", &bucket{period: day, account: account}, err.Error(), a.attempts, 0)
			return nil
		}
		v.result.Rollups += int64(len(sums))
		into, attempts := all, int64(0)
		if account == allAccounts {
			into = whole
		}
		for b, s := range sums.folded(bucket.withoutAttribution) {
			b.period, b.account = day, account
			into.add(b, s)
			attempts += s[measureAttempts]
		}
		if attempts != a.attempts {
			v.differ("attribution", &bucket{period: day, account: account}, "attempts of all sums",
				attempts, a.attempts)
		}
		return nil
	})
	if err == nil {
		v.compare("attribution", days, all)
	}
	if err == nil && len(whole) > 0 { // otherwise they are added up again
		v.compare("attribution of all accounts", days.folded(func(b bucket) bucket {
			b.account = allAccounts
			return b.withoutKey()
		}), whole)
	}
	return err
}

// balances compares the balances of a day with its rows and opening balances.
func (v *verifier) balances(ctx context.Context, day int64, days buckets) error {
	want, have := v.openings.of(day), balances{}
	for b, s := range days {
		want[scopeDay{b.account, day}] += s.charged()
		want[scopeDay{b.key, day}] += s.charged()
	}
	maps.Copy(want, v.parts)
	rows, err := v.tx.QueryContext(ctx, "SELECT scope, sum(spent) FROM balances WHERE day = ? GROUP BY scope", day)
	err = eachRow(rows, err, func(row scanner) error {
		var scope string
		var spent llm.Money
		err := row.Scan(&scope, &spent)
		have[scopeDay{scope, day}] = spent
		return err
	})
	if err != nil {
		return err
	}
	if day < partsFrom(v.now) { // their spending is deleted, or about to be
		want, have = want.withoutParts(), have.withoutParts()
	}
	all := maps.Clone(want)
	maps.Copy(all, have)
	for _, name := range all.sorted() {
		if want[name] != have[name] {
			v.differ("balance", &bucket{period: day, account: name.scope}, "spent", int64(want[name]),
				int64(have[name]))
		}
	}
	return nil
}

// explanations compares a day's deleted rows by price with their checkpoint.
func (v *verifier) explanations(ctx context.Context, day int64, checkpoint buckets) error {
	explained, err := newRollup(tableExplanations).read(ctx, v.tx, day, day)
	if err != nil {
		return err
	}
	v.compare("explanation", checkpoint.uses(), explained.uses())
	for _, b := range explained.sorted() {
		if b.key != "" && b.key != report.PriceForgotten && v.book[b.key] == nil {
			v.differ("explanation", &b, "price "+b.key+", which is missing", 1, 0)
		}
	}
	return nil
}

// compare lists the differences between a rollup and the sums of the rows.
func (v *verifier) compare(rollup string, rows, rolled buckets) {
	v.compareNamed(rollup, rows, rolled, measureColumns())
}

// compareNamed is compare with the names of the measures.
func (v *verifier) compareNamed(rollup string, rows, rolled buckets, names []string) {
	all := maps.Clone(rows)
	maps.Copy(all, rolled)
	none := &sums{}
	for _, b := range all.sorted() {
		want, got := none, none
		if s := rows[b]; s != nil {
			want = s
		}
		if s := rolled[b]; s != nil {
			got = s
		}
		for m := range want {
			if want[m] != got[m] {
				v.differ(rollup, &b, names[m], want[m], got[m])
			}
		}
	}
}

func (v *verifier) differ(rollup string, b *bucket, what string, rows, rolled int64) {
	if len(v.result.Differences) >= mostDifferences {
		return
	}
	v.result.Differences = append(v.result.Differences, report.Difference{
		Rollup: rollup, Account: b.account, Period: periodText(b.period), Model: b.model, Key: b.key,
		What: what, Rows: rows, Rolled: rolled, Checked: v.now,
	})
}
