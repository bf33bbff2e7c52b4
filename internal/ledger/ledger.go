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

// Store defines the ledger's access to the database.
type Store interface {
	// Position returns the position up to which the database has applied this journal; 0 if it has applied nothing.
	Position(ctx context.Context, journal uuid.UUID) (Position, error)
	// OpenAttempts returns the attempts of this journal that are open in the database.
	OpenAttempts(ctx context.Context, journal uuid.UUID) ([]Attempt, error)
	// SetAside returns the number of records of this journal that are set aside.
	SetAside(ctx context.Context, journal uuid.UUID) (int64, error)
	// Apply writes a batch and the position after it in one transaction. It returns ErrMoved if the database is not at
	// the position where the batch begins, and ErrRejected if it does not take a value of the batch.
	Apply(ctx context.Context, b *Batch) error
	// Durable makes everything applied survive a power failure.
	Durable(ctx context.Context) error
}

// Options configures a Ledger.
type Options struct {
	Dir   string // directory of the journal; created if it does not exist
	Store Store
	// Leases grants budget leases; nil without budgets. Node describes this node to the others; New fills in its
	// Journal and Started.
	Leases budget.Leases
	Node   budget.Node
	// Strict makes each request wait until its record is synced. Otherwise a record is written before the request
	// continues and synced at most 10 ms later.
	Strict      bool
	SegmentSize int64 // bytes that a journal file reserves; 0 for 16 MiB
	// Now is this machine's clock. SharedNow is the clock that all nodes share, which dates attempts; nil for Now.
	Now, SharedNow func() time.Time
	Log            *slog.Logger
	// Fault is called at named points, at which tests can kill the process.
	Fault func(point string)
	// Disk stores the journal's segments in place of Dir; for tests. Nil for Dir itself.
	Disk Disk
}

// Ledger meters attempts, as the package comment describes.
type Ledger struct {
	journal        *Journal
	proj           *projector
	now, sharedNow func() time.Time
	log            *slog.Logger
	fault          func(string)
	unlock         func() error

	budgets *budget.Service
	heart   *budget.Heartbeat

	open    atomic.Int64 // attempts opened here and not settled
	prices  sync.Map     // price versions that this epoch's journal contains
	buffers sync.Pool    // of *[]byte, for encoding
	cancel  context.CancelFunc
	running sync.WaitGroup
}

// Budgets returns this node's budget leases and reservations.
func (l *Ledger) Budgets() *budget.Service { return l.budgets }

// Now returns the time by the clock that all nodes share, which dates attempts.
func (l *Ledger) Now() time.Time { return l.sharedNow() }

// settleSpace is the number of bytes that the journal reserves for each attempt in flight. It exceeds the size of a
// settlement with the open record of a following attempt. As much again is reserved for the new price of a model that
// answered in place of another, which only the first of its settlements has.
const settleSpace = 1 << 10

// New opens the journal in o.Dir, which no other process may have open, and starts the projector. The projector settles
// attempts that a dead process left open as unknown.
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
		return nil, errors.Join(fmt.Errorf("register this node in the database: %w", err), l.journal.close(), unlock())
	}
	l.start()
	return l, nil
}

const (
	// lockWait is how long Lock tries. Held has the lock for far less time.
	lockWait  = 250 * time.Millisecond
	lockRetry = 5 * time.Millisecond
)

// Lock locks the journal in dir, which it creates if it does not exist, against other processes until unlock is called.
// It returns an error if another process has it open.
func Lock(ctx context.Context, dir string) (unlock func() error, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make journal directory: %w", err)
	}
	lock := flock.New(lockPath(dir))
	ctx, cancel := context.WithTimeout(ctx, lockWait)
	defer cancel()
	switch _, err := lock.TryLockContext(ctx, lockRetry); {
	case errors.Is(err, context.DeadlineExceeded):
		return nil, fmt.Errorf("another weir serve runs on %s: stop it first, or use another data directory",
			filepath.Dir(dir))
	case err != nil:
		return nil, fmt.Errorf("lock journal: %w", err)
	}
	return lock.Unlock, nil
}

// Held reports whether a process has locked the journal in dir, as a running gateway does.
func Held(dir string) (bool, error) {
	lock := flock.New(lockPath(dir), flock.SetFlag(os.O_RDONLY)) // read-only: creates no file
	free, err := lock.TryRLock()
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err := errors.Join(err, lock.Close()); err != nil {
		return false, fmt.Errorf("check the journal's lock: %w", err)
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
	l.heart = budget.NewHeartbeat(l.budgets)
	l.buffers.New = func() any { b := make([]byte, 0, 512); return &b }
	return l, nil
}

// identityFile is the name of the file with the journal's id.
const identityFile = "identity"

// identity returns the journal's id, which it creates at the first opening.
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

// writeWhole creates a file atomically: after a crash it is complete or absent. It survives a power failure as soon as
// any segment does.
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
	l.running.Go(func() { l.heart.Run(ctx) })
}

// Close projects the remaining records, as far as ctx allows, and closes the journal. Attempts that are still open
// become unknown at the next start.
func (l *Ledger) Close(ctx context.Context) error {
	err := l.Flush(ctx)
	l.cancel()
	l.running.Wait()
	if err == nil {
		err = l.heart.Leave(ctx)
	}
	return errors.Join(err, l.proj.close(), l.journal.close(), l.unlock())
}

// Flush returns when everything settled so far is in the database.
func (l *Ledger) Flush(ctx context.Context) error {
	return l.proj.flush(ctx, Position(l.journal.written.Load()))
}

// InFlight returns the number of open attempts.
func (l *Ledger) InFlight() int64 { return l.open.Load() }

// Journal returns the journal's id.
func (l *Ledger) Journal() uuid.UUID { return l.journal.id }

// Lag returns the number of bytes of the journal that the database has yet to apply, and the database's last error, or
// nil if the last access succeeded.
func (l *Ledger) Lag() (bytes int64, err error) { return l.proj.lag() }

// Problem returns the reason why no attempt can be opened now, or nil.
func (l *Ledger) Problem() error {
	keep := (l.open.Load() + 3) * settleSpace // more than another attempt needs
	err := l.journal.reserveSpace(keep)
	if errors.Is(err, ErrFull) && l.journal.prepare() == nil {
		err = l.journal.reserveSpace(keep) // only the reservation of the next segment was pending
	}
	return err
}

// Lost returns the number of bytes of the journal that could not be read back since the start; 0 on a healthy disk.
func (l *Ledger) Lost() int64 { return l.journal.lost.Load() }

// Unknown returns the number of a dead process's attempts that were settled as unknown since the start.
func (l *Ledger) Unknown() int64 { return l.proj.unknown.Load() }

// Open writes the open record of an attempt. The returned hold is the right to call the provider once. An error is a
// *llm.Error if the journal has no space.
func (l *Ledger) Open(a Attempt) (*Hold, error) {
	h := new(Hold)
	if err := l.OpenIn(h, a); err != nil {
		return nil, err
	}
	return h, nil
}

// OpenIn is Open with the caller's memory for the hold, which must be zero. After an error it is zero, too.
func (l *Ledger) OpenIn(h *Hold, a Attempt) error {
	if err := a.checkReservation(); err != nil {
		return err
	}
	if err := l.begin(h, a); err != nil {
		return err
	}
	if _, err := l.append(&h.attempt, nil, AttemptID{}); err != nil {
		l.budgets.Drop(&h.counted)
		*h = Hold{}
		return err
	}
	return nil
}

// append writes the open record of a and the settlement s, each if it is not nil, in one write, and returns the
// position after them.
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
		b = l.appendNew(b, s.Served.Price)
		b = appendSettle(b, settled, s)
	}
	*buf = b
	err = checkFrames(b)
	if err == nil {
		at, err = l.journal.Append(b, keep)
	}
	if errors.Is(err, ErrFull) && l.journal.prepare() == nil {
		at, err = l.journal.Append(b, keep) // only the reservation of the next segment was pending
	}
	if err == nil && a != nil {
		l.written(&a.Price)
		if a.Terms.Own() {
			l.written(&a.Terms.Price)
		}
	}
	if err == nil && s != nil {
		l.written(s.Served.Price)
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

// appendNew appends a price that this epoch's journal does not contain.
func (l *Ledger) appendNew(dst []byte, p *llm.Price) []byte {
	if !p.Known() {
		return dst
	}
	if _, known := l.prices.Load(p.Version); known {
		return dst
	}
	return appendPrice(dst, p)
}

// written notes that this epoch's journal contains a price.
func (l *Ledger) written(p *llm.Price) {
	if !p.Known() {
		return
	}
	if _, known := l.prices.Load(p.Version); !known { // a store allocates
		l.prices.Store(p.Version, true)
	}
}
