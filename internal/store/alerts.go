package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"weir/internal/alert"
	"weir/internal/webhook"
)

// Alerts stores alerts. It implements alert.Store.
type Alerts struct{ *conn }

// Claim makes this node the one that evaluates alerts until the lease ends.
func (s *Alerts) Claim(ctx context.Context, lease time.Duration) (now time.Time, mine bool, err error) {
	err = s.write(ctx, s.sure, "claim alerts", func(tx *sql.Tx) error {
		at, err := s.clock.read(ctx, tx)
		if err != nil {
			return err
		}
		n, err := affected(tx.ExecContext(ctx, "INSERT INTO alert_turn (id, until) VALUES (1, ?) ON CONFLICT (id)"+
			" DO UPDATE SET until = excluded.until WHERE alert_turn.until <= ? OR alert_turn.until > ?",
			at+lease.Microseconds(), at, at+2*lease.Microseconds())) // the last one comes from a wrong clock
		now, mine = fromMicros(at), n > 0
		return err
	})
	return now, mine, err
}

// Write writes the alerts that fire and those that end, with their events, in one transaction, and deletes old ones.
func (s *Alerts) Write(ctx context.Context, conditions []alert.Condition, now time.Time) (fired, ended []alert.Alert,
	err error,
) {
	err = s.write(ctx, s.sure, "write alerts", func(tx *sql.Tx) error {
		active, err := alertsOf(ctx, tx, "WHERE ended IS NULL ORDER BY id")
		if err != nil {
			return err
		}
		fired, ended = alert.Decide(active, conditions, now)
		for i := range ended {
			if err := s.end(ctx, tx, &ended[i]); err != nil {
				return err
			}
		}
		for i := range fired {
			if err := s.fire(ctx, tx, &fired[i]); err != nil {
				return err
			}
		}
		_, err = tx.ExecContext(ctx, "DELETE FROM alerts WHERE ended < ?", micros(now.Add(-alert.KeepFor)))
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	return fired, ended, nil
}

func (s *Alerts) fire(ctx context.Context, tx *sql.Tx, a *alert.Alert) error {
	_, err := tx.ExecContext(ctx, "INSERT INTO alerts (id, kind, account, subject, value, bound, text, fired,"+
		" own) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", a.ID, string(a.Kind), a.Account, a.Subject, a.Value, a.Limit,
		a.Text, micros(a.Fired), number(a.Own))
	if err != nil {
		return err
	}
	return s.tellAlert(ctx, tx, webhook.AlertFired, a, a.Fired)
}

func (s *Alerts) end(ctx context.Context, tx *sql.Tx, a *alert.Alert) error {
	if _, err := tx.ExecContext(ctx, "UPDATE alerts SET ended = ? WHERE id = ?", micros(*a.Ended), a.ID); err != nil {
		return err
	}
	return s.tellAlert(ctx, tx, webhook.AlertEnded, a, *a.Ended)
}

// tellAlert writes an event, for the endpoints of the account or for those of the installation. Only the former is an
// event of the account.
func (s *Alerts) tellAlert(ctx context.Context, tx *sql.Tx, t webhook.Type, a *alert.Alert, at time.Time) error {
	e := webhook.NewEvent(t, "", at, webhook.Data{Alert: &webhook.Alert{
		ID: a.ID, Kind: string(a.Kind), Text: a.Text, Value: a.Value, Limit: a.Limit, Unit: a.Kind.Unit(),
		Fired: a.Fired, Ended: a.Ended,
	}})
	if a.Account != "" {
		e.Data.Account = &webhook.Account{ID: a.Account}
	}
	if a.Own {
		e.Account, e.Own = a.Account, true
	}
	switch {
	case a.Kind == alert.UnpricedUsage:
		e.Data.Model = a.Subject
	case a.Subject != "":
		e.Data.Key = &webhook.Key{ID: a.Subject}
	}
	_, err := s.outbox.tell(ctx, tx, &e)
	return err
}

// AlertQuery selects the alerts of the installation, or those of an account by the limits in force for it.
type AlertQuery struct {
	Account string // id; empty for the installation
	Active  bool   // only active ones
}

// where returns the condition of the query.
func (q *AlertQuery) where() (string, []any) {
	where, args := "WHERE own = 0 ", []any(nil)
	if q.Account != "" {
		where, args = "WHERE account = ? AND own = 1 ", []any{q.Account}
	}
	if q.Active {
		where += "AND ended IS NULL "
	}
	return where, args
}

// Latest returns alerts, those that fired last first, at most alert.MostListed.
func (s *Alerts) Latest(ctx context.Context, q AlertQuery) ([]alert.Alert, error) {
	where, args := q.where()
	return alertsOf(ctx, s.read, where+"ORDER BY fired DESC, id DESC LIMIT ?", append(args, alert.MostListed)...)
}

// LastFired returns when the last alert of each kind fired.
func (s *Alerts) LastFired(ctx context.Context, q AlertQuery) (map[alert.Kind]time.Time, error) {
	last := map[alert.Kind]time.Time{}
	where, args := q.where()
	rows, err := s.read.QueryContext(ctx, "SELECT kind, max(fired) FROM alerts "+where+"GROUP BY kind", args...)
	_, err = collect(rows, err, func(row scanner) (kind alert.Kind, err error) {
		var at int64
		err = row.Scan(&kind, &at)
		last[kind] = fromMicros(at)
		return kind, err
	})
	return last, err
}

func alertsOf(ctx context.Context, q querier, which string, args ...any) ([]alert.Alert, error) {
	rows, err := q.QueryContext(ctx, "SELECT id, kind, account, subject, value, bound, text, fired, ended, own,"+
		" COALESCE((SELECT label FROM keys WHERE keys.id = alerts.subject), '') FROM alerts "+which, args...)
	all, err := collect(rows, err, func(row scanner) (a alert.Alert, err error) {
		var fired int64
		var ended sql.NullInt64
		err = row.Scan(&a.ID, &a.Kind, &a.Account, &a.Subject, &a.Value, &a.Limit, &a.Text, &fired, &ended, &a.Own,
			&a.Label)
		a.Fired, a.Ended = fromMicros(fired), optionalTime(ended)
		return a, err
	})
	if err != nil {
		return nil, fmt.Errorf("read alerts: %w", err)
	}
	return all, nil
}
