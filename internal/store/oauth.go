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

const grantColumns = "key, who, client, redirect, challenge, resource, family, refresh, created, until"

// These conditions find a grant by a hash.
const (
	byCode   = "code = ?"
	byFamily = "family = ?"
	byAccess = "key = (SELECT id FROM keys k WHERE " + byHash + ")"
	byFormer = "key = (SELECT id FROM keys k WHERE " + byFormerHash + ")"
)

// grantBy returns the grant that a condition finds by a hash.
func grantBy(ctx context.Context, q querier, condition string, hash account.Hash) (grantRow, error) {
	g, err := scanGrant(q.QueryRowContext(ctx, "SELECT "+grantColumns+" FROM oauth_grants WHERE "+condition,
		hash.String()))
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
		return grantBy(ctx, q, byCode, u.Code)
	}
	return grantBy(ctx, q, byFamily, u.Family)
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

// mostExpired bounds the expired grants that one transaction deletes.
const mostExpired = 100

// RetainGrants deletes expired grants, and the keys of codes that nobody used: these never had a token.
func (s *OAuth) RetainGrants(ctx context.Context) error {
	for {
		expired, err := s.expired(ctx, s.read)
		if err != nil || len(expired) == 0 {
			return err
		}
		err = s.writeInTurn(ctx, "delete expired grants", func(tx *sql.Tx) error {
			expired, err := s.expired(ctx, tx)
			for i := range expired {
				if err == nil {
					err = s.forget(ctx, tx, &expired[i])
				}
			}
			return err
		})
		if err != nil {
			return err
		}
	}
}

func (s *OAuth) expired(ctx context.Context, q querier) ([]grantRow, error) {
	rows, err := q.QueryContext(ctx, "SELECT "+grantColumns+
		" FROM oauth_grants WHERE until <= ? ORDER BY until LIMIT ?", micros(s.clock.now()), mostExpired)
	return listed("read expired grants", rows, err, scanGrant)
}

// forget deletes an expired grant.
func (s *OAuth) forget(ctx context.Context, tx *sql.Tx, g *grantRow) error {
	if g.family != "" {
		_, err := tx.ExecContext(ctx, "DELETE FROM oauth_grants WHERE key = ?", g.Key)
		return err
	}
	if err := s.end(ctx, tx, audit.Gateway(), g.Key); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx, "DELETE FROM keys WHERE id = ?", g.Key)
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
func (s *OAuth) EndGrant(ctx context.Context, by audit.Actor, t oauth.Revoked, client string) (key string, err error) {
	find := func(q querier) (grantRow, error) {
		if t.Access == (account.Hash{}) {
			return grantBy(ctx, q, byFamily, t.Family)
		}
		g, err := grantBy(ctx, q, byAccess, t.Access)
		if errors.Is(err, oauth.ErrNotFound) {
			g, err = grantBy(ctx, q, byFormer, t.Access)
		}
		return g, err
	}
	if _, err = find(s.read); err == nil {
		err = s.writeInTurn(ctx, "end grant", func(tx *sql.Tx) error {
			key = ""
			g, err := find(tx)
			if err != nil || g.Client != client {
				return err
			}
			key = g.Key
			return s.end(ctx, tx, by, key)
		})
	}
	if errors.Is(err, oauth.ErrNotFound) {
		err = nil
	}
	return key, err
}
