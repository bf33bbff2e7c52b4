// Package store stores in a database everything that is not in the journal. A DB is one open database. It has one
// type for each part of the data. Their methods implement the interfaces of the packages that use them.
//
// SQL is written once, in the subset that SQLite and PostgreSQL share. Differences between the engines are fields of
// engine. The text of a statement is next to the function that runs it.
package store

import (
	"cmp"
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
	"weir/internal/llm"
	"weir/internal/stored"
)

// Options says which database to open.
type Options struct {
	Path string       // the SQLite file; created if it does not exist
	URL  llm.Secret   // postgres:// or postgresql://; empty for SQLite at Path
	Log  *slog.Logger // nil for none
	Kept stored.Quota // limits the data that is stored for clients
	// Content limits the content log.
	Content SealedQuota
	// Answers limits the answer cache.
	Answers SealedQuota
	// The fields below are for tests. Clock is the clock that all nodes share; if nil, it is the database's, or
	// Machine if the database has none. Machine is the clock of this machine; if nil, time.Now.
	Clock, Machine func() time.Time
	MostPacked     int // limits the sums in a packed row; 0 means mostPacked
}

// DB is an open database with all its parts. Their methods may be called concurrently.
type DB struct {
	*conn

	Accounts    *Accounts
	Users       *Users
	Members     *Members
	Invitations *Invitations
	Sessions    *Sessions
	Factors     *Factors
	Admissions  *Admissions
	Ledger      *Ledger
	Attribution *Attribution
	Corrections *Corrections
	Leases      *Leases
	Reports     *Reports
	Webhooks    *Webhooks
	Deliveries  *Deliveries
	Events      *Events
	Kept        *Kept
	MCPTools    *MCPTools
	OAuth       *OAuth
	Connections *Connections
	Audit       *AuditLog
	Managed     *Managed
	Refusals    *Refusals
	Alerts      *Alerts
	Content     *Content
	Answers     *Answers
	Sockets     *Sockets
}

// conn is shared by the parts of a database: it has connections, transactions, and steps that several parts do within
// one transaction, such as writing the audit log.
type conn struct {
	engine *engine
	clock  *clock
	log    *slog.Logger

	pools
	reportQueue *fairqueue.Queue // of reports and long lists
	// writing is held while a batch is applied and, on an engine with one writer, during every write: waiting here is
	// fair and cheap, while waiting for SQLite's own lock means to sleep and retry.
	writing chan struct{}
	bulk    bulk // on the pool fast
	outbox  outbox
	kinds   knownKinds // of reports
}

// pools are the connection pools of a database, by purpose.
type pools struct {
	// read and reports see commits immediately: reports is for queries that read many rows, read for short queries
	// that must not wait behind them, such as the look-up of a request's API key. fast and sure are for writing. A
	// commit on fast is visible to every process at once, but a power cut may lose it; that is enough for data that
	// the journal can restore. A commit on sure is on the disk, together with all commits before it. erasing is like
	// sure, but overwrites the bytes of deleted rows: https://sqlite.org/pragma.html#pragma_secure_delete.
	read, reports, fast, sure, erasing *sql.DB
}

// close closes the pools that are open.
func (p *pools) close() (err error) {
	for _, db := range []*sql.DB{p.read, p.reports, p.fast, p.sure, p.erasing} {
		if db != nil {
			err = errors.Join(err, db.Close())
		}
	}
	return err
}

// engine describes how a database engine differs from the others.
type engine struct {
	migrations string        // directory of the embedded migrations
	dialect    goose.Dialect // for the table of applied migrations
	// exists returns nil if there is a database.
	exists func() error
	// open opens the connection pools.
	open func() (pools, error)
	// prepare makes a database ready for migrations. It holds a lock against other processes until release is called.
	prepare func(ctx context.Context) (db *sql.DB, release func() error, err error)
	// check returns an error if the database engine is too old, and reports whether prepare has to run even if the
	// schema is up to date.
	check func(ctx context.Context, db *sql.DB) (unready bool, err error)
	// shared means that other nodes may use the database. The next three are nil if it is false. lock holds a lock
	// with that name until the transaction ends. now returns the time by the database's clock, in microseconds; only
	// clock calls it. incarnation returns an id that changes when commits may have been lost.
	shared      bool
	lock        func(ctx context.Context, tx *sql.Tx, name string) error
	now         func(ctx context.Context, q querier) (int64, error)
	incarnation func(ctx context.Context, q querier) (string, error)
	shortage    *shortage // records why no connection was available; nil if the engine never lacks one
	// free returns the free bytes on the database's disk; nil if the disk belongs to another machine.
	free func() (int64, error)
	// noTable reports whether err means that a table does not exist.
	noTable func(err error) bool
	// rejects reports whether err means that a value cannot be stored, whenever it is tried.
	rejects func(err error) bool

	// rowID is the SQL expression of the id in attempt_rows of a correction c: see rowID.
	rowID string

	// manyWriters means that several transactions may write concurrently.
	manyWriters bool
	// again reports whether err means that a transaction was aborted because of a concurrent one and may be run
	// again; nil if that cannot happen.
	again func(err error) bool
	// inTurn makes the transactions that call it commit one after the other; nil if all do. A read after it sees
	// everything that the earlier ones wrote.
	inTurn func(ctx context.Context, tx *sql.Tx) error
	// snapshot holds the options of a transaction that sees the database as of one moment.
	snapshot *sql.TxOptions
	// interrupts means that statements need a context that can end, because the database may be unreachable. That
	// costs a goroutine, which is more than a statement costs with SQLite.
	interrupts bool
	// arrays means that rows are inserted from arrays, one for each column.
	arrays bool
	// twice reports whether err means that one statement had the same row twice; nil if that is allowed.
	twice func(err error) bool
	// daysTogether means that one query adds up all days of a rollup, instead of one query for each day.
	daysTogether bool
}

// within returns the context for statements of a transaction that ends with ctx. If interrupting statements costs too
// much, the returned context never ends.
func (e *engine) within(ctx context.Context) context.Context {
	if e.interrupts {
		return ctx
	}
	return context.WithoutCancel(ctx)
}

const (
	// maxRetries is how often a transaction is run if concurrent ones abort it. The pause between doubles each time.
	maxRetries = 6
	retryPause = 2 * time.Millisecond
)

// Open opens the database and brings its schema up to date. Several processes may do so at the same time. It returns
// an error if the schema is newer than this program.
func Open(ctx context.Context, o Options) (*DB, error) {
	e, err := o.engine()
	if err != nil {
		return nil, err
	}
	s, err := o.connect(e)
	if err != nil {
		return nil, err
	}
	if err = s.migrate(ctx); err == nil {
		_, err = s.Time(ctx) // so that Now is right from the start
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// connect opens the pools and makes a DB. It does not check the schema.
func (o *Options) connect(e *engine) (*DB, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	c := &conn{
		engine: e, clock: newClock(o, e), log: o.Log, reportQueue: newReportQueue(), writing: make(chan struct{}, 1),
	}
	var err error
	if c.pools, err = e.open(); err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	c.bulk = bulk{db: c.fast, arrays: e.arrays, rests: runtime.GOMAXPROCS(0) == 1}
	c.outbox = outbox{engine: e, clock: c.clock, room: &room{free: e.free, log: c.log}}
	s := &DB{
		Attribution: &Attribution{conn: c, mostPacked: cmp.Or(o.MostPacked, mostPacked)},
		conn:        c, Accounts: &Accounts{c}, Corrections: &Corrections{c}, Leases: &Leases{c}, Reports: &Reports{c},
		Webhooks: &Webhooks{c}, Events: &Events{c}, Kept: &Kept{conn: c, quota: o.Kept}, Audit: &AuditLog{c},
		Managed: &Managed{c}, Refusals: &Refusals{conn: c}, Alerts: &Alerts{c}, Content: newContent(c, o.Content),
		MCPTools: &MCPTools{c}, Connections: &Connections{c}, Sockets: &Sockets{c},
		Answers: newAnswers(c, o.Answers),
	}
	s.Ledger = &Ledger{c, newApplier(c), s.Attribution, s.Corrections}
	s.Deliveries = &Deliveries{c, s.Webhooks}
	s.Members = &Members{c, s.Accounts}
	s.OAuth = &OAuth{c, s.Accounts}
	s.Users = &Users{c, s.Accounts, s.Webhooks, s.Members}
	s.Invitations, s.Sessions = &Invitations{c, s.Accounts}, &Sessions{c}
	s.Factors = &Factors{c, s.Sessions}
	s.Admissions = &Admissions{c, s.Users, s.Members, s.Factors, s.Sessions}
	return s, nil
}

// CheckURL returns the reason why a database's URL cannot be used, without connecting to it; nil for an empty one.
func CheckURL(url llm.Secret) error {
	if url.IsZero() {
		return nil
	}
	_, err := (&Options{URL: url}).engine()
	return err
}

func (o *Options) engine() (*engine, error) {
	scheme, _, isURL := strings.Cut(o.URL.Reveal(), "://")
	switch {
	case scheme == "postgres" || scheme == "postgresql":
		return postgresEngine(o.URL)
	case isURL:
		return nil, fmt.Errorf("the database URL has the scheme %q, which weir does not support: use a postgres:// "+
			"URL, or leave the setting empty to use SQLite in the data directory", scheme)
	case !o.URL.IsZero():
		return nil, errors.New("the database setting is not a URL: set it to a postgres:// URL, or leave it empty " +
			"to use SQLite in the data directory")
	case o.Path == "":
		return nil, errors.New("the database has no path: set the data directory")
	}
	return sqliteEngine(o.Path)
}

// Close closes the database. The DB and its parts must not be used afterwards.
func (s *DB) Close() error {
	return errors.Join(s.bulk.close(), s.close())
}

// acquire waits for the right to write; release returns it.
func (s *conn) acquire(ctx context.Context) (release func(), err error) {
	select {
	case s.writing <- struct{}{}:
		return func() { <-s.writing }, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for other writers: %w", context.Cause(ctx))
	}
}

// write runs fn in a transaction on one of the writing pools, and again if a concurrent transaction aborted it. doing
// names the operation in errors.
func (s *conn) write(ctx context.Context, db *sql.DB, doing string, fn func(tx *sql.Tx) error) error {
	if db == s.fast && !s.engine.manyWriters { // whose only connection bulk holds: a new one would never be free
		return s.writeFast(ctx, doing, fn)
	}
	begin := func(ctx context.Context) (*sql.Tx, error) { return db.BeginTx(ctx, nil) }
	if s.engine.manyWriters {
		return s.repeat(ctx, func() error { return transact(ctx, begin, doing, fn) })
	}
	return s.alone(ctx, doing, func() error { return transact(ctx, begin, doing, fn) })
}

// lock holds the lock with that name until the transaction ends.
func (s *conn) lock(ctx context.Context, tx *sql.Tx, name string) error {
	if s.engine.lock == nil { // only one writer at a time
		return nil
	}
	return s.engine.lock(ctx, tx, name)
}

// writeDeletion runs fn, which deletes many rows, in a transaction on the pool sure. Deletions run one after the
// other on all nodes, because two that delete the same rows in different orders would deadlock.
func (s *conn) writeDeletion(ctx context.Context, doing string, fn func(tx *sql.Tx) error) error {
	return s.write(ctx, s.sure, doing, func(tx *sql.Tx) error {
		if err := s.lock(ctx, tx, "deletion"); err != nil {
			return err
		}
		return fn(tx)
	})
}

// alone calls do while no other goroutine of this process writes.
func (s *conn) alone(ctx context.Context, doing string, do func() error) error {
	release, err := s.acquire(ctx)
	if err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	defer release()
	return do()
}

// writeFast runs fn in a transaction on the pool fast. If the engine has one writer, bulk holds its connection.
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

// repeat calls run again while concurrent transactions abort it, at most maxRetries times.
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

// inTurn makes the transactions that call it commit one after the other.
func (s *conn) inTurn(ctx context.Context, tx *sql.Tx) error {
	if s.engine.inTurn == nil {
		return nil
	}
	if err := s.engine.inTurn(ctx, tx); err != nil {
		return fmt.Errorf("wait for other writers: %w", err)
	}
	return nil
}

// moment runs fn in a transaction of a reading pool that sees the database as of one moment and changes nothing.
// doing names the operation in errors.
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

// transact runs fn in a transaction. The caller must have the right to write.
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

// ended drops the error of rolling back a transaction that has already ended.
func ended(err error) error {
	if errors.Is(err, sql.ErrTxDone) {
		return nil
	}
	return err
}
