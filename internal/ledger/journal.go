package ledger

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
)

// ErrFull is returned when the journal has no space for another attempt: the disk is full or refuses writes. Attempts
// in flight can still be settled.
var ErrFull = errors.New("ledger: no room in the journal")

// ErrClosed is returned after the ledger was closed.
var ErrClosed = errors.New("ledger: closed")

const (
	// defaultSegmentSize is the number of bytes that one journal file reserves.
	defaultSegmentSize = 16 << 20
	// freeSegments is the number of segments whose space must stay free on the disk when the journal reserves another
	// one. The database needs it for records that it has yet to apply. Operators need it to suspend an account or
	// revoke a key on a disk that requests have filled.
	freeSegments = 8
	// epochAlign aligns the first position of an epoch.
	epochAlign = 4 << 10
	// syncDelay is the longest time that a record stays unsynced in batched mode.
	syncDelay = 10 * time.Millisecond
	// keepBuffer is the size of the largest group buffer that is reused.
	keepBuffer = 256 << 10
	// spareRetry is the pause before another attempt to reserve the next segment.
	spareRetry = time.Second
)

// journalOptions configures a Journal.
type journalOptions struct {
	Disk        Disk
	ID          uuid.UUID
	After       Position // position that a database has stored
	Strict      bool     // sync before Append returns
	SegmentSize int64
	Now         func() time.Time
	Fault       func(point string)
	Log         *slog.Logger
}

// Journal is an append-only log in segments. Each caller of Append joins a group. One of them, the leader, writes the
// whole group with one call.
type Journal struct {
	disk        Disk
	id          uuid.UUID
	strict      bool
	segmentSize int64
	now         func() time.Time
	fault       func(string)
	log         *slog.Logger

	mu      sync.Mutex
	segs    []segment // oldest first; the last one is current
	file    File      // of the current segment
	spare   File      // reserved file for the next segment; nil if there is none
	retired []File    // full segments that are not synced yet
	pending *group    // callers that wait for the next write
	spent   *group    // one that was written and nobody refers to; nil if there is none
	buffers [][]byte  // of written groups, to be reused
	leading bool      // a leader is active
	queued  int64     // bytes in groups that are not written yet
	failed  error     // reason why writes are refused for good

	lost    atomic.Int64 // bytes that could not be read back
	written atomic.Int64 // Position after the last written record
	synced  atomic.Int64 // Position after the last record that survives a power failure

	syncing  sync.Mutex    // one sync at a time
	reserve  sync.Mutex    // one reservation at a time
	dirty    chan struct{} // unsynced writes exist
	advanced chan struct{} // synced has moved
	wanted   chan struct{} // a spare segment is needed
}

// group collects the records of one write.
type group struct {
	buf  []byte
	turn chan struct{} // gives one of those who wait the right to write, and is closed then; nil for a lone leader
	at   Position      // position at which it was written
	err  error
}

// openJournal begins a new epoch on the disk. It starts no goroutine; run does.
func openJournal(o journalOptions) (*Journal, error) {
	segs, spare, err := loadSegments(o.Disk)
	if err != nil {
		return nil, err
	}
	j := &Journal{
		disk: o.Disk, id: o.ID, strict: o.Strict, segmentSize: o.SegmentSize, now: o.Now, fault: o.Fault, log: o.Log,
		segs: segs, dirty: make(chan struct{}, 1), advanced: make(chan struct{}, 1), wanted: make(chan struct{}, 1),
	}
	for _, name := range spare {
		if err := o.Disk.Remove(name); err != nil {
			return nil, fmt.Errorf("remove unused journal segment: %w", err)
		}
	}
	if err := j.beginEpoch(o.After); err != nil {
		return nil, err
	}
	return j, nil
}

func (j *Journal) beginEpoch(after Position) error {
	next := segment{seq: 1, journal: j.id, epoch: 1, started: j.now().UTC(), first: true}
	if n := len(j.segs); n > 0 {
		last := &j.segs[n-1]
		if last.journal != j.id {
			return fmt.Errorf("journal segment %s belongs to journal %s, not to this data directory's %s", last.name(),
				last.journal, j.id)
		}
		next.seq, next.epoch, next.prevEnd = last.seq+1, last.epoch+1, last.end
		if err := j.adopt(last.epoch); err != nil {
			return err
		}
	}
	next.base = (max(next.prevEnd, after) + epochAlign) / epochAlign * epochAlign
	f, err := j.disk.Create(next.name(), j.segmentSize, 0)
	if err != nil {
		return fmt.Errorf("begin journal segment: %w", err)
	}
	if _, err := f.WriteAt(next.header(), 0); err != nil {
		return errors.Join(fmt.Errorf("begin journal segment: %w", err), f.Close())
	}
	next.end = next.base + headerSize
	j.segs, j.file = append(j.segs, next), f
	j.written.Store(int64(next.end))
	return j.Sync()
}

// adopt syncs the segments of a dead process, which may not have synced them; from here on its records count as synced.
// It frees reserved space that was never used. If that space holds bytes, from an unfinished write or a damaged disk,
// it is kept for analysis.
func (j *Journal) adopt(epoch uint64) error {
	for i := range j.segs {
		s := &j.segs[i]
		if s.epoch != epoch {
			continue
		}
		f, err := j.disk.Open(s.name())
		if err != nil {
			return fmt.Errorf("open journal segment: %w", err)
		}
		unused := isZero(f, int64(s.end-s.base))
		if err := errors.Join(f.Sync(), f.Close()); err != nil {
			return fmt.Errorf("sync journal: %w", err)
		}
		if !unused {
			j.log.Warn("the last journal segment has bytes after its last valid record: an unfinished write, or damage",
				"segment", s.name())
			continue
		}
		if err := j.disk.Truncate(s.name(), int64(s.end-s.base)); err != nil {
			return fmt.Errorf("cut the unused end of the journal: %w", err)
		}
	}
	return nil
}

// isZero reports whether a segment is unused at an offset: it holds the length of a record in zeros there, or ends.
func isZero(f File, at int64) bool {
	b := make([]byte, maxRecord)
	n, err := f.ReadAt(b, at)
	if err != nil && !isEOF(err) {
		return false
	}
	return len(bytes.TrimLeft(b[:n], "\x00")) == 0
}

// fail stops the journal for good. After a failed sync the contents of the disk are unknown, so a restart must read
// them.
func (j *Journal) fail(err error) error {
	j.mu.Lock()
	if j.failed == nil {
		j.failed = err
		j.log.Error("the journal failed; new requests are refused until a restart", "err", err)
	}
	j.mu.Unlock()
	return err
}

// Sync makes all records written so far survive a power failure.
func (j *Journal) Sync() error {
	j.syncing.Lock()
	defer j.syncing.Unlock()
	target := j.written.Load()
	if target == j.synced.Load() {
		return nil
	}
	j.mu.Lock()
	full, cur := j.retired, j.file
	j.retired = nil
	j.mu.Unlock()
	for _, f := range append(full, cur) {
		if err := f.Sync(); err != nil {
			return j.fail(fmt.Errorf("sync journal: %w", err))
		}
	}
	for _, f := range full {
		if err := f.Close(); err != nil {
			return j.fail(fmt.Errorf("close journal segment: %w", err))
		}
	}
	j.synced.Store(target)
	signal(j.advanced)
	j.point("journal.synced")
	return nil
}

// prepare reserves the next segment if none is reserved and enough of the disk stays free.
func (j *Journal) prepare() error { return j.prepareLeaving(freeSegments * j.segmentSize) }

// prepareLeaving reserves the next segment if none is reserved and keep bytes of the disk stay free.
func (j *Journal) prepareLeaving(keep int64) error {
	j.reserve.Lock()
	defer j.reserve.Unlock()
	j.mu.Lock()
	have := j.spare != nil || j.failed != nil
	seq := j.segs[len(j.segs)-1].seq + 1
	j.mu.Unlock()
	if have {
		return nil
	}
	f, err := j.disk.Create(segmentName(seq), j.segmentSize, keep)
	if err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.spare = f
	return nil
}

// close syncs the journal and frees reserved space that was not used.
func (j *Journal) close() error {
	err := j.Sync()
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.failed == nil {
		j.failed = ErrClosed
	}
	cur := &j.segs[len(j.segs)-1]
	err = errors.Join(err, j.file.Close(), j.disk.Truncate(cur.name(), int64(cur.end-cur.base)))
	if j.spare != nil {
		err = errors.Join(err, j.spare.Close(), j.disk.Remove(segmentName(cur.seq+1)))
	}
	return err
}

// segmentAt returns the segment that contains pos, or else the first one after it.
func (j *Journal) segmentAt(pos Position) (segment, bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for i := range j.segs {
		s := &j.segs[i]
		last := i == len(j.segs)-1
		if pos < s.end || last && pos >= s.base {
			return *s, true
		}
	}
	return segment{}, false
}

// point marks a named place at which tests can kill the process.
func (j *Journal) point(name string) {
	if j.fault != nil {
		j.fault(name)
	}
}

// signal wakes the receiver of c, now or at its next receive.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
