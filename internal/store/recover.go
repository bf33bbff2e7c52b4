package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"weir/internal/webhook"
)

// recoverRows is how many deliveries one transaction restarts: few, so that other writers do not wait for long.
const recoverRows = 200

// Recover sends an endpoint all events since a time that it has not received; events older than the endpoint are not
// sent. Deliveries that failed, or whose retry is not due soon, are tried again now, and events that it wants and was
// never sent, for example while it was disabled, are sent. It returns how many, at most webhook.MostRecovered; then
// there may be more.
func (s *Deliveries) Recover(ctx context.Context, id string, since time.Time) (n int, err error) {
	e, err := unlessDisabled(webhookOf(ctx, s.read, id))
	if err == nil {
		err = s.wake(ctx, id)
	}
	if err != nil {
		return 0, err
	}
	from := max(micros(since), micros(e.Created))
	for _, r := range []recovery{{s.unsuccessful, s.retry}, {s.missed, s.sendMissed}} {
		var last place
		for more := true; more && n < webhook.MostRecovered; {
			list, err := r.find(ctx, &e, from, last)
			if err != nil {
				return n, fmt.Errorf("find missing events: %w", err)
			}
			if len(list) == 0 {
				break
			}
			begun, err := s.beginSome(ctx, id, list, &r)
			if errors.Is(err, webhook.ErrNoRoom) && n > 0 {
				return n, nil
			}
			if err != nil {
				return n, err
			}
			n += begun
			last, more = list[len(list)-1], len(list) == recoverRows
		}
	}
	return n, s.forgetDropped(ctx, id)
}

// forgetDropped resets the number of events that were dropped for an endpoint, because they have been sent by hand.
func (s *Deliveries) forgetDropped(ctx context.Context, id string) error {
	return s.writeFast(ctx, "recover", func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "UPDATE webhooks SET dropped = 0 WHERE id = ? AND dropped > 0", id)
		return err
	})
}

// recovery is a kind of missing events. It finds them before it takes any lock.
type recovery struct {
	// find returns missing ones after a place, for events since from.
	find func(ctx context.Context, e *webhook.Endpoint, from int64, behind place) ([]place, error)
	// begin restarts the ones that are still missing, and returns how many.
	begin func(ctx context.Context, tx *sql.Tx, e *webhook.Endpoint, ids []any) (int, error)
}

// place is a position in a list ordered by time and id.
type place struct {
	at int64
	id string
}

func scanPlace(row scanner) (p place, err error) { return p, row.Scan(&p.at, &p.id) }

func (s *Deliveries) beginSome(ctx context.Context, id string, list []place, r *recovery) (n int, err error) {
	ids := make([]any, len(list))
	for i := range list {
		ids[i] = list[i].id
	}
	err = s.write(ctx, s.sure, "recover", func(tx *sql.Tx) error {
		e, err := unlessDisabled(s.webhooks.webhookInTurn(ctx, tx, id))
		if err == nil {
			n, err = r.begin(ctx, tx, &e, ids)
		}
		return err
	})
	return n, err
}

// wake ends the pause that an endpoint asked for: events sent by hand are sent immediately. It needs a transaction of
// its own, because the result of an attempt locks deliveries before their endpoint.
func (s *Deliveries) wake(ctx context.Context, id string) error {
	return s.writeFast(ctx, "wake endpoint", func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "UPDATE webhooks SET rests = 0 WHERE id = ? AND rests > 0", id)
		return err
	})
}

const (
	// beginAnew restarts a delivery. The result of an attempt in progress is ignored.
	beginAnew = "state = ?, begun = ?, due = ?, takes = takes + 1, failed = 0, ended = NULL"
	// unsuccessful selects deliveries that have failed, or wait longer for their next attempt than an attempt may
	// take.
	unsuccessful = "(deliveries.state = ? OR deliveries.failed > 0 AND deliveries.due > ?)"
)

func unsuccessfulArgs(now int64) []any {
	return []any{string(webhook.Failed), now + webhook.LeaseFor.Microseconds()}
}

func (s *Deliveries) unsuccessful(ctx context.Context, e *webhook.Endpoint, from int64, behind place) ([]place, error) {
	now, err := s.clock.read(ctx, s.read)
	if err != nil {
		return nil, err
	}
	args := slices.Concat([]any{e.ID, behind.id}, unsuccessfulArgs(now), []any{
		from, string(webhook.Test), int64(recoverRows),
	})
	rows, err := s.read.QueryContext(
		ctx, "SELECT 0, deliveries.id FROM deliveries JOIN events v ON v.id = deliveries.event"+
			" WHERE deliveries.webhook = ? AND deliveries.id > ? AND "+unsuccessful+
			" AND v.at >= ? AND v.type <> ? ORDER BY deliveries.id LIMIT ?", args...)
	return collect(rows, err, scanPlace)
}

func (s *Deliveries) retry(ctx context.Context, tx *sql.Tx, _ *webhook.Endpoint, ids []any) (int, error) {
	now, err := s.clock.read(ctx, tx)
	if err != nil {
		return 0, err
	}
	args := slices.Concat([]any{string(webhook.Pending), now, now}, ids, unsuccessfulArgs(now))
	result, err := tx.ExecContext(ctx, "UPDATE deliveries SET "+beginAnew+" WHERE "+among("id", len(ids))+" AND "+
		unsuccessful, args...)
	if err != nil {
		return 0, fmt.Errorf("deliver again: %w", err)
	}
	n, err := result.RowsAffected()
	return int(n), err
}

// unsent selects events without a delivery to an endpoint.
const unsent = "NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.event = events.id AND d.webhook = ?)"

func (s *Deliveries) missed(ctx context.Context, e *webhook.Endpoint, from int64, behind place) ([]place, error) {
	where, args := "at >= ? AND (at <> ? OR id > ?)", []any{max(from, behind.at), behind.at, behind.id}
	if e.Account != "" {
		where, args = where+" AND account = ?", append(args, e.Account)
	} else { // accounts' own alerts are not for the installation
		where += " AND NOT (account <> '' AND type IN (?, ?) AND shared = 0)"
		args = append(args, string(webhook.AlertFired), string(webhook.AlertEnded))
	}
	var types []any
	for _, k := range webhook.Kinds() {
		if e.Wants(k.Type) {
			types = append(types, string(k.Type))
		}
	}
	if len(types) == 0 {
		return nil, nil
	}
	rows, err := s.read.QueryContext(ctx, "SELECT at, id FROM events WHERE "+where+" AND "+among("type", len(types))+
		" AND "+unsent+" ORDER BY at, id LIMIT ?", slices.Concat(args, types, []any{e.ID, int64(recoverRows)})...)
	return collect(rows, err, scanPlace)
}

func (s *Deliveries) sendMissed(ctx context.Context, tx *sql.Tx, e *webhook.Endpoint, ids []any) (int, error) {
	rows, err := tx.QueryContext(ctx, "SELECT at, id FROM events WHERE "+among("id", len(ids))+" AND "+unsent+
		" ORDER BY at, id", append(slices.Clone(ids), e.ID)...)
	list, err := collect(rows, err, scanPlace)
	if err != nil {
		return 0, err
	}
	if err := s.outbox.mayAdd(ctx, tx, e); err != nil {
		return 0, err
	}
	all := make([]addressed, len(list))
	for i := range list {
		all[i] = addressed{list[i].id, e.ID}
	}
	_, err = s.outbox.deliver(ctx, tx, all...)
	return len(all), err
}
