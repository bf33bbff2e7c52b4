package store

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"weir/internal/webhook"
)

// outbox writes events, in the transactions of the changes that they report.
type outbox struct {
	engine *engine
	clock  *clock
	room   *room
}

// tell writes an event and its deliveries, unless it exists or was written before. It reports whether it did.
func (o *outbox) tell(ctx context.Context, tx *sql.Tx, e *webhook.Event) (bool, error) {
	if o.room.none() {
		return false, nil
	}
	first, err := o.first(ctx, tx, e)
	if err != nil || !first {
		return false, err
	}
	if first, err = o.write(ctx, tx, e); err != nil || !first {
		return false, err
	}
	endpoints, err := o.audience(ctx, tx, e)
	if err == nil {
		endpoints, err = o.fitting(ctx, tx, e, endpoints)
	}
	if err != nil {
		return false, err
	}
	all := make([]addressed, len(endpoints))
	for i := range endpoints {
		all[i] = addressed{e.ID.String(), endpoints[i].ID}
	}
	_, err = o.deliver(ctx, tx, all...)
	return true, err
}

// first reports whether the event has not been written before, and records that it is written now.
func (o *outbox) first(ctx context.Context, tx *sql.Tx, e *webhook.Event) (bool, error) {
	if e.Once == "" {
		return true, nil
	}
	until := int64(never)
	if !e.Until.IsZero() {
		until = micros(e.Until)
	}
	wrong := int64(never)
	if until != never && e.Until.Sub(e.At) < farAhead {
		wrong = micros(e.Until.Add(farAhead))
	}
	result, err := tx.ExecContext(ctx, "INSERT INTO told (name, until) VALUES (?, ?)"+
		" ON CONFLICT (name) DO UPDATE SET until = excluded.until WHERE told.until <= ? OR told.until > ?", e.Once,
		until, micros(e.At), wrong)
	if err != nil {
		return false, fmt.Errorf("record event: %w", err)
	}
	n, err := result.RowsAffected()
	return n > 0, err
}

// farAhead bounds how far ahead a node's clock may be. Records of events that concern a short time, such as a minute,
// and that are further ahead come from a wrong clock, and would suppress the events of other nodes.
const farAhead = time.Hour

// never is a time that is never reached.
const never = 1<<63 - 1

// write writes the event, with the current names of its objects.
func (o *outbox) write(ctx context.Context, tx *sql.Tx, e *webhook.Event) (bool, error) {
	if err := fillNames(ctx, tx, e); err != nil {
		return false, fmt.Errorf("write event: %w", err)
	}
	payload, err := e.Payload()
	if err != nil {
		return false, fmt.Errorf("write event: %w", err)
	}
	result, err := tx.ExecContext(
		ctx, "INSERT INTO events (id, type, account, at, body) VALUES (?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING",
		e.ID.String(), string(e.Type), e.Account, micros(e.At), string(payload))
	if err != nil {
		return false, fmt.Errorf("write event: %w", err)
	}
	n, err := result.RowsAffected()
	return n > 0, err
}

// fillNames reads the names of an event's account and key if only their ids are known.
func fillNames(ctx context.Context, tx *sql.Tx, e *webhook.Event) error {
	if e.Account != "" && e.Data.Account == nil {
		e.Data.Account = &webhook.Account{ID: e.Account}
	}
	if a := e.Data.Account; a != nil && a.Name == "" {
		if err := tx.QueryRowContext(ctx, "SELECT name FROM accounts WHERE id = ?", a.ID).Scan(&a.Name); err != nil &&
			!isNone(err) {
			return err
		}
	}
	if k := e.Data.Key; k != nil && k.Last4 == "" {
		full, err := keyOf(ctx, tx, k.ID)
		if err != nil {
			return ignoreNotFound(err)
		}
		*k = eventKey(&full)
	}
	return nil
}

// audience returns the endpoints that receive an event.
func (o *outbox) audience(ctx context.Context, tx *sql.Tx, e *webhook.Event) ([]webhook.Endpoint, error) {
	kind, _ := webhook.KindOf(e.Type)
	where, args := "account = ''", []any(nil)
	switch {
	case e.Internal:
	case e.Own:
		where, args = "account = ?", []any{e.Account}
	case kind.To == webhook.ToEverybody:
		where = "1 = 1"
	case kind.To == webhook.ToAccount:
		where, args = "(account = '' OR account = ?)", []any{e.Account}
	}
	rows, err := tx.QueryContext(ctx, "SELECT "+webhookColumns+" FROM webhooks WHERE disabled IS NULL AND "+where+
		" ORDER BY id", args...)
	all, err := listed("read endpoints", rows, err, scanWebhook)
	return slices.DeleteFunc(all, func(w webhook.Endpoint) bool { return !w.Wants(e.Type) }), err
}

// deliverRows is how many deliveries one statement writes. An event for all accounts goes to every endpoint, and each
// statement may be a round trip to a distant database.
const deliverRows = 200

// addressed is an event and an endpoint that receives it, by their ids.
type addressed struct{ event, endpoint string }

// deliver writes deliveries, which are due immediately, and returns the id of the last one.
func (o *outbox) deliver(ctx context.Context, tx *sql.Tx, all ...addressed) (id string, err error) {
	if len(all) == 0 {
		return "", nil
	}
	now, err := o.clock.read(ctx, tx)
	if err != nil {
		return "", err
	}
	for some := range slices.Chunk(all, deliverRows) {
		var args []any
		for _, to := range some {
			id = uuid.Must(uuid.NewV7()).String()
			args = append(args, id, to.endpoint, to.event, string(webhook.Pending), now, now)
		}
		_, err := tx.ExecContext(ctx, "INSERT INTO deliveries (id, webhook, event, state, begun, due, takes, failed) "+
			"VALUES (?, ?, ?, ?, ?, ?, 0, 0)"+
			strings.Repeat(", (?, ?, ?, ?, ?, ?, 0, 0)", len(some)-1), args...)
		if err != nil {
			return "", fmt.Errorf("write deliveries: %w", err)
		}
	}
	return id, nil
}

// Tell writes an event, and the deliveries to all endpoints that want it.
func (s *Events) Tell(ctx context.Context, e webhook.Event) error {
	return s.write(ctx, s.sure, "write event "+string(e.Type), func(tx *sql.Tx) error {
		again := e
		_, err := s.outbox.tell(ctx, tx, &again)
		return err
	})
}

// TellOne writes an event and its delivery to one endpoint, whether or not it wants such events.
func (s *Deliveries) TellOne(ctx context.Context, endpoint string, e webhook.Event) (delivery string, err error) {
	if err := s.wake(ctx, endpoint); err != nil {
		return "", err
	}
	err = s.write(ctx, s.sure, "write event for one endpoint", func(tx *sql.Tx) error {
		to, err := unlessDisabled(webhookOf(ctx, tx, endpoint))
		if err != nil {
			return err
		}
		if err := s.outbox.mayAdd(ctx, tx, &to); err != nil {
			return err
		}
		again := e
		if _, err := s.outbox.write(ctx, tx, &again); err != nil {
			return err
		}
		delivery, err = s.outbox.deliver(ctx, tx, addressed{again.ID.String(), endpoint})
		return err
	})
	return delivery, err
}

const deliveryQuery = "SELECT d.id, d.webhook, d.event, e.type, e.at, d.state, d.due, d.ended, (SELECT count(*) FROM " +
	"tries WHERE delivery = d.id), t.n, t.at, t.took, t.status, t.error, t.answer" +
	" FROM deliveries d JOIN events e ON e.id = d.event LEFT JOIN tries t ON t.delivery = d.id" +
	" AND t.n = (SELECT max(n) FROM tries WHERE delivery = d.id) WHERE "

func scanDelivery(row scanner) (d webhook.Delivery, err error) {
	var at int64
	var due, ended, n, tried, took, status sql.NullInt64
	var problem, answer sql.NullString
	err = row.Scan(&d.ID, &d.Webhook, &d.Event, &d.Type, &at, &d.State, &due, &ended, &d.Tries, &n, &tried, &took,
		&status, &problem, &answer)
	d.At, d.Due, d.Ended = fromMicros(at), optionalTime(due), optionalTime(ended)
	if n.Valid {
		d.Last = &webhook.Try{
			N: int(n.Int64), At: fromMicros(tried.Int64), Took: time.Duration(took.Int64) * time.Microsecond,
			Status: int(status.Int64), Error: problem.String, Answer: answer.String,
		}
	}
	return d, err
}

// Deliveries returns the deliveries that a query selects.
func (s *Deliveries) Deliveries(ctx context.Context, q webhook.DeliveryQuery) ([]webhook.Delivery, error) {
	where, args := "d.webhook = ?", []any{q.Webhook}
	if q.State != "" {
		where, args = where+" AND d.state = ?", append(args, string(q.State))
	}
	if q.Before != "" {
		where, args = where+" AND d.id < ?", append(args, q.Before)
	}
	rows, err := s.read.QueryContext(ctx, deliveryQuery+where+" ORDER BY d.id DESC LIMIT ?",
		append(args, int64(max(1, q.Limit)))...)
	return listed("read deliveries", rows, err, scanDelivery)
}

// Delivery returns the delivery with that id; or webhook.ErrNotFound.
func (s *Deliveries) Delivery(ctx context.Context, id string) (d webhook.Detail, err error) {
	if d.Delivery, err = scanDelivery(s.read.QueryRowContext(ctx, deliveryQuery+"d.id = ?", id)); err != nil {
		return d, noWebhook(err)
	}
	err = s.read.QueryRowContext(ctx, "SELECT w.url, e.body FROM webhooks w, events e WHERE w.id = ? AND e.id = ?",
		d.Webhook, d.Event).Scan(&d.URL, &d.Payload)
	if err != nil {
		return d, noWebhook(err)
	}
	rows, err := s.read.QueryContext(
		ctx, "SELECT n, at, took, status, error, answer FROM tries WHERE delivery = ? ORDER BY n", id)
	d.History, err = collect(rows, err, func(row scanner) (t webhook.Try, err error) {
		var at, took int64
		err = row.Scan(&t.N, &at, &took, &t.Status, &t.Error, &t.Answer)
		t.At, t.Took = fromMicros(at), time.Duration(took)*time.Microsecond
		return t, err
	})
	return d, err
}

// Redeliver makes a delivery due immediately, as if it were new.
func (s *Deliveries) Redeliver(ctx context.Context, id string) error {
	var endpoint string
	if err := s.read.QueryRowContext(ctx, "SELECT webhook FROM deliveries WHERE id = ?", id).Scan(
		&endpoint); err != nil {
		return noWebhook(err)
	}
	if err := s.wake(ctx, endpoint); err != nil {
		return err
	}
	return s.write(ctx, s.sure, "deliver again", func(tx *sql.Tx) error {
		now, err := s.clock.read(ctx, tx)
		if err != nil {
			return err
		}
		err = tx.QueryRowContext(ctx, "UPDATE deliveries SET "+beginAnew+" WHERE id = ? RETURNING webhook",
			string(webhook.Pending), now, now, id).Scan(&endpoint)
		if err != nil {
			return noWebhook(err)
		}
		_, err = unlessDisabled(webhookOf(ctx, tx, endpoint))
		return err
	})
}
