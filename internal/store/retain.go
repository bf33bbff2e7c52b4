package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"weir/internal/ledger"
	"weir/internal/report"
)

// retainRows is how many rows one transaction deletes: few enough that the
// projector waits for milliseconds only.
const retainRows = 500

// Retain deletes the settled attempts of whole UTC days before a moment, those that are
// unresolved, which somebody may resolve yet, only before an earlier one: see
// ledger.Row.Unresolved. What they add up to goes into checkpoints in the same
// transactions, so that Verify goes on from there, and by the version of their price into
// explanations. A day is added up by end user and tags before: see Attribute.
func (s *Ledger) Retain(ctx context.Context, before, unresolved time.Time, tags []string) (all report.Retained, err error) {
	all.Rows, err = s.retainRows(ctx, before, tags, "outcome <> 'open' AND NOT "+isUnresolved)
	if err == nil {
		all.Unresolved, err = s.retainRows(ctx, unresolved, tags, "outcome <> 'open'") // which the others have left
	}
	all.Rows += all.Unresolved
	return all, err
}

// retainRows deletes the attempts before a moment of which the condition holds.
func (s *Ledger) retainRows(ctx context.Context, before time.Time, tags []string, where string) (deleted int64, failed error) {
	days, err := daysOf(ctx, s.read, "attempts", "day", firstDay, dayOf(before)-1)
	if err != nil {
		return 0, fmt.Errorf("delete old attempts: %w", err)
	}
	for _, day := range days {
		if day <= s.lastOver() {
			done, err := s.attributeDay(ctx, day, everyRequest, tags)
			failed = errors.Join(failed, err)
			if !done { // another node adds it up now, or nobody can
				continue
			}
		}
		r := retention{day: day, where: where, checkpoints: newRollup(tableCheckpoints), explanations: newRollup(
			tableExplanations)}
		for more := true; more; {
			var n int64
			var last string
			err := s.writeDeletion(ctx, "delete old attempts", func(tx *sql.Tx) (err error) {
				if again, err := isBegunAgain(ctx, tx, day); err != nil || again {
					n = 0
					return err
				}
				n, last, err = r.some(ctx, tx)
				return err
			})
			if err != nil {
				return deleted, errors.Join(failed, err)
			}
			deleted, r.from = deleted+n, last
			more = n > 0 // fewer than asked for says that others delete too
		}
	}
	return deleted, failed
}

// isBegunAgain reports whether a day is added up again, for which its rows are needed, and keeps others from that.
func isBegunAgain(ctx context.Context, tx *sql.Tx, day int64) (bool, error) {
	var state int
	err := tx.QueryRowContext(ctx, "UPDATE attributed_days SET day = day WHERE day = ? RETURNING state", day).Scan(&state)
	if isNone(err) {
		return false, nil
	}
	return state == notAttributed, err
}

// leftover are rows that nobody needs any more.
type leftover struct {
	table, key, where string
	args              []any
}

// clear deletes rows, a few at a time. They are looked for before anybody has to
// wait for the deletion.
func (s *conn) clear(ctx context.Context, old *leftover) error {
	for {
		rows, err := s.read.QueryContext(ctx, "SELECT DISTINCT "+old.key+" FROM "+old.table+" WHERE "+old.where+
			" LIMIT ?", append(old.args[:len(old.args):len(old.args)], int64(retainRows))...)
		keys, err := collect(rows, err, func(row scanner) (key any, err error) {
			var text string
			err = row.Scan(&text)
			return text, err
		})
		if err != nil || len(keys) == 0 {
			return err
		}
		err = s.writeDeletion(ctx, "delete", func(tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, "DELETE FROM "+old.table+" WHERE "+among(old.key, len(keys))+" AND "+
				old.where, append(keys[:len(keys):len(keys)], old.args...)...)
			return err
		})
		if err != nil || len(keys) < retainRows {
			return err
		}
	}
}

// deleteSome deletes retainRows rows at most, of a table whose primary key is a list of columns, and reports whether there
// are more. How many were deleted would not tell: PostgreSQL skips those that somebody else deletes.
func (old *leftover) deleteSome(ctx context.Context, tx *sql.Tx) (more bool, err error) {
	rows := " FROM " + old.table + " WHERE " + old.where
	_, err = tx.ExecContext(ctx, "DELETE FROM "+old.table+" WHERE ("+old.key+") IN (SELECT "+old.key+rows+" LIMIT ?)",
		append(old.args[:len(old.args):len(old.args)], int64(retainRows))...)
	if err == nil {
		err = tx.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1"+rows+")", old.args...).Scan(&more)
	}
	return more, err
}

// retention deletes the rows of a day of which a condition holds.
type retention struct {
	day                       int64
	where                     string
	from                      string // the request at which it goes on; what is before it stays
	checkpoints, explanations *rollup
}

// some deletes the next rows, up to those of a last request. What it adds up is what it
// deleted, whoever deletes or settles beside it.
func (r *retention) some(ctx context.Context, tx *sql.Tx) (n int64, last string, err error) {
	rows, err := tx.QueryContext(ctx, "DELETE FROM attempts WHERE day = ? AND "+r.where+" AND (request, n) IN"+
		" (SELECT request, n FROM attempts WHERE day = ? AND request >= ? AND "+r.where+" ORDER BY request, n LIMIT ?)"+
		" RETURNING "+attemptColumns, r.day, r.day, r.from, retainRows)
	hours, prices, parts := buckets{}, buckets{}, balances{}
	last = r.from
	err = each(rows, err, scanEntry, func(e *ledger.Entry) error {
		hours.addEntry(e)
		parts.addParts(e)
		prices.add(bucketOf(&e.Attempt).ofDay().ofPrice(e.Price.Version), sumsOf(e))
		last = max(last, e.ID.Request.String())
		n++
		return nil
	})
	if err == nil {
		err = r.checkpoints.addEach(ctx, tx, hours.days())
	}
	if err == nil {
		err = r.explanations.addEach(ctx, tx, prices)
	}
	if err == nil {
		err = checkpointParts(ctx, tx, parts)
	}
	return n, last, err
}

// RetainExplanations forgets by which prices the days before a moment came about. Their
// sums stay.
func (s *Ledger) RetainExplanations(ctx context.Context, before time.Time) error {
	explanations := newRollup(tableExplanations)
	for more := true; more; {
		err := s.writeDeletion(ctx, "forget old explanations", func(tx *sql.Tx) (err error) {
			more, err = forgetSome(ctx, tx, dayOf(before), explanations)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// forgetSome adds some explanations before a day to what nobody knows the price of any
// more.
func forgetSome(ctx context.Context, tx *sql.Tx, day int64, explanations *rollup) (more bool, err error) {
	rows, err := tx.QueryContext(ctx, "DELETE FROM explanations WHERE (period, account, model, price) IN"+
		" (SELECT period, account, model, price FROM explanations WHERE period < ? AND price <> ? ORDER BY period, "+
		"account, model, price LIMIT ?)"+
		" RETURNING "+explanations.columns(), day, report.PriceForgotten, retainRows)
	n, sum := 0, buckets{}
	err = each(rows, err, scanRolled, func(r *rolled) error {
		sum.add(r.ofPrice(report.PriceForgotten), &r.sums)
		n++
		return nil
	})
	if err != nil {
		return false, err
	}
	return n > 0, explanations.addEach(ctx, tx, sum)
}
