package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"weir/internal/audit"
	"weir/internal/opensocket"
	"weir/internal/websocket"
)

// Sockets stores the open WebSockets of all nodes. It implements opensocket.Store.
type Sockets struct{ *conn }

const (
	// socketsFor is how long after a node's last report its WebSockets are listed.
	socketsFor = 5 * opensocket.Every
	// silentNode is how long after its last report a node's WebSockets are deleted.
	silentNode = time.Hour
)

// ErrNoSocket means that no open WebSocket has that id.
var ErrNoSocket = errors.New("there is no such WebSocket, or it has ended")

// ReportSockets implements opensocket.Store. A power cut may lose a report: the node then starts again.
func (s *Sockets) ReportSockets(ctx context.Context, c *opensocket.Changes) (ending []uuid.UUID, err error) {
	err = s.writeFast(ctx, "report WebSockets", func(tx *sql.Tx) error {
		now, err := s.clock.read(ctx, tx)
		if err != nil {
			return err
		}
		if err := s.changeSockets(ctx, tx, c, now); err != nil {
			return err
		}
		rows, err := tx.QueryContext(ctx, "SELECT id FROM sockets WHERE node = ? AND ending > 0", c.Node.String())
		ending, err = collect(rows, err, scanSocketID)
		return err
	})
	return ending, err
}

func (s *Sockets) changeSockets(ctx context.Context, tx *sql.Tx, c *opensocket.Changes, now int64) error {
	node := c.Node.String()
	_, err := tx.ExecContext(ctx, "INSERT INTO socket_nodes (node, seen) VALUES (?, ?)"+
		" ON CONFLICT (node) DO UPDATE SET seen = excluded.seen", node, now)
	if err == nil && c.All {
		err = s.forgetSockets(ctx, tx, node, now)
	}
	for i := 0; i < len(c.Gone) && err == nil; i++ {
		_, err = tx.ExecContext(ctx, "DELETE FROM sockets WHERE id = ? AND node = ?", c.Gone[i].String(), node)
	}
	for i := 0; i < len(c.Open) && err == nil; i++ {
		err = putSocket(ctx, tx, node, &c.Open[i])
	}
	return err
}

// forgetSockets deletes the WebSockets of a node, which reports all of them now, and those of nodes that are silent. It
// keeps those that a person has ended: the node has not heard of that yet, and reports them as gone if they are.
func (s *Sockets) forgetSockets(ctx context.Context, tx *sql.Tx, node string, now int64) error {
	if err := s.lock(ctx, tx, "sockets"); err != nil {
		return err
	}
	before := now - silentNode.Microseconds()
	_, err := tx.ExecContext(ctx, "DELETE FROM sockets WHERE node = ? AND ending = 0 OR node IN (SELECT node"+
		" FROM socket_nodes WHERE seen < ?)", node, before)
	if err == nil {
		_, err = tx.ExecContext(ctx, "DELETE FROM socket_nodes WHERE seen < ?", before)
	}
	return err
}

func putSocket(ctx context.Context, tx *sql.Tx, node string, d *websocket.Described) error {
	_, err := tx.ExecContext(ctx, "INSERT INTO sockets (id, node, account, key, api, model, began, active, requests,"+
		" running, charge, uncertain, ending) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0)"+
		" ON CONFLICT (id) DO UPDATE SET model = excluded.model, active = excluded.active,"+
		" requests = excluded.requests, running = excluded.running, charge = excluded.charge,"+
		" uncertain = excluded.uncertain",
		d.ID.String(), node, d.Account, d.Key, d.API, d.Model, micros(d.Began), micros(d.Active), d.Requests, d.Running,
		int64(d.Charge), number(d.Uncertain))
	return err
}

// SocketsQuery selects open WebSockets.
type SocketsQuery struct {
	Account string    // id; empty for all
	ID      uuid.UUID // the one with this id; zero for all
	After   string    // the last id of the previous page; empty for the first page
	Limit   int       // how many
}

// List returns open WebSockets, the oldest first. A node's are as it reported them within the last ten seconds.
func (s *Sockets) List(ctx context.Context, q SocketsQuery) ([]opensocket.Socket, error) {
	now, err := s.clock.read(ctx, s.read)
	if err != nil {
		return nil, fmt.Errorf("read WebSockets: %w", err)
	}
	where, args := "o.seen > ? AND s.id > ?", []any{now - socketsFor.Microseconds(), q.After}
	if q.Account != "" {
		where, args = where+" AND s.account = ?", append(args, q.Account)
	}
	if q.ID != uuid.Nil {
		where, args = where+" AND s.id = ?", append(args, q.ID.String())
	}
	rows, err := s.read.QueryContext(ctx, "SELECT s.id, s.node, s.account, s.key, s.api, s.model, s.began, s.active,"+
		" s.requests, s.running, s.charge, s.uncertain, s.ending, COALESCE(n.name, '') FROM sockets s"+
		" JOIN socket_nodes o ON o.node = s.node LEFT JOIN journals j ON j.journal = s.node"+
		" LEFT JOIN nodes n ON n.journal = j.number WHERE "+where+" ORDER BY s.id LIMIT ?", append(args, q.Limit)...)
	return listed("read WebSockets", rows, err, scanSocket)
}

func scanSocket(row scanner) (x opensocket.Socket, err error) {
	var id, node string
	var began, active, uncertain, ending int64
	err = row.Scan(&id, &node, &x.Account, &x.Key, &x.API, &x.Model, &began, &active, &x.Requests, &x.Running,
		&x.Charge, &uncertain, &ending, &x.NodeName)
	if err != nil {
		return x, err
	}
	x.Began, x.Active, x.Uncertain, x.Ending = fromMicros(began), fromMicros(active), uncertain > 0, ending > 0
	if x.ID, err = uuid.Parse(id); err != nil {
		return x, err
	}
	x.Node, err = uuid.Parse(node)
	return x, err
}

func scanSocketID(row scanner) (uuid.UUID, error) {
	var id string
	if err := row.Scan(&id); err != nil {
		return uuid.Nil, err
	}
	return uuid.Parse(id)
}

// End has the node of an open WebSocket end it, at its next report. Account is the id of the WebSocket's account; empty
// for any.
func (s *Sockets) End(ctx context.Context, by audit.Actor, account string, id uuid.UUID) error {
	return s.write(ctx, s.sure, "end WebSocket", func(tx *sql.Tx) error {
		now, err := s.clock.read(ctx, tx)
		if err != nil {
			return err
		}
		var owner, key, api string
		var ending int64
		err = tx.QueryRowContext(ctx, "SELECT s.account, s.key, s.api, s.ending FROM sockets s JOIN socket_nodes o"+
			" ON o.node = s.node WHERE s.id = ? AND (s.account = ? OR ? = '') AND o.seen > ?", id.String(), account,
			account, now-socketsFor.Microseconds()).Scan(&owner, &key, &api, &ending)
		switch {
		case isNone(err):
			return ErrNoSocket
		case err != nil || ending > 0:
			return err
		}
		if _, err = tx.ExecContext(ctx, "UPDATE sockets SET ending = ? WHERE id = ?", now, id.String()); err != nil {
			return err
		}
		e := audit.Entry{Actor: by, Action: audit.SocketEnded, Account: owner, Object: audit.Object{
			Kind: "websocket", ID: id.String(), Name: api,
		}}
		_, err = s.note(ctx, tx, e, facts{"key": key}, nil)
		return err
	})
}
