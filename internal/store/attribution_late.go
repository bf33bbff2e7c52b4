package store

import (
	"context"
	"database/sql"
	"maps"
	"slices"
)

// addLate adds attempts of days that are over, which were settled, to what is added up of them.
func addLate(ctx context.Context, tx *sql.Tx, late buckets) error {
	byDay := map[int64]map[string]buckets{}
	for b, s := range late {
		if byDay[b.period] == nil {
			byDay[b.period] = map[string]buckets{}
		}
		if byDay[b.period][b.account] == nil {
			byDay[b.period][b.account] = buckets{}
		}
		byDay[b.period][b.account][b] = s
	}
	for _, day := range slices.Sorted(maps.Keys(byDay)) {
		// Nobody begins to add the day up, or ends, until this is committed.
		var state int
		err := tx.QueryRowContext(ctx, "INSERT INTO attribution_days (day, state, claimed) VALUES (?, ?, 0)"+
			" ON CONFLICT (day) DO UPDATE SET day = excluded.day RETURNING state", day, notAttributed).Scan(&state)
		if err != nil {
			return err
		}
		for _, account := range slices.Sorted(maps.Keys(byDay[day])) {
			if err := addLateOf(ctx, tx, account, day, state, byDay[day][account]); err != nil {
				return err
			}
		}
	}
	return nil
}

// addLateOf adds to an account's day in that state. Of accounts that are being added up it says that they have to be
// once more.
func addLateOf(ctx context.Context, tx *sql.Tx, account string, day int64, state int, late buckets) error {
	if state == isAttributed { // which may be without the account
		none, err := packSums(buckets{})
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, "INSERT INTO attribution_sums (account, day, version, attempts, sums) VALUES (?, ?, 0, 0, ?)"+
			" ON CONFLICT (account, day) DO NOTHING", account, day, none)
		if err != nil {
			return err
		}
	}
	return changeAttributed(ctx, tx, account, day, func(have buckets) (buckets, error) {
		closed, err := isClosed(ctx, tx, account)
		if err != nil {
			return nil, err
		}
		n, text := 0, 0
		for b := range have {
			n, text = n+1, text+len(b.attribution)
		}
		for _, b := range late.sorted() {
			s := late[b]
			b.period, b.account = 0, "" // as in what there is
			switch {
			case closed:
				b = b.withoutAttribution()
			case b.attribution == "" || have[b] != nil:
			case n >= mostAttributed || text+len(b.attribution) > mostAttributedText:
				b = b.attributedTo(others())
			default:
				n, text = n+1, text+len(b.attribution)
			}
			have.add(b, s)
		}
		return have, nil
	})
}

// changeAttributed changes what is added up of an account's day, if it is. Whoever adds it up now begins again.
func changeAttributed(ctx context.Context, tx *sql.Tx, account string, day int64, change func(buckets) (buckets, error)) error {
	var a accountDay
	err := tx.QueryRowContext(ctx, "UPDATE attribution_sums SET version = version + 1 WHERE account = ? AND day = ? RETURNING sums",
		account, day).Scan(&a.sums)
	if isNone(err) || err == nil && a.sums == nil {
		return nil
	}
	if err != nil {
		return err
	}
	have, err := a.buckets()
	if err == nil {
		have, err = change(have)
	}
	if err == nil {
		a, err = a.with(have)
	}
	if err == nil {
		_, err = tx.ExecContext(ctx, "UPDATE attribution_sums SET sums = ?, attempts = ? WHERE account = ? AND day = ?", a.sums, a.attempts,
			account, day)
	}
	return err
}

// buckets are the sums, without the account and the day.
func (a *accountDay) buckets() (buckets, error) {
	u, err := unpackSums(a.sums)
	if err != nil {
		return nil, err
	}
	all := make(buckets, u.left)
	for u.next() {
		b := u.bucketOn(accountOn{})
		all.add(b.attributedTo(&u.attributions[u.attribution]), &u.sums)
	}
	return all, u.failed()
}
