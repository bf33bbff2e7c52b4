// Package store keeps everything that is not in the journal in a database. A DB
// is one open database; a type for each part of what is in it has the methods,
// and implements the interfaces of those who use it.
//
// SQL here is written once, in the subset that SQLite and PostgreSQL share;
// what an engine does its own way is a field of engine. All text of SQL stands
// beside the function that runs it.
package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"runtime"
	"strings"
	"time"

	"github.com/pressly/goose/v3"

	"weir/internal/fairqueue"
	"weir/internal/kept"
	"weir/internal/llm"
)

// Options says where the database is.
type Options struct {
	Path string       // the SQLite file; made when it is not there
	URL  llm.Secret   // postgres:// or postgresql://; empty for SQLite at Path
	Log  *slog.Logger // nil for none
	Kept kept.Quota   // of what is kept for clients
	// What follows is for tests. Clock is the clock that all nodes share; nil for the database's, or Machine where that
	// has none. Machine is the clock of this machine; nil for time.Now.
	Clock, Machine func() time.Time
	MostPacked     int // bounds the sums of a packed row; 0 for mostPacked
}

// DB is an open database with all its parts. All their methods may be called at once.
type DB struct {
	*conn

	Accounts *Accounts
	People   *People
	Ledger   *Ledger
	Leases   *Leases
	Reports  *Reports
	Webhooks *Webhooks
	Kept     *Kept
	Audit    *AuditLog
	Managed  *Managed
}

// conn is what the parts of a database share: its connections, transactions on them,
// and what several parts do in one, such as writing the audit log.
type conn struct {
	engine *engine
	clock  *clock
	log    *slog.Logger

	pools
	reportQueue *fairqueue.Queue // of reports and long lists
	// writing is held while a batch is applied and, on an engine with one writer, during every write: waiting here is
	// fair and cheap, while waiting for SQLite's own lock means to sleep and retry.
	writing chan struct{}
	bulk    bulk // on fast
	outbox  outbox
}

// pools are the connections to a database, by what they are for.
type pools struct {
	// read and reports are pools of connections that see commits as they are made:
	// reports for what reads many rows, read for what nothing long may be in the way of,
	// such as the key of a request. fast and sure are for writing. A commit on fast is there for every process at
	// once but may be lost in a power cut, which is enough for what the journal
	// can repeat; a commit on sure is on the disk, and everything committed
	// before it is too.
	read, reports, fast, sure *sql.DB
}

// close closes those that are open.
func (p *pools) close() (err error) {
	for _, db := range []*sql.DB{p.read, p.reports, p.fast, p.sure} {
		if db != nil {
			err = errors.Join(err, db.Close())
		}
	}
	return err
}

// engine is what differs between databases.
type engine struct {
	migrations string        // directory of the embedded migrations
	dialect    goose.Dialect // for the table of applied migrations
	// exists is nil when there is a database.
	exists func() error
	// open gives the pools of a conn.
	open func() (pools, error)
	// prepare makes a database that is not up to date ready for migrations,
	// alone: it holds a lock until release is called.
	prepare func(ctx context.Context) (db *sql.DB, release func() error, err error)
	// check refuses a database program that is too old, and reports whether
	// prepare has to run whatever the schema is.
	check func(ctx context.Context, db *sql.DB) (unready bool, err error)
	// shared says that other nodes may use the database. The next three are nil
	// where none can: lock keeps others from what has that name until the
	// transaction ends, now is the time by its clock in microseconds, for clock alone,
	// incarnation changes when commits may have been lost.
	shared      bool
	lock        func(ctx context.Context, tx *sql.Tx, name string) error
	now         func(ctx context.Context, q querier) (int64, error)
	incarnation func(ctx context.Context, q querier) (string, error)
	shortage    *shortage // notes why no connection was to be had; nil where none is lacking
	// free is how many bytes are free on the database's disk; nil where that is not ours.
	free func() (int64, error)
	// noTable reports whether err says that a table is missing.
	noTable func(err error) bool

	// manyWriters says that transactions which write may run at once.
	manyWriters bool
	// again reports whether err says that a transaction lost against another
	// one, and has done nothing; nil where there is no other one.
	again func(err error) bool
	// inTurn makes transactions that call it commit one after the other; nil
	// where all do. What is read after it has all that the earlier ones wrote.
	inTurn func(ctx context.Context, tx *sql.Tx) error
	// snapshot are the options of a transaction that sees one moment.
	snapshot *sql.TxOptions
	// interrupts says that a statement has to be told of its context, because
	// the database may be away. It costs a goroutine, more than a statement of
	// SQLite's does.
	interrupts bool
	// arrays says that rows are inserted from arrays, one for each column.
	arrays bool
	// twice reports whether err says that one statement had a row twice; nil
	// where it may.
	twice func(err error) bool
	// daysTogether says that one query adds up all days of a rollup, and not one
	// for each.
	daysTogether bool
}

// within is the context of a statement in a transaction that ctx ends: one
// that nothing interrupts, where interrupting costs more than it is worth.
func (e *engine) within(ctx context.Context) context.Context {
	if e.interrupts {
		return ctx
	}
	return context.WithoutCancel(ctx)
}

const (
	// maxRetries is how often a transaction that lost against another one is
	// tried again, after a pause that doubles.
	maxRetries = 6
	retryPause = 2 * time.Millisecond
)

// Open opens the database and brings its schema up to date. Any number of
// processes may do so at once. A schema newer than this program is refused.
func Open(ctx context.Context, o Options) (*DB, error) {
	e, err := o.engine()
	if err != nil {
		return nil, err
	}
	s, err := o.connect(e)
	if err != nil {
		return nil, err
	}
	err = s.migrate(ctx)
	if err == nil {
		_, err = s.Time(ctx) // so that Now is right from the start
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// connect makes a DB whose schema nobody has looked at.
func (o *Options) connect(e *engine) (*DB, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	c := &conn{engine: e, clock: newClock(o, e), log: o.Log, reportQueue: newReportQueue(), writing: make(chan struct{}, 1)}
	var err error
	if c.pools, err = e.open(); err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	c.bulk = bulk{db: c.fast, arrays: e.arrays, rests: runtime.GOMAXPROCS(0) == 1}
	c.outbox = outbox{engine: e, clock: c.clock, room: &room{free: e.free, log: c.log}}
	s := &DB{
		conn: c, Accounts: &Accounts{c}, Ledger: o.ledger(c), Leases: &Leases{c}, Reports: &Reports{c},
		Webhooks: &Webhooks{c}, Kept: &Kept{conn: c, quota: o.Kept}, Audit: &AuditLog{c}, Managed: &Managed{c},
	}
	s.People = &People{c, s.Accounts, s.Webhooks}
	return s, nil
}

func (o *Options) engine() (*engine, error) {
	scheme, _, isURL := strings.Cut(o.URL.Reveal(), "://")
	switch {
	case scheme == "postgres" || scheme == "postgresql":
		return postgresEngine(o.URL)
	case isURL:
		return nil, fmt.Errorf("database URL with the scheme %q: not a database that weir knows; give a postgres:// "+
			"URL, or leave the setting empty to use SQLite in the data directory", scheme)
	case !o.URL.IsZero():
		return nil, errors.New("the database setting is not a URL: give a postgres:// URL, or leave it empty to use " +
			"SQLite in the data directory")
	case o.Path == "":
		return nil, errors.New("no path for the database is given")
	}
	return sqliteEngine(o.Path)
}

// Close closes the database. Nothing may use it or its parts any more.
func (s *DB) Close() error {
	return errors.Join(s.bulk.close(), s.close())
}

// acquire waits for the right to write, which release gives back.
func (s *conn) acquire(ctx context.Context) (release func(), err error) {
	select {
	case s.writing <- struct{}{}:
		return func() { <-s.writing }, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for other writers: %w", context.Cause(ctx))
	}
}

// write runs fn in a transaction on one of the writing pools, and once more
// when it lost against another transaction. Doing names the operation in errors.
func (s *conn) write(ctx context.Context, db *sql.DB, doing string, fn func(tx *sql.Tx) error) error {
	begin := func(ctx context.Context) (*sql.Tx, error) { return db.BeginTx(ctx, nil) }
	if s.engine.manyWriters {
		return s.repeat(ctx, func() error { return transact(ctx, begin, doing, fn) })
	}
	return s.alone(ctx, doing, func() error { return transact(ctx, begin, doing, fn) })
}

// lock keeps others from what has that name until the transaction ends.
func (s *conn) lock(ctx context.Context, tx *sql.Tx, name string) error {
	if s.engine.lock == nil { // there is one writer at a time
		return nil
	}
	return s.engine.lock(ctx, tx, name)
}

// writeDeletion is write of a deletion of many rows, one after the other on all nodes: two that
// delete the same rows, each in an order of its own, would wait for each other.
func (s *conn) writeDeletion(ctx context.Context, doing string, fn func(tx *sql.Tx) error) error {
	return s.write(ctx, s.sure, doing, func(tx *sql.Tx) error {
		if err := s.lock(ctx, tx, "deletion"); err != nil {
			return err
		}
		return fn(tx)
	})
}

// alone calls do while nobody else writes.
func (s *conn) alone(ctx context.Context, doing string, do func() error) error {
	release, err := s.acquire(ctx)
	if err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	defer release()
	return do()
}

// writeFast is write on the pool of fast, whose connection bulk holds where there
// is one.
func (s *conn) writeFast(ctx context.Context, doing string, fn func(tx *sql.Tx) error) error {
	if s.engine.manyWriters {
		return s.write(ctx, s.fast, doing, fn)
	}
	return s.alone(ctx, doing, func() error {
		err := transact(ctx, s.bulk.begin, doing, fn)
		if err != nil {
			err = errors.Join(err, s.bulk.close())
		}
		return err
	})
}

// repeat runs a transaction until it has not lost against another one.
func (s *conn) repeat(ctx context.Context, run func() error) error {
	pause := retryPause
	for try := 1; ; try++ {
		err := run()
		if err == nil || s.engine.again == nil || !s.engine.again(err) || try == maxRetries {
			return err
		}
		select {
		case <-ctx.Done():
			return errors.Join(err, context.Cause(ctx))
		case <-time.After(pause + rand.N(pause)):
		}
		pause *= 2
	}
}

// inTurn makes transactions that call it commit one after the other.
func (s *conn) inTurn(ctx context.Context, tx *sql.Tx) error {
	if s.engine.inTurn == nil {
		return nil
	}
	if err := s.engine.inTurn(ctx, tx); err != nil {
		return fmt.Errorf("wait for other writers: %w", err)
	}
	return nil
}

// moment runs fn in a transaction of a reading pool that sees the database as of one moment and
// changes nothing. Doing names the operation in errors.
func (s *conn) moment(ctx context.Context, db *sql.DB, doing string, fn func(tx *sql.Tx) error) error {
	tx, err := db.BeginTx(ctx, s.engine.snapshot)
	if err == nil {
		defer func() { _ = tx.Rollback() }() // nothing was written
		err = fn(tx)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	return nil
}

// transact runs fn in a transaction, for whoever may write.
func transact(ctx context.Context, begin func(context.Context) (*sql.Tx, error), doing string,
	fn func(tx *sql.Tx) error,
) error {
	tx, err := begin(ctx)
	if err != nil {
		return fmt.Errorf("%s: begin: %w", doing, err)
	}
	if err := fn(tx); err != nil {
		return fmt.Errorf("%s: %w", doing, errors.Join(err, ended(tx.Rollback())))
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("%s: commit: %w", doing, errors.Join(err, ended(tx.Rollback())))
	}
	return nil
}

// ended forgets that a transaction was over already when it was rolled back.
func ended(err error) error {
	if errors.Is(err, sql.ErrTxDone) {
		return nil
	}
	return err
}

// collect scans all rows of a query.
func collect[T any](rows *sql.Rows, err error, scan func(scanner) (T, error)) ([]T, error) {
	var list []T
	err = each(rows, err, scan, func(v *T) error {
		list = append(list, *v)
		return nil
	})
	return list, err
}

// listed is what collect gives where that is all; doing names the operation in errors.
func listed[T any](doing string, rows *sql.Rows, err error, scan func(scanner) (T, error)) ([]T, error) {
	list, err := collect(rows, err, scan)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", doing, err)
	}
	return list, nil
}

// each calls fn with each row of a query, until it gives an error.
func each[T any](rows *sql.Rows, err error, scan func(scanner) (T, error), fn func(*T) error) error {
	return eachRow(rows, err, func(row scanner) error {
		v, err := scan(row)
		if err == nil {
			err = fn(&v)
		}
		return err
	})
}

// eachRow calls fn to scan each row of a query, until it gives an error.
func eachRow(rows *sql.Rows, err error, fn func(scanner) error) error {
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := fn(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// scanner is a row of a result: *sql.Row or *sql.Rows.
type scanner interface{ Scan(dest ...any) error }
