package store

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"
)

// summedUpto describes which attempts may have been added up.
type summedUpto struct {
	hour int64  // the last hour that a node has packed, or that got late attempts
	day  int64  // the last day with requests that a node adds up,
	upto string // up to this request
	// Another node may start meanwhile, so attempts of days before today and of requests before old may be added up
	// even if the database says otherwise.
	today  int64
	old    uuid.UUID
	uptoID uuid.UUID // of upto
	ended  int64     // hours before it may be packed
}

func (s *summedUpto) setNow(now time.Time) {
	s.ended = max(hourOf(now.Add(-lateAfter)), s.hour+1)
	s.today, s.old, s.uptoID = dayOf(now.UTC()), firstRequest(now.Add(-lateAfter)), uuid.UUID{}
	if id, err := uuid.Parse(s.upto); err == nil {
		s.uptoID = id
	} else if s.upto != "" {
		s.uptoID = uuid.Max // everyRequest
	}
}

// has reports whether an attempt of a day may have been added up.
func (s *summedUpto) has(day int64, request uuid.UUID) bool {
	return day < max(s.day, s.today) || day == s.day && bytes.Compare(request[:], s.uptoID[:]) < 0 ||
		bytes.Compare(request[:], s.old[:]) < 0
}

// lateOnes are the attempts of a batch that may have been added up, and the hours that may be packed.
type lateOnes struct {
	attempts []lateAttempt
	hours    []int64
}

// periods returns the days and hours that may be packed.
func (l *lateOnes) periods() []int64 {
	list := slices.Clone(l.hours)
	for i := range l.attempts {
		list = append(list, l.attempts[i].period)
	}
	return list
}

// lateAttempt is an attempt that is settled when it may have been added up.
type lateAttempt struct {
	request string
	bucket  // of its day
	*sums
}

// addLate adds attempts to the sums that exist.
func addLate(ctx context.Context, tx *sql.Tx, late []lateAttempt) error {
	byDay := map[int64]map[string][]lateAttempt{}
	for _, l := range late {
		if byDay[l.period] == nil {
			byDay[l.period] = map[string][]lateAttempt{}
		}
		byDay[l.period][l.account] = append(byDay[l.period][l.account], l)
	}
	for _, day := range slices.Sorted(maps.Keys(byDay)) {
		// This makes nodes that start or finish adding up the day wait until this is committed.
		var state int
		var upto string
		err := tx.QueryRowContext(ctx, "INSERT INTO attributed_days (day, state, upto, claimed) VALUES (?, ?, '', 0)"+
			" ON CONFLICT (day) DO UPDATE SET day = excluded.day RETURNING state, upto", day,
			notAttributed).Scan(&state, &upto)
		if err != nil {
			return err
		}
		if state == attributionDeleted {
			continue
		}
		if state == notAttributed { // later attempts are not in any sums
			leaveOutFrom(byDay[day], upto)
		}
		again, err := mayAddUpAgain(ctx, tx, day, len(byDay[day]))
		if err != nil {
			return err
		}
		if again {
			if err := addUpAgain(ctx, tx, day, slices.Sorted(maps.Keys(byDay[day]))); err != nil {
				return err
			}
			continue
		}
		all := buckets{}
		for _, account := range slices.Sorted(maps.Keys(byDay[day])) {
			on := accountOn{account, day}
			added, err := addLateOf(ctx, tx, on, state, byDay[day][account])
			if err != nil {
				return err
			}
			for b, s := range added {
				all.add(b.withoutKey(), s)
			}
		}
		err = changeAttributed(ctx, tx, accountOn{allAccounts, day}, func(have buckets, _ string) (buckets, error) {
			return have, have.addWithin(all)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// leaveOutFrom removes the requests from upto on.
func leaveOutFrom(byAccount map[string][]lateAttempt, upto string) {
	for account, list := range byAccount {
		if list = slices.DeleteFunc(list, func(l lateAttempt) bool { return l.request >= upto }); len(list) == 0 {
			delete(byAccount, account)
		} else {
			byAccount[account] = list
		}
	}
}

// mostLate is how many accounts may have attempts that are added to existing sums. With more, other transactions
// would wait too long.
const mostLate = 20

// mayAddUpAgain reports whether that many accounts are added up again, which needs all rows of the day.
func mayAddUpAgain(ctx context.Context, tx *sql.Tx, day int64, accounts int) (may bool, err error) {
	if accounts > mostLate {
		err = tx.QueryRowContext(ctx, "SELECT NOT EXISTS (SELECT 1 FROM "+tableCheckpoints+
			" WHERE period = ?)", day).Scan(&may)
	}
	return may, err
}

// addUpAgain has accounts of a day added up again.
func addUpAgain(ctx context.Context, tx *sql.Tx, day int64, accounts []string) error {
	_, err := tx.ExecContext(ctx, "UPDATE attributed_days SET state = ? WHERE day = ?", notAttributed, day)
	if err == nil {
		err = dropSums(ctx, tx, day, append(accounts, allAccounts)...)
	}
	return err
}

// dropSums deletes an account's sums of a day. A node that is adding them up starts again.
func dropSums(ctx context.Context, tx *sql.Tx, day int64, accounts ...string) error {
	for some := range slices.Chunk(accounts, bulkRows) {
		args := []any{day}
		for _, account := range some {
			args = append(args, account)
		}
		_, err := tx.ExecContext(ctx, "UPDATE attribution_sums"+
			" SET sums = NULL, upto = '', attempts = 0, version = version + 1 WHERE day = ? AND "+
			among("account", len(some)), args...)
		if err != nil {
			return err
		}
	}
	return nil
}

// addLateOf adds the attempts that are before the end of an account's sums of a day, and returns the added sums. If a
// node is adding up the account, it starts again.
func addLateOf(ctx context.Context, tx *sql.Tx, on accountOn, state int, late []lateAttempt) (
	added buckets, err error,
) {
	if state == isAttributed { // the account may have no sums
		none, err := packSums(buckets{}, measureColumns())
		if err != nil {
			return nil, err
		}
		_, err = tx.ExecContext(ctx, "INSERT INTO attribution_sums (account, day, version, upto, attempts, sums)"+
			" VALUES (?, ?, 0, ?, 0, ?)"+
			" ON CONFLICT (account, day) DO NOTHING", on.account, on.day, everyRequest, none)
		if err != nil {
			return nil, err
		}
	}
	added = buckets{}
	err = changeAttributed(ctx, tx, on, func(have buckets, upto string) (buckets, error) {
		closed, err := isClosed(ctx, tx, on.account)
		if err != nil {
			return nil, err
		}
		for _, l := range late {
			b := l.ofSums()
			if closed {
				b = b.withoutAttribution()
			}
			if l.request < upto {
				added.add(b, l.sums)
			}
		}
		return have, have.addWithin(added)
	})
	return added, err
}

// addWithin adds to an account's day. As far as possible it adds to the end users and tags that the day reports
// separately.
func (m buckets) addWithin(late buckets) error {
	toldApart := make([]attributed, 0, len(m))
	text := 0
	var known []string
	for b := range m {
		a, err := parseAttributed(b.attribution)
		if err != nil {
			return err
		}
		if toldApart, text = append(toldApart, a), text+len(b.attribution); len(a.Known) > len(known) {
			known = a.Known
		}
	}
	for _, b := range late.sorted() {
		s := late[b]
		a, err := parseAttributed(b.attribution)
		if err != nil {
			return err
		}
		a.keep(known)
		b = b.attributedTo(&a)
		switch {
		case b.attribution == "" || m[b] != nil:
		case len(m) >= mostAttributed || text+len(b.attribution) > mostAttributedText:
			b = b.attributedTo(nearest(toldApart, &a))
		default:
			text += len(b.attribution)
		}
		m.add(b, s)
	}
	return nil
}

// changeAttributed changes the sums of an account's day, if they exist. A node that is adding them up starts again.
func changeAttributed(ctx context.Context, tx *sql.Tx, on accountOn,
	change func(have buckets, upto string) (buckets, error),
) error {
	var a accountDay
	err := tx.QueryRowContext(ctx, "UPDATE attribution_sums SET version = version + 1 WHERE account = ? AND day = ?"+
		" RETURNING upto, sums",
		on.account, on.day).Scan(&a.upto, &a.sums)
	if isNone(err) || err == nil && a.upto == "" {
		return nil
	}
	if err != nil {
		return err
	}
	have, err := unpackBuckets(a.sums)
	if errors.Is(err, errPacked) { // of a later version, or damaged
		return addUpAgain(ctx, tx, on.day, []string{on.account})
	}
	if err == nil {
		have, err = change(have, a.upto)
	}
	if err == nil {
		a, err = a.with(have)
	}
	if err == nil {
		_, err = tx.ExecContext(ctx, "UPDATE attribution_sums SET sums = ?, attempts = ? WHERE account = ?"+
			" AND day = ?", a.sums, a.attempts,
			on.account, on.day)
	}
	return err
}
