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

// ErrFull says that the journal has no room for another attempt: the disk is
// full, or refuses to write. What is in flight can still be settled.
var ErrFull = errors.New("ledger: no room in the journal")

// ErrClosed says that the ledger was closed.
var ErrClosed = errors.New("ledger: closed")

const (
	// defaultSegmentSize is what one file of the journal reserves.
	defaultSegmentSize = 16 << 20
	// freeSegments is how many segments' room stays free on the disk when the journal takes another one: for what the
	// database still has to take from it, and for operators, who have to be able to suspend an account or revoke a key
	// on a disk that requests have filled.
	freeSegments = 8
	// epochAlign makes the positions of an epoch begin at a round number.
	epochAlign = 4 << 10
	// syncDelay is how long a record may stand unsynced in batched mode.
	syncDelay = 10 * time.Millisecond
	// keepBuffer is the largest buffer of a group that is used again.
	keepBuffer = 256 << 10
	// spareRetry is how often room for the next segment is asked for again.
	spareRetry = time.Second
)

// journalOptions is what a Journal is made of.
type journalOptions struct {
	Disk        Disk
	ID          uuid.UUID
	After       Position // a position that some database has stored
	Strict      bool     // sync before anybody goes on
	SegmentSize int64
	Now         func() time.Time
	Fault       func(point string)
	Log         *slog.Logger
}

// Journal is an append-only log in segments. Whoever appends joins a group;
// one of the group, the leader, writes it whole with one call.
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
	spare   File      // room for the next one; nil while there is none
	retired []File    // full segments that are not synced yet
	pending *group    // who waits for the next write
	buffers [][]byte  // of groups that are written, to be used again
	leading bool      // somebody writes
	queued  int64     // bytes in groups that are not written yet
	failed  error     // why nothing can be written any more

	lost    atomic.Int64 // bytes that could not be read back
	written atomic.Int64 // Position behind the last record written
	synced  atomic.Int64 // Position behind the last record that survives a power cut

	syncing  sync.Mutex    // one sync at a time
	reserve  sync.Mutex    // one reservation at a time
	dirty    chan struct{} // something is written and not synced
	advanced chan struct{} // synced has moved
	wanted   chan struct{} // a spare segment is wanted
}

// group is the records that one write will carry.
type group struct {
	buf  []byte
	done chan struct{} // closed when written; nil while nobody but the leader waits
	lead chan struct{} // holds the right to write this group, once it may be written
	at   Position      // where it was written
	err  error
}

// openJournal begins a new epoch on the disk. Nothing runs in the background
// until run is called.
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

// adopt makes what a dead process wrote, and may not have synced, survive a
// power cut: from here on it counts as synced. The room that it had reserved
// and not used is given back. Where something stands in that room, a torn write
// or what a damaged disk still has, it is kept for whoever wants to look.
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
			j.log.Warn("the journal's last segment has bytes after its last valid record: an unfinished write, or damage", "segment", s.name())
			continue
		}
		if err := j.disk.Truncate(s.name(), int64(s.end-s.base)); err != nil {
			return fmt.Errorf("cut the unused end of the journal: %w", err)
		}
	}
	return nil
}

// isZero reports whether nothing was written at that place of a segment: a
// record's worth of zeros stands there, or the file's end.
func isZero(f File, at int64) bool {
	b := make([]byte, maxRecord)
	n, err := f.ReadAt(b, at)
	if err != nil && !isEOF(err) {
		return false
	}
	return len(bytes.TrimLeft(b[:n], "\x00")) == 0
}

// fail stops the journal for good: after a failed sync nobody knows what the
// disk holds, so a restart has to look.
func (j *Journal) fail(err error) error {
	j.mu.Lock()
	if j.failed == nil {
		j.failed = err
		j.log.Error("the journal failed; no new requests until a restart", "err", err)
	}
	j.mu.Unlock()
	return err
}

// Sync makes everything written so far survive a power cut.
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

// prepare reserves the next segment, if that is not done and leaves enough of the disk.
func (j *Journal) prepare() error { return j.prepareLeaving(freeSegments * j.segmentSize) }

// prepareLeaving reserves the next segment, if that is not done and leaves so many bytes of the disk.
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

// close syncs and gives back the room that was reserved and not used.
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

// segmentAt is the segment that holds pos, or else the first one behind it.
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

// point is a named place at which tests let the process die.
func (j *Journal) point(name string) {
	if j.fault != nil {
		j.fault(name)
	}
}

// signal wakes whoever waits on c, now or at its next look.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
