package ledger

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gofrs/flock"
	"github.com/google/uuid"

	"weir/internal/budget"
	"weir/internal/llm"
)

// Store is the database as the ledger needs it.
type Store interface {
	// Position is how far this journal is in the database; 0 for not at all.
	Position(ctx context.Context, journal uuid.UUID) (Position, error)
	// OpenAttempts are the attempts of this journal that the database holds
	// as open.
	OpenAttempts(ctx context.Context, journal uuid.UUID) ([]Attempt, error)
	// Apply writes a batch and the position behind it in one transaction. The
	// error is ErrMoved when the database is not at the position where the
	// batch begins.
	Apply(ctx context.Context, b *Batch) error
	// Durable makes everything applied survive a power cut.
	Durable(ctx context.Context) error
}

// Options is what a Ledger is made of.
type Options struct {
	Dir   string // where the journal lives; made when it is not there
	Store Store
	// Leases deals out budgets; nil where there are none. Node is this node to
	// the others; its Journal is filled in.
	Leases budget.Leases
	Node   budget.Node
	// Strict waits for the disk before a request goes on. Otherwise a record
	// is written before the request goes on and synced at most 10 ms later.
	Strict      bool
	SegmentSize int64 // bytes a journal file reserves; 0 for 16 MiB
	// Now is this machine's clock. SharedNow is the one that all nodes share, by which
	// attempts are dated; nil for Now.
	Now, SharedNow func() time.Time
	Log            *slog.Logger
	// Fault is called at named points; tests let the process die there.
	Fault func(point string)
	// Disk holds the journal's segments in place of Dir; for tests, nil for
	// Dir itself.
	Disk Disk
}

// Ledger meters attempts: see the package's comment.
type Ledger struct {
	journal        *Journal
	proj           *projector
	now, sharedNow func() time.Time
	log            *slog.Logger
	fault          func(string)
	unlock         func() error

	budgets *budget.Service

	open    atomic.Int64 // attempts opened here and not settled
	prices  sync.Map     // price versions that this epoch's journal holds
	buffers sync.Pool    // of *[]byte, for encoding
	cancel  context.CancelFunc
	running sync.WaitGroup
}

// Budgets are what this node leased of budgets.
func (l *Ledger) Budgets() *budget.Service { return l.budgets }

// Now is the time by the clock that all nodes share, by which attempts are dated.
func (l *Ledger) Now() time.Time { return l.sharedNow() }

// NewID is the id of a request: a UUID of version 7 (RFC 9562, 5.7), whose time is that
// of Now, for a request is looked for by its date and its id.
func (l *Ledger) NewID() uuid.UUID {
	id := uuid.Must(uuid.NewV7())
	sec, nsec := id.Time().UnixTime()
	if now := l.Now(); now.Sub(time.Unix(sec, nsec)).Abs() > time.Second {
		for i, ms := 5, now.UnixMilli(); i >= 0; i-- {
			id[i], ms = byte(ms), ms>>8
		}
	}
	return id
}

// settleSpace is what is kept back in the journal for each attempt in flight:
// more than a settlement takes, with an open for what may follow it.
const settleSpace = 1 << 10

// New opens the journal in o.Dir, which no other process may have open, and
// starts to project. What a dead process left open is settled as unknown when
// the projector comes to it.
func New(ctx context.Context, o Options) (*Ledger, error) {
	unlock, err := Lock(ctx, o.Dir)
	if err != nil {
		return nil, err
	}
	if o.Disk == nil {
		o.Disk = Directory(o.Dir)
	}
	l, err := openLedger(ctx, o.Disk, o)
	if err != nil {
		return nil, errors.Join(err, unlock())
	}
	l.unlock = unlock
	if err := l.budgets.Join(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("tell the database of this node: %w", err), l.journal.close(), unlock())
	}
	l.start()
	return l, nil
}

const (
	// lockWait is how long Lock tries: Held has the lock for far less.
	lockWait  = 250 * time.Millisecond
	lockRetry = 5 * time.Millisecond
)

// Lock keeps other processes from opening the journal in dir, which is made
// where it is not there, until unlock is called. It is an error when one has it
// open.
func Lock(ctx context.Context, dir string) (unlock func() error, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make journal directory: %w", err)
	}
	lock := flock.New(lockPath(dir))
	ctx, cancel := context.WithTimeout(ctx, lockWait)
	defer cancel()
	switch _, err := lock.TryLockContext(ctx, lockRetry); {
	case errors.Is(err, context.DeadlineExceeded):
		return nil, fmt.Errorf("another weir serve runs on %s: stop it first, or give this one another data directory",
			filepath.Dir(dir))
	case err != nil:
		return nil, fmt.Errorf("lock journal: %w", err)
	}
	return lock.Unlock, nil
}

// Held reports whether a process has the journal in dir locked, as every gateway has
// that runs on it.
func Held(dir string) (bool, error) {
	lock := flock.New(lockPath(dir), flock.SetFlag(os.O_RDONLY)) // looking makes no file
	free, err := lock.TryRLock()
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err := errors.Join(err, lock.Close()); err != nil {
		return false, fmt.Errorf("look at the journal's lock: %w", err)
	}
	return !free, nil
}

func lockPath(dir string) string { return filepath.Join(dir, "lock") }

// openLedger opens the journal without starting anything.
func openLedger(ctx context.Context, disk Disk, o Options) (*Ledger, error) {
	id, err := identity(o.Dir)
	if err != nil {
		return nil, err
	}
	return openOn(ctx, disk, id, o)
}

func openOn(ctx context.Context, disk Disk, id uuid.UUID, o Options) (*Ledger, error) {
	if o.SharedNow == nil {
		o.SharedNow = o.Now
	}
	if o.SegmentSize == 0 {
		o.SegmentSize = defaultSegmentSize
	}
	pos, err := o.Store.Position(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("read the journal's position: %w", err)
	}
	j, err := openJournal(journalOptions{
		Disk: disk, ID: id, After: pos, Strict: o.Strict, SegmentSize: o.SegmentSize,
		Now: o.SharedNow, Fault: o.Fault, Log: o.Log,
	})
	if err != nil {
		return nil, err
	}
	l := &Ledger{
		journal: j, now: o.Now, sharedNow: o.SharedNow, log: o.Log, fault: o.Fault,
		proj: newProjector(j, o.Store, o.Log, o.Fault, o.Now),
	}
	o.Node.Journal, o.Node.Started = id, o.SharedNow().UTC()
	l.budgets = budget.NewService(budget.Options{
		Leases: o.Leases, Node: o.Node, Flush: l.Flush, Position: l.proj.position, WentBack: l.proj.wentBack,
		Now: o.Now, SharedNow: o.SharedNow, Log: o.Log,
	})
	l.buffers.New = func() any { b := make([]byte, 0, 512); return &b }
	return l, nil
}

// identityFile is the file with the journal's own id.
const identityFile = "identity"

// identity is the journal's own id, made at its first opening.
func identity(dir string) (uuid.UUID, error) {
	path := filepath.Join(dir, identityFile)
	b, err := os.ReadFile(path)
	if err == nil {
		id, err := uuid.Parse(strings.TrimSpace(string(b)))
		if err != nil {
			return id, fmt.Errorf("%s does not hold a UUID: %w", path, err)
		}
		return id, nil
	}
	if !errors.Is(err, os.ErrNotExist) {
		return uuid.Nil, fmt.Errorf("read journal identity: %w", err)
	}
	id, err := uuid.NewV7()
	if err != nil {
		return id, fmt.Errorf("make journal identity: %w", err)
	}
	if err := writeWhole(dir, identityFile, id.String()+"\n"); err != nil {
		return id, fmt.Errorf("write journal identity: %w", err)
	}
	return id, nil
}

// writeWhole makes a file that is there whole or not at all, whatever dies
// meanwhile, and survives a power cut as soon as any segment does.
func writeWhole(dir, name, text string) error {
	part := filepath.Join(dir, name+".part")
	f, err := os.OpenFile(part, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(part, filepath.Join(dir, name)); err != nil {
		return err
	}
	return Directory(dir).sync()
}

func (l *Ledger) start() {
	ctx, cancel := context.WithCancel(context.Background())
	l.cancel = cancel
	l.running.Go(func() { l.journal.run(ctx) })
	l.running.Go(func() { l.proj.run(ctx) })
	l.running.Go(func() { l.budgets.Run(ctx) })
}

// Close projects what is left, as far as ctx allows, and closes the journal.
// Attempts that are still open become unknown at the next start.
func (l *Ledger) Close(ctx context.Context) error {
	err := l.Flush(ctx)
	l.cancel()
	l.running.Wait()
	if err == nil {
		err = l.budgets.Leave(ctx)
	}
	return errors.Join(err, l.proj.close(), l.journal.close(), l.unlock())
}

// Flush returns when everything settled so far is in the database.
func (l *Ledger) Flush(ctx context.Context) error {
	return l.proj.flush(ctx, Position(l.journal.written.Load()))
}

// InFlight is how many attempts are open.
func (l *Ledger) InFlight() int64 { return l.open.Load() }

// Journal is the identity of the journal.
func (l *Ledger) Journal() uuid.UUID { return l.journal.id }

// Lag is how much of the journal, in bytes, the database does not have yet,
// and the error that the database gave last; nil when it is well.
func (l *Ledger) Lag() (bytes int64, err error) { return l.proj.lag() }

// Problem is why no attempt can be opened now; nil while one can.
func (l *Ledger) Problem() error {
	keep := (l.open.Load() + 3) * settleSpace // more than another one takes
	err := l.journal.reserveSpace(keep)
	if errors.Is(err, ErrFull) && l.journal.prepare() == nil {
		err = l.journal.reserveSpace(keep) // the next segment was only not reserved yet
	}
	return err
}

// Lost is how many bytes of the journal could not be read back since the
// start; 0 on a sound disk.
func (l *Ledger) Lost() int64 { return l.journal.lost.Load() }

// Unknown is how many attempts were settled as unknown since the start, for a
// process that had died.
func (l *Ledger) Unknown() int64 { return l.proj.unknown.Load() }

// Open writes that an attempt begins. The hold that it returns is the right to
// call the provider, once. An error is a *llm.Error: there is no room.
func (l *Ledger) Open(a Attempt) (*Hold, error) {
	if err := a.checkReservation(); err != nil {
		return nil, err
	}
	h := l.begin(a)
	if _, err := l.append(&h.attempt, nil, AttemptID{}); err != nil {
		l.budgets.Drop(&h.counted)
		return nil, err
	}
	return h, nil
}

// append writes the open of a, if there is one, and the settlement of settled,
// if there is one, together, and returns the position behind them.
func (l *Ledger) append(a *Attempt, s *Settlement, settled AttemptID) (at Position, err error) {
	buf := l.buffers.Get().(*[]byte)
	defer l.buffers.Put(buf)
	b := (*buf)[:0]
	var keep int64
	if a != nil {
		keep = (l.open.Add(1) + 1) * settleSpace
		b = l.appendNew(b, &a.Price)
		if a.Terms.Own() {
			b = l.appendNew(b, &a.Terms.Price)
		}
		b = appendOpen(b, a)
	}
	if s != nil {
		b = appendSettle(b, settled, s)
	}
	*buf = b
	err = checkFrames(b)
	if err == nil {
		at, err = l.journal.Append(b, keep)
	}
	if errors.Is(err, ErrFull) && l.journal.prepare() == nil {
		at, err = l.journal.Append(b, keep) // the next segment was only not reserved yet
	}
	if err == nil && a != nil {
		l.written(&a.Price)
		if a.Terms.Own() {
			l.written(&a.Terms.Price)
		}
	}
	if a != nil && err != nil || s != nil && err == nil {
		l.open.Add(-1)
	}
	if err == nil {
		return at, nil
	}
	return 0, &llm.Error{
		Code:       llm.CodeOverloaded,
		Message:    "This request cannot be metered right now, so it was not sent. Try again shortly.",
		RetryAfter: spareRetry,
		Err:        err,
	}
}

// appendNew appends a price that this epoch's journal does not hold.
func (l *Ledger) appendNew(dst []byte, p *llm.Price) []byte {
	if !p.Known() {
		return dst
	}
	if _, known := l.prices.Load(p.Version); known {
		return dst
	}
	return appendPrice(dst, p)
}

// written takes note of a price that this epoch's journal holds.
func (l *Ledger) written(p *llm.Price) {
	if p.Known() {
		l.prices.LoadOrStore(p.Version, true)
	}
}
