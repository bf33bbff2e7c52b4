package store

import (
	"context"
	"database/sql"
	"fmt"

	"weir/internal/audit"
	"weir/internal/people"
	"weir/internal/signin"
)

// Sessions stores the sessions of users, and counts attempts to sign in.
type Sessions struct{ *conn }

const sessionColumns = "s.id, s.who, s.method, s.address, s.agent, s.created, s.seen, s.expires, s.pending"

// sessionRow is a scanned row of sessionColumns, with its times not converted yet.
type sessionRow struct {
	people.Session
	created, seen, expires int64
}

func (r *sessionRow) dest() []any {
	return []any{&r.ID, &r.UserID, &r.Method, &r.Address, &r.Agent, &r.created, &r.seen, &r.expires, &r.Pending}
}

func (r *sessionRow) session() people.Session {
	n := r.Session
	n.Created, n.Seen, n.Expires = fromMicros(r.created), fromMicros(r.seen), fromMicros(r.expires)
	return n
}

func scanSession(row scanner) (people.Session, error) {
	var r sessionRow
	err := row.Scan(r.dest()...)
	return r.session(), err
}

// StartSession starts a session, and deletes expired ones.
func (s *Sessions) StartSession(ctx context.Context, by audit.Actor, n signin.NewSession) error {
	return s.writeInTurn(ctx, "start session", func(tx *sql.Tx) error { return s.startSession(ctx, tx, by, n) })
}

func (s *Sessions) startSession(ctx context.Context, tx *sql.Tx, by audit.Actor, n signin.NewSession) error {
	if _, err := tx.ExecContext(ctx, "DELETE FROM sessions WHERE expires <= ?", micros(n.Created)); err != nil {
		return err
	}
	l, err := loginOf(ctx, tx, n.UserID)
	switch {
	case err != nil:
		return err
	case l.Disabled != nil:
		return people.ErrDisabled
	}
	_, err = tx.ExecContext(ctx, "INSERT INTO sessions (id, hash, who, method, address, agent, created, seen, "+
		"expires, pending, sid) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
		n.ID, n.Token.String(), n.UserID, n.Method, n.Address, n.Agent, micros(n.Created), micros(n.Seen),
		micros(n.Expires), number(asksFactor(&l, &n)), n.SID)
	if err == nil {
		_, err = tx.ExecContext(ctx, "UPDATE users SET seen = ? WHERE id = ?", micros(n.Seen), n.UserID)
	}
	if err != nil {
		return err
	}
	e := audit.Entry{Actor: by, Action: audit.SessionStarted, Object: sessionObject(&n.Session)}
	return s.tell(ctx, tx, e, nil, facts{"method": n.Method, "agent": n.Agent})
}

// asksFactor reports whether a session starts with one factor although its user has two. Single sign-on has its own
// second factor, and the command line's link is for users who have lost theirs.
func asksFactor(l *people.Login, n *signin.NewSession) bool {
	byOne := n.Method == people.ByPassword || n.Method == people.ByInvitation || n.Method == people.ByReset
	return l.SecondFactor && byOne && !n.Passed
}

func sessionObject(n *people.Session) audit.Object { return audit.Object{Kind: "session", ID: n.ID} }

// stillIn returns people.ErrNotFound if a session of a user has ended since its request was authenticated.
func stillIn(ctx context.Context, tx *sql.Tx, session, userID string) error {
	var n int64
	err := tx.QueryRowContext(ctx, "SELECT count(*) FROM sessions WHERE id = ? AND who = ?", session, userID).Scan(&n)
	if err == nil && n == 0 {
		err = people.ErrNotFound
	}
	return err
}

// VisitorBySession returns the visitor with the session of that token, even if it has expired; or people.ErrNotFound.
func (s *Sessions) VisitorBySession(ctx context.Context, token people.Hash) (*people.Visitor, error) {
	var r sessionRow
	var u userRow
	err := s.read.QueryRowContext(ctx, "SELECT "+sessionColumns+", "+userColumns+
		" FROM sessions s JOIN users u ON u.id = s.who WHERE s.hash = ?", token.String()).
		Scan(append(r.dest(), u.dest()...)...)
	if err != nil {
		return nil, fmt.Errorf("read session: %w", noPerson(err))
	}
	in, err := membershipsOf(ctx, s.read, u.ID)
	if err != nil {
		return nil, fmt.Errorf("read memberships: %w", err)
	}
	return people.NewVisitor(u.login().User, new(r.session()), in), nil
}

// TouchSession records the time and the address of a session's last use.
func (s *Sessions) TouchSession(ctx context.Context, n people.Session) error {
	return s.writeFast(ctx, "touch session", func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "UPDATE sessions SET seen = ?, address = ? WHERE id = ? AND seen < ?",
			micros(n.Seen), n.Address, n.ID, micros(n.Seen))
		if err == nil {
			_, err = tx.ExecContext(ctx, "UPDATE users SET seen = ? WHERE id = ? AND seen < ?", micros(n.Seen),
				n.UserID, micros(n.Seen))
		}
		return err
	})
}

// Sessions returns the sessions of a user, most recently used first.
func (s *Sessions) Sessions(ctx context.Context, userID string) ([]people.Session, error) {
	rows, err := s.read.QueryContext(ctx, "SELECT "+sessionColumns+
		" FROM sessions s WHERE s.who = ? ORDER BY s.seen DESC, s.id", userID)
	return listed("read sessions", rows, err, scanSession)
}

// EndSessions ends sessions of a user and returns how many.
func (s *Sessions) EndSessions(ctx context.Context, by audit.Actor, userID string, e signin.Ending) (ended int,
	err error,
) {
	err = s.writeInTurn(ctx, "end sessions", func(tx *sql.Tx) error {
		rows, err := tx.QueryContext(ctx, "SELECT "+sessionColumns+
			" FROM sessions s WHERE s.who = ? AND (? = '' OR s.id = ?) AND s.id <> ? ORDER BY s.id",
			userID, e.Only, e.Only, e.Except)
		ended, err = s.endSessions(ctx, tx, by, rows, err)
		return err
	})
	return ended, err
}

// endSessions ends the sessions of a query, and returns how many.
func (s *Sessions) endSessions(ctx context.Context, tx *sql.Tx, by audit.Actor, rows *sql.Rows, err error) (
	int, error,
) {
	list, err := collect(rows, err, scanSession)
	for i := range list {
		if err == nil {
			_, err = tx.ExecContext(ctx, "DELETE FROM sessions WHERE id = ?", list[i].ID)
		}
		if err == nil {
			e := audit.Entry{Actor: by, Action: audit.SessionEnded, Object: sessionObject(&list[i])}
			err = s.record(ctx, tx, e)
		}
	}
	return len(list), err
}

// EndByLogout ends the sessions that a provider of single sign-on has ended.
func (s *Sessions) EndByLogout(ctx context.Context, by audit.Actor, l signin.Logout) (ended int, err error) {
	err = s.writeInTurn(ctx, "end sessions by logout", func(tx *sql.Tx) error {
		if err := useLogout(ctx, tx, &l); err != nil {
			return err
		}
		rows, err := tx.QueryContext(ctx, "SELECT "+sessionColumns+
			" FROM sessions s JOIN identities i ON i.who = s.who WHERE s.method = ? AND i.issuer = ?"+
			" AND (? = '' OR i.subject = ?) AND (? = '' OR s.sid = ? OR s.sid = '' AND ? <> '') ORDER BY s.id",
			people.ByOIDC, l.Issuer, l.Subject, l.Subject, l.SID, l.SID, l.Subject)
		ended, err = s.endSessions(ctx, tx, by, rows, err)
		return err
	})
	return ended, err
}

// useLogout records that a logout token is used, and deletes expired records.
func useLogout(ctx context.Context, tx *sql.Tx, l *signin.Logout) error {
	if _, err := tx.ExecContext(ctx, "DELETE FROM logout_tokens WHERE until <= ?", micros(l.At)); err != nil {
		return err
	}
	done, err := tx.ExecContext(ctx, "INSERT INTO logout_tokens (issuer, token, until) VALUES (?, ?, ?)"+
		" ON CONFLICT (issuer, token) DO NOTHING", l.Issuer, l.Token, micros(l.Until))
	if err != nil {
		return err
	}
	if n, err := done.RowsAffected(); err != nil || n > 0 {
		return err
	}
	return signin.ErrLogoutUsed
}
