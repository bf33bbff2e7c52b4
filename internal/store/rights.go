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

// isTrusted reports whether the actor administers the whole installation, still: they may
// be no operator any more, or their key revoked, since they were let in. Who an account's
// owner invites may not be who the address says.
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

// mayManage is audit.ErrNotAllowed for an actor who is not trusted and does not own the account.
func mayManage(ctx context.Context, tx *sql.Tx, by audit.Actor, accountID string, now time.Time) error {
	err := mayOperate(ctx, tx, by, now)
	if !errors.Is(err, audit.ErrNotAllowed) || by.Kind != audit.User || accountID == "" {
		return err
	}
	var owns bool
	err = tx.QueryRowContext(ctx, "SELECT count(*) > 0 FROM members m JOIN users u ON u.id = m.who WHERE m.account = ? "+
		"AND m.role = 'owner' AND (u.id = ? OR u.email = ?)", accountID, by.ID, by.ID).Scan(&owns)
	if err == nil && !owns {
		err = audit.ErrNotAllowed
	}
	return err
}

// mayOperate is audit.ErrNotAllowed for an actor who is not trusted.
func mayOperate(ctx context.Context, tx *sql.Tx, by audit.Actor, now time.Time) error {
	trusted, err := isTrusted(ctx, tx, by, now)
	if err == nil && !trusted {
		err = audit.ErrNotAllowed
	}
	return err
}
