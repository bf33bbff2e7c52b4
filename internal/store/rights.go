package store

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"time"

	"weir/internal/account"
	"weir/internal/audit"
	"weir/internal/people"
)

// isTrusted reports whether the actor may currently administer the whole installation: since the request was
// authenticated, they may have lost the operator role, or their key may have been revoked. An address that an
// account's owner invites is not trusted to belong to that person.
func isTrusted(ctx context.Context, tx *sql.Tx, by audit.Actor, now time.Time) (bool, error) {
	switch by.Kind {
	case audit.User:
		l, err := loginOf(ctx, tx, by.ID)
		if errors.Is(err, people.ErrNotFound) {
			return false, nil
		}
		return l.Operator, err
	case audit.Key:
		k, err := keyOf(ctx, tx, by.ID)
		if errors.Is(err, account.ErrNotFound) {
			return false, nil
		}
		return k.State(now) == account.KeyActive && slices.Contains(k.Permissions, account.Admin), err
	}
	return by.Kind != audit.Nobody, nil
}

// owns reports whether the actor is a person who owns the account.
func owns(ctx context.Context, tx *sql.Tx, by audit.Actor, accountID string) (bool, error) {
	if by.Kind != audit.User || accountID == "" {
		return false, nil
	}
	m, err := memberOf(ctx, tx, accountID, by.ID)
	if errors.Is(err, people.ErrNotFound) {
		return false, nil
	}
	if err != nil || m.Role != people.Owner {
		return false, err
	}
	l, err := loginOf(ctx, tx, by.ID)
	return l.Disabled == nil, err
}

// mayManage returns audit.ErrNotAllowed if the actor is neither trusted nor an owner of the account.
func mayManage(ctx context.Context, tx *sql.Tx, by audit.Actor, accountID string, now time.Time) error {
	allowed, err := isTrusted(ctx, tx, by, now)
	if err == nil && !allowed {
		allowed, err = owns(ctx, tx, by, accountID)
	}
	if err == nil && !allowed {
		err = audit.ErrNotAllowed
	}
	return err
}

// mayOperate returns audit.ErrNotAllowed if the actor is not trusted.
func mayOperate(ctx context.Context, tx *sql.Tx, by audit.Actor, now time.Time) error {
	return mayManage(ctx, tx, by, "", now)
}
