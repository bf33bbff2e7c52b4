package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"weir/internal/account"
)

const (
	// keepChanges is how long changes stay in the feed. Nodes that read it less often are told that changes were
	// lost.
	keepChanges = time.Hour
	mostChanges = 1000 // in one answer
)

// changed adds to the feed of changes, and deletes old entries. It leaves the last change before this one, because
// readers up to it look for it. Changes are written in turn: otherwise one that commits late would be placed before
// one that was read already, and be missed.
func (s *conn) changed(ctx context.Context, tx *sql.Tx, kind account.ChangeKind, id string) error {
	if err := s.inTurn(ctx, tx); err != nil {
		return err
	}
	now := s.clock.now()
	_, err := tx.ExecContext(ctx, "DELETE FROM changes WHERE at < ? AND seq < (SELECT max(seq) FROM changes)",
		micros(now.Add(-keepChanges)))
	if err == nil {
		_, err = tx.ExecContext(ctx, "INSERT INTO changes (kind, id, at) VALUES (?, ?, ?)", string(kind), id,
			micros(now))
	}
	if err != nil {
		return fmt.Errorf("write feed of changes: %w", err)
	}
	return nil
}

// Changes returns the changes after a place in the feed. It also reads the place itself: if that is missing, the feed
// was truncated, or the database is another one.
func (s *Accounts) Changes(ctx context.Context, after int64) (account.Changes, error) {
	rows, err := s.read.QueryContext(ctx, "SELECT seq, kind, id FROM changes WHERE seq >= ? ORDER BY seq LIMIT ?",
		after, mostChanges)
	list, err := collect(rows, err, func(row scanner) (c account.Change, err error) {
		err = row.Scan(&c.Seq, &c.Kind, &c.ID)
		return c, err
	})
	if err != nil {
		return account.Changes{}, fmt.Errorf("read feed of changes: %w", err)
	}
	switch {
	case after == 0 && len(list) == 0:
		return account.Changes{}, nil
	case after == 0 && list[0].Seq == 1:
		return account.Changes{List: list, Last: list[len(list)-1].Seq}, nil
	case after > 0 && len(list) > 0 && list[0].Seq == after:
		return account.Changes{List: list[1:], Last: list[len(list)-1].Seq}, nil
	}
	c := account.Changes{Lost: true}
	err = s.read.QueryRowContext(ctx, "SELECT coalesce(max(seq), 0) FROM changes").Scan(&c.Last)
	if err != nil {
		return c, fmt.Errorf("read feed of changes: %w", err)
	}
	return c, nil
}
