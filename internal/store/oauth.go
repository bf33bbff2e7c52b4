package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"weir/internal/account"
	"weir/internal/audit"
	"weir/internal/oauth"
	"weir/internal/people"
)

// OAuth stores the grants of programs. It implements oauth.Store.
type OAuth struct {
	*conn
	accounts *Accounts
}

// AddGrant implements oauth.Store.
func (s *OAuth) AddGrant(ctx context.Context, g *oauth.Grant) error {
	return s.writeInTurn(ctx, "add grant", func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, "DELETE FROM oauth_grants WHERE until <= ?", micros(g.Created)); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, "INSERT INTO oauth_grants (key, who, client, redirect, challenge, resource,"+
			" code, family, refresh, created, until) VALUES (?, ?, ?, ?, ?, ?, ?, '', '', ?, ?)", g.Key, g.User,
			g.Client, g.Redirect, g.Challenge, g.Resource, g.Code.String(), micros(g.Created), micros(g.Until))
		return err
	})
}

// grantRow is a grant with the hashes of its newest tokens.
type grantRow struct {
	oauth.Grant
	family, refresh string
}

func scanGrant(row scanner) (g grantRow, err error) {
	var created, until int64
	err = row.Scan(&g.Key, &g.User, &g.Client, &g.Redirect, &g.Challenge, &g.Resource, &g.family, &g.refresh, &created,
		&until)
	g.Created, g.Until = fromMicros(created), fromMicros(until)
	return g, err
}

// grantBy returns the grant with that hash in a column.
func grantBy(ctx context.Context, q querier, column string, hash account.Hash) (grantRow, error) {
	g, err := scanGrant(q.QueryRowContext(ctx, "SELECT key, who, client, redirect, challenge, resource, family,"+
		" refresh, created, until FROM oauth_grants WHERE "+column+" = ?", hash.String()))
	if errors.Is(err, sql.ErrNoRows) {
		err = oauth.ErrNotFound
	}
	return g, err
}

// UseGrant implements oauth.Store.
func (s *OAuth) UseGrant(ctx context.Context, u *oauth.Use, check func(*oauth.Grant) error) (g oauth.Grant, err error) {
	reused := false
	// Anybody can send any token: only one that is known takes the turn of writers.
	if _, err := usedBy(ctx, s.read, u); err != nil {
		return g, fmt.Errorf("use grant: %w", err)
	}
	err = s.writeInTurn(ctx, "use grant", func(tx *sql.Tx) error {
		reused = false
		row, err := usedBy(ctx, tx, u)
		if g = row.Grant; err != nil {
			return err
		}
		if err := check(&g); err != nil {
			return err
		}
		if u.Code != (account.Hash{}) && row.family != "" || u.Code == (account.Hash{}) &&
			row.refresh != u.Refresh.String() {
			reused = true
			return s.end(ctx, tx, u.By, g.Key)
		}
		return s.renew(ctx, tx, &g, &u.Next)
	})
	if err == nil && reused {
		err = oauth.ErrReused
	}
	return g, err
}

func usedBy(ctx context.Context, q querier, u *oauth.Use) (grantRow, error) {
	if u.Code != (account.Hash{}) {
		return grantBy(ctx, q, "code", u.Code)
	}
	return grantBy(ctx, q, "family", u.Family)
}

// end deletes a grant and revokes its key.
func (s *OAuth) end(ctx context.Context, tx *sql.Tx, by audit.Actor, key string) error {
	if _, err := tx.ExecContext(ctx, "DELETE FROM oauth_grants WHERE key = ?", key); err != nil {
		return err
	}
	k, err := keyOf(ctx, tx, key)
	if err == nil && k.Revoked == nil {
		_, err = s.accounts.revokeKey(ctx, tx, by, &k, s.clock.now())
	}
	return err
}

// renew gives the key of a grant a new token.
func (s *OAuth) renew(ctx context.Context, tx *sql.Tx, g *oauth.Grant, next *oauth.Tokens) error {
	k, err := s.stillGranted(ctx, tx, g)
	if err != nil {
		return err
	}
	until := next.Now.Add(next.RefreshFor)
	if last := g.Created.Add(next.GrantFor); last.Before(until) {
		until = last
	}
	_, err = tx.ExecContext(ctx, "UPDATE oauth_grants SET family = ?, refresh = ?, until = ? WHERE key = ?",
		next.Family.String(), next.Refresh.String(), micros(until), g.Key)
	access := next.Access
	if k.Expires != nil && !next.Now.Before(*k.Expires) {
		access.FormerUntil = time.Time{} // the former token has expired: the new one's time must not revive it
	}
	if err == nil {
		err = rotate(ctx, tx, &k, &access)
	}
	if err == nil {
		_, err = tx.ExecContext(ctx, "UPDATE keys SET expires = ? WHERE id = ?", micros(earlier(next.Expires, until)),
			k.ID)
	}
	if err != nil {
		return fmt.Errorf("renew the token of key %s: %w", k.ID, err)
	}
	return s.changed(ctx, tx, account.ChangedKey, k.ID)
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// stillGranted returns the key of a grant. The error is oauth.ErrNotFound if the key is revoked, or if its person may
// no longer use the account.
func (s *OAuth) stillGranted(ctx context.Context, tx *sql.Tx, g *oauth.Grant) (account.Key, error) {
	k, err := keyOf(ctx, tx, g.Key)
	if err != nil {
		return k, err
	}
	l, err := loginOf(ctx, tx, g.User)
	var m people.Membership
	if err == nil {
		m, err = memberOf(ctx, tx, k.AccountID, g.User)
	}
	usable := slices.Contains([]people.Role{people.Owner, people.Member}, m.Role)
	switch {
	case errors.Is(err, people.ErrNotFound), err == nil && (k.Revoked != nil || l.Disabled != nil || !usable):
		return k, oauth.ErrNotFound
	}
	return k, err
}

// EndGrant implements oauth.Store.
func (s *OAuth) EndGrant(ctx context.Context, by audit.Actor, family account.Hash, client string) error {
	if _, err := grantBy(ctx, s.read, "family", family); err != nil {
		if errors.Is(err, oauth.ErrNotFound) {
			err = nil
		}
		return err
	}
	return s.writeInTurn(ctx, "end grant", func(tx *sql.Tx) error {
		g, err := grantBy(ctx, tx, "family", family)
		switch {
		case errors.Is(err, oauth.ErrNotFound), err == nil && g.Client != client:
			return nil
		case err != nil:
			return err
		}
		return s.end(ctx, tx, by, g.Key)
	})
}
