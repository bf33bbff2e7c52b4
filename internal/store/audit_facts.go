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
	"weir/internal/llm"
)

// facts are the values of an object for the audit log, by the names that listings use: amounts as decimals of US
// dollars, times in RFC 3339, nil if there is no value. They contain no secrets and no hashes of secrets.
type facts map[string]any

// tell records an entry with these facts, even if they are equal; nil for none.
func (s *conn) tell(ctx context.Context, tx *sql.Tx, e audit.Entry, before, after facts) (err error) {
	if e.Before, err = before.without(nil); err == nil {
		e.After, err = after.without(nil)
	}
	if err != nil {
		return fmt.Errorf("write audit log: %w", err)
	}
	return s.record(ctx, tx, e)
}

// note records an entry with the differences between before and after; nil for an object that does not exist. It
// reports false, and records nothing, if there are none.
func (s *conn) note(ctx context.Context, tx *sql.Tx, e audit.Entry, before, after facts) (bool, error) {
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

// difference returns the facts that differ, as they are in before and in after, as JSON objects; nil if there are
// none.
func difference(before, after facts) (was, became json.RawMessage, err error) {
	if was, err = before.without(after); err != nil {
		return nil, nil, err
	}
	became, err = after.without(before)
	return was, became, err
}

// without returns the facts that others does not have or has with another value, as a JSON object; nil if there are
// none. If others is nil, facts without a value are left out.
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

// timeFact formats a time to the microsecond; nil for none.
func timeFact(t *time.Time) any {
	if t == nil {
		return nil
	}
	return t.UTC().Truncate(time.Microsecond).Format(time.RFC3339Nano)
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
	if k.FormerUntil != nil {
		f["former_last4"], f["former_until"] = k.FormerLast4, timeFact(k.FormerUntil)
	}
	if len(k.Tags.Defaults) > 0 {
		f["tags"] = llm.FormatTags(k.Tags.Defaults)
	}
	if len(k.Tags.Required) > 0 {
		f["required_tags"] = k.Tags.Required
	}
	if k.Client != "" {
		f["client"], f["resource"] = k.Client, k.Resource
	}
	if k.NoContent {
		f["no_content"] = true
	}
	if k.AnswerCache > 0 {
		f["answer_cache_seconds"] = int64(k.AnswerCache / time.Second)
	}
	f.limits(k.Limits)
	f.budget(k.Budget)
	f.per(k.Per)
	return f
}
