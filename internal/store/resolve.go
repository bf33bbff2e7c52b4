package store

import (
	"context"
	"database/sql"
	"fmt"
	"slices"

	"weir/internal/audit"
	"weir/internal/ledger"
)

// resolveRows is how many attempts one transaction resolves: few, so that other writers do not wait for long.
const resolveRows = 100

// ResolveOlder resolves by a rule the cost of the attempts that were opened before a time and have an unseen end: see
// ledger.Row.Unseen. Each gets a correction of its own. If it is called again after an error, it continues with the
// rest. It reports progress, in attempts; progress may be nil. It returns what it resolved, or would resolve.
func (s *Corrections) ResolveOlder(ctx context.Context, by audit.Actor, q ledger.ResolveQuery,
	progress func(done, total int64),
) (ledger.Resolution, error) {
	look := older{store: s, query: &q}
	var all, done ledger.Resolution
	err := look.each(ctx, func(list []ledger.Row) error {
		for i := range list {
			c := q.Rule.Resolve(&list[i])
			all.Add(&list[i], &c)
		}
		return nil
	})
	if err != nil || q.DryRun {
		return all, err
	}
	err = look.each(ctx, func(list []ledger.Row) error {
		some, err := s.resolveSome(ctx, by, q.Rule, list)
		done.Attempts += some.Attempts
		done.Cost, done.AtMost, done.Decided = done.Cost+some.Cost, done.AtMost+some.AtMost, done.Decided+some.Decided
		if progress != nil {
			progress(done.Attempts, all.Attempts)
		}
		return err
	})
	return done, err
}

// resolveSome resolves the attempts that have not been resolved meanwhile.
func (s *Corrections) resolveSome(ctx context.Context, by audit.Actor, rule ledger.Rule, list []ledger.Row) (
	sum ledger.Resolution, err error,
) {
	err = s.write(ctx, s.sure, "resolve attempts", func(tx *sql.Tx) error {
		sum = ledger.Resolution{}
		for i := range list { // always in the order of their places, to avoid deadlocks
			if err := s.lockAttempt(ctx, tx, list[i].ID); err != nil {
				return err
			}
		}
		with, args := wanted(spotsOf(list))
		corrections, err := correctionsOf(ctx, tx, with, args)
		if err != nil {
			return err
		}
		var decisions []decision
		for i := range list {
			a := ledger.Row{Entry: list[i].Entry, Corrections: corrections[list[i].ID]}
			if !a.Unseen() {
				continue
			}
			c := rule.Resolve(&a)
			c.Reason = string(rule)
			sum.Add(&a, &c)
			decisions = append(decisions, decision{a, c})
		}
		return s.correct(ctx, tx, by, decisions)
	})
	if err != nil {
		return ledger.Resolution{}, err
	}
	return sum, nil
}

// spotsOf returns the requests of the attempts, each once.
func spotsOf(list []ledger.Row) (spots []spot) {
	for i := range list {
		at := spot{day: dayOf(list[i].Arrived), request: list[i].ID.Request.String()}
		if len(spots) == 0 || spots[len(spots)-1] != at {
			spots = append(spots, at)
		}
	}
	return spots
}

// older finds the attempts of a query that have an unseen end.
type older struct {
	store *Corrections
	query *ledger.ResolveQuery
}

// each calls fn with groups of attempts, in the order of days, requests and numbers.
func (o *older) each(ctx context.Context, fn func([]ledger.Row) error) error {
	days, err := o.days(ctx)
	if err != nil {
		return fmt.Errorf("find unresolved attempts: %w", err)
	}
	for _, day := range days {
		for next := (&rowPlace{day: day}); next != nil; {
			var list []ledger.Row
			if list, next, err = o.some(ctx, day, *next); err != nil {
				return fmt.Errorf("find unresolved attempts of %s: %w", dateText(day), err)
			}
			if len(list) == 0 {
				continue
			}
			if err := fn(list); err != nil {
				return err
			}
		}
	}
	return nil
}

// days returns the days with unresolved attempts, by their sums.
func (o *older) days(ctx context.Context) ([]int64, error) {
	rows, err := o.store.read.QueryContext(
		ctx, "SELECT DISTINCT period FROM rollup_uses WHERE period <= ? AND (uncertain <> 0 OR margin_uncertain <> 0"+
			" OR unknown <> 0)"+
			" AND (? = '' OR account = ?) ORDER BY period", dayOf(o.query.Before), o.query.Account, o.query.Account)
	return collect(rows, err, scanOne[int64])
}

// some reads the attempts of a day from a place on, with their corrections, and the place after them; without one they
// are the last.
func (o *older) some(ctx context.Context, day int64, from rowPlace) (list []ledger.Row, next *rowPlace, err error) {
	query := ofDay(day)
	query.account, query.from, query.least, query.limit = o.query.Account, from, stateUnseen, resolveRows
	rows, err := readRows(ctx, o.store.read, &query)
	if err != nil || len(rows) == 0 {
		return nil, nil, err
	}
	if len(rows) == query.limit {
		next = new(rows[len(rows)-1].next())
	}
	rows = slices.DeleteFunc(rows, func(r storedRow) bool { return !r.Opened.Before(o.query.Before) })
	corrections, err := correctionsOfRows(ctx, o.store.read, rows)
	for i := range rows {
		list = append(list, ledger.Row{Entry: rows[i].Entry, Corrections: corrections[rows[i].ID]})
	}
	return list, next, err
}
