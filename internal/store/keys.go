package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"weir/internal/account"
	"weir/internal/audit"
	"weir/internal/webhook"
)

const keyColumns = "id, account, label, last4, permissions, models, created, expires, revoked, rpm, tpm, " +
	"concurrency, budget, budget_period, creator, former_last4, former_until, tags, per, no_content, " +
	"answer_cache, client, resource, person"

// keyRow is a scanned row of keyColumns, with its encoded columns not decoded yet.
type keyRow struct {
	account.Key
	permissions, models, tags, per string
	created                        int64
	expires, revoked               sql.NullInt64
	former                         sql.NullInt64
	answerCache                    int64 // seconds
}

func (r *keyRow) dest() []any {
	return []any{
		&r.ID, &r.AccountID, &r.Label, &r.Last4, &r.permissions, &r.models, &r.created, &r.expires, &r.revoked,
		&r.Limits.RPM, &r.Limits.TPM, &r.Limits.Concurrency, &r.Budget.Limit, &r.Budget.Period, &r.Creator,
		&r.FormerLast4, &r.former, &r.tags, &r.per, &r.NoContent, &r.answerCache, &r.Client,
		&r.Resource, &r.Person,
	}
}

func (r *keyRow) key() (account.Key, error) {
	k := r.Key
	k.AnswerCache = time.Duration(r.answerCache) * time.Second
	k.Created = fromMicros(r.created)
	k.Expires, k.Revoked, k.FormerUntil = optionalTime(r.expires), optionalTime(r.revoked), optionalTime(r.former)
	if err := json.Unmarshal([]byte(r.permissions), &k.Permissions); err != nil {
		return k, fmt.Errorf("key %s: permissions: %w", k.ID, err)
	}
	if err := json.Unmarshal([]byte(r.models), &k.Models); err != nil {
		return k, fmt.Errorf("key %s: models: %w", k.ID, err)
	}
	k.Tags = decodeKeyTags(r.tags)
	var err error
	if k.Per, err = decodePer(r.per); err != nil {
		return k, fmt.Errorf("key %s: %w", k.ID, err)
	}
	return k, nil
}

// of qualifies columns with the name of their table in a statement.
func of(table, columns string) string {
	return table + "." + strings.ReplaceAll(columns, ", ", ", "+table+".")
}

func optionalTime(us sql.NullInt64) *time.Time {
	if !us.Valid {
		return nil
	}
	return new(fromMicros(us.Int64))
}

func scanKey(row scanner) (account.Key, error) {
	var r keyRow
	if err := row.Scan(r.dest()...); err != nil {
		return account.Key{}, err
	}
	return r.key()
}

// KeyByHash returns the key with that hash of its token, even if it is revoked or expired, and its account; or
// account.ErrNotFound. If it is found by its former token, its expiry is at most that of the former token.
func (s *Accounts) KeyByHash(ctx context.Context, hash account.Hash) (a account.Account, k account.Key, err error) {
	a, k, err = s.keyBy(ctx, byHash, hash)
	if !errors.Is(err, account.ErrNotFound) {
		return a, k, err
	}
	if a, k, err = s.keyBy(ctx, byFormerHash, hash); err != nil {
		return a, k, err
	}
	if k.Expires == nil || k.FormerUntil.Before(*k.Expires) {
		k.Expires = k.FormerUntil
	}
	return a, k, nil
}

// These find a key by a hash. The second repeats the condition of its index: SQLite does not derive it from a
// parameter, and would read all keys for each unknown token.
const (
	byHash       = "k.hash = ?"
	byFormerHash = "k.former <> '' AND k.former = ?"
)

func (s *Accounts) keyBy(ctx context.Context, condition string, hash account.Hash) (a account.Account, k account.Key,
	err error,
) {
	var (
		r   keyRow
		row accountRow
	)
	err = s.read.QueryRowContext(
		ctx, "SELECT "+of("a", accountColumns)+", "+of("k", keyColumns)+
			" FROM keys k JOIN accounts a ON a.id = k.account WHERE "+condition, hash.String()).
		Scan(append(row.dest(), r.dest()...)...)
	if err != nil {
		return a, k, fmt.Errorf("read key: %w", orNotFound(err))
	}
	if k, err = r.key(); err != nil {
		return a, k, err
	}
	a, err = row.account()
	return a, k, err
}

// Keys returns the keys of the account with that id, oldest first.
func (s *Accounts) Keys(ctx context.Context, accountID string) ([]account.Key, error) {
	return reportList(ctx, s.conn, accountID, "read keys", scanKey, "SELECT "+keyColumns+
		" FROM keys WHERE account = ? ORDER BY created, id", accountID)
}

// CreateKey adds a key with the hash of its token.
func (s *Accounts) CreateKey(ctx context.Context, by audit.Actor, k account.Key, hash account.Hash) error {
	return s.write(ctx, s.sure, "create key", func(tx *sql.Tx) error {
		return s.insertKey(ctx, tx, by, &k, hash, "")
	})
}

// insertKey adds a key with the hash of its token. imported is the hash of the token that it had when it was
// imported; empty for a key that was made here.
func (s *Accounts) insertKey(ctx context.Context, tx *sql.Tx, by audit.Actor, k *account.Key, hash account.Hash,
	imported string,
) error {
	if _, err := s.accountInTurn(ctx, tx, k.AccountID); err != nil {
		return err
	}
	permissions, err := jsonList(k.Permissions)
	if err != nil {
		return err
	}
	models, err := jsonList(k.Models)
	if err != nil {
		return err
	}
	per, err := encodePer(k.Per)
	if err != nil {
		return err
	}
	if slices.Contains(k.Permissions, account.Admin) {
		if err := s.adminBy(ctx, tx, by); err != nil {
			return err
		}
	}
	_, err = tx.ExecContext(ctx, "INSERT INTO keys ("+keyColumns+
		", hash, imported) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, '', NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
		k.ID, k.AccountID, k.Label, k.Last4, permissions, models, micros(k.Created), microsOrNil(k.Expires),
		microsOrNil(k.Revoked),
		k.Limits.RPM, k.Limits.TPM, k.Limits.Concurrency, int64(k.Budget.Limit), string(k.Budget.Period), k.Creator,
		encodeKeyTags(&k.Tags), per, number(k.NoContent), int64(k.AnswerCache/time.Second),
		k.Client, k.Resource, k.Person, hash.String(), imported)
	if err != nil {
		return err
	}
	return s.noteKey(ctx, tx, by, audit.KeyCreated, nil, k)
}

// adminBy returns audit.ErrNotAllowed if the actor may not make keys that administer the installation, or no longer
// may.
func (s *Accounts) adminBy(ctx context.Context, tx *sql.Tx, by audit.Actor) error {
	if err := s.inTurn(ctx, tx); err != nil {
		return err
	}
	return mayOperate(ctx, tx, by, s.clock.now())
}

// Key returns the key with that id, even if it is revoked or expired; or account.ErrNotFound.
func (s *Accounts) Key(ctx context.Context, id string) (account.Key, error) {
	k, err := keyOf(ctx, s.read, id)
	if err != nil {
		return k, fmt.Errorf("read key: %w", err)
	}
	return k, nil
}

func keyOf(ctx context.Context, q querier, id string) (account.Key, error) {
	k, err := scanKey(q.QueryRowContext(ctx, "SELECT "+keyColumns+" FROM keys WHERE id = ?", id))
	return k, orNotFound(err)
}

// keyInTurn returns the key with that id. No other transaction changes it until this one ends. The error is
// account.ErrNotFound if it does not exist.
func (s *Accounts) keyInTurn(ctx context.Context, tx *sql.Tx, id string) (account.Key, error) {
	if err := s.inTurn(ctx, tx); err != nil {
		return account.Key{}, err
	}
	return keyOf(ctx, tx, id)
}

const updateKey = "UPDATE keys SET label = ?, permissions = ?, models = ?, expires = ?, rpm = ?, tpm = ?," +
	" concurrency = ?, budget = ?, budget_period = ?, per = ?, tags = ?, no_content = ?," +
	" answer_cache = ? WHERE id = ? RETURNING " + keyColumns

// UpdateKey changes the key with that id and returns the result. The error is account.ErrNotFound,
// account.ErrRevoked, or the one of account.Loosened.
func (s *Accounts) UpdateKey(ctx context.Context, by audit.Actor, id string, u account.KeyUpdate) (k account.Key,
	err error,
) {
	err = s.write(ctx, s.sure, "update key", func(tx *sql.Tx) error {
		before, err := s.keyInTurn(ctx, tx, id)
		if err != nil {
			return err
		}
		if before.Revoked != nil {
			return account.ErrRevoked
		}
		to := updated(before, &u)
		if u.Tags != nil || u.Required != nil {
			if err := account.CheckTags(&to.Tags); err != nil {
				return err
			}
		}
		if u.Tighten {
			if err := account.Loosened(&before, &to); err != nil {
				return err
			}
		}
		if isAdmin := slices.Contains(to.Permissions, account.Admin); isAdmin && !slices.Contains(before.Permissions,
			account.Admin) {
			if err := s.adminBy(ctx, tx, by); err != nil {
				return err
			}
		}
		models, err := jsonList(to.Models)
		if err != nil {
			return err
		}
		permissions, err := jsonList(to.Permissions)
		if err != nil {
			return err
		}
		per, err := encodePer(to.Per)
		if err != nil {
			return err
		}
		action := audit.KeyChanged
		if u.Rotate != nil {
			action = audit.KeyRotated
			if err := rotate(ctx, tx, &before, u.Rotate); err != nil {
				return err
			}
			if err := forgetPerson(ctx, tx, &before, by); err != nil {
				return err
			}
		}
		row := tx.QueryRowContext(ctx, updateKey, to.Label, permissions, models, microsOrNil(to.Expires), to.Limits.RPM,
			to.Limits.TPM, to.Limits.Concurrency, int64(to.Budget.Limit), string(to.Budget.Period), per,
			encodeKeyTags(&to.Tags), number(to.NoContent), int64(to.AnswerCache/time.Second), id)
		if k, err = scanKey(row); err != nil {
			return err
		}
		return s.noteKey(ctx, tx, by, action, &before, &k)
	})
	return k, err
}

// updated returns a key with an update applied.
func updated(k account.Key, u *account.KeyUpdate) account.Key {
	if u.Label != nil {
		k.Label = *u.Label
	}
	if u.Models != nil {
		k.Models = *u.Models
	}
	if u.Permissions != nil {
		k.Permissions = *u.Permissions
	}
	if u.Expires != nil {
		k.Expires = u.Expires
		if u.Expires.IsZero() {
			k.Expires = nil
		}
	}
	if u.Limits != nil {
		k.Limits = *u.Limits
	}
	if u.Budget != nil {
		k.Budget = *u.Budget
	}
	if u.Per != nil {
		k.Per = *u.Per
	}
	if u.Tags != nil {
		k.Tags.Defaults = *u.Tags
	}
	if u.Required != nil {
		k.Tags.Required = *u.Required
	}
	if u.NoContent != nil {
		k.NoContent = *u.NoContent
	}
	if u.AnswerCache != nil {
		k.AnswerCache = *u.AnswerCache
	}
	return k
}

// jsonList encodes a list for storage; nil becomes an empty list.
func jsonList[T ~string](list []T) (string, error) {
	if list == nil {
		list = []T{}
	}
	b, err := json.Marshal(list)
	return string(b), err
}

// RevokeKey revokes the key with that id, unless it is revoked, deletes the open invitations that were made with it,
// and returns the result; or account.ErrNotFound.
func (s *Accounts) RevokeKey(ctx context.Context, by audit.Actor, id string, at time.Time) (k account.Key, err error) {
	err = s.write(ctx, s.sure, "revoke key", func(tx *sql.Tx) error {
		if k, err = s.keyInTurn(ctx, tx, id); err != nil || k.Revoked != nil {
			return err
		}
		before := k
		k, err = s.revokeKey(ctx, tx, by, &before, at)
		return err
	})
	return k, err
}

func (s *Accounts) revokeKey(ctx context.Context, tx *sql.Tx, by audit.Actor, before *account.Key, at time.Time) (
	account.Key, error,
) {
	k, err := scanKey(tx.QueryRowContext(ctx, "UPDATE keys SET revoked = ? WHERE id = ? RETURNING "+keyColumns,
		micros(at), before.ID))
	if err == nil {
		err = s.noteKey(ctx, tx, by, audit.KeyRevoked, before, &k)
	}
	if err == nil {
		err = s.withdraw(ctx, tx, by, k.ID, "")
	}
	return k, err
}

// noteKey adds a change of a key to the audit log and the feed of changes. before is nil for a new key.
func (s *Accounts) noteKey(ctx context.Context, tx *sql.Tx, by audit.Actor, action audit.Action, before,
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
		e := webhook.NewEvent(webhook.Type(action), after.AccountID, s.clock.now(), webhook.Data{Key: &k})
		if _, err := s.outbox.tell(ctx, tx, &e); err != nil {
			return err
		}
	}
	if before != nil && account.AnotherPeriod(before.Budget, after.Budget, before.Per, after.Per) {
		if err := s.noteBudget(ctx, tx, after.ID); err != nil {
			return err
		}
	}
	return s.changed(ctx, tx, account.ChangedKey, after.ID)
}

// eventKey returns the form of a key in events.
func eventKey(k *account.Key) webhook.Key {
	return webhook.Key{ID: k.ID, Label: k.Label, Last4: k.Last4, Expires: k.Expires}
}

// revokeMade revokes the keys that a user made, if is returns true for them.
func (s *Accounts) revokeMade(ctx context.Context, tx *sql.Tx, by audit.Actor, userID string,
	is func(*account.Key) bool,
) error {
	rows, err := tx.QueryContext(ctx, "SELECT "+keyColumns+
		" FROM keys WHERE creator = ? AND revoked IS NULL ORDER BY created, id", userID)
	keys, err := collect(rows, err, scanKey)
	now := s.clock.now()
	for i := range keys {
		if err == nil && is(&keys[i]) {
			_, err = s.revokeKey(ctx, tx, by, &keys[i], now)
		}
	}
	return err
}
