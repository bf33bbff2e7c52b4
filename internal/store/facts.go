package store

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"weir/internal/account"
	"weir/internal/audit"
	"weir/internal/webhook"
)

// facts are what the audit log says of something, by the names that listings have
// too: amounts as decimals of US dollars, times as RFC 3339 has them, nil for what
// there is none of. No secret is among them, and no hash of one.
type facts map[string]any

// tell records an entry with these facts, whether they differ or not; nil for none.
func (s *Store) tell(ctx context.Context, tx *sql.Tx, e audit.Entry, before, after facts) (err error) {
	if e.Before, err = before.without(nil); err == nil {
		e.After, err = after.without(nil)
	}
	if err != nil {
		return fmt.Errorf("write audit log: %w", err)
	}
	return s.record(ctx, tx, e)
}

// note records an entry with what differs between before and after, nil for what
// is not there. It reports false, and records nothing, where nothing differs.
func (s *Store) note(ctx context.Context, tx *sql.Tx, e audit.Entry, before, after facts) (bool, error) {
	var err error
	e.Before, e.After, err = difference(before, after)
	if err != nil {
		return false, fmt.Errorf("write audit log: %w", err)
	}
	if e.Before == nil && e.After == nil {
		return false, nil
	}
	return true, s.record(ctx, tx, e)
}

// difference is what only before has, and what only after has, as JSON objects;
// nil for nothing.
func difference(before, after facts) (was, became json.RawMessage, err error) {
	if was, err = before.without(after); err != nil {
		return nil, nil, err
	}
	became, err = after.without(before)
	return was, became, err
}

// without are the facts that are not among the others, or not the same there, as
// a JSON object; nil for none. Beside nothing, what there is none of is no fact.
func (f facts) without(others facts) (json.RawMessage, error) {
	object := map[string]json.RawMessage{}
	for name, value := range f {
		text, err := json.Marshal(value)
		if err != nil {
			return nil, err
		}
		other, err := json.Marshal(others[name])
		if err != nil {
			return nil, err
		}
		if !bytes.Equal(text, other) {
			object[name] = text
		}
	}
	if len(object) == 0 {
		return nil, nil
	}
	return json.Marshal(object)
}

// noteAccount notes a change of an account, in the feed of changes too. Before is
// nil for a new one.
func (s *Store) noteAccount(ctx context.Context, tx *sql.Tx, by audit.Actor, action audit.Action, before,
	after *account.Account,
) error {
	e := audit.Entry{
		Actor: by, Action: action, Account: after.ID,
		Object: audit.Object{Kind: "account", ID: after.ID, Name: after.Name},
	}
	noted, err := s.note(ctx, tx, e, accountFacts(before), accountFacts(after))
	if err != nil || !noted {
		return err
	}
	if action == audit.AccountSuspended || action == audit.AccountResumed {
		e := webhook.NewEvent(webhook.Type(action), after.ID, s.Now(),
			webhook.Data{Account: &webhook.Account{ID: after.ID, Name: after.Name}})
		if _, err := s.outbox.tell(ctx, tx, &e); err != nil {
			return err
		}
	}
	return s.changed(ctx, tx, account.ChangedAccount, after.ID)
}

func accountFacts(a *account.Account) facts {
	if a == nil {
		return nil
	}
	f := facts{
		"name": a.Name, "suspended": a.Suspended, "on_hangup": string(a.OnDisconnect), "credit_usd": nil,
		"credit_from_usd": nil, "goodwill_usd": nil,
	}
	if a.Credit != nil {
		f["credit_usd"], f["credit_from_usd"] = a.Credit.Paid.String(), a.Credit.From.String()
	}
	if a.Goodwill != 0 {
		f["goodwill_usd"] = a.Goodwill.String()
	}
	f.limits(a.Limits)
	f.budget(a.Budget)
	return f
}

// noteKey notes a change of a key, in the feed of changes too. Before is nil for
// a new one.
func (s *Store) noteKey(ctx context.Context, tx *sql.Tx, by audit.Actor, action audit.Action, before,
	after *account.Key,
) error {
	e := audit.Entry{
		Actor: by, Action: action, Account: after.AccountID,
		Object: audit.Object{Kind: "key", ID: after.ID, Name: after.Label},
	}
	noted, err := s.note(ctx, tx, e, keyFacts(before), keyFacts(after))
	if err != nil || !noted {
		return err
	}
	if action == audit.KeyCreated || action == audit.KeyRevoked {
		k := eventKey(after)
		e := webhook.NewEvent(webhook.Type(action), after.AccountID, s.Now(), webhook.Data{Key: &k})
		if _, err := s.outbox.tell(ctx, tx, &e); err != nil {
			return err
		}
	}
	return s.changed(ctx, tx, account.ChangedKey, after.ID)
}

// eventKey is what events say of a key.
func eventKey(k *account.Key) webhook.Key {
	return webhook.Key{ID: k.ID, Label: k.Label, Last4: k.Last4, Expires: k.Expires}
}

func keyFacts(k *account.Key) facts {
	if k == nil {
		return nil
	}
	f := facts{
		"label": k.Label, "last4": k.Last4, "permissions": k.Permissions, "models": nil,
		"expires": timeFact(k.Expires), "revoked": timeFact(k.Revoked), "creator": nil,
	}
	if len(k.Models) > 0 {
		f["models"] = k.Models
	}
	if k.Creator != "" {
		f["creator"] = k.Creator
	}
	f.limits(k.Limits)
	f.budget(k.Budget)
	return f
}

func (f facts) limits(l account.Limits) {
	for name, n := range map[string]int64{"rpm": l.RPM, "tpm": l.TPM, "concurrency": l.Concurrency} {
		f[name] = nil
		if n > 0 {
			f[name] = n
		}
	}
}

func (f facts) budget(b account.Budget) {
	f["budget_usd"], f["budget_period"] = nil, nil
	if b.Limit > 0 {
		f["budget_usd"], f["budget_period"] = b.Limit.String(), string(b.Period)
	}
}

// timeFact is a time, to the microsecond; nil for none.
func timeFact(t *time.Time) any {
	if t == nil {
		return nil
	}
	return t.UTC().Truncate(time.Microsecond).Format(time.RFC3339Nano)
}
