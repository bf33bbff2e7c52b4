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

// The least and the most connections of a node, pool by pool, in the order of pools. An installation behind a pooler
// sets fewer than the most, by poolSize in the URL.
var (
	fewestConns = poolSizes{2, 1, 2, 2}
	mostConns   = poolSizes{postgresReaders, reportsAtOnce, postgresFast, postgresSure}
)

// poolSizes are the most connections of each pool, in the order of pools.
type poolSizes [4]int

// poolSize is the parameter of a URL that bounds the connections of a node. It has the name of pgx's own pool
// (https://pkg.go.dev/github.com/jackc/pgx/v5/pgxpool#ParseConfig, v5.12.0).
const poolSize = "pool_max_conns"

// takePoolSize takes the parameter out of the settings for the server, and shares the connections out to the pools.
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
		return conns, fmt.Errorf("%s of the database URL is %q: give a whole number from %d on", poolSize, value, n-left)
	}
	for i := 0; left > 0 && conns != mostConns; i = (i + 1) % len(conns) {
		if conns[i] < mostConns[i] {
			conns[i]++
			left--
		}
	}
	return conns, nil
}

// errUnanswered is the error of a connection that was accepted, and whose first question had no answer in time.
var errUnanswered = errors.New("the database server accepts connections and answers nothing: if a pooler is in " +
	"between, all connections of its pool are in use, so raise its size (PgBouncer: default_pool_size), or let each " +
	"node open fewer (" + poolSize + " in the database URL)")

// answered says errUnanswered where the first question of a connection has no answer in time.
func answered(validate pgconn.ValidateConnectFunc) pgconn.ValidateConnectFunc {
	return func(ctx context.Context, conn *pgconn.PgConn) error {
		err := validate(ctx, conn)
		if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return errUnanswered // alone: pgx says no more than that it was late of what has a time-out in it
		}
		return err
	}
}

// shortage remembers why the newest try to connect had no connection for itself.
type shortage struct{ reason atomic.Pointer[string] }

// note notes how a try to connect ended, nil for a connection. A nil shortage notes nothing.
func (s *shortage) note(err error) {
	if s == nil {
		return
	}
	reason := ""
	var refused *pgconn.PgError
	switch {
	case errors.Is(err, errUnanswered):
		reason = "the server accepts them and answers nothing; if a pooler is in between, its pool is used up"
	case errors.As(err, &refused) && (refused.Code == pgTooMany || strings.Contains(refused.Message, "max_client_conn")):
		reason = "the server takes no more"
	}
	s.reason.Store(&reason)
}

// String is the reason; empty for none.
func (s *shortage) String() string {
	if reason := s.reason.Load(); reason != nil {
		return *reason
	}
	return ""
}

// Shortage says why the database gives this node no connection although it can be reached; empty where it does.
func (s *DB) Shortage() string {
	if s.engine.shortage == nil {
		return ""
	}
	return s.engine.shortage.String()
}

// errShared refuses a pooler that gives the connection to the server away between transactions.
var errShared = errors.New("a pooler between this program and the database gives its connections to others between " +
	"transactions: let it pool sessions (PgBouncer: pool_mode = session), or name the server itself in the database URL")

// refuseShared refuses a database behind a pooler that pools transactions or statements: what is prepared or locked
// on a connection would be another program's. Two connections at a time that are served by one process of the server,
// or one that is served by two processes, show it.
func refuseShared(ctx context.Context, db *sql.DB) error {
	const rounds = 2
	var served [2]int64
	var conns [2]*sql.Conn
	for i := range conns {
		conn, err := db.Conn(ctx)
		if err != nil {
			return err
		}
		defer func() { _ = conn.Close() }() // gives it back
		conns[i] = conn
	}
	for round := range rounds {
		for i, conn := range conns {
			var pid int64
			// A statement that is prepared would end with an error of its own.
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

// waitForPooler is how long the only host of a URL may take to answer: a pooler lets a connection wait for another
// one to be given back, and keeps those in its queue that gave up. Of several hosts each has connectTimeout, so that
// one that hangs does not keep a node from the next.
const waitForPooler = idleConn + connectTimeout

// connectTime is how long a host may take to answer.
func connectTime(config *pgx.ConnConfig) time.Duration {
	for _, other := range config.Fallbacks { // the same host stands twice where TLS is tried first
		if other.Host != config.Host || other.Port != config.Port {
			return connectTimeout
		}
	}
	return waitForPooler
}
