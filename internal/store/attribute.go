package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"weir/internal/ledger"
)

const (
	// attributeAfter is how long after its end a day is added up: most of its requests have ended by then.
	attributeAfter = time.Hour
	// claimedFor is how long a node that adds a day up keeps others from it after each of its accounts.
	claimedFor = 10 * time.Minute
)

// The states of a day in tableAttribution.
const (
	notAttributed = iota
	isAttributed
	attributionDeleted
)

// Attribute adds up, by end user and tags, each day from a moment on that is over and is not added up yet. Another node
// that does so leaves it the days that it has begun.
func (s *Ledger) Attribute(ctx context.Context, from time.Time) error {
	days, err := daysOf(ctx, s.read, tableDays, "period", dayOf(from), s.lastOver())
	if err != nil {
		return fmt.Errorf("add up end users and tags: %w", err)
	}
	if err := s.checkAttributed(ctx, days[:min(len(days), checkedDays)]); err != nil {
		return fmt.Errorf("check end users and tags: %w", err)
	}
	done, err := attributedDays(ctx, s.read, isAttributed, attributionDeleted)
	if err != nil {
		return fmt.Errorf("add up end users and tags: %w", err)
	}
	for _, day := range days {
		if slices.Contains(done, day) {
			continue
		}
		if _, err := s.attributeDay(ctx, day); err != nil {
			return fmt.Errorf("add up end users and tags of %s: %w", dateText(day), err)
		}
	}
	return nil
}

// checkedDays is how many of the last days are checked each time.
const checkedDays = 3

// checkAttributed has days added up again, of which all rows are there, whose sums do not have all attempts: where a node of
// an earlier version has settled some, or a standby has taken over that had lost some.
func (s *Ledger) checkAttributed(ctx context.Context, days []int64) error {
	for _, day := range days {
		var differs bool
		err := s.read.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM attribution_days WHERE day = ? AND state = ?) AND "+
			"(SELECT coalesce(sum(attempts), 0) FROM "+tableAttribution+" WHERE period = ?) <>"+
			" (SELECT coalesce(sum(attempts), 0) FROM "+tableDays+" WHERE period = ?) AND"+
			" NOT EXISTS (SELECT 1 FROM "+tableCheckpoints+" WHERE period = ?)", day, isAttributed, day, day, day).Scan(&differs)
		if err != nil {
			return err
		}
		if !differs {
			continue
		}
		err = s.write(ctx, s.sure, "add a day up again", func(tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, "UPDATE attribution_days SET state = ?, version = version + 1 WHERE day = ? AND state = ?",
				notAttributed, day, isAttributed)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// attributedDays are the days whose state is one from the first to the last.
func attributedDays(ctx context.Context, q querier, first, last int) ([]int64, error) {
	rows, err := q.QueryContext(ctx, "SELECT day FROM attribution_days WHERE state BETWEEN ? AND ?", first, last)
	return collect(rows, err, func(row scanner) (day int64, err error) { return day, row.Scan(&day) })
}

// lastOver is the last day that is over for so long that it can be added up.
func (s *conn) lastOver() int64 {
	return dayOf(s.clock.now().UTC().Add(-attributeAfter).AddDate(0, 0, -1))
}

var (
	errClaimed = errors.New("another node adds the day up")
	errLate    = errors.New("attempts of the day were settled meanwhile")
)

// attributeTries is how often a day is added up at once of which attempts are settled meanwhile.
const attributeTries = 3

// attributeDay adds up a day, and reports whether that is done, by whomever. If not, it is done the next time.
func (s *Ledger) attributeDay(ctx context.Context, day int64) (done bool, err error) {
	claim := uuid.NewString()
	for range attributeTries {
		var version int64
		if version, done, err = s.claimDay(ctx, day, claim); err != nil || done {
			break
		}
		if err = s.attributeAll(ctx, day, version, claim); !errors.Is(err, errLate) {
			break
		}
	}
	switch {
	case errors.Is(err, errClaimed):
		return false, nil
	case err == nil:
		return true, nil
	case errors.Is(err, errLate):
		err = nil
	}
	return false, errors.Join(err, s.writeClaimed(ctx, day, claim, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "UPDATE attribution_days SET claimed = 0 WHERE day = ?", day)
		return err
	}))
}

// claimDay keeps others from adding the day up, and returns its version, unless it is added up.
func (s *Ledger) claimDay(ctx context.Context, day int64, claim string) (version int64, done bool, err error) {
	err = s.write(ctx, s.sure, "claim day", func(tx *sql.Tx) error {
		now := micros(s.clock.now())
		_, err := tx.ExecContext(ctx, "INSERT INTO attribution_days (day, state, version, claim, claimed) VALUES (?, ?, 0, ?, ?)"+
			" ON CONFLICT (day) DO UPDATE SET claim = excluded.claim, claimed = excluded.claimed WHERE attribution_days.state = ?"+
			" AND (attribution_days.claimed < ? OR attribution_days.claim = excluded.claim)", day, notAttributed, claim,
			now+claimedFor.Microseconds(), notAttributed, now)
		if err != nil {
			return err
		}
		var state int64
		var by string
		err = tx.QueryRowContext(ctx, "SELECT version, state, claim FROM attribution_days WHERE day = ?", day).Scan(&version, &state, &by)
		if done = state != notAttributed; err == nil && !done && by != claim {
			err = errClaimed
		}
		return err
	})
	return version, done, err
}

// attributeAll adds up a claimed day, account by account, and writes what some of them come to at a time.
func (s *Ledger) attributeAll(ctx context.Context, day, version int64, claim string) error {
	for left := true; left; { // of somebody who did not come to the end
		err := s.writeClaimed(ctx, day, claim, func(tx *sql.Tx) (err error) {
			left, err = attributedSumsOf(day).deleteSome(ctx, tx)
			return err
		})
		if err != nil {
			return err
		}
	}
	rows, err := s.read.QueryContext(ctx, "SELECT DISTINCT account FROM "+tableDays+" WHERE period = ?", day)
	accounts, err := collect(rows, err, func(row scanner) (id string, err error) { return id, row.Scan(&id) })
	if err != nil {
		return err
	}
	if err := s.attributeCorrections(ctx, day); err != nil {
		return err
	}
	table, pending := newRollup(tableAttribution), buckets{}
	for i, account := range accounts {
		sums, err := s.attributedSums(ctx, day, account)
		if err != nil {
			return err
		}
		if maps.Copy(pending, sums); len(pending) < retainRows && i < len(accounts)-1 {
			continue
		}
		err = s.writeClaimed(ctx, day, claim, func(tx *sql.Tx) error { return table.addEach(ctx, tx, pending) })
		if err != nil {
			return err
		}
		clear(pending)
	}
	return s.writeClaimed(ctx, day, claim, func(tx *sql.Tx) error {
		n, err := affected(tx.ExecContext(ctx, "UPDATE attribution_days SET state = ?, claimed = 0 WHERE day = ? AND version = ?",
			isAttributed, day, version))
		if err == nil && n == 0 {
			err = errLate
		}
		return err
	})
}

// attributeCorrections says for whom and for what corrected attempts of a day were where that is not known: corrections
// did not have it.
func (s *Ledger) attributeCorrections(ctx context.Context, day int64) error {
	corrections, err := readCorrections(ctx, s.read, day, day, "")
	if err != nil {
		return err
	}
	for i := range corrections {
		c := &corrections[i]
		if c.attribution.text() != "" {
			continue
		}
		e, _, err := findAttempt(ctx, s.read, c.id)
		if isNone(err) {
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
			closed, err := isClosed(ctx, tx, e.Account)
			if err != nil || closed {
				return err
			}
			_, err = tx.ExecContext(ctx, "UPDATE corrections SET attribution = ? WHERE day = ? AND request = ? AND n = ?", text, day,
				c.id.Request.String(), int64(c.id.N))
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// writeClaimed runs fn in a transaction while the day is claimed, and keeps the claim.
func (s *Ledger) writeClaimed(ctx context.Context, day int64, claim string, fn func(tx *sql.Tx) error) error {
	return s.write(ctx, s.sure, "add up end users and tags", func(tx *sql.Tx) error {
		n, err := affected(tx.ExecContext(ctx, "UPDATE attribution_days SET claimed = ? WHERE day = ? AND state = ? AND claim = ?",
			micros(s.clock.now().Add(claimedFor)), day, notAttributed, claim))
		switch {
		case err != nil:
			return err
		case n == 0:
			return errClaimed
		}
		return fn(tx)
	})
}

// attributedSums are the sums of an account's day as of one moment: of its rows, and of those that are deleted.
func (s *Ledger) attributedSums(ctx context.Context, day int64, account string) (buckets, error) {
	all := newAttributedDay()
	err := s.moment(ctx, s.read, "add up end users and tags", func(tx *sql.Tx) error {
		closed, err := isClosed(ctx, tx, account)
		if err != nil {
			return err
		}
		rows, err := tx.QueryContext(ctx, "SELECT "+attemptColumns+" FROM attempts WHERE account = ? AND "+isOn("day", day)+
			" AND outcome <> 'open'", account)
		err = each(rows, err, scanEntry, func(e *ledger.Entry) error {
			to := attributedOf(&e.Attribution)
			if closed {
				to = attributed{}
			}
			all.addTo(bucketOf(&e.Attempt).ofDay().attributedTo(&to), sumsOf(e))
			return nil
		})
		if err != nil {
			return err
		}
		rows, err = tx.QueryContext(ctx, "SELECT "+newRollup(tableCheckpoints).columns()+" FROM "+tableCheckpoints+
			" WHERE period = ? AND account = ?", day, account)
		return each(rows, err, scanRolled, func(r *rolled) error {
			all.addTo(r.bucket, &r.sums)
			return nil
		})
	})
	if err == nil {
		all.shorten(mostAttributed, mostAttributedText)
	}
	return all.buckets, err
}

// RetainAttribution deletes the sums by end user and tags of days before a moment.
func (s *Ledger) RetainAttribution(ctx context.Context, before time.Time) error {
	day := dayOf(before)
	err := s.write(ctx, s.sure, "forget end users and tags", func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "UPDATE attribution_days SET state = ? WHERE day < ? AND state = ?", attributionDeleted, day, isAttributed)
		if err == nil {
			_, err = tx.ExecContext(ctx, "UPDATE corrections SET attribution = '' WHERE day < ? AND attribution <> ''", day)
		}
		return err
	})
	if err != nil {
		return err
	}
	deleted, err := attributedDays(ctx, s.read, attributionDeleted, attributionDeleted)
	if err != nil {
		return err
	}
	days, err := daysOf(ctx, s.read, tableAttribution, "period", firstDay, day-1)
	if err != nil {
		return err
	}
	for _, day := range days {
		for left := slices.Contains(deleted, day); left; {
			err := s.writeDeletion(ctx, "forget end users and tags", func(tx *sql.Tx) (err error) {
				left, err = attributedSumsOf(day).deleteSome(ctx, tx)
				return err
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// attributedSumsOf are all sums of a day, to be deleted.
func attributedSumsOf(day int64) *leftover {
	return &leftover{table: tableAttribution, key: "period, account, model, key, digest", where: "period = ?", args: []any{day}}
}

// forgetAttribution takes end users and tags out of the sums of an account that is closed, which stay. Who adds up a day
// now may have read of them before it was closed, and begins again.
func (s *Accounts) forgetAttribution(ctx context.Context, account string) error {
	var days []int64
	err := s.write(ctx, s.sure, "forget end users and tags", func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "UPDATE attribution_days SET version = version + 1 WHERE state = ?", notAttributed)
		if err == nil {
			_, err = tx.ExecContext(ctx, "UPDATE corrections SET attribution = '' WHERE account = ?", account)
		}
		if err == nil {
			days, err = attributedDays(ctx, tx, isAttributed, isAttributed)
		}
		return err
	})
	if err != nil {
		return err
	}
	table := newRollup(tableAttribution)
	for _, day := range days {
		err := s.write(ctx, s.sure, "forget end users and tags", func(tx *sql.Tx) error {
			rows, err := tx.QueryContext(ctx, "DELETE FROM "+tableAttribution+
				" WHERE period = ? AND account = ? AND attribution <> '' RETURNING "+table.columns(), day, account)
			whole := buckets{}
			err = each(rows, err, scanRolled, func(r *rolled) error {
				whole.add(r.withoutAttribution(), &r.sums)
				return nil
			})
			if err == nil {
				err = table.addEach(ctx, tx, whole)
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}
