package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"weir/internal/account"
	"weir/internal/audit"
	"weir/internal/ledger"
	"weir/internal/llm"
)

// The kinds of correction. An attempt can have one of each.
const correctionResolved = "resolved" // decided by hand

// Why an attempt cannot be resolved.
var (
	ErrNoAttempt = errors.New("there is no such attempt")
	ErrResolved  = errors.New("the attempt is resolved already")
	ErrKnown     = errors.New("what the attempt cost is known")
)

// correction adds something, which may be negative, to a settled attempt.
type correction struct {
	id      ledger.AttemptID
	bucket  bucket // of the attempt's hour
	usage   llm.Usage
	cost    llm.Money
	unknown int64
	// uncertain is what it adds to what the attempt may have cost beyond its cost.
	uncertain llm.Money
}

func (c *correction) sums() *sums {
	s := &sums{measureCost: int64(c.cost), measureTokens: c.usage.TotalTokens(), measureUnknown: c.unknown, measureUncertain: int64(c.uncertain)}
	copy(s[measureUsage:], c.usage[:])
	return s
}

// Resolve decides by hand what an attempt cost of which that is not known: a row that
// corrects it, and the rollups, in one transaction. Its usage stays, unless
// release says that the provider served nothing; then cost does not count. The error is ErrNoAttempt, ErrKnown or ErrResolved when
// there is nothing to decide.
func (s *Store) Resolve(ctx context.Context, by audit.Actor, id ledger.AttemptID, cost llm.Money, release bool) error {
	if cost < 0 || cost > ledger.MaxCost { // what no attempt costs, and sums could not hold
		return fmt.Errorf("resolve attempt %s: a cost of %s is not from 0 to %s", id, cost, ledger.MaxCost)
	}
	return s.write(ctx, s.sure, "resolve attempt "+id.String(), func(tx *sql.Tx) error {
		e, day, err := findAttempt(ctx, tx, id)
		switch {
		case errors.Is(err, sql.ErrNoRows):
			return ErrNoAttempt
		case err != nil:
			return err
		case e.AtMost == 0 && e.Provenance != ledger.Unknown:
			return ErrKnown
		}
		c := &correction{id: id, bucket: bucketOf(&e.Attempt), cost: cost - e.Cost, uncertain: e.Cost - e.Charged()}
		if e.Provenance == ledger.Unknown {
			c.unknown = -1
		}
		if release {
			c.cost = -e.Cost
			for class, n := range e.Usage {
				c.usage[class] = -n
			}
		}
		if err := s.correct(ctx, tx, day, c, by.String()); err != nil {
			return err
		}
		entry := audit.Entry{Actor: by, Action: audit.AttemptResolved, Object: audit.Object{Kind: "attempt", ID: id.String()}, Account: e.Account}
		before, after := c.factsOf(&e)
		if _, err := s.note(ctx, tx, entry, before, after); err != nil {
			return err
		}
		return s.changed(ctx, tx, account.ChangedAttempt, id.String())
	})
}

// factsOf are what counts of an attempt without and with the correction.
func (c *correction) factsOf(e *ledger.Entry) (before, after facts) {
	tokens := e.Usage.TotalTokens()
	return facts{"resolved": false, "cost_usd": e.Cost.String(), "tokens": tokens},
		facts{"resolved": true, "cost_usd": (e.Cost + c.cost).String(), "tokens": tokens + c.usage.TotalTokens()}
}

func (s *Store) correct(ctx context.Context, tx *sql.Tx, day int64, c *correction, by string) error {
	b := &c.bucket
	result, err := tx.ExecContext(ctx, "INSERT INTO corrections"+
		" (day, request, n, kind, hour, account, key, provider, model, usage, cost, unknown, uncertain, who, at)"+
		" VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (day, request, n, kind) DO NOTHING",
		day, c.id.Request.String(), int64(c.id.N), correctionResolved, b.period, b.account, b.key, b.provider, b.model,
		encodeCounts((*[llm.NumClasses]int64)(&c.usage)), int64(c.cost), c.unknown, int64(c.uncertain), by, micros(s.Now()))
	if err != nil {
		return err
	}
	if n, err := result.RowsAffected(); err != nil || n == 0 {
		return errors.Join(err, ErrResolved)
	}
	// In the order of batches: nobody waits for somebody who waits.
	inDay := b.ofDay()
	for _, to := range []struct {
		table  string
		bucket bucket
	}{{tableHours, *b}, {tableDays, inDay}, {tableUses, inDay.ofUses()}} {
		if err := newRollup(to.table).addOne(ctx, tx, to.bucket, c.sums()); err != nil {
			return fmt.Errorf("%s: %w", to.table, err)
		}
	}
	m := balancesOf(buckets{c.bucket: c.sums()})
	for _, name := range m.sorted() {
		_, err := tx.ExecContext(ctx, insertBalances().sql(1), name.scope, name.day, noJournal, int64(m[name]))
		if err != nil {
			return fmt.Errorf("balance: %w", err)
		}
	}
	return nil
}

// readCorrections reads the corrections of attempts of those days.
func readCorrections(ctx context.Context, q querier, from, to int64) ([]correction, error) {
	rows, err := q.QueryContext(ctx, "SELECT request, n, hour, account, key, provider, model, usage, cost, unknown, uncertain"+
		" FROM corrections WHERE day BETWEEN ? AND ?", from, to)
	return collect(rows, err, func(row scanner) (c correction, err error) {
		var request, usage string
		b := &c.bucket
		err = row.Scan(&request, &c.id.N, &b.period, &b.account, &b.key, &b.provider, &b.model, &usage, &c.cost, &c.unknown, &c.uncertain)
		if err != nil {
			return c, err
		}
		if c.id.Request, err = uuid.Parse(request); err != nil {
			return c, fmt.Errorf("correction of attempt %q: %w", request, err)
		}
		c.usage, err = decodeCounts(usage)
		return c, err
	})
}
