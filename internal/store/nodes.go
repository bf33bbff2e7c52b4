package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"weir/internal/audit"
	"weir/internal/budget"
)

const (
	// aliveFor is how long after its last heartbeat a node counts as alive.
	aliveFor = 3 * time.Second
	// leasesFor is how long after its last heartbeat a node may spend its leases.
	leasesFor = 3 * time.Minute
)

// Beat records a heartbeat of a node, also if it is the only one of the database: see budget.Leases. A power cut may
// lose it: the next one follows soon.
func (s *Leases) Beat(ctx context.Context, n budget.Node) (b budget.Beat, err error) {
	err = s.writeFast(ctx, "node's heartbeat", func(tx *sql.Tx) error {
		now, err := s.clock.read(ctx, tx)
		if err != nil {
			return err
		}
		number, err := journalNumber(ctx, tx, n.Journal)
		if err != nil {
			return err
		}
		var current string
		if s.engine.incarnation != nil {
			if current, err = s.engine.incarnation(ctx, tx); err != nil {
				return err
			}
		}
		_, err = tx.ExecContext(
			ctx, "INSERT INTO nodes (journal, name, address, version, started, seen, until, stopped, incarnation)"+
				" VALUES (?, ?, ?, ?, ?, ?, ?, NULL, ?) ON CONFLICT (journal) DO UPDATE"+
				" SET name = excluded.name, address = excluded.address, version = excluded.version,"+
				" started = excluded.started, seen = excluded.seen, until = excluded.until, stopped = NULL,"+
				" incarnation = CASE WHEN ? = '' THEN nodes.incarnation ELSE excluded.incarnation END",
			number, n.Name, n.Address, n.Version, micros(n.Started), now, now+leasesFor.Microseconds(),
			cmp.Or(n.Incarnation, current), n.Incarnation)
		if err != nil {
			return err
		}
		b = budget.Beat{Alive: 1, Incarnation: current, Told: current}
		if !s.engine.shared {
			return nil
		}
		return s.beat(ctx, tx, now, number, &b)
	})
	return b, err
}

// beat reads the state of the other nodes.
func (s *Leases) beat(ctx context.Context, tx *sql.Tx, now, number int64, b *budget.Beat) (err error) {
	b.For = leasesFor
	alive, err := countAlive(ctx, tx, now)
	if err != nil {
		return err
	}
	b.Alive = int(alive)
	err = tx.QueryRowContext(
		ctx, "SELECT j.position, n.incarnation FROM journals j JOIN nodes n ON n.journal = j.number WHERE j.number = ?",
		number).
		Scan(&b.At, &b.Told)
	if err != nil {
		return err
	}
	rows, err := tx.QueryContext(
		ctx, "SELECT DISTINCT s.scope, s.period FROM slices s WHERE s.wanted > ? AND s.wanted > 0 AND s.journal <> ?"+
			" AND EXISTS (SELECT 1 FROM slices o WHERE o.scope = s.scope AND o.period = s.period"+
			" AND o.journal = ? AND "+
			"o.granted > "+spentOf("o")+")",
		now-wantedFor.Microseconds(), number, number, budget.FirstDayNumber, lastDay, budget.FirstDayNumber)
	b.Wanted, err = collect(rows, err, func(row scanner) (id budget.ID, err error) {
		return id, row.Scan(&id.Scope, &id.Period)
	})
	return err
}

// countAlive returns how many nodes are alive, at least 1.
func countAlive(ctx context.Context, q querier, now int64) (n int64, err error) {
	err = q.QueryRowContext(ctx, "SELECT count(*) FROM nodes WHERE seen > ? AND stopped IS NULL",
		now-aliveFor.Microseconds()).Scan(&n)
	return max(1, n), err
}

// Leave records that a node stops, and returns its leases. All its attempts must be in the database.
func (s *Leases) Leave(ctx context.Context, journal uuid.UUID) error {
	if err := s.Reconcile(ctx, journal); err != nil {
		return err
	}
	return s.writeLease(ctx, "node leaves", func(tx *sql.Tx) error {
		now, err := s.clock.read(ctx, tx)
		if err != nil {
			return err
		}
		number, err := journalNumber(ctx, tx, journal)
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, "UPDATE nodes SET stopped = ?, until = ? WHERE journal = ?", now, now, number)
		return err
	})
}

// Nodes returns all nodes, alive or not, by their start.
func (s *Leases) Nodes(ctx context.Context) ([]budget.KnownNode, error) {
	now, err := s.clock.read(ctx, s.read)
	if err != nil {
		return nil, fmt.Errorf("read nodes: %w", err)
	}
	rows, err := s.read.QueryContext(
		ctx, "SELECT j.journal, n.name, n.address, n.version, n.started, n.seen, n.stopped, n.incarnation"+
			" FROM nodes n JOIN journals j ON j.number = n.journal ORDER BY n.started, n.journal")
	return listed("read nodes", rows, err, func(row scanner) (n budget.KnownNode, err error) {
		var (
			journal       string
			started, seen int64
			stopped       sql.NullInt64
		)
		err = row.Scan(&journal, &n.Name, &n.Address, &n.Version, &started, &seen, &stopped, &n.Incarnation)
		if err != nil {
			return n, err
		}
		n.Started, n.Seen, n.Stopped = fromMicros(started), fromMicros(seen), optionalTime(stopped)
		n.Alive = n.Stopped == nil && (!s.engine.shared || seen > now-aliveFor.Microseconds())
		n.Journal, err = uuid.Parse(journal)
		return n, err
	})
}

// Reasons why a node cannot be forgotten.
var (
	ErrNoNode    = errors.New("there is no such node")
	ErrNodeAlive = errors.New(
		"the node may still spend its leases: stop it, and wait three minutes after its last heartbeat")
)

// ForgetNode removes a node that will never return, with its journal. The budget leases that it did not report as
// spent become available again; the spending that it did not report is lost. If that is interrupted after the node is
// removed, the next call releases its leases.
func (s *Leases) ForgetNode(ctx context.Context, by audit.Actor, journal uuid.UUID) error {
	err := s.write(ctx, s.sure, "forget node", func(tx *sql.Tx) error { return s.forgetNode(ctx, tx, by, journal) })
	if err != nil {
		return err
	}
	return s.Reconcile(ctx, journal)
}

func (s *Leases) forgetNode(ctx context.Context, tx *sql.Tx, by audit.Actor, journal uuid.UUID) error {
	now, err := s.clock.read(ctx, tx)
	if err != nil {
		return err
	}
	var number, until int64
	var name, address string
	err = tx.QueryRowContext(ctx, "SELECT n.journal, n.until, n.name, n.address FROM nodes n JOIN journals j ON "+
		"j.number = n.journal WHERE j.journal = ?", journal.String()).Scan(&number, &until, &name, &address)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return isForgotten(ctx, tx, journal)
	case err != nil:
		return err
	case until > now:
		return ErrNodeAlive
	}
	if _, err = tx.ExecContext(ctx, "DELETE FROM nodes WHERE journal = ?", number); err != nil {
		return err
	}
	e := audit.Entry{Actor: by, Action: audit.NodeForgotten, Object: audit.Object{
		Kind: "node", ID: journal.String(), Name: name,
	}}
	_, err = s.note(ctx, tx, e, facts{"address": address}, nil)
	return err
}

// isForgotten returns nil for a node that was removed and still has leases, else ErrNoNode.
func isForgotten(ctx context.Context, q querier, journal uuid.UUID) error {
	var leases bool
	err := q.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM slices s JOIN journals j ON j.number = s.journal"+
		" WHERE j.journal = ?)",
		journal.String()).Scan(&leases)
	if err == nil && !leases {
		err = ErrNoNode
	}
	return err
}
