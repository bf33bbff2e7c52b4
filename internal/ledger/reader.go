package ledger

import (
	"errors"
	"fmt"
	"io"
	"time"
)

// window reads the frames of one file through a buffer.
type window struct {
	file File
	off  int64 // offset of the next frame
	buf  []byte
	from int64 // offset in the file at which buf begins
}

const windowSize = 256 << 10

func isEOF(err error) bool { return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) }

// frame returns the record at off and its length, or 0 if none begins there. It does not advance off. The payload is
// valid until the next call.
func (w *window) frame() (t recordType, payload []byte, length int, err error) {
	if t, payload, length = readFrame(w.held()); length > 0 {
		return t, payload, length, nil
	}
	if cap(w.buf) == 0 {
		w.buf = make([]byte, 0, windowSize)
	}
	n, err := w.file.ReadAt(w.buf[:windowSize], w.off)
	if err != nil && !isEOF(err) {
		return 0, nil, 0, err
	}
	w.buf, w.from = w.buf[:n], w.off
	t, payload, length = readFrame(w.buf)
	return t, payload, length, nil
}

func (w *window) held() []byte {
	if at := w.off - w.from; at >= 0 && at < int64(len(w.buf)) {
		return w.buf[at:]
	}
	return nil
}

// record is one step of a walk through the journal: a record, or the start of an epoch, which ends all attempts that an
// earlier process left open.
type record struct {
	kind    recordType
	payload []byte // valid until the next step
	end     Position
	epoch   bool
	started time.Time // of the epoch
	gap     Position  // number of missing bytes before it
}

// reader walks through the journal from a position.
type reader struct {
	journal *Journal
	pos     Position
	win     window
	seq     uint64 // the segment that win reads; 0 for none
}

// next returns the next step below limit. All records below limit must be synced. It returns false if there is none
// yet.
func (r *reader) next(limit Position) (rec record, ok bool, err error) {
	for {
		s, found := r.journal.segmentAt(r.pos)
		if !found || s.base+headerSize > limit {
			return rec, false, nil
		}
		if r.pos < s.base+headerSize {
			rec, ok = r.enter(&s)
			if ok {
				return rec, true, nil
			}
			continue
		}
		if r.pos >= min(limit, s.end) {
			return rec, false, nil
		}
		return r.read(&s)
	}
}

// enter moves the reader past the header of s. It returns a step if an epoch begins there, or if records before it were
// deleted.
func (r *reader) enter(s *segment) (rec record, ok bool) {
	rec = record{epoch: s.first, started: s.started, gap: max(0, s.prevEnd-r.pos)}
	r.pos = s.base + headerSize
	rec.end = r.pos
	return rec, rec.epoch || rec.gap > 0
}

func (r *reader) read(s *segment) (rec record, ok bool, err error) {
	if err := r.open(s); err != nil {
		return rec, false, err
	}
	r.win.off = int64(r.pos - s.base)
	kind, payload, n, err := r.win.frame()
	if err != nil {
		return rec, false, fmt.Errorf("read journal segment %s: %w", s.name(), err)
	}
	if n == 0 {
		return rec, false, &CorruptError{Segment: s.name(), From: r.pos, To: s.end}
	}
	r.pos += Position(n)
	return record{kind: kind, payload: payload, end: r.pos}, true, nil
}

func (r *reader) open(s *segment) error {
	if r.seq == s.seq && r.win.file != nil {
		return nil
	}
	if err := r.close(); err != nil {
		return err
	}
	f, err := r.journal.disk.Open(s.name())
	if err != nil {
		return fmt.Errorf("open journal segment: %w", err)
	}
	r.seq, r.win = s.seq, window{file: f, buf: r.win.buf[:0]}
	return nil
}

// seek makes the reader continue from another position.
func (r *reader) seek(pos Position) {
	r.pos = pos
	r.win.buf = r.win.buf[:0]
}

func (r *reader) close() error {
	if r.win.file == nil {
		return nil
	}
	err := r.win.file.Close()
	r.win.file = nil
	return err
}

// CorruptError reports a range of the journal that was written but cannot be read, because the disk lost it.
type CorruptError struct {
	Segment  string
	From, To Position
}

// Error names the segment and the range.
func (e *CorruptError) Error() string {
	return fmt.Sprintf("journal segment %s cannot be read from position %d to %d", e.Segment, e.From, e.To)
}
