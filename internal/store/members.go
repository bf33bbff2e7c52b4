package store

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"weir/internal/account"
	"weir/internal/audit"
	"weir/internal/people"
)

// Members stores the members of accounts.
type Members struct {
	*conn
	accounts *Accounts
}

const memberQuery = "SELECT m.account, a.name, m.who, u.email, u.name, m.role, m.since" +
	" FROM members m JOIN accounts a ON a.id = m.account JOIN users u ON u.id = m.who WHERE "

func scanMember(row scanner) (m people.Membership, err error) {
	var since int64
	err = row.Scan(&m.AccountID, &m.AccountName, &m.UserID, &m.Email, &m.Name, &m.Role, &since)
	m.Since = fromMicros(since)
	return m, err
}

// Members returns the members of an account, by e-mail.
func (s *Members) Members(ctx context.Context, accountID string) ([]people.Membership, error) {
	return reportList(ctx, s.conn, accountID, "read members", scanMember, memberQuery+"m.account = ? ORDER BY u.email",
		accountID)
}

// Memberships returns all members of all accounts, by the name of the account and their e-mail.
func (s *Members) Memberships(ctx context.Context) ([]people.Membership, error) {
	return reportList(ctx, s.conn, "", "read members of all accounts", scanMember,
		memberQuery+"1 = 1 ORDER BY a.name, u.email")
}

// membershipsOf returns the memberships of a user, by the account's name.
func membershipsOf(ctx context.Context, q querier, userID string) ([]people.Membership, error) {
	rows, err := q.QueryContext(ctx, memberQuery+"m.who = ? ORDER BY a.name", userID)
	return collect(rows, err, scanMember)
}

func memberOf(ctx context.Context, tx *sql.Tx, accountID, userID string) (people.Membership, error) {
	m, err := scanMember(tx.QueryRowContext(ctx, memberQuery+"m.account = ? AND m.who = ?", accountID, userID))
	return m, noPerson(err)
}

func memberObject(m *people.Membership) audit.Object {
	return audit.Object{Kind: "member", ID: m.UserID, Name: m.Email}
}

// SetRole changes the role of a member.
func (s *Members) SetRole(ctx context.Context, by audit.Actor, accountID, userID string, r people.Role) error {
	return s.writeInTurn(ctx, "change role", func(tx *sql.Tx) error {
		if err := mayManage(ctx, tx, by, accountID, s.clock.now()); err != nil {
			return err
		}
		m, err := memberOf(ctx, tx, accountID, userID)
		if err != nil {
			return err
		}
		return s.setRole(ctx, tx, by, &m, r)
	})
}

// RemoveMember removes a member from an account.
func (s *Members) RemoveMember(ctx context.Context, by audit.Actor, accountID, userID string) error {
	return s.writeInTurn(ctx, "remove member", func(tx *sql.Tx) error {
		if err := mayManage(ctx, tx, by, accountID, s.clock.now()); err != nil {
			return err
		}
		m, err := memberOf(ctx, tx, accountID, userID)
		if err != nil {
			return err
		}
		return s.setRole(ctx, tx, by, &m, "")
	})
}

// setRole changes the role of a member; an empty role removes the member.
func (s *Members) setRole(ctx context.Context, tx *sql.Tx, by audit.Actor, m *people.Membership, r people.Role) error {
	if m.Role == r {
		return nil
	}
	if m.Role == people.Owner {
		if err := otherOwner(ctx, tx, m); err != nil {
			return err
		}
	}
	e := audit.Entry{Actor: by, Action: audit.MemberRemoved, Object: memberObject(m), Account: m.AccountID}
	var after facts
	var err error
	if r == "" {
		_, err = tx.ExecContext(ctx, "DELETE FROM members WHERE account = ? AND who = ?", m.AccountID, m.UserID)
	} else {
		e.Action, after = audit.MemberChanged, facts{"role": r}
		_, err = tx.ExecContext(ctx, "UPDATE members SET role = ? WHERE account = ? AND who = ?", string(r),
			m.AccountID, m.UserID)
	}
	if err == nil && m.Role == people.Owner {
		err = s.withdraw(ctx, tx, by, m.UserID, m.AccountID)
	}
	if err == nil && (r == "" || r == people.Viewer) { // viewers may use neither the playground nor tools
		err = s.accounts.revokeMade(ctx, tx, by, m.UserID, func(k *account.Key) bool {
			return k.IsPersonal() && k.AccountID == m.AccountID
		})
	}
	if err != nil {
		return err
	}
	return s.tell(ctx, tx, e, facts{"role": m.Role}, after)
}

// otherOwner returns people.ErrLast if the account has no other owner.
func otherOwner(ctx context.Context, tx *sql.Tx, m *people.Membership) error {
	var others int64
	err := tx.QueryRowContext(ctx, "SELECT count(*) FROM members m JOIN users u ON u.id = m.who"+
		" WHERE m.account = ? AND m.role = 'owner' AND m.who <> ? AND u.disabled IS NULL",
		m.AccountID, m.UserID).Scan(&others)
	if err == nil && others == 0 {
		return people.ErrLast
	}
	return err
}

// join makes a user a member of an account, unless they are one already.
func (s *Members) join(ctx context.Context, tx *sql.Tx, by audit.Actor, accountID string, u *people.User, r people.Role,
	at time.Time,
) error {
	_, err := memberOf(ctx, tx, accountID, u.ID)
	if !errors.Is(err, people.ErrNotFound) {
		return err
	}
	_, err = tx.ExecContext(ctx, "INSERT INTO members (account, who, role, since) VALUES (?, ?, ?, ?)", accountID, u.ID,
		string(r), micros(at))
	if err != nil {
		return err
	}
	m := people.Membership{UserID: u.ID, Email: u.Email}
	e := audit.Entry{Actor: by, Action: audit.MemberAdded, Object: memberObject(&m), Account: accountID}
	return s.tell(ctx, tx, e, nil, facts{"role": r})
}
