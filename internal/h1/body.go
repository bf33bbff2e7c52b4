// Package h1 contains the parts of HTTP/1.1 (RFC 9112) that clients and servers share: finding the end of a body, and
// the characters of header names and values.
package h1

import (
	"errors"
	"io"
	"math"
)

// maxFraming bounds consecutive bytes of framing: the size line of a chunk with its extensions, or all trailers.
const maxFraming = 16 << 10

var (
	errChunk   = errors.New("malformed chunked encoding")
	errFraming = errors.New("chunk extensions or trailers exceed 16 KiB")
)

// Mode tells how the end of a body is found (RFC 9112, section 6.3).
type Mode uint8

// The modes.
const (
	ByLength Mode = iota // declared length
	ByChunks             // chunks, up to an empty one
	ByClose              // end of the connection
)

// Framing finds a body in the bytes of a connection, which may be split anywhere.
type Framing struct {
	Mode  Mode
	Left  int64 // remaining bytes of the body or the chunk
	place place
	line  int // bytes of framing since the last byte of body
}

// place is the position of the next byte in a chunked body (RFC 9112, section 7.1).
type place uint8

const (
	atSize     place = iota // at the first digit of a chunk's size
	inSize                  // behind a digit
	behindSize              // in the white space behind the size
	inExtension
	atSizeLF // behind the CR of a size line
	inData
	atDataCR
	atDataLF
	atTrailer // at the beginning of a line
	inTrailerName
	inTrailer // behind the colon
	atTrailerLF
	atLastLF // behind the CR of the final empty line
	atEnd
)

// Over reports whether there is no body to read.
func (f *Framing) Over() bool { return f.Mode == ByLength && f.Left == 0 }

// Limit returns the part of p that a read may fill without reading beyond a declared length.
func (f *Framing) Limit(p []byte) []byte {
	if f.Mode == ByLength && int64(len(p)) > f.Left {
		return p[:f.Left]
	}
	return p
}

// Decode moves the body to the front of raw, n bytes, and returns how much of raw it used. Its error is io.EOF at the
// end of the body.
func (f *Framing) Decode(raw []byte) (n, used int, err error) {
	switch f.Mode {
	case ByChunks:
		return f.decodeChunks(raw)
	case ByClose:
		return len(raw), len(raw), nil
	}
	n = len(f.Limit(raw))
	if f.Left -= int64(n); f.Left == 0 {
		err = io.EOF
	}
	return n, n, err
}

// Closed returns the error of a body after the connection was closed: io.EOF if the body ends with it.
func (f *Framing) Closed() error {
	if f.Mode == ByClose {
		return io.EOF
	}
	return io.ErrUnexpectedEOF
}

func (f *Framing) decodeChunks(raw []byte) (n, used int, err error) {
	for used < len(raw) {
		if f.place == inData {
			data := raw[used:][:min(f.Left, int64(len(raw)-used))]
			n += copy(raw[n:], data)
			used += len(data)
			if f.Left -= int64(len(data)); f.Left == 0 {
				f.place, f.line = atDataCR, 0
			}
			continue
		}
		if err := f.step(raw[used]); err != nil {
			return n, used, err
		}
		used++
		if f.place == atEnd {
			return n, used, io.EOF
		}
	}
	return n, used, nil
}

// step processes one byte of framing. Unlike in a head, a line must end in CR LF.
func (f *Framing) step(c byte) error {
	if f.line++; f.line > maxFraming {
		return errFraming
	}
	switch f.place {
	case atSize, inSize, behindSize, inExtension:
		return f.stepSize(c)
	case atSizeLF:
		if f.Left == 0 {
			return f.expect(c, '\n', atTrailer)
		}
		return f.expect(c, '\n', inData)
	case atDataCR:
		return f.expect(c, '\r', atDataLF)
	case atDataLF:
		return f.expect(c, '\n', atSize)
	case atTrailerLF:
		return f.expect(c, '\n', atTrailer)
	case atLastLF:
		return f.expect(c, '\n', atEnd)
	}
	return f.stepTrailer(c)
}

func (f *Framing) expect(c, want byte, next place) error {
	if c != want {
		return errChunk
	}
	f.place = next
	return nil
}

func (f *Framing) stepSize(c byte) error {
	digit, isDigit := hexDigit(c)
	switch {
	case isDigit && f.place <= inSize:
		if f.Left > math.MaxInt64>>4 {
			return errChunk
		}
		f.Left, f.place = f.Left<<4|digit, inSize
	case f.place == atSize:
		return errChunk
	case c == '\r':
		f.place = atSizeLF
	case f.place == inExtension && c != '\n':
	case c == ';':
		f.place = inExtension
	case c == ' ' || c == '\t':
		f.place = behindSize
	default:
		return errChunk
	}
	return nil
}

func (f *Framing) stepTrailer(c byte) error {
	switch {
	case c == '\r' && f.place == atTrailer:
		f.place = atLastLF
	case c == '\r' && f.place == inTrailer:
		f.place = atTrailerLF
	case f.place == inTrailer && isText(c):
	case c == ':' && f.place == inTrailerName:
		f.place = inTrailer
	case f.place != inTrailer && isToken(c):
		f.place = inTrailerName
	default:
		return errChunk
	}
	return nil
}

func hexDigit(c byte) (int64, bool) {
	switch {
	case '0' <= c && c <= '9':
		return int64(c - '0'), true
	case 'a' <= c && c <= 'f':
		return int64(c-'a') + 10, true
	case 'A' <= c && c <= 'F':
		return int64(c-'A') + 10, true
	}
	return 0, false
}
