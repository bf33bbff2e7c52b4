package store

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"weir/internal/ledger"
)

const (
	// attributeAfter is how long after its end a day is added up: most of its requests have ended by then.
	attributeAfter = time.Hour
	// attributeBehind is the least age of requests that are added up on the current day. From the age of lateAfter
	// on, attempts are handled as if they may have been added up; it is shorter because a transaction takes time.
	attributeBehind = 30 * time.Minute
	lateAfter       = 20 * time.Minute
	// claimedFor is how long a node that adds up some accounts of a day excludes other nodes from it. If two nodes do
	// it at the same time, the work is done twice, without harm.
	claimedFor = 10 * time.Minute
	// attributeAccounts is how many accounts are added up between two claims.
	attributeAccounts = 50
	// attributeBytes is the size of sums above which they are written, because other transactions wait for a write.
	attributeBytes = 1 << 20
	// attributeAgain is how often accounts are added up again because attempts were settled meanwhile. The rest waits
	// for the next call.
	attributeAgain = 3
)

// States of a day in attributed_days.
const (
	notAttributed = iota
	isAttributed
	attributionDeleted
)

// Attribution adds up the usage of past days by end user and tag, and packs sums.
type Attribution struct {
	*conn
	others atomic.Int64 // attempts: see OtherAttempts
	// checks, packs and hours count how often days were checked, and days and hours packed again: see turn.
	checks, packs, hours turn
	mostPacked           int // limits the sums in a packed row
}

// Attribute adds up, by end user and tags, each day since from that is not added up yet, and the requests so far of
// the current day. It skips days that another node has claimed. tags are the names of the tags that are reported
// separately; if there are none, the tags with the highest cost are.
func (s *Attribution) Attribute(ctx context.Context, from time.Time, tags []string) error {
	days, err := daysOf(ctx, s.read, tableDays, "period", dayOf(from), s.lastOver())
	if err != nil {
		return fmt.Errorf("add up end users and tags: %w", err)
	}
	var checked []int64
	isChecked := s.checks.next(s.clock.now())
	for i, day := range days {
		if i < checkedDays || isChecked(day) {
			checked = append(checked, day)
		}
	}
	if err := s.checkAttributed(ctx, checked); err != nil {
		return fmt.Errorf("check sums of end users and tags: %w", err)
	}
	done, err := attributedDays(ctx, s.read, isAttributed, attributionDeleted)
	if err != nil {
		return fmt.Errorf("add up end users and tags: %w", err)
	}
	var all []error // an error does not stop the other days
	for _, day := range days {
		if slices.Contains(done, day) {
			continue
		}
		if _, err := s.attributeDay(ctx, day, everyRequest, tags); err != nil {
			all = append(all, fmt.Errorf("add up end users and tags of %s: %w", dateText(day), err))
		}
	}
	if err := s.attributeSoFar(ctx, tags); err != nil {
		all = append(all, fmt.Errorf("add up end users and tags of today: %w", err))
	}
	if err := s.attributeTogether(ctx, tags); err != nil {
		all = append(all, fmt.Errorf("add up end users and tags of all accounts: %w", err))
	}
	return errors.Join(all...)
}

// everyRequest sorts after the ids of all requests.
const everyRequest = "g"

// attributeSoFar adds up the requests so far of the days that are not over.
func (s *Attribution) attributeSoFar(ctx context.Context, tags []string) error {
	now := s.clock.now()
	days, err := daysOf(ctx, s.read, tableDays, "period", s.lastOver()+1, dayOf(now))
	for _, day := range days {
		if err == nil {
			_, err = s.attributeDay(ctx, day, requestsBefore(now.Add(-attributeBehind)), tags)
		}
	}
	return err
}

// requestsBefore returns the lowest id that a request of that time may have: see ledger.NewID.
func requestsBefore(t time.Time) string { return firstRequest(t).String() }

// firstRequest returns the lowest id of requests of a time.
func firstRequest(t time.Time) (id uuid.UUID) {
	binary.BigEndian.PutUint64(id[:], uint64(max(t.UnixMilli(), 0))<<16)
	return id
}

// attributeTogether adds up the sums over all accounts again for the days on which an account was closed since.
func (s *Attribution) attributeTogether(ctx context.Context, tags []string) error {
	rows, err := s.read.QueryContext(ctx, "SELECT a.day FROM attribution_sums a JOIN attributed_days d"+
		" ON d.day = a.day"+
		" WHERE a.account = ? AND a.sums IS NULL AND d.state = ?", allAccounts, isAttributed)
	days, err := collect(rows, err, scanOne[int64])
	for _, day := range days {
		if err == nil {
			err = s.attributeSome(ctx, &attributing{
				day: day, upto: everyRequest, tags: tags,
				accounts: []string{allAccounts},
			})
		}
	}
	return err
}

// checkedDays is how many of the last days are checked each time.
const checkedDays = 3

// turn selects the days and months that are checked in the current hour, of any age: each period belongs to one of 24
// turns. The first turn follows from the hour of the day, so that a process that restarts every few hours reaches
// all.
type turn struct{ taken atomic.Int64 }

// next starts the next turn and returns a function that reports whether a period is checked in it.
func (t *turn) next(now time.Time) (isChecked func(period int64) bool) {
	t.taken.CompareAndSwap(0, 24+int64(now.UTC().Hour()))
	at := (t.taken.Add(1) - 1) % 24
	return func(period int64) bool { return period%24 == at }
}

// checkAttributed finds accounts with sums of a day that miss attempts, and has them added up again. This happens if
// a node of an earlier version settled the attempts. It skips days with deleted rows.
func (s *Attribution) checkAttributed(ctx context.Context, days []int64) error {
	for _, day := range days {
		accounts, err := s.wronglyAttributed(ctx, day)
		if err != nil {
			return err
		}
		if len(accounts) == 0 {
			continue
		}
		err = s.write(ctx, s.sure, "add a day up again", func(tx *sql.Tx) error {
			n, err := affected(tx.ExecContext(ctx, "UPDATE attributed_days SET state = ?, claimed = 0"+
				" WHERE day = ? AND state = ?",
				notAttributed, day, isAttributed))
			if err != nil || n == 0 {
				return err
			}
			return dropSums(ctx, tx, day, append(accounts, allAccounts)...)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// wronglyAttributed returns the accounts that have fewer or more attempts in their sums of a day than on the day.
func (s *Attribution) wronglyAttributed(ctx context.Context, day int64) ([]string, error) {
	rows, err := s.read.QueryContext(ctx, "SELECT d.account FROM (SELECT account, sum(attempts) AS n FROM "+tableDays+
		" WHERE period = ? GROUP BY account UNION ALL SELECT '', coalesce(sum(attempts), 0) FROM "+tableDays+
		" WHERE period = ?) d"+
		" LEFT JOIN attribution_sums a ON a.account = d.account AND a.day = ?"+
		" WHERE coalesce(a.attempts, 0) <> d.n AND EXISTS (SELECT 1 FROM attributed_days WHERE day = ? AND state = ?)"+
		" AND NOT EXISTS (SELECT 1 FROM "+tableCheckpoints+" c WHERE c.period = ? AND (c.account = d.account"+
		" OR d.account = ''))"+
		" AND NOT (d.account = '' AND a.sums IS NULL)", day, day, day, day, isAttributed, day)
	return collect(rows, err, scanOne[string])
}

// attributedDays returns the days whose state is from first to last.
func attributedDays(ctx context.Context, q querier, first, last int) ([]int64, error) {
	rows, err := q.QueryContext(ctx, "SELECT day FROM attributed_days WHERE state BETWEEN ? AND ?", first, last)
	return collect(rows, err, scanOne[int64])
}

// lastOver returns the last day that ended at least attributeAfter ago.
func (s *conn) lastOver() int64 {
	return dayOf(s.clock.now().UTC().Add(-attributeAfter).AddDate(0, 0, -1))
}

// attributeDay adds up the requests of a day with ids less than upto, some accounts at a time. It reports whether the
// day is complete, by this node or another. Finished accounts remain finished: the next call continues with the
// others.
func (s *Attribution) attributeDay(ctx context.Context, day int64, upto string, tags []string) (done bool, err error) {
	p := attributing{day: day, upto: upto, tags: tags}
	for {
		if err := s.claim(ctx, &p); err != nil || p.done || p.refused {
			return p.done, err
		}
		if !p.held {
			p.held = true
			if err := s.attributeCorrections(ctx, day); err != nil {
				return false, err
			}
		}
		if err := s.attributeSome(ctx, &p); err != nil {
			return false, err
		}
	}
}

// attributeSome adds up accounts of a day and writes their sums, except for accounts with attempts that were settled
// meanwhile.
func (s *Attribution) attributeSome(ctx context.Context, p *attributing) error {
	var list []accountDay
	size := 0
	for i, account := range p.accounts {
		a, err := s.attributed(ctx, account, p)
		if err != nil {
			return err
		}
		list, size = append(list, a), size+len(a.sums)
		if size < attributeBytes && i < len(p.accounts)-1 {
			continue
		}
		if err := s.writeAttributed(ctx, list, p.upto); err != nil {
			return err
		}
		list, size = nil, 0
	}
	return nil
}

func (s *Attribution) writeAttributed(ctx context.Context, list []accountDay, upto string) error {
	var others int64
	err := s.write(ctx, s.sure, "add up end users and tags", func(tx *sql.Tx) error {
		others = 0
		for i := range list {
			a := &list[i]
			n, err := affected(tx.ExecContext(ctx, "UPDATE attribution_sums SET sums = ?, attempts = ?, upto = ?"+
				" WHERE account = ? AND day = ?"+
				" AND version = ? AND upto = ? AND upto < ?", a.sums, a.attempts, upto, a.account, a.day,
				a.version, a.upto, upto))
			if err != nil {
				return err
			}
			others += n * a.others
		}
		return nil
	})
	if err == nil {
		s.others.Add(others)
	}
	return err
}

// OtherAttempts returns how many attempts this process has added up under report.Other, by their end user or a tag.
func (s *Attribution) OtherAttempts() int64 { return s.others.Load() }

// accountDay holds a row of attribution_sums.
type accountDay struct {
	accountOn
	version, attempts int64
	upto              string // empty if nothing is added up
	sums              []byte // see packSums; nil if nothing is added up
	others            int64  // attempts added up under report.Other
}

// with returns the row with its sums replaced.
func (a accountDay) with(all buckets) (accountDay, error) {
	var err error
	a.attempts = 0
	for _, s := range all {
		a.attempts += s[measureAttempts]
	}
	a.sums, err = packSums(all, measureColumns())
	return a, err
}

// attributeCorrections sets the attribution of a day's corrections from their attempts, if it is missing: corrections
// of earlier versions did not have it.
func (s *Attribution) attributeCorrections(ctx context.Context, day int64) error {
	corrections, err := readCorrections(ctx, s.read, day, day, "")
	if err != nil {
		return err
	}
	for i := range corrections {
		c := &corrections[i]
		if c.attribution.text() != "" {
			continue
		}
		e, err := findAttempt(ctx, s.read, c.id)
		if errors.Is(err, ledger.ErrNoAttempt) {
			continue
		}
		if err != nil {
			return err
		}
		to := attributedOf(&e.Attribution)
		text := to.text()
		if text == "" {
			continue
		}
		err = s.write(ctx, s.sure, "attribute correction", func(tx *sql.Tx) error {
			closed, err := s.isClosedFor(ctx, tx, e.Account)
			if err != nil || closed {
				return err
			}
			_, err = tx.ExecContext(ctx, "UPDATE corrections SET attribution = ? WHERE day = ? AND request = ?"+
				" AND n = ?", text, day,
				c.id.Request.String(), int64(c.id.N))
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// attributed adds up an account's day as of one moment.
func (s *Attribution) attributed(ctx context.Context, account string, p *attributing) (a accountDay, err error) {
	all := newAttributedDay(p.tags)
	a.accountOn = accountOn{account, p.day}
	err = s.moment(ctx, s.reports, "add up end users and tags", func(tx *sql.Tx) error {
		err := tx.QueryRowContext(ctx, "SELECT version, upto, sums FROM attribution_sums WHERE account = ?"+
			" AND day = ?", account, p.day).
			Scan(&a.version, &a.upto, &a.sums)
		switch {
		case isNone(err): // the day was dropped meanwhile
			return nil
		case err != nil:
			return err
		case a.upto >= p.upto: // another node has added up more
			return nil
		case account == allAccounts:
			return all.addAccounts(ctx, tx, p.day)
		}
		return all.addAccount(ctx, tx, &a, p.upto)
	})
	if errors.Is(err, errPacked) {
		// One account's sums cannot be read: it is added up again now, and the sums over all accounts the next time.
		return a, errors.Join(err, s.write(ctx, s.sure, "add an account up again", func(tx *sql.Tx) error {
			return addUpAgain(ctx, tx, p.day, all.damaged)
		}))
	}
	if err != nil {
		return a, err
	}
	if p.upto == everyRequest {
		all.shorten(mostAttributed, mostAttributedText)
	} else { // more requests will follow, so twice as much is stored until then
		all.shorten(2*mostAttributed, 2*mostAttributedText)
	}
	if account != allAccounts && p.upto == everyRequest { // the sums over all accounts would count them twice
		a.others = all.others()
	}
	return a.with(all.buckets)
}
