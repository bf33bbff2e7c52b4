package sse

import (
	"bytes"
	"errors"
	"io"
	"iter"
)

// ErrTooLong says that an event is longer than the reader's bound.
var ErrTooLong = errors.New("sse: event is longer than the bound")

// keepBuffer is the largest buffer, in bytes, that is kept for the next event.
const keepBuffer = 8 << 10

// IsOversized says whether a reader's buffer of that size, in bytes, has grown to an event that
// is gone, for what is left in it.
func IsOversized(size, left int) bool { return size > keepBuffer && left <= keepBuffer/2 }

// MoveToFront moves buf[start:end] to the front of buf, or of a small buffer in its place where
// it is oversized, and says where it ends there.
func MoveToFront(buf []byte, start, end int) (moved []byte, length int) {
	left := buf[start:end]
	if IsOversized(len(buf), len(left)) {
		buf = make([]byte, keepBuffer/2)
	}
	return buf, copy(buf, left)
}

const (
	firstBuffer   = 4 << 10
	maxEmptyReads = 100 // reads without a byte in a row before the source is given up
)

// Reader splits a stream into events. Lines end in LF, CR LF or CR, in any
// mixture. Comments are passed over; they stay in the Raw of what follows.
type Reader struct {
	src   io.Reader
	max   int
	buf   []byte
	start int // where the unread part of buf begins
	end   int // and ends
	block int // where the block that is searched begins
	line  int // where its unfinished line begins
	seen  int // up to where that line holds no line end
	data  []byte
	err   error
	begun bool // a byte-order mark counts only before anything else
}

// NewReader reads events of at most max bytes each, the blank line included.
func NewReader(src io.Reader, max int) *Reader {
	return &Reader{src: src, max: max}
}

// Next is the next event that has data or a name. At the end of the stream it
// returns io.EOF; what stands behind the last blank line is not an event, as
// the standard says, and Rest gives it.
func (r *Reader) Next() (Event, error) {
	for {
		if end := r.blockEnd(); end > 0 {
			ev, ok := r.parse(r.buf[r.block:end])
			raw := r.buf[r.start:end]
			r.block, r.line, r.seen = end, end, end
			if ok {
				r.start = end
				ev.Raw = raw
				return ev, nil
			}
			continue
		}
		if r.err != nil {
			return Event{}, r.err
		}
		if err := r.fill(); err != nil {
			return Event{}, err
		}
	}
}

// Buffered reports whether another whole event is there without reading on.
// Comments alone are none: whoever waits for them to end may wait long.
func (r *Reader) Buffered() bool {
	for {
		end := r.blockEnd()
		if end == 0 {
			return false
		}
		if isEvent(r.withoutMark(r.buf[r.block:end])) {
			return true
		}
		r.begun = true
		r.block, r.line, r.seen = end, end, end
	}
}

// Rest is what was read behind the last whole event.
func (r *Reader) Rest() []byte { return r.buf[r.start:r.end] }

// blockEnd is the offset behind the blank line that ends the block, or 0. It
// looks at every byte once, however small the pieces in which a stream comes.
func (r *Reader) blockEnd() int {
	b := r.buf[:r.end]
	for {
		end, next := lineEnd(b, r.seen)
		// At the end of the stream a lone CR is no longer half of CR LF.
		if end < 0 || b[end] == '\r' && next == len(b) && r.err == nil {
			r.seen = end
			if end < 0 {
				r.seen = len(b)
			}
			return 0
		}
		if end == r.line {
			return next
		}
		r.line, r.seen = next, next
	}
}

// window is how far lineEnd looks for one kind of line end before it looks for
// the other: more than a usual line, little enough for a stream of CR alone.
const window = 512

// lineEnd is the offset of the first line end in b from i on, and of what
// follows it; -1 when there is none.
func lineEnd(b []byte, i int) (end, next int) {
	for i < len(b) {
		w := b[i:min(i+window, len(b))]
		lf := bytes.IndexByte(w, '\n')
		if lf >= 0 {
			w = w[:lf]
		}
		if cr := bytes.IndexByte(w, '\r'); cr >= 0 {
			end = i + cr
			if end+1 < len(b) && b[end+1] == '\n' {
				return end, end + 2
			}
			return end, end + 1
		}
		if lf >= 0 {
			return i + lf, i + lf + 1
		}
		i += len(w)
	}
	return -1, -1
}

// fill reads more of the stream, moving or growing the buffer within the bound.
func (r *Reader) fill() error {
	if r.end == len(r.buf) || r.start == r.end || IsOversized(len(r.buf), r.end-r.start) {
		r.discard(r.start)
	}
	if cap(r.data) > keepBuffer {
		r.data = nil
	}
	if r.end == len(r.buf) && len(r.buf) >= r.max {
		r.discard(r.block) // comments before the event are given up first
		if r.end == len(r.buf) {
			return ErrTooLong
		}
	}
	if r.end == len(r.buf) {
		grown := make([]byte, min(max(2*len(r.buf), firstBuffer), r.max))
		copy(grown, r.buf[:r.end])
		r.buf = grown
	}
	for range maxEmptyReads {
		n, err := r.src.Read(r.buf[r.end:])
		r.end += n
		r.err = err
		if n > 0 || err != nil {
			return nil
		}
	}
	return io.ErrNoProgress
}

// discard drops the first n bytes of the buffer.
func (r *Reader) discard(n int) {
	r.buf, r.end = MoveToFront(r.buf, n, r.end)
	r.start = max(r.start-n, 0)
	r.block -= n
	r.line -= n
	r.seen -= n
}

// parse reads the fields of one block.
func (r *Reader) parse(block []byte) (ev Event, ok bool) {
	block = r.withoutMark(block)
	r.begun = true
	n := 0
	for name, value := range fields(block) {
		switch string(name) {
		case "data":
			n++
			ev.Data = r.join(ev.Data, value, n)
		case "event":
			ev.Name = value
		}
	}
	return ev, n > 0 || len(ev.Name) > 0
}

// withoutMark is the block without a byte-order mark, should it be the first.
func (r *Reader) withoutMark(block []byte) []byte {
	if r.begun {
		return block
	}
	return bytes.TrimPrefix(block, []byte("\xef\xbb\xbf"))
}

// join adds the n-th data line. One line alone is not copied.
func (r *Reader) join(data, line []byte, n int) []byte {
	if n == 1 {
		return line
	}
	if n == 2 {
		r.data = append(r.data[:0], data...)
	}
	r.data = append(append(r.data, '\n'), line...)
	return r.data
}

// isEvent reports whether parse finds an event in the block.
func isEvent(block []byte) bool {
	for name, value := range fields(block) {
		if string(name) == "data" || string(name) == "event" && len(value) > 0 {
			return true
		}
	}
	return false
}

// fields yields the lines of a block as name and value.
func fields(block []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(name, value []byte) bool) {
		for i := 0; i < len(block); {
			end, next := lineEnd(block, i)
			if end < 0 {
				return
			}
			name, value, _ := bytes.Cut(block[i:end], []byte{':'})
			if !yield(name, bytes.TrimPrefix(value, []byte{' '})) {
				return
			}
			i = next
		}
	}
}
