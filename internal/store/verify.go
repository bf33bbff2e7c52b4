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
	// corrected holds the sums of the corrections of the current day's attempts.
	corrected map[ledger.AttemptID]llm.Money
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
	v.progress(v.result.Rows, max(v.total, v.result.Rows))
	return nil
}

// estimate computes how many rows there are, for the progress only: counting would read them all.
func (v *verifier) estimate(ctx context.Context) error {
	return v.tx.QueryRowContext(ctx, "SELECT (SELECT coalesce(sum(attempts), 0) FROM rollup_day)"+
		" - (SELECT coalesce(sum(attempts), 0) FROM checkpoints)"+
		" + (SELECT count(*) FROM attempts WHERE outcome = 'open')").Scan(&v.total)
}

// days returns all days with any records, oldest first.
func (v *verifier) days(ctx context.Context) ([]int64, error) {
	all := map[int64]bool{}
	for _, t := range []struct {
		table, column string
		perDay        int64 // period numbers of the column in a day
	}{
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
	v.corrected = map[ledger.AttemptID]llm.Money{}
	if v.parts, err = readPartCheckpoints(ctx, v.tx, day); err != nil {
		return err
	}
	for i := range corrections {
		v.corrected[corrections[i].id] += corrections[i].cost
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

// rows adds up a day's rows, and checks the cost of each.
func (v *verifier) rows(ctx context.Context, day int64) (buckets, error) {
	hours := buckets{}
	err := eachOfDay(ctx, v.tx, day, "", func(e *ledger.Entry) error {
		if v.result.Rows++; v.result.Rows%progressRows == 0 {
			v.progress(v.result.Rows, max(v.total, v.result.Rows))
		}
		if e.Outcome == ledger.OutcomeOpen {
			v.result.Open++
			return nil
		}
		v.result.Unknown += number(e.Provenance == ledger.Unknown)
		hours.addEntry(e)
		v.parts.addParts(e)
		v.cost(e)
		v.margin(e)
		if cost := e.Cost + v.corrected[e.ID]; cost < 0 {
			b := bucketOf(&e.Attempt)
			v.differ("row", &b, "corrected cost of attempt "+e.ID.String()+", which must not be negative", 0,
				int64(cost))
		}
		return nil
	})
	return hours, err
}

// cost compares a row's cost with the cost at its price.
func (v *verifier) cost(e *ledger.Entry) {
	want, what := llm.Money(0), "cost of attempt "+e.ID.String()
	price, missing := &e.Price, false
	if e.Price.Known() {
		price, missing = v.book[e.Price.Version], v.book[e.Price.Version] == nil
	}
	if missing {
		what += ", whose price " + e.Price.Version + " is missing"
	} else {
		want = min(price.Cost(&e.Usage, e.Tier), llm.MaxCost)
	}
	switch {
	case e.Provenance == ledger.Unknown:
		want = e.Hold
	case e.Billed && e.ProviderCost != nil:
		want, missing = *e.ProviderCost, false
	}
	if missing || want != e.Cost {
		b := bucketOf(&e.Attempt)
		v.differ("row", &b, what, int64(want), int64(e.Cost))
	}
}

// margin compares a row's margin with the margin by its price list.
func (v *verifier) margin(e *ledger.Entry) {
	if e.Terms == nil && e.Margin == 0 && e.MarginUncertain == 0 && e.ChargeUnpriced == nil {
		return
	}
	want, a := e.Settlement, e.Attempt
	if full := v.book[a.Price.Version]; full != nil {
		a.Price = *full
	}
	if a.Terms.Own() {
		if full := v.book[a.Terms.Price.Version]; full != nil {
			a.Terms.Price = *full // only for this row
		}
	}
	if e.ChargeUnpriced == nil && a.Terms.Own() {
		a.SetChargeBefore(&want)
	} else {
		a.SetCharge(&want)
	}
	b := bucketOf(&e.Attempt)
	if e.ChargeUnpriced != nil && want.UnpricedCharge() != *e.ChargeUnpriced {
		v.differ("row", &b, "number of classes without a price in the charge of attempt "+e.ID.String(),
			int64(len(want.UnpricedCharge().Names())), int64(len(e.ChargeUnpriced.Names())))
	}
	for _, of := range []struct {
		what      string
		want, got llm.Money
	}{{"margin", want.Margin, e.Margin}, {"uncertain margin", want.MarginUncertain, e.MarginUncertain}} {
		if of.want != of.got {
			v.differ("row", &b, of.what+" of attempt "+e.ID.String(), int64(of.want), int64(of.got))
		}
	}
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
	names := measureColumns()
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
