package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// The fewest and the most connections of a node's pools, in the order of pools. Behind a pooler, poolSize in the URL
// can set fewer.
var (
	fewestConns = poolSizes{2, 1, 2, 2}
	mostConns   = poolSizes{postgresReaders, reportConns, postgresFast, postgresSure}
)

// poolSizes holds the most connections of each pool, in the order of pools.
type poolSizes [4]int

// poolSize is the URL parameter that bounds the connections of a node. It has the name that pgx's own pool uses
// (https://pkg.go.dev/github.com/jackc/pgx/v5/pgxpool#ParseConfig, v5.12.0).
const poolSize = "pool_max_conns"

// takePoolSize removes the parameter from the settings for the server and distributes the connections over the pools.
func takePoolSize(config *pgx.ConnConfig) (conns poolSizes, err error) {
	value, given := config.RuntimeParams[poolSize]
	if !given {
		return mostConns, nil
	}
	delete(config.RuntimeParams, poolSize)
	conns, left := fewestConns, 0
	for _, n := range fewestConns {
		left -= n
	}
	n, err := strconv.Atoi(value)
	if left += n; err != nil || left < 0 {
		return conns, fmt.Errorf("%s in the database URL is %q: set it to a whole number from %d on",
			poolSize, value, n-left)
	}
	for i := 0; left > 0 && conns != mostConns; i = (i + 1) % len(conns) {
		if conns[i] < mostConns[i] {
			conns[i]++
			left--
		}
	}
	return conns, nil
}

// errUnanswered means that a connection was accepted, but its first query was not answered in time.
var errUnanswered = errors.New("the database server accepts connections but does not answer: if there is a pooler in " +
	"between, all connections of its pool are in use, so raise its size (PgBouncer: default_pool_size), or let each " +
	"node open fewer (" + poolSize + " in the database URL)")

// answered makes validate return errUnanswered if the first query of a connection is not answered in time.
func answered(validate pgconn.ValidateConnectFunc) pgconn.ValidateConnectFunc {
	return func(ctx context.Context, conn *pgconn.PgConn) error {
		err := validate(ctx, conn)
		if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return errUnanswered // not wrapped, because pgx replaces the text of errors that contain a timeout
		}
		return err
	}
}

// shortage remembers why the last attempt to connect failed for lack of connections.
type shortage struct{ reason atomic.Pointer[string] }

// note records the result of an attempt to connect, nil for success. A nil shortage records nothing.
func (s *shortage) note(err error) {
	if s == nil {
		return
	}
	reason := ""
	var refused *pgconn.PgError
	switch {
	case errors.Is(err, errUnanswered):
		reason = "the server accepts them but does not answer; if there is a pooler in between, its pool is used up"
	case errors.As(err, &refused) &&
		(refused.Code == pgTooMany || strings.Contains(refused.Message, "max_client_conn")):
		reason = "the server accepts no more"
	}
	s.reason.Store(&reason)
}

// String returns the reason; empty for none.
func (s *shortage) String() string {
	if reason := s.reason.Load(); reason != nil {
		return *reason
	}
	return ""
}

// Shortage returns why a reachable database has no connection for this node; empty if it has one.
func (s *DB) Shortage() string {
	if s.engine.shortage == nil {
		return ""
	}
	return s.engine.shortage.String()
}

// errShared means that a pooler gives the server's connection to other clients between transactions.
var errShared = errors.New("a pooler between this program and the database shares its connections with other " +
	"clients between transactions: let it pool sessions (PgBouncer: pool_mode = session), or set the database URL to " +
	"the server itself")

// refuseShared returns an error for a database behind a pooler that pools transactions or statements, because
// prepared statements and locks on a connection would belong to other programs. It detects one if the same server
// process serves two connections at once, or if two processes serve one connection.
func refuseShared(ctx context.Context, db *sql.DB) error {
	const rounds = 2
	var served [2]int64
	var conns [2]*sql.Conn
	for i := range conns {
		conn, err := db.Conn(ctx)
		if err != nil {
			return err
		}
		defer func() { _ = conn.Close() }() // returns it to the pool
		conns[i] = conn
	}
	for round := range rounds {
		for i, conn := range conns {
			var pid int64
			// A prepared statement would end with an error of its own.
			row := conn.QueryRowContext(ctx, "SELECT pg_backend_pid()", pgx.QueryExecModeSimpleProtocol)
			if err := row.Scan(&pid); err != nil {
				return err
			}
			if round > 0 && pid != served[i] || i > 0 && pid == served[0] {
				return errShared
			}
			served[i] = pid
		}
	}
	return nil
}

// waitForPooler is how long the only host of a URL may take to answer. A pooler lets a connection wait until another
// one is returned, and leaves clients that gave up in its queue. With several hosts, each has connectTimeout, so that
// a frozen one does not prevent a node from trying the next.
const waitForPooler = idleConn + connectTimeout

// connectTime returns how long a host may take to answer.
func connectTime(config *pgx.ConnConfig) time.Duration {
	for _, other := range config.Fallbacks { // the same host appears twice if TLS is tried first
		if other.Host != config.Host || other.Port != config.Port {
			return connectTimeout
		}
	}
	return waitForPooler
}
