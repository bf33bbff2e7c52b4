package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"weir/internal/report"
)

// retainRows is how many rows one transaction deletes: few, so that the projector waits only milliseconds.
const retainRows = 500

// Retain deletes the settled attempts of whole UTC days before a time. Unresolved attempts, which may still be
// resolved, and records that are set aside are deleted only before an earlier time: see ledger.Row.Unresolved. The same
// transactions add the deleted rows to checkpoints, as the base for Verify, and to explanations, by the version of
// their price. A day is first added up by end user and tags: see Attribute.
func (s *Ledger) Retain(ctx context.Context, before, unresolved time.Time, tags []string) (
	all report.Retained, err error,
) {
	all.Rows, err = s.retainRows(ctx, before, tags, stateResolvedUnseen)
	if err == nil {
		all.Unresolved, err = s.retainRows(ctx, unresolved, tags, stateUnseen) // only unresolved ones are left
	}
	all.Rows += all.Unresolved
	return all, errors.Join(err, s.retainAside(ctx, unresolved), s.retainKinds(ctx))
}

// retainRows deletes the settled attempts before a time that have at most a state.
func (s *Ledger) retainRows(ctx context.Context, before time.Time, tags []string, most int64) (
	deleted int64, failed error,
) {
	days, err := attemptDays(ctx, s.read, firstDay, dayOf(before)-1)
	if err != nil {
		return 0, fmt.Errorf("delete old attempts: %w", err)
	}
	for _, day := range days {
		if day <= s.lastOver() {
			done, err := s.attribution.attributeDay(ctx, day, everyRequest, tags)
			failed = errors.Join(failed, err)
			if !done { // another node adds it up now, or it failed
				continue
			}
		}
		if _, err := s.packBetween(ctx, rowPlace{day: day}, rowPlace{day: day + 1}); err != nil {
			return deleted, errors.Join(failed, err)
		}
		r := retention{checkpoints: newRollup(tableCheckpoints), explanations: newRollup(tableExplanations)}
		r.rows = ofDay(day)
		r.rows.least, r.rows.most, r.rows.limit = stateKnown, most, retainRows
		for more := true; more; {
			var n int64
			var last rowPlace
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
			deleted, r.rows.from = deleted+n, last
			more = n > 0 // fewer rows than the limit mean that another node deletes too
		}
	}
	return deleted, failed
}

// isBegunAgain reports whether a day is being added up again, which needs its rows. It locks the day, so that this
// does not start.
func isBegunAgain(ctx context.Context, tx *sql.Tx, day int64) (bool, error) {
	var state int
	err := tx.QueryRowContext(ctx, "UPDATE attributed_days SET day = day WHERE day = ? RETURNING state",
		day).Scan(&state)
	if isNone(err) {
		return false, nil
	}
	return state == notAttributed, err
}

// leftover selects rows to delete.
type leftover struct {
	table, key, where string
	args              []any
}

// clear deletes rows, a few at a time. It finds them before it locks anything.
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

// deleteSome deletes at most retainRows rows of a table with a primary key of several columns, and reports whether
// there are more. The number of deleted rows would not show that: PostgreSQL skips rows that another transaction
// deletes.
func (old *leftover) deleteSome(ctx context.Context, tx *sql.Tx) (more bool, err error) {
	rows := " FROM " + old.table + " WHERE " + old.where
	_, err = tx.ExecContext(ctx, "DELETE FROM "+old.table+" WHERE ("+old.key+") IN (SELECT "+old.key+rows+" LIMIT ?)",
		append(old.args[:len(old.args):len(old.args)], int64(retainRows))...)
	if err == nil {
		err = tx.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1"+rows+")", old.args...).Scan(&more)
	}
	return more, err
}

// retention deletes selected rows of a day.
type retention struct {
	rows                      rowsQuery // those that are left; earlier ones stay
	checkpoints, explanations *rollup
}

// some deletes the next rows and returns the place after them. It adds up exactly the rows that it deleted, even if
// concurrent transactions delete others.
func (r *retention) some(ctx context.Context, tx *sql.Tx) (n int64, last rowPlace, err error) {
	hours, prices, parts := buckets{}, buckets{}, balances{}
	last = r.rows.from
	list, err := readRows(ctx, tx, &r.rows)
	if err != nil || len(list) == 0 {
		return 0, last, err
	}
	deleted, err := deleteRows(ctx, tx, last.day, list)
	if err != nil {
		return 0, last, err
	}
	for i := range list {
		e := &list[i].Entry
		if !deleted[list[i].id] {
			continue
		}
		hours.addEntry(e)
		parts.addParts(e)
		prices.add(bucketOf(&e.Attempt).ofDay().ofPrice(e.Price.Version), sumsOf(e))
		last = list[i].next()
		n++
	}
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

// deleteRows deletes rows of a day, and returns the ids of those that existed.
func deleteRows(ctx context.Context, tx *sql.Tx, day int64, list []storedRow) (map[string]bool, error) {
	args := []any{day}
	for i := range list {
		args = append(args, []byte(list[i].id))
	}
	rows, err := tx.QueryContext(ctx, "DELETE FROM attempt_rows WHERE day = ? AND "+among("id", len(list))+
		" RETURNING id", args...)
	deleted := map[string]bool{}
	err = eachRow(rows, err, func(row scanner) error {
		var id []byte
		err := row.Scan(&id)
		deleted[string(id)] = true
		return err
	})
	return deleted, err
}

// RetainExplanations deletes the sums by price of the days before a time. The sums of the days remain.
func (s *Ledger) RetainExplanations(ctx context.Context, before time.Time) error {
	explanations := newRollup(tableExplanations)
	for more := true; more; {
		err := s.writeDeletion(ctx, "delete old explanations", func(tx *sql.Tx) (err error) {
			more, err = forgetSome(ctx, tx, dayOf(before), explanations)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// forgetSome moves some explanations before a day to the sums of report.PriceForgotten.
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
