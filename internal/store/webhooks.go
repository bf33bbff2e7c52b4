package store

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"

	"weir/internal/account"
	"weir/internal/audit"
	"weir/internal/webhook"
)

// Webhooks stores the endpoints with their secrets.
type Webhooks struct{ *conn }

// WebhookStores returns the stores for webhook.NewService.
func (s *DB) WebhookStores() webhook.Stores {
	return webhook.Stores{Endpoints: s.Webhooks, Secrets: s.Webhooks, Deliveries: s.Deliveries}
}

const webhookColumns = "id, account, url, types, format, allow_private, former_until, failing, disabled, why, " +
	"created, dropped"

func scanWebhook(row scanner) (e webhook.Endpoint, err error) {
	var types string
	var former, created int64
	var failing, disabled sql.NullInt64
	err = row.Scan(&e.ID, &e.Account, &e.URL, &types, &e.Format, &e.AllowPrivate, &former, &failing, &disabled, &e.Why,
		&created, &e.Dropped)
	if err != nil {
		return e, noWebhook(err)
	}
	e.Created, e.Failing, e.Disabled = fromMicros(created), optionalTime(failing), optionalTime(disabled)
	if former > 0 {
		e.Rotated = optionalTime(sql.NullInt64{Int64: former, Valid: true})
	}
	return e, json.Unmarshal([]byte(types), &e.Types)
}

// noWebhook converts sql.ErrNoRows to webhook.ErrNotFound.
func noWebhook(err error) error {
	if isNone(err) {
		return webhook.ErrNotFound
	}
	return err
}

// isNone reports whether an error means that there is no row.
func isNone(err error) bool { return errors.Is(err, sql.ErrNoRows) }

// ignoreNotFound drops account.ErrNotFound.
func ignoreNotFound(err error) error {
	if errors.Is(err, account.ErrNotFound) {
		return nil
	}
	return err
}

func webhookOf(ctx context.Context, q querier, id string) (webhook.Endpoint, error) {
	return scanWebhook(q.QueryRowContext(ctx, "SELECT "+webhookColumns+" FROM webhooks WHERE id = ?", id))
}

// Webhook returns the endpoint with that id; or webhook.ErrNotFound.
func (s *Webhooks) Webhook(ctx context.Context, id string) (webhook.Endpoint, error) {
	e, err := webhookOf(ctx, s.read, id)
	return s.asOfNow(e), err
}

// unlessDisabled returns an endpoint that was read; webhook.ErrDisabled if it is disabled.
func unlessDisabled(e webhook.Endpoint, err error) (webhook.Endpoint, error) {
	if err == nil && e.Disabled != nil {
		err = webhook.ErrDisabled
	}
	return e, err
}

// asOfNow removes the end of a secret's rotation that is past.
func (s *Webhooks) asOfNow(e webhook.Endpoint) webhook.Endpoint {
	if e.Rotated != nil && !s.clock.now().Before(*e.Rotated) {
		e.Rotated = nil
	}
	return e
}

// Webhooks returns the endpoints of an account, or of the installation if it is empty, oldest first.
func (s *Webhooks) Webhooks(ctx context.Context, accountID string) ([]webhook.Endpoint, error) {
	return s.listWebhooks(ctx, "WHERE account = ? ORDER BY id", accountID)
}

// AllWebhooks returns the endpoints of the installation and then those of all accounts, oldest first.
func (s *Webhooks) AllWebhooks(ctx context.Context) ([]webhook.Endpoint, error) {
	return s.listWebhooks(ctx, "ORDER BY CASE WHEN account = '' THEN 0 ELSE 1 END, id")
}

func (s *Webhooks) listWebhooks(ctx context.Context, which string, args ...any) ([]webhook.Endpoint, error) {
	rows, err := s.read.QueryContext(ctx, "SELECT "+webhookColumns+" FROM webhooks "+which, args...)
	list, err := listed("read endpoints", rows, err, scanWebhook)
	for i := range list {
		list[i] = s.asOfNow(list[i])
	}
	return list, err
}

// MasterKey returns the name of the master key that encrypts secrets. If there is none yet, newest becomes it.
func (s *Webhooks) MasterKey(ctx context.Context, newest string) (name string, err error) {
	err = s.write(ctx, s.sure, "find master key", func(tx *sql.Tx) error {
		if newest != "" {
			if _, err := tx.ExecContext(
				ctx, "INSERT INTO master_key (id, name) VALUES (1, ?) ON CONFLICT (id) DO NOTHING",
				newest); err != nil {
				return err
			}
		}
		name, err = masterKey(ctx, tx)
		return err
	})
	return name, err
}

// masterKey returns the name of the master key; empty if nothing is encrypted yet.
func masterKey(ctx context.Context, q querier) (name string, err error) {
	err = q.QueryRowContext(ctx, "SELECT name FROM master_key WHERE id = 1").Scan(&name)
	if isNone(err) {
		err = nil
	}
	return name, err
}

// checkMaster returns an error if a secret is encrypted with another key than the current master key.
func checkMaster(ctx context.Context, tx *sql.Tx, sealed webhook.Sealed) error {
	name, err := masterKey(ctx, tx)
	if err == nil && name != sealed.Key {
		err = webhook.ErrOtherKey
	}
	return err
}

// AddWebhook adds an endpoint.
func (s *Webhooks) AddWebhook(ctx context.Context, by audit.Actor, e webhook.Endpoint, sealed webhook.Sealed) error {
	return s.write(ctx, s.sure, "add endpoint", func(tx *sql.Tx) error {
		if err := s.openInTurn(ctx, tx, e.Account); err != nil {
			return err
		}
		if err := mayManage(ctx, tx, by, e.Account, s.clock.now()); err != nil {
			return err
		}
		if err := checkMaster(ctx, tx, sealed); err != nil {
			return err
		}
		var n int
		if err := tx.QueryRowContext(ctx, "SELECT count(*) FROM webhooks WHERE account = ?", e.Account).Scan(
			&n); err != nil {
			return err
		}
		if n >= webhook.MaxEndpoints {
			return webhook.ErrTooMany
		}
		types, err := jsonList(e.Types)
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, "INSERT INTO webhooks (id, account, url, types, format, allow_private, secret, "+
			"former, former_until, rests, why, created, maker)"+
			" VALUES (?, ?, ?, ?, ?, ?, ?, '', 0, 0, '', ?, ?)", e.ID, e.Account, e.URL, types,
			string(cmp.Or(e.Format, webhook.JSON)), number(e.AllowPrivate), sealed.Text, micros(e.Created), by.ID)
		if err != nil {
			return err
		}
		return s.noteWebhook(ctx, tx, by, audit.WebhookCreated, nil, &e)
	})
}

// openInTurn returns nil for an account that is not closed, and for the installation, which has an empty id.
func (s *Webhooks) openInTurn(ctx context.Context, tx *sql.Tx, accountID string) error {
	if accountID == "" {
		return s.inTurn(ctx, tx)
	}
	_, err := s.accountInTurn(ctx, tx, accountID)
	return err
}

// webhookInTurn returns the endpoint with that id. No other transaction changes it until this one ends.
func (s *Webhooks) webhookInTurn(ctx context.Context, tx *sql.Tx, id string) (webhook.Endpoint, error) {
	if err := s.inTurn(ctx, tx); err != nil {
		return webhook.Endpoint{}, err
	}
	return webhookOf(ctx, tx, id)
}

// UpdateWebhook changes an endpoint and returns the result.
func (s *Webhooks) UpdateWebhook(ctx context.Context, by audit.Actor, id string, u webhook.Update) (e webhook.Endpoint,
	err error,
) {
	err = s.write(ctx, s.sure, "update endpoint", func(tx *sql.Tx) error {
		before, err := s.webhookInTurn(ctx, tx, id)
		if err == nil {
			err = mayManage(ctx, tx, by, before.Account, s.clock.now())
		}
		if err != nil {
			return err
		}
		e = s.updatedWebhook(before, &u)
		types, err := jsonList(e.Types)
		if err != nil {
			return err
		}
		moved := e.URL != before.URL
		vouches := moved || u.Disabled != nil && !*u.Disabled
		_, err = tx.ExecContext(ctx, "UPDATE webhooks SET url = ?, types = ?, allow_private = ?, failing = ?, "+
			"dropped = ?, rests = CASE WHEN ? THEN 0 ELSE rests END,"+
			" disabled = ?, why = ?, maker = CASE WHEN ? THEN ? ELSE maker END WHERE id = ?",
			e.URL, types, number(e.AllowPrivate), microsOrNil(e.Failing), e.Dropped, u.Disabled != nil || moved,
			microsOrNil(e.Disabled), e.Why, vouches, by.ID, id)
		if err != nil {
			return err
		}
		return s.noteWebhook(ctx, tx, by, audit.WebhookChanged, &before, &e)
	})
	return s.asOfNow(e), err
}

// updatedWebhook returns an endpoint with an update applied.
func (s *Webhooks) updatedWebhook(e webhook.Endpoint, u *webhook.Update) webhook.Endpoint {
	if u.URL != nil && *u.URL != e.URL {
		e.URL, e.Failing, e.Dropped = *u.URL, nil, 0
	}
	if u.Types != nil {
		e.Types = *u.Types
	}
	if u.AllowPrivate != nil {
		e.AllowPrivate = *u.AllowPrivate
	}
	switch {
	case u.Disabled == nil:
	case !*u.Disabled:
		e.Failing, e.Disabled, e.Why, e.Dropped = nil, nil, "", 0
	case e.Disabled == nil:
		now := fromMicros(micros(s.clock.now()))
		e.Disabled, e.Why = &now, webhook.ByHand
	}
	return e
}

// stopWebhooks disables the installation's endpoints that a user created or readdressed, directly or with one of
// their keys. Otherwise the endpoints would report everything to somebody who is no longer an operator. An operator
// who enables one again becomes responsible for it.
func (s *Webhooks) stopWebhooks(ctx context.Context, tx *sql.Tx, by audit.Actor, userID string) error {
	rows, err := tx.QueryContext(ctx, "SELECT "+webhookColumns+" FROM webhooks WHERE account = '' AND disabled IS NULL"+
		" AND (maker = ? OR maker IN (SELECT id FROM keys WHERE creator = ?)) ORDER BY id", userID, userID)
	list, err := collect(rows, err, scanWebhook)
	if err != nil {
		return err
	}
	for i := range list {
		e := s.updatedWebhook(list[i], &webhook.Update{Disabled: new(true)})
		e.Why = webhook.ByFormerOperator
		if _, err := tx.ExecContext(ctx, "UPDATE webhooks SET disabled = ?, why = ? WHERE id = ?",
			microsOrNil(e.Disabled), e.Why, e.ID); err != nil {
			return err
		}
		if err := s.noteWebhook(ctx, tx, by, audit.WebhookChanged, &list[i], &e); err != nil {
			return err
		}
	}
	return nil
}

// RemoveWebhook deletes an endpoint. RetainEvents deletes its deliveries, a few at a time, so that no other
// transaction waits for many rows.
func (s *Webhooks) RemoveWebhook(ctx context.Context, by audit.Actor, id string) error {
	return s.write(ctx, s.sure, "remove endpoint", func(tx *sql.Tx) error {
		before, err := s.webhookInTurn(ctx, tx, id)
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, "DELETE FROM webhooks WHERE id = ?", id); err != nil {
			return err
		}
		return s.noteWebhook(ctx, tx, by, audit.WebhookRemoved, &before, nil)
	})
}

// RotateWebhook replaces an endpoint's secret. The former secret also signs for webhook.RotateFor, by the clock of
// the due times of deliveries.
func (s *Webhooks) RotateWebhook(ctx context.Context, by audit.Actor, id string, sealed webhook.Sealed) (
	e webhook.Endpoint, err error,
) {
	err = s.write(ctx, s.sure, "rotate secret of endpoint", func(tx *sql.Tx) error {
		if e, err = s.webhookInTurn(ctx, tx, id); err != nil {
			return err
		}
		if err := mayManage(ctx, tx, by, e.Account, s.clock.now()); err != nil {
			return err
		}
		if err := checkMaster(ctx, tx, sealed); err != nil {
			return err
		}
		now, err := s.clock.read(ctx, tx)
		if err != nil {
			return err
		}
		until := fromMicros(now).Add(webhook.RotateFor)
		_, err = tx.ExecContext(ctx, "UPDATE webhooks SET former = secret, former_until = ?, secret = ? WHERE id = ?",
			micros(until), sealed.Text, id)
		if err != nil {
			return err
		}
		e.Rotated = &until
		return s.tell(ctx, tx, audit.Entry{
			Actor: by, Action: audit.WebhookRotated, Object: webhookObject(&e), Account: e.Account,
		}, nil, facts{"former_secret_until": timeFact(&until)})
	})
	return e, err
}

func webhookObject(e *webhook.Endpoint) audit.Object {
	return audit.Object{Kind: "webhook", ID: e.ID, Name: e.URL}
}

// noteWebhook adds a change of an endpoint to the audit log. before is nil for a new one, after for a deleted one.
func (s *Webhooks) noteWebhook(ctx context.Context, tx *sql.Tx, by audit.Actor, action audit.Action, before,
	after *webhook.Endpoint,
) error {
	of := after
	if of == nil {
		of = before
	}
	_, err := s.note(ctx, tx, audit.Entry{Actor: by, Action: action, Object: webhookObject(of), Account: of.Account},
		webhookFacts(before), webhookFacts(after))
	return err
}

func webhookFacts(e *webhook.Endpoint) facts {
	if e == nil {
		return nil
	}
	f := facts{"url": e.URL, "events": nil, "allow_private": e.AllowPrivate, "disabled": e.Disabled != nil, "why": nil}
	if len(e.Types) > 0 {
		f["events"] = e.Types
	}
	if e.Why != "" {
		f["why"] = e.Why
	}
	return f
}
