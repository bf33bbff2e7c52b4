package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"weir/internal/audit"
	"weir/internal/connection"
	"weir/internal/seal"
)

// Connections stores connections to MCP servers. It implements connection.Store.
type Connections struct{ *conn }

const connectionColumns = "server, who, resource, issuer, sealed, created"

func scanConnection(row scanner) (r connection.Row, err error) {
	var created int64
	err = row.Scan(&r.Server, &r.Who, &r.Resource, &r.Issuer, &r.Sealed, &created)
	r.Created = fromMicros(created)
	return r, err
}

// Connection implements connection.Store.
func (s *Connections) Connection(ctx context.Context, server, who, account string) (connection.Row, error) {
	r, err := scanConnection(s.read.QueryRowContext(ctx, "SELECT "+connectionColumns+
		" FROM mcp_connections WHERE server = ? AND who = ? AND (who = '' OR EXISTS (SELECT 1 FROM users u"+
		" WHERE u.id = who AND u.disabled IS NULL AND (u.operator = 1 OR EXISTS (SELECT 1 FROM members m"+
		" WHERE m.who = u.id AND m.account = ? AND m.role IN ('owner', 'member')))))", server, who, account))
	if errors.Is(err, sql.ErrNoRows) {
		err = connection.ErrNotFound
	}
	return r, err
}

// List returns the connections of a person, by server, or those of the installation if who is empty.
func (s *Connections) List(ctx context.Context, who string) ([]connection.Row, error) {
	rows, err := s.read.QueryContext(ctx, "SELECT "+connectionColumns+
		" FROM mcp_connections WHERE who = ? ORDER BY server", who)
	return listed("read connections", rows, err, scanConnection)
}

// Claim implements connection.Store.
func (s *Connections) Claim(ctx context.Context, r *connection.Row, until time.Time) (claimed bool, err error) {
	err = s.write(ctx, s.sure, "claim connection", func(tx *sql.Tx) error {
		n, err := affected(tx.ExecContext(ctx, "UPDATE mcp_connections SET renewing = ?"+
			" WHERE server = ? AND who = ? AND sealed = ? AND renewing <= ?",
			micros(until), r.Server, r.Who, r.Sealed, micros(s.clock.now())))
		claimed = n > 0
		return err
	})
	if claimed {
		r.Claimed = until
	}
	return claimed, err
}

// Renewed implements connection.Store. An empty text deletes the connection. Its tokens may be encrypted with another
// key than when it was claimed; it is then known by the claim.
func (s *Connections) Renewed(ctx context.Context, r *connection.Row, sealed string) error {
	const which = " WHERE server = ? AND who = ? AND (sealed = ? OR renewing = ?)"
	args := []any{r.Server, r.Who, r.Sealed, micros(r.Claimed)}
	statement := "UPDATE mcp_connections SET renewing = 0, sealed = ?" + which
	switch sealed {
	case "":
		statement = "DELETE FROM mcp_connections" + which
	case r.Sealed:
		statement = "UPDATE mcp_connections SET renewing = 0" + which
	default:
		args = append([]any{sealed}, args...)
	}
	return s.write(ctx, s.sure, "renew connection", func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, statement, args...)
		return err
	})
}

// Registration implements connection.Store.
func (s *Connections) Registration(ctx context.Context, server, issuer string) (sealed string, err error) {
	err = s.read.QueryRowContext(ctx, "SELECT sealed FROM mcp_clients WHERE server = ? AND issuer = ?", server, issuer).
		Scan(&sealed)
	if errors.Is(err, sql.ErrNoRows) {
		err = connection.ErrNotFound
	}
	return sealed, err
}

// Register implements connection.Store.
func (s *Connections) Register(ctx context.Context, server, issuer, sealed string) error {
	return s.write(ctx, s.sure, "store registration", func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "INSERT INTO mcp_clients (server, issuer, sealed) VALUES (?, ?, ?)"+
			" ON CONFLICT (server, issuer) DO UPDATE SET sealed = excluded.sealed", server, issuer, sealed)
		return err
	})
}

// Connect stores a connection in place of an earlier one. It returns people.ErrNotFound for a user who is gone, and
// audit.ErrNotAllowed if by may not connect the installation.
func (s *Connections) Connect(ctx context.Context, by audit.Actor, r *connection.Row) error {
	return s.writeInTurn(ctx, "connect to MCP server", func(tx *sql.Tx) error {
		if err := s.mayConnect(ctx, tx, by, r.Who); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, "INSERT INTO mcp_connections (server, who, resource, issuer, sealed, renewing,"+
			" created) VALUES (?, ?, ?, ?, ?, 0, ?) ON CONFLICT (server, who) DO UPDATE SET"+
			" resource = excluded.resource, issuer = excluded.issuer, sealed = excluded.sealed, renewing = 0,"+
			" created = excluded.created",
			r.Server, r.Who, r.Resource, r.Issuer, r.Sealed, micros(r.Created))
		if err != nil {
			return err
		}
		e := audit.Entry{Actor: by, Action: audit.ConnectionMade, Object: connectionObject(r.Server)}
		return s.tell(ctx, tx, e, nil, facts{"issuer": r.Issuer, "user": orNone(r.Who)})
	})
}

// Disconnect deletes a connection, with the errors of Connect. It reports whether there was one.
func (s *Connections) Disconnect(ctx context.Context, by audit.Actor, server, who string) (there bool, err error) {
	err = s.writeInTurn(ctx, "disconnect from MCP server", func(tx *sql.Tx) error {
		if err := s.mayConnect(ctx, tx, by, who); err != nil {
			return err
		}
		n, err := affected(tx.ExecContext(ctx, "DELETE FROM mcp_connections WHERE server = ? AND who = ?", server, who))
		if there = n > 0; err != nil || !there {
			return err
		}
		return s.record(ctx, tx, audit.Entry{
			Actor: by, Action: audit.ConnectionEnded, Object: connectionObject(server),
		})
	})
	return there, err
}

func connectionObject(server string) audit.Object {
	return audit.Object{Kind: "connection", ID: server, Name: server}
}

// mayConnect returns an error unless the actor may change the connections of a user or, if who is empty, of the
// installation.
func (s *Connections) mayConnect(ctx context.Context, tx *sql.Tx, by audit.Actor, who string) error {
	if who == "" {
		return mayOperate(ctx, tx, by, s.clock.now())
	}
	l, err := loginOf(ctx, tx, who)
	if err == nil && (by.ID != who || l.Disabled != nil) {
		err = audit.ErrNotAllowed
	}
	return err
}

// resealConnections encrypts the tokens of connections, and the registrations. Those that another node replaces
// meanwhile have the newest key already.
func resealConnections(ctx context.Context, tx *sql.Tx, ring *seal.Ring) (n int, err error) {
	for _, of := range []struct {
		table, key string
		about      func(server, key string) string
	}{{"mcp_connections", "who", connection.AboutTokens}, {"mcp_clients", "issuer", connection.AboutClient}} {
		type row struct{ server, key, sealed string }
		rows, err := tx.QueryContext(ctx, "SELECT server, "+of.key+", sealed FROM "+of.table+
			" ORDER BY server, "+of.key)
		all, err := collect(rows, err, func(r scanner) (x row, err error) {
			return x, r.Scan(&x.server, &x.key, &x.sealed)
		})
		if err != nil {
			return 0, err
		}
		for _, x := range all {
			sealed, err := ring.Reseal(x.sealed, of.about(x.server, x.key))
			if err != nil {
				return 0, fmt.Errorf("connection to the MCP server %s: %w", x.server, err)
			}
			if _, err := tx.ExecContext(ctx, "UPDATE "+of.table+" SET sealed = ? WHERE server = ? AND "+of.key+" = ?"+
				" AND sealed = ?", sealed, x.server, x.key, x.sealed); err != nil {
				return 0, err
			}
		}
		n += len(all)
	}
	return n, nil
}
