package ollama

import (
	"bytes"
	"errors"
	"io"

	"weir/internal/sse"
)

// errTooLong reports a line that exceeds the reader's bound.
var errTooLong = errors.New("ollama: a line of the stream is longer than the bound")

const (
	firstBuffer   = 4 << 10
	maxEmptyReads = 100 // consecutive reads without a byte before the reader gives up
	byteOrderMark = "\xef\xbb\xbf"
)

// Reader splits a stream into lines, each of which is an event without a name (https://docs.ollama.com/api/streaming).
// It skips blank lines.
type Reader struct {
	src   io.Reader
	max   int
	buf   []byte
	start int // start of the unread part of buf
	end   int // end of that part
	seen  int // end of the searched bytes without a line end
	err   error
	begun bool // a byte-order mark only counts before all other bytes
}

// NewReader returns a reader of lines of at most max bytes each, including the line end.
func NewReader(src io.Reader, max int) *Reader { return &Reader{src: src, max: max} }

// Next returns the next line that is not blank. At the end of the stream it returns io.EOF; bytes after the last line
// end count if they may be a whole object.
func (r *Reader) Next() (sse.Event, error) {
	for {
		if end := r.lineEnd(); end > 0 {
			if ev, ok := r.take(end); ok {
				return ev, nil
			}
			continue
		}
		if r.err != nil {
			return r.last()
		}
		if err := r.fill(); err != nil {
			return sse.Event{}, err
		}
	}
}

// Buffered reports whether another whole line is in the buffer.
func (r *Reader) Buffered() bool {
	for {
		end := r.lineEnd()
		if end == 0 {
			return false
		}
		if len(bytes.TrimSpace(r.buf[r.start:end])) > 0 {
			return true
		}
		r.start = end
	}
}

// Rest returns the bytes that were read after the last returned line.
func (r *Reader) Rest() []byte { return r.buf[r.start:r.end] }

// lineEnd returns the offset after the next line end, or 0. It searches every byte once, however small the pieces of a
// stream are.
func (r *Reader) lineEnd() int {
	from := max(r.seen, r.start)
	if i := bytes.IndexByte(r.buf[from:r.end], '\n'); i >= 0 {
		return from + i + 1
	}
	r.seen = r.end
	return 0
}

// take returns the line that ends there, unless it is blank.
func (r *Reader) take(end int) (ev sse.Event, ok bool) {
	ev.Raw = r.buf[r.start:end]
	ev.Data = ev.Raw
	if !r.begun {
		ev.Data = bytes.TrimPrefix(ev.Data, []byte(byteOrderMark))
	}
	ev.Data = bytes.TrimSpace(ev.Data)
	r.start = end
	r.begun = true
	return ev, len(ev.Data) > 0
}

// last returns the bytes after the last line end, then the error at the end.
func (r *Reader) last() (sse.Event, error) {
	rest := bytes.TrimSpace(r.buf[r.start:r.end])
	if errors.Is(r.err, io.EOF) && len(rest) > 0 && rest[len(rest)-1] == '}' {
		ev, _ := r.take(r.end)
		return ev, nil
	}
	return sse.Event{}, r.err
}

// fill reads more of the stream, and moves or grows the buffer within the bound.
func (r *Reader) fill() error {
	if r.end == len(r.buf) || r.start == r.end || sse.IsOversized(len(r.buf), r.end-r.start) {
		r.discard()
	}
	if r.end == len(r.buf) {
		if len(r.buf) >= r.max {
			return errTooLong
		}
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

// discard removes the bytes that were read.
func (r *Reader) discard() {
	r.seen = max(r.seen-r.start, 0)
	r.buf, r.end = sse.MoveToFront(r.buf, r.start, r.end)
	r.start = 0
}
