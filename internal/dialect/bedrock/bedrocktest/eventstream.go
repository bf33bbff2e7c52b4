package bedrocktest

import (
	"encoding/binary"
	"hash/crc32"
	"strings"
)

// The lengths of a frame's prelude and of its checksum, and the type of a header with text.
const (
	preludeLen   = 12
	sumLen       = 4
	stringHeader = 7
)

// AppendFrame writes one event with a JSON payload. An event with a name that ends in "Exception" becomes an exception.
func AppendFrame(dst []byte, name string, data []byte) []byte {
	start := len(dst)
	dst = append(dst, make([]byte, preludeLen)...)
	message, typed := "event", ":event-type"
	if strings.HasSuffix(name, "Exception") {
		message, typed = "exception", ":exception-type"
	}
	dst = appendHeader(dst, typed, name)
	dst = appendHeader(dst, ":content-type", "application/json")
	dst = appendHeader(dst, ":message-type", message)
	headersLen := len(dst) - start - preludeLen
	dst = append(dst, data...)
	frame := dst[start:]
	binary.BigEndian.PutUint32(frame, uint32(len(frame)+sumLen))
	binary.BigEndian.PutUint32(frame[4:], uint32(headersLen))
	binary.BigEndian.PutUint32(frame[8:], crc32.ChecksumIEEE(frame[:8]))
	return binary.BigEndian.AppendUint32(dst, crc32.ChecksumIEEE(frame))
}

// maxHeaderValue is the longest value of a header.
const maxHeaderValue = 1<<15 - 1

func appendHeader(dst []byte, name, value string) []byte {
	value = value[:min(len(value), maxHeaderValue)]
	dst = append(append(dst, byte(len(name))), name...)
	dst = binary.BigEndian.AppendUint16(append(dst, stringHeader), uint16(len(value)))
	return append(dst, value...)
}
