// Package sse reads and writes server-sent events, as the HTML Standard
// defines them (https://html.spec.whatwg.org/multipage/server-sent-events.html).
// The reader is bounded: it holds one event at most, and refuses one that is
// longer than it was told.
package sse

import (
	"bytes"
	"errors"
	"io"
)

// Event is one event of a stream. Its slices are valid until the next call of
// Reader.Next.
type Event struct {
	Name []byte // the event field; empty for the default, "message"
	Data []byte // the data lines joined with a newline
	Raw  []byte // the event as it came, up to and with its blank line
}

// ErrTooLong says that an event is longer than the reader's bound.
var ErrTooLong = errors.New("sse: event is longer than the bound")

const firstBuffer = 4 << 10

// Reader splits a stream into events. Lines end in LF, CR LF or CR, in any
// mixture. Comments are passed over; they stay in the Raw of what follows.
type Reader struct {
	src   io.Reader
	max   int
	buf   []byte
	start int // where the unread part of buf begins
	end   int // and ends
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
	scanned := 0
	for {
		n, scan := blockEnd(r.buf[r.start+scanned:r.end], r.err != nil)
		if n > 0 {
			raw := r.buf[r.start : r.start+scanned+n]
			r.start += len(raw)
			scanned = 0
			if ev, ok := r.parse(raw); ok {
				return ev, nil
			}
			continue
		}
		scanned += scan
		if r.err != nil {
			return Event{}, r.err
		}
		if err := r.fill(); err != nil {
			return Event{}, err
		}
	}
}

// Buffered reports whether another whole event is there without reading on.
func (r *Reader) Buffered() bool {
	n, _ := blockEnd(r.buf[r.start:r.end], r.err != nil)
	return n > 0
}

// Rest is what was read behind the last whole event.
func (r *Reader) Rest() []byte { return r.buf[r.start:r.end] }

// fill reads more of the stream, moving or growing the buffer within the bound.
func (r *Reader) fill() error {
	if r.start > 0 && r.end == len(r.buf) || r.start == r.end {
		r.end = copy(r.buf, r.buf[r.start:r.end])
		r.start = 0
	}
	if r.end == len(r.buf) {
		if len(r.buf) >= r.max {
			return ErrTooLong
		}
		grown := make([]byte, min(max(2*len(r.buf), firstBuffer), r.max))
		r.end = copy(grown, r.buf[r.start:r.end])
		r.start = 0
		r.buf = grown
	}
	n, err := r.src.Read(r.buf[r.end:])
	r.end += n
	if err != nil {
		r.err = err
	}
	return nil
}

// blockEnd is the length of the first block in b that ends with a blank line,
// or 0, and how many bytes need not be looked at again. At the end of the
// stream a lone CR can no longer be the first half of CR LF.
func blockEnd(b []byte, atEnd bool) (length, scanned int) {
	for i := 0; ; {
		j := bytes.IndexAny(b[i:], "\r\n")
		if j < 0 {
			return 0, max(0, lineStart(b))
		}
		line := i + j
		next := line + 1
		if b[line] == '\r' {
			if next == len(b) && !atEnd {
				return 0, lineStart(b[:line])
			}
			if next < len(b) && b[next] == '\n' {
				next++
			}
		}
		if j == 0 { // a blank line
			return next, 0
		}
		i = next
	}
}

// lineStart is where the last, unfinished line of b begins.
func lineStart(b []byte) int {
	return bytes.LastIndexAny(b, "\r\n") + 1
}

// parse reads the fields of one block.
func (r *Reader) parse(raw []byte) (Event, bool) {
	ev := Event{Raw: raw}
	rest := raw
	if !r.begun {
		r.begun = true
		rest = bytes.TrimPrefix(rest, []byte("\xef\xbb\xbf"))
	}
	lines := 0
	for len(rest) > 0 {
		var line []byte
		line, rest = cutLine(rest)
		name, value, _ := bytes.Cut(line, []byte{':'})
		value = bytes.TrimPrefix(value, []byte{' '})
		switch string(name) {
		case "data":
			if lines == 0 {
				ev.Data = value
			} else {
				if lines == 1 {
					r.data = append(r.data[:0], ev.Data...)
				}
				r.data = append(append(r.data, '\n'), value...)
				ev.Data = r.data
			}
			lines++
		case "event":
			ev.Name = value
		}
	}
	return ev, lines > 0 || len(ev.Name) > 0
}

func cutLine(b []byte) (line, rest []byte) {
	i := bytes.IndexAny(b, "\r\n")
	if i < 0 {
		return b, nil
	}
	next := i + 1
	if b[i] == '\r' && next < len(b) && b[next] == '\n' {
		next++
	}
	return b[:i], b[next:]
}

// Append writes one event of a single data line to dst. The name is left out
// when empty; data must not hold a line break, which JSON text never does.
func Append(dst []byte, name string, data []byte) []byte {
	if name != "" {
		dst = append(append(append(dst, "event: "...), name...), '\n')
	}
	dst = append(append(dst, "data: "...), data...)
	return append(dst, "\n\n"...)
}

// AppendComment writes a comment, which clients pass over, to dst.
func AppendComment(dst []byte, text string) []byte {
	return append(append(append(dst, ": "...), text...), "\n\n"...)
}
