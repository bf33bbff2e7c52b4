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

// Sizes of the connection pools. A node's connections count against the server's max_connections, which is 100 by
// default.
const (
	postgresReaders = 4
	postgresFast    = 3 // one of them applies batches
	postgresSure    = 4
	// oldestPostgres is the oldest version that was supported upstream when this was written
	// (https://www.postgresql.org/support/versioning/).
	oldestPostgres = 140000
)

// Advisory locks, with keys of two numbers
// (https://www.postgresql.org/docs/current/explicit-locking.html#ADVISORY-LOCKS). The first number is "weir" in
// ASCII, so that they do not collide with locks of other programs in the database.
const (
	lockSpace   = 0x77656972
	lockMigrate = 1 // of a session: brings the schema up to date
	lockFeed    = 2 // of a transaction: writes the feed of changes
	lockMove    = 3 // of a session: moves an installation into the database
	// lockNames is the first number of the named locks, which a transaction holds.
	lockNames = lockSpace + 1
)

// PostgreSQL's error codes (https://www.postgresql.org/docs/current/errcodes-appendix.html).
const (
	pgReadOnly       = "25006"
	pgUniqueViolated = "23505"
	pgTwice          = "21000" // ON CONFLICT DO UPDATE got the same row twice
	pgNoTable        = "42P01"
	pgSerialization  = "40001"
	pgDeadlock       = "40P01"
	pgTooMany        = "53300"
)

// setting is a session setting. A value in the database URL takes precedence.
type setting struct{ name, value string }

// Session settings, which override those of the role. If a client disappears, the server ends its transaction, and
// with it the locks, within a minute. The SQL is written for PostgreSQL's default isolation, with explicit locks.
// Under a stricter isolation, a transaction that has waited for a lock would always fail, because its snapshot is
// older.
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
	// commitFast makes commits return before they are on the disk
	// (https://www.postgresql.org/docs/current/wal-async-commit.html). A crash may lose the last ones, but never one
	// that is followed by a surviving commit.
	commitFast = "SET synchronous_commit = off"
	// commitSure makes commits return when they, and all commits before them, are on the disk: the log is written in
	// order. A stricter setting of the server remains.
	commitSure = "SELECT set_config('synchronous_commit', 'on', false)" +
		" WHERE current_setting('synchronous_commit') = 'off'"
)

// postgresEngine returns the engine for PostgreSQL, or a server that speaks its protocol, at target.
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
		exists:   func() error { return nil }, // the first query returns the error
		open:     func() (pools, error) { return postgresPools(config, conns, short), nil },
		shortage: short,
		prepare:  func(ctx context.Context) (*sql.DB, func() error, error) { return postgresPrepare(ctx, config) },
		check:    postgresCheck,
		noTable:  func(err error) bool { return postgresCode(err) == pgNoTable },
		rejects:  postgresRejects,
		again: func(err error) bool {
			return slices.Contains([]string{pgSerialization, pgDeadlock, pgUniqueViolated}, postgresCode(err))
		},
		rowID: "decode(replace(c.request, '-', '') || CASE WHEN c.n = 1 THEN ''" +
			" ELSE lpad(to_hex(c.n), 4, '0') END, 'hex')",
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

// postgresPools opens the pools with these sizes, in the order of the fields of pools.
func postgresPools(config *pgx.ConnConfig, conns poolSizes, short *shortage) pools {
	p := pools{
		read:    postgresPool(short, config, conns[0], sessionOfAll, ""),
		reports: postgresPool(short, config, conns[1], sessionOfAll, ""),
		fast:    postgresPool(short, config, conns[2], sessionWrites, commitFast),
		sure:    postgresPool(short, config, conns[3], sessionWrites, commitSure),
	}
	p.erasing = p.sure // PostgreSQL overwrites the bytes of deleted rows when it reuses their space
	return p
}

// postgresPrepare locks out other processes that would migrate. The connection that holds the lock also migrates.
func postgresPrepare(ctx context.Context, config *pgx.ConnConfig) (*sql.DB, func() error, error) {
	patient := config.Copy()
	patient.DialFunc = postgresDial(0) // no limit, because a migration may take long
	db := postgresPool(nil, patient, 1, sessionOfAll, "")
	if _, err := db.ExecContext(ctx, "SELECT pg_advisory_lock(?, ?)", lockSpace, lockMigrate); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("wait for another process that migrates the database: %w", err),
			db.Close())
	}
	return db, db.Close, nil // closing it releases the lock
}

// postgresCheck returns an error for a pooler that pools transactions, for a server that is too old, and for a
// database that "weir move" has not filled completely.
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
		return false, errors.New("an installation is being moved into this database and is incomplete: run " +
			"\"weir move\" again until it reports that it is done")
	}
	return false, nil
}

// postgresNow returns the time of the server's clock, in microseconds.
func postgresNow(ctx context.Context, q querier) (us int64, err error) {
	err = q.QueryRowContext(ctx, "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint").Scan(&us)
	return us, err
}

// postgresIncarnation returns the timeline that the server writes. It changes when a standby is promoted and when a
// backup is restored (https://www.postgresql.org/docs/current/continuous-archiving.html#BACKUP-TIMELINES).
func postgresIncarnation(ctx context.Context, q querier) (timeline string, err error) {
	err = q.QueryRowContext(ctx, "SELECT left(pg_walfile_name(pg_current_wal_insert_lsn()), 8)").Scan(&timeline)
	return timeline, err
}

// postgresRejects reports whether an error is of the classes 22 (data exception), 23 (integrity constraint violation)
// or 54 (program limit exceeded) of https://www.postgresql.org/docs/current/errcodes-appendix.html (2026-11-30). A
// unique value may be another node's.
func postgresRejects(err error) bool {
	code := postgresCode(err)
	return len(code) == 5 && code != pgUniqueViolated && slices.Contains([]string{"22", "23", "54"}, code[:2])
}

// postgresCode returns the code of an error of PostgreSQL; empty for other errors.
func postgresCode(err error) string {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return e.Code
	}
	return ""
}
