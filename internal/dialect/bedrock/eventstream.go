package bedrock

import (
	"encoding/binary"
	"errors"
	"strings"
)

// ContentType is the media type of a stream: https://smithy.io/2.0/aws/amazon-eventstream.html.
const ContentType = "application/vnd.amazon.eventstream"

// A frame consists of the prelude (its length, the length of its headers, the checksum of both), the headers, the
// payload, and the checksum of all of these.
const (
	preludeLen = 12
	sumLen     = 4
	minFrame   = preludeLen + sumLen
)

// Errors of a stream of frames.
var (
	ErrTooLong  = errors.New("bedrock: a frame of the stream is longer than the bound")
	ErrLength   = errors.New("bedrock: a frame of the stream has an impossible length")
	ErrChecksum = errors.New("bedrock: a frame of the stream has a wrong checksum")
	ErrHeaders  = errors.New("bedrock: the headers of a frame of the stream are invalid")
)

// The types of a header's value.
const (
	headerTrue = iota
	headerFalse
	headerByte
	headerShort
	headerInteger
	headerLong
	headerBytes
	headerString
	headerTime
	headerUUID
)

// headers holds the headers of a frame that the reader uses.
type headers struct {
	message   []byte // event, exception or error
	event     []byte
	exception []byte
	errorCode []byte
	errorText []byte
}

// readHeaders reads the headers of a frame.
func readHeaders(b []byte) (h headers, err error) {
	for len(b) > 0 {
		n := 1 + int(b[0])
		if len(b) < n+1 {
			return h, ErrHeaders
		}
		name, kind := b[1:n], b[n]
		value, rest, ok := headerValue(kind, b[n+1:])
		if !ok {
			return h, ErrHeaders
		}
		b = rest
		if place := h.place(name); place != nil && kind == headerString {
			*place = value
		}
	}
	return h, nil
}

// headerValue cuts one value of a type off b.
func headerValue(kind byte, b []byte) (value, rest []byte, ok bool) {
	n, skip := 0, 0
	switch kind {
	case headerTrue, headerFalse:
	case headerByte:
		n = 1
	case headerShort:
		n = 2
	case headerInteger:
		n = 4
	case headerLong, headerTime:
		n = 8
	case headerUUID:
		n = 16
	case headerBytes, headerString:
		if len(b) < 2 {
			return nil, nil, false
		}
		n, skip = int(binary.BigEndian.Uint16(b)), 2
	default:
		return nil, nil, false
	}
	if len(b) < skip+n {
		return nil, nil, false
	}
	return b[skip : skip+n], b[skip+n:], true
}

func (h *headers) place(name []byte) *[]byte {
	switch string(name) {
	case ":message-type":
		return &h.message
	case ":event-type":
		return &h.event
	case ":exception-type":
		return &h.exception
	case ":error-code":
		return &h.errorCode
	case ":error-message":
		return &h.errorText
	}
	return nil
}

const (
	// exceptionSuffix ends the names of all exceptions of the service.
	exceptionSuffix = "Exception"
	// errorName is the name of an unmodelled error.
	errorName = "error"
)

func isException[T string | []byte](name T) bool {
	return strings.HasSuffix(string(name), exceptionSuffix)
}
