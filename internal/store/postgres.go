package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/pressly/goose/v3"

	"weir/internal/llm"
)

// Pools of connections. What a node holds in all counts against the server's
// max_connections, which is 100 unless somebody raised it.
const (
	postgresReaders = 4
	postgresFast    = 3 // one of them applies batches
	postgresSure    = 4
	// oldestPostgres is the oldest version that its makers supported when this
	// was written (https://www.postgresql.org/support/versioning/).
	oldestPostgres = 140000
)

// Advisory locks, in the second half of PostgreSQL's key space of two numbers
// (https://www.postgresql.org/docs/current/explicit-locking.html#ADVISORY-LOCKS).
// The first number is "weir" in ASCII, so that other programs in the database
// are not met.
const (
	lockSpace   = 0x77656972
	lockMigrate = 1 // of a session: brings the schema up to date
	lockFeed    = 2 // of a transaction: writes the feed of changes
	lockMove    = 3 // of a session: moves an installation into the database
	// lockNames is the first number of locks of a transaction that have a name.
	lockNames = lockSpace + 1
)

// Codes of PostgreSQL (https://www.postgresql.org/docs/current/errcodes-appendix.html).
const (
	pgReadOnly       = "25006"
	pgUniqueViolated = "23505"
	pgTwice          = "21000" // ON CONFLICT DO UPDATE met one row twice
	pgNoTable        = "42P01"
	pgSerialization  = "40001"
	pgDeadlock       = "40P01"
	pgTooMany        = "53300"
)

// setting is one of a session's. What the database's URL says of it wins.
type setting struct{ name, value string }

// Settings of a session, whatever those of the role are. A server that lost its client ends the transaction,
// and with it the locks, within a minute. All SQL here is for the isolation that is PostgreSQL's own default, with locks
// of its own: under a stricter one whoever has waited for a lock always loses, as what it sees is from before.
var (
	sessionOfAll = []setting{
		{"jit", "off"},
		{"tcp_keepalives_idle", "15"},
		{"tcp_keepalives_interval", "5"},
		{"tcp_keepalives_count", "3"},
		{"idle_in_transaction_session_timeout", "60s"},
		{"default_transaction_isolation", "read committed"},
	}
	sessionWrites = append(sessionOfAll[:len(sessionOfAll):len(sessionOfAll)],
		setting{"lock_timeout", "20s"}, setting{"statement_timeout", "55s"})
)

const (
	// A commit without waiting for the disk
	// (https://www.postgresql.org/docs/current/wal-async-commit.html): a crash
	// may lose the last of them, never one before another that stays.
	commitFast = "SET synchronous_commit = off"
	// A commit that is on the disk when it returns, and all before it: the log
	// is written in one order. A stricter setting of the server's stays.
	commitSure = "SELECT set_config('synchronous_commit', 'on', false)" +
		" WHERE current_setting('synchronous_commit') = 'off'"
)

// postgresEngine is PostgreSQL, or what speaks its protocol, at that URL.
func postgresEngine(target llm.Secret) (*engine, error) {
	config, conns, err := postgresConfig(target)
	if err != nil {
		return nil, err
	}
	short := &shortage{}
	return &engine{
		migrations: "migrations/postgres", dialect: goose.DialectPostgres,
		arrays: true, manyWriters: true, interrupts: true, daysTogether: true,
		snapshot: &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true},
		exists:   func() error { return nil }, // the first query says so
		open:     func() (pools, error) { return postgresPools(config, conns, short), nil },
		shortage: short,
		prepare:  func(ctx context.Context) (*sql.DB, func() error, error) { return postgresPrepare(ctx, config) },
		check:    postgresCheck,
		noTable:  func(err error) bool { return postgresCode(err) == pgNoTable },
		again: func(err error) bool {
			return slices.Contains([]string{pgSerialization, pgDeadlock, pgUniqueViolated}, postgresCode(err))
		},
		shared: true,
		lock: func(ctx context.Context, tx *sql.Tx, name string) error {
			_, err := tx.ExecContext(ctx, "SELECT pg_advisory_xact_lock(?, hashtext(?))", lockNames, name)
			return err
		},
		now: postgresNow, incarnation: postgresIncarnation,
		twice: func(err error) bool { return postgresCode(err) == pgTwice },
		inTurn: func(ctx context.Context, tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, "SELECT pg_advisory_xact_lock(?, ?)", lockSpace, lockFeed)
			return err
		},
	}, nil
}

// postgresPools gives the pools so many connections each, in the order of their fields.
func postgresPools(config *pgx.ConnConfig, conns poolSizes, short *shortage) pools {
	return pools{
		read:    postgresPool(short, config, conns[0], sessionOfAll, ""),
		reports: postgresPool(short, config, conns[1], sessionOfAll, ""),
		fast:    postgresPool(short, config, conns[2], sessionWrites, commitFast),
		sure:    postgresPool(short, config, conns[3], sessionWrites, commitSure),
	}
}

// postgresPrepare locks out other processes that would migrate too. The
// connection that holds the lock is the one that migrates.
func postgresPrepare(ctx context.Context, config *pgx.ConnConfig) (*sql.DB, func() error, error) {
	patient := config.Copy()
	patient.DialFunc = postgresDial(0) // a migration may take its time
	db := postgresPool(nil, patient, 1, sessionOfAll, "")
	if _, err := db.ExecContext(ctx, "SELECT pg_advisory_lock(?, ?)", lockSpace, lockMigrate); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("wait for another process that migrates the database: %w", err),
			db.Close())
	}
	return db, db.Close, nil // which gives the lock back
}

// postgresCheck refuses a pooler that pools transactions, a server that is too old, and a
// database that is half filled.
func postgresCheck(ctx context.Context, db *sql.DB) (unready bool, err error) {
	if err := refuseShared(ctx, db); err != nil {
		return false, err
	}
	var version int
	var half bool
	const query = "SELECT current_setting('server_version_num')::bigint, to_regclass(?) IS NOT NULL"
	if err := db.QueryRowContext(ctx, query, moveTable).Scan(&version, &half); err != nil {
		return false, err
	}
	if version < oldestPostgres {
		return false, fmt.Errorf("the server is PostgreSQL %d; weir needs %d or newer", version/10000,
			oldestPostgres/10000)
	}
	if half {
		return false, errors.New("an installation is being moved into this database and not all of it is there: run " +
			"\"weir move\" again until it says that it is done")
	}
	return false, nil
}

// postgresNow is the time by the server's clock, in microseconds.
func postgresNow(ctx context.Context, q querier) (us int64, err error) {
	err = q.QueryRowContext(ctx, "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint").Scan(&us)
	return us, err
}

// postgresIncarnation is the timeline that the server writes, which is another
// one after a standby took over and after a restored backup
// (https://www.postgresql.org/docs/current/continuous-archiving.html#BACKUP-TIMELINES).
func postgresIncarnation(ctx context.Context, q querier) (timeline string, err error) {
	err = q.QueryRowContext(ctx, "SELECT left(pg_walfile_name(pg_current_wal_insert_lsn()), 8)").Scan(&timeline)
	return timeline, err
}

// postgresCode is the code of PostgreSQL's error, if it is one.
func postgresCode(err error) string {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return e.Code
	}
	return ""
}
