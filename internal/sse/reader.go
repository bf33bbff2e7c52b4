package sse

import (
	"bytes"
	"errors"
	"io"
	"iter"
)

// ErrTooLong means that an event exceeds the reader's bound.
var ErrTooLong = errors.New("sse: event is longer than the bound")

// keepBuffer is the largest buffer that is reused for the next event, in bytes.
const keepBuffer = 8 << 10

// IsOversized reports whether a reader's buffer of size bytes was grown for an earlier event and is too large for the
// left bytes in it.
func IsOversized(size, left int) bool { return size > keepBuffer && left <= keepBuffer/2 }

// MoveToFront moves buf[start:end] to the front of buf, or to a small buffer if buf is oversized. It returns the buffer
// and the length of the data.
func MoveToFront(buf []byte, start, end int) (moved []byte, length int) {
	left := buf[start:end]
	if IsOversized(len(buf), len(left)) {
		buf = make([]byte, keepBuffer/2)
	}
	return buf, copy(buf, left)
}

const (
	// A buffer begins small, because most streams wait most of the time. It grows to usualBuffer if a read fills it.
	firstBuffer   = 1 << 10
	usualBuffer   = 4 << 10
	maxEmptyReads = 100 // consecutive reads without a byte before the source counts as broken
)

// Reader splits a stream into events. Lines end in LF, CR LF or CR, in any mixture. It skips comments, but Raw of the
// next event includes them.
type Reader struct {
	src   io.Reader
	max   int
	buf   []byte
	start int // start of the unread part of buf
	end   int // end of the unread part of buf
	block int // start of the block that is searched
	line  int // start of the block's unfinished line
	seen  int // the unfinished line has no line end before this index
	data  []byte
	err   error
	begun bool // a byte-order mark is only valid at the very beginning
	fills bool // the last read filled the buffer
}

// NewReader returns a reader for events of at most max bytes each, including the blank line.
func NewReader(src io.Reader, max int) *Reader {
	return &Reader{src: src, max: max}
}

// Next returns the next event that has data or a name. At the end of the stream it returns io.EOF. Text behind the last
// blank line is not an event by the standard; Rest returns it.
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

// Buffered reports whether another whole event can be returned without reading more. Comments do not count, because a
// caller that waits for their end may wait for long.
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

// Rest returns the bytes read behind the last whole event.
func (r *Reader) Rest() []byte { return r.buf[r.start:r.end] }

// blockEnd returns the offset behind the blank line that ends the block, or 0. It examines every byte once, however
// small the pieces of the stream are.
func (r *Reader) blockEnd() int {
	b := r.buf[:r.end]
	for {
		end, next := lineEnd(b, r.seen)
		// At the end of the stream, a single CR ends a line.
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

// window is how many bytes lineEnd searches for one kind of line end before it searches for the other: longer than a
// usual line, and short enough for a stream with only CR.
const window = 512

// lineEnd returns the offset of the first line end in b from i on, and the offset behind it; -1 if there is none.
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

// fill reads more of the stream. It moves or grows the buffer within the bound.
func (r *Reader) fill() error {
	if r.end == len(r.buf) || r.start == r.end || IsOversized(len(r.buf), r.end-r.start) {
		r.discard(r.start)
	}
	if cap(r.data) > keepBuffer {
		r.data = nil
	}
	if r.end == len(r.buf) && len(r.buf) >= r.max {
		r.discard(r.block) // drop comments before the event first
		if r.end == len(r.buf) {
			return ErrTooLong
		}
	}
	if r.end == len(r.buf) || r.fills && len(r.buf) < usualBuffer {
		grown := make([]byte, min(max(2*len(r.buf), firstBuffer), r.max))
		copy(grown, r.buf[:r.end])
		r.buf = grown
	}
	for range maxEmptyReads {
		n, err := r.src.Read(r.buf[r.end:])
		r.end += n
		r.err, r.fills = err, r.end == len(r.buf)
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

// parse parses the fields of one block.
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

// withoutMark returns the block without a byte-order mark, if it is the first block.
func (r *Reader) withoutMark(block []byte) []byte {
	if r.begun {
		return block
	}
	return bytes.TrimPrefix(block, []byte("\xef\xbb\xbf"))
}

// join appends the n-th data line. A single line is not copied.
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
