package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"weir/internal/audit"
	"weir/internal/webhook"
)

// Deliveries stores the deliveries of events to endpoints.
type Deliveries struct {
	*conn
	webhooks *Webhooks
}

// WaitingWebhooks returns the endpoints that have due deliveries, except those that are disabled or asked for a
// pause.
func (s *Deliveries) WaitingWebhooks(ctx context.Context) ([]webhook.Waiting, error) {
	now, err := s.clock.read(ctx, s.read)
	if err != nil {
		return nil, fmt.Errorf("read due deliveries: %w", err)
	}
	rows, err := s.read.QueryContext(
		ctx, "SELECT id, failing IS NOT NULL FROM webhooks WHERE disabled IS NULL AND rests <= ?"+
			" AND EXISTS (SELECT 1 FROM deliveries d WHERE d.webhook = webhooks.id AND d.due <= ?) ORDER BY id", now,
		now)
	return listed("read due deliveries", rows, err, func(row scanner) (w webhook.Waiting, err error) {
		return w, row.Scan(&w.Webhook, &w.Failing)
	})
}

// TakeDeliveries leases at most n due deliveries of an endpoint, those due earliest first. Until a lease ends, the
// delivery is not due. A power cut may lose the lease: then it is delivered again.
func (s *Deliveries) TakeDeliveries(ctx context.Context, endpoint string, n int) (jobs []webhook.Job, err error) {
	err = s.writeFast(ctx, "take deliveries", func(tx *sql.Tx) error {
		now, err := s.clock.read(ctx, tx)
		if err != nil {
			return err
		}
		jobs, err = takeDue(ctx, tx, endpoint, n, now)
		if err == nil && len(jobs) > 0 {
			jobs, err = fillJobs(ctx, tx, jobs, now)
		}
		return err
	})
	return jobs, err
}

// takeDue moves the due times of deliveries to the end of the lease. The condition appears twice because two nodes
// may select the same rows: the second one then sees the update of the first.
func takeDue(ctx context.Context, tx *sql.Tx, endpoint string, n int, now int64) ([]webhook.Job, error) {
	rows, err := tx.QueryContext(ctx, "UPDATE deliveries SET due = ?, takes = takes + 1 WHERE due <= ? AND id IN"+
		" (SELECT id FROM deliveries WHERE webhook = ? AND due <= ? ORDER BY due, id LIMIT ?) RETURNING id, webhook, "+
		"event, takes, failed, begun", now+webhook.LeaseFor.Microseconds(), now, endpoint, now, int64(n))
	return collect(rows, err, func(row scanner) (j webhook.Job, err error) {
		var begun int64
		err = row.Scan(&j.ID, &j.Webhook, &j.Event, &j.Take, &j.Failed, &begun)
		j.Age = time.Duration(now-begun) * time.Microsecond
		return j, err
	})
}

// fillJobs adds the payload and the address. It returns none if the endpoint is disabled or deleted.
func fillJobs(ctx context.Context, tx *sql.Tx, jobs []webhook.Job, now int64) ([]webhook.Job, error) {
	var to webhook.Job
	var secret, former string
	var formerUntil int64
	err := tx.QueryRowContext(
		ctx, "SELECT url, format, allow_private, secret, former, former_until FROM webhooks"+
			" WHERE id = ? AND disabled IS NULL",
		jobs[0].Webhook).
		Scan(&to.URL, &to.Format, &to.AllowPrivate, &secret, &former, &formerUntil)
	if isNone(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	to.Secrets = []string{secret}
	if former != "" && formerUntil > now {
		to.Secrets = append(to.Secrets, former)
	}
	for i := range jobs {
		j := &jobs[i]
		j.URL, j.Format, j.AllowPrivate, j.Secrets = to.URL, to.Format, to.AllowPrivate, to.Secrets
		j.At = fromMicros(now)
		if err := tx.QueryRowContext(ctx, "SELECT body FROM events WHERE id = ?", j.Event).Scan(
			&j.Payload); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(jobs, func(a, b webhook.Job) int { return strings.Compare(a.ID, b.ID) }) // UUIDv7: oldest first
	return jobs, nil
}

// EndTries writes the results of delivery attempts. A power cut may lose them: then it is delivered again.
func (s *Deliveries) EndTries(ctx context.Context, list []webhook.Outcome) error {
	list = slices.Clone(list)
	// the same lock order everywhere
	slices.SortStableFunc(list, func(a, b webhook.Outcome) int { return strings.Compare(a.Job.Webhook, b.Job.Webhook) })
	var ends []ending
	err := s.writeFast(ctx, "write tries", func(tx *sql.Tx) error {
		ends = nil
		now, err := s.clock.read(ctx, tx)
		if err != nil {
			return err
		}
		for i := range list {
			end, err := endTry(ctx, tx, &list[i], now)
			if err != nil {
				return err
			}
			if end.why != "" {
				ends = append(ends, end)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, end := range ends {
		if err := s.disable(ctx, end); err != nil { // the next attempt returns it again
			s.log.Warn("a webhook endpoint could not be disabled", "webhook", end.webhook, "err", err)
		}
	}
	return nil
}

// ending is an endpoint to be disabled if it still has that address.
type ending struct{ webhook, url, why string }

func endTry(ctx context.Context, tx *sql.Tx, o *webhook.Outcome, now int64) (end ending, err error) {
	if o.Undone {
		_, err := tx.ExecContext(ctx, "UPDATE deliveries SET due = ? WHERE id = ? AND takes = ? AND due IS NOT NULL",
			now+o.After.Microseconds(), o.Job.ID, o.Job.Take)
		return end, err
	}
	if err := keepTry(ctx, tx, o); err != nil {
		return end, err
	}
	switch o.State {
	case webhook.Delivered:
		_, err = tx.ExecContext(
			ctx, "UPDATE deliveries SET state = ?, due = NULL, ended = ? WHERE id = ? AND due IS NOT NULL",
			string(o.State), now, o.Job.ID)
	case webhook.Failed:
		_, err = tx.ExecContext(ctx, "UPDATE deliveries SET state = ?, due = NULL, ended = ?, failed = failed + 1 "+
			"WHERE id = ? AND takes = ? AND due IS NOT NULL", string(o.State), now, o.Job.ID, o.Job.Take)
	case webhook.Pending:
		_, err = tx.ExecContext(
			ctx, "UPDATE deliveries SET due = ?, failed = failed + 1 WHERE id = ? AND takes = ? AND due IS NOT NULL",
			now+o.After.Microseconds(), o.Job.ID, o.Job.Take)
	}
	if err != nil {
		return end, err
	}
	return endpointFares(ctx, tx, o, now)
}

// shortError is how many characters of the error of an earlier attempt are stored.
const shortError = 100

// keepTry stores an attempt, and deletes the first ones if there are many.
func keepTry(ctx context.Context, tx *sql.Tx, o *webhook.Outcome) error {
	_, err := tx.ExecContext(ctx, "INSERT INTO tries (delivery, n, at, took, status, error, answer) VALUES (?, ?, ?, "+
		"?, ?, ?, ?) ON CONFLICT (delivery, n) DO NOTHING",
		o.Job.ID, o.Try.N, micros(o.Try.At), o.Try.Took.Microseconds(), o.Try.Status, o.Try.Error, o.Try.Answer)
	if err == nil && o.Try.N > webhook.TriesInFull {
		_, err = tx.ExecContext(ctx, "UPDATE tries SET answer = '', error = substr(error, 1, ?) WHERE delivery = ? "+
			"AND n <= ? AND answer <> ''", int64(shortError), o.Job.ID, o.Try.N-webhook.TriesInFull)
	}
	if err == nil && o.Try.N > webhook.MaxTries {
		_, err = tx.ExecContext(ctx, "DELETE FROM tries WHERE delivery = ? AND n <= (SELECT n FROM tries WHERE "+
			"delivery = ? ORDER BY n DESC LIMIT 1 OFFSET ?)", o.Job.ID, o.Job.ID, webhook.MaxTries)
	}
	return err
}

// endpointFares records whether an endpoint fails, and returns an ending if it wants no more events or has failed for
// long. An attempt at an earlier address of the endpoint does not count.
func endpointFares(ctx context.Context, tx *sql.Tx, o *webhook.Outcome, now int64) (end ending, err error) {
	if o.State == webhook.Delivered {
		_, err := tx.ExecContext(
			ctx, "UPDATE webhooks SET failing = NULL WHERE id = ? AND url = ? AND failing IS NOT NULL", o.Job.Webhook,
			o.Job.URL)
		return end, err
	}
	var since int64
	err = tx.QueryRowContext(
		ctx, "UPDATE webhooks SET failing = coalesce(failing, ?), rests = CASE WHEN rests < ? THEN ? ELSE rests END"+
			" WHERE id = ? AND url = ? AND disabled IS NULL RETURNING failing", now, now+o.Rest.Microseconds(),
		now+o.Rest.Microseconds(), o.Job.Webhook, o.Job.URL).Scan(&since)
	if isNone(err) {
		return end, nil // disabled, moved or deleted
	}
	if err != nil {
		return end, err
	}
	switch {
	case o.Gone:
		return ending{o.Job.Webhook, o.Job.URL, "its receiver answered 410 Gone"}, nil
	case now-since >= webhook.DisableAfter.Microseconds():
		why := fmt.Sprintf("every delivery has failed for %d days", int(webhook.DisableAfter.Hours()/24))
		return ending{o.Job.Webhook, o.Job.URL, why}, nil
	}
	return end, nil
}

// disable disables an endpoint, unless its address has changed or it works again. It needs a transaction of its own:
// a change by hand first waits for its turn and then locks the endpoint, and the result of an attempt has locked it
// already.
func (s *Deliveries) disable(ctx context.Context, end ending) error {
	return s.write(ctx, s.sure, "disable endpoint", func(tx *sql.Tx) error {
		before, err := s.webhooks.webhookInTurn(ctx, tx, end.webhook)
		if errors.Is(err, webhook.ErrNotFound) {
			return nil
		}
		if err != nil || before.Disabled != nil || before.Failing == nil || before.URL != end.url {
			return err
		}
		after := before
		now := fromMicros(micros(s.clock.now()))
		after.Disabled, after.Why = &now, end.why
		if _, err := tx.ExecContext(ctx, "UPDATE webhooks SET disabled = ?, why = ? WHERE id = ?", micros(now), end.why,
			end.webhook); err != nil {
			return err
		}
		s.log.Warn("a webhook endpoint is disabled", "webhook", end.webhook, "account", before.Account, "why", end.why)
		return s.webhooks.noteWebhook(ctx, tx, audit.Gateway(), audit.WebhookChanged, &before, &after)
	})
}

// keepEvents is how long an event is stored, and a delivery after its end. It is longer than webhook.RecoverFor,
// within which deliveries can be queried for recovery.
const keepEvents = 30 * 24 * time.Hour

// RetainEvents deletes deliveries that ended long ago or that have no endpoint any more, old events without
// deliveries, and expired records of written events.
func (s *Deliveries) RetainEvents(ctx context.Context) error {
	if err := s.retainLast(ctx); err != nil {
		return err
	}
	now := s.clock.now()
	before := micros(now.Add(-keepEvents))
	for _, old := range []leftover{
		{"deliveries", "id", "ended < ?", []any{before}},
		{"deliveries", "id", "NOT EXISTS (SELECT 1 FROM webhooks w WHERE w.id = deliveries.webhook)", nil},
		{"tries", "delivery", "NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.id = tries.delivery)", nil},
		{"events", "id", "at < ? AND NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.event = events.id)", []any{before}},
		{"told", "name", "until < ?", []any{micros(now)}},
	} {
		if err := s.clear(ctx, &old); err != nil {
			return fmt.Errorf("delete old %s: %w", old.table, err)
		}
	}
	return nil
}

// retainLast deletes ended deliveries, except the last ones of each endpoint.
func (s *Deliveries) retainLast(ctx context.Context) error {
	all, err := s.webhooks.AllWebhooks(ctx)
	if err != nil {
		return err
	}
	for i := range all {
		var last string
		err := s.read.QueryRowContext(ctx, "SELECT id FROM deliveries WHERE webhook = ? ORDER BY id DESC LIMIT 1 "+
			"OFFSET ?", all[i].ID, int64(webhook.MostKept(all[i].Account))).Scan(&last)
		if isNone(err) {
			continue
		}
		if err == nil {
			err = s.clear(ctx, &leftover{
				"deliveries", "id", "webhook = ? AND id <= ? AND ended IS NOT NULL",
				[]any{all[i].ID, last},
			})
		}
		if err != nil {
			return fmt.Errorf("delete deliveries of an endpoint: %w", err)
		}
	}
	return nil
}
