package bedrock

import (
	"encoding/binary"
	"hash/crc32"
	"io"

	"weir/internal/rawjson"
	"weir/internal/sse"
)

const (
	firstBuffer   = 4 << 10
	maxEmptyReads = 100 // consecutive reads without a byte before the reader gives up
)

// Reader splits a stream into frames and verifies both checksums. It buffers at most one frame, in at most twice the
// memory that has arrived of it.
type Reader struct {
	src   io.Reader
	max   int
	buf   []byte
	start int // start of the unread part of buf
	end   int // end of that part
	data  []byte
	err   error // the end of the stream
}

// NewReader returns a reader of frames of at most max bytes each, including prelude and checksums.
func NewReader(src io.Reader, max int) *Reader {
	return &Reader{src: src, max: max}
}

// Next returns the next frame. Its name is the event's type, or that of an exception, which ends in "Exception"; an
// unmodelled error has the name "error" and data such as {"__type":"InternalError","message":"..."}. At the end of the
// stream it returns io.EOF, within a frame io.ErrUnexpectedEOF; after any error the stream has ended.
func (r *Reader) Next() (sse.Event, error) {
	for r.err == nil {
		n, err := r.frameLen()
		if err != nil {
			r.err = err
			break
		}
		if n > 0 && r.end-r.start >= n {
			ev, err := r.parse(r.buf[r.start : r.start+n])
			r.start += n
			r.err = err
			return ev, err
		}
		if err := r.fill(); err != nil {
			r.err = err
		}
	}
	return sse.Event{}, r.err
}

// Buffered reports whether another whole frame is in the buffer.
func (r *Reader) Buffered() bool {
	n, err := r.frameLen()
	return r.err == nil && err == nil && n > 0 && r.end-r.start >= n
}

// Rest returns the bytes that were read after the last returned frame.
func (r *Reader) Rest() []byte { return r.buf[r.start:r.end] }

// frameLen returns the length of the frame at start, 0 if its prelude is incomplete. It verifies the checksum of the
// length first.
func (r *Reader) frameLen() (int, error) {
	b := r.buf[r.start:r.end]
	if len(b) < preludeLen {
		return 0, nil
	}
	total, headersLen := binary.BigEndian.Uint32(b), binary.BigEndian.Uint32(b[4:])
	switch {
	case binary.BigEndian.Uint32(b[8:]) != crc32.ChecksumIEEE(b[:8]):
		return 0, ErrChecksum
	case total < minFrame || headersLen > total-minFrame:
		return 0, ErrLength
	case uint64(total) > uint64(r.max):
		return 0, ErrTooLong
	}
	return int(total), nil
}

// fill reads more of the stream, and moves or grows the buffer.
func (r *Reader) fill() error {
	if r.end == len(r.buf) || r.start == r.end || sse.IsOversized(len(r.buf), r.end-r.start) {
		r.buf, r.end = sse.MoveToFront(r.buf, r.start, r.end)
		r.start = 0
	}
	if r.end == len(r.buf) {
		grown := make([]byte, max(2*len(r.buf), firstBuffer))
		copy(grown, r.buf[:r.end])
		r.buf = grown
	}
	for range maxEmptyReads {
		n, err := r.src.Read(r.buf[r.end:])
		r.end += n
		switch {
		case n > 0:
			return nil // the next read returns the error again
		case err == io.EOF && r.end > r.start:
			return io.ErrUnexpectedEOF
		case err != nil:
			return err
		}
	}
	return io.ErrNoProgress
}

// parse reads one whole frame.
func (r *Reader) parse(frame []byte) (sse.Event, error) {
	body := frame[:len(frame)-sumLen]
	if binary.BigEndian.Uint32(frame[len(body):]) != crc32.ChecksumIEEE(body) {
		return sse.Event{}, ErrChecksum
	}
	behind := preludeLen + int(binary.BigEndian.Uint32(frame[4:]))
	h, err := readHeaders(frame[preludeLen:behind])
	if err != nil {
		return sse.Event{}, err
	}
	ev := sse.Event{Data: body[behind:], Raw: frame}
	switch string(h.message) {
	case "event":
		ev.Name = h.event
	case "exception":
		ev.Name = h.exception
		if !isException(h.exception) {
			ev.Name = []byte(errorName)
		}
	case "error":
		ev.Name = []byte(errorName)
		r.data = rawjson.AppendString(append(r.data[:0], `{"__type":`...), string(h.errorCode))
		r.data = append(rawjson.AppendString(append(r.data, `,"message":`...), string(h.errorText)), '}')
		ev.Data = r.data
	}
	if len(ev.Name) == 0 {
		return sse.Event{}, ErrHeaders
	}
	return ev, nil
}
