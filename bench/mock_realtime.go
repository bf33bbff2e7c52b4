package main

import (
	"bufio"
	"bytes"
	"crypto/sha1" //nolint:gosec // the protocol's (RFC 6455, section 4.2.2)
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
)

// realtimePath is the path of a session at the mock, and of nginx's location for upgrades.
const realtimePath = "/v1/realtime"

// Events of a Realtime session, without their content at @. The mock answers each of the client's with one of its own
// of the same length.
const (
	openedEvent = `{"type":"session.created","event_id":"event_bench","session":{"object":"realtime.session",` +
		`"type":"realtime","id":"sess_bench","model":"small","audio":{"input":{"turn_detection":null}}}}`
	askedEvent  = `{"type":"input_audio_buffer.append","event_id":"event_bench0123456789","audio":"@"}`
	answerEvent = `{"type":"response.output_audio.delta","event_id":"event_bench0123456789",` +
		`"response_id":"resp_bench","item_id":"item_bench","output_index":0,"content_index":0,"delta":"@"}`
)

// event fills an event up to a length, with sound in base64.
func event(form string, length int) []byte {
	front, back, _ := strings.Cut(form, "@")
	return []byte(front + strings.Repeat("A", max(0, length-len(front)-len(back))) + back)
}

// mostFrame bounds a frame, in bytes.
const mostFrame = 1 << 20

// appendFrame appends a text message in one frame (RFC 6455, section 5.2), masked as from a client if there is a mask.
func appendFrame(dst, content, mask []byte) []byte {
	const text, length16, length64, masked = 0x81, 126, 127, 0x80
	bit := byte(0)
	if mask != nil {
		bit = masked
	}
	switch n := len(content); {
	case n < length16:
		dst = append(dst, text, bit|byte(n))
	case n < 1<<16:
		dst = binary.BigEndian.AppendUint16(append(dst, text, bit|length16), uint16(n))
	default:
		dst = binary.BigEndian.AppendUint64(append(dst, text, bit|length64), uint64(n))
	}
	dst = append(dst, mask...)
	at := len(dst)
	dst = append(dst, content...)
	for i := range content {
		if mask != nil {
			dst[at+i] ^= mask[i%len(mask)]
		}
	}
	return dst
}

// The first byte of a ping, and that of its answer.
const (
	pingFrame = 0x89
	pongFrame = 0x8a
)

// skipFrame reads a frame, and returns its first byte and the length of its content. It leaves the content of a ping.
func skipFrame(in *bufio.Reader) (first byte, length int, err error) {
	var head [14]byte
	if _, err = io.ReadFull(in, head[:2]); err != nil {
		return 0, 0, err
	}
	more, mask := 0, 0
	switch length = int(head[1] & 0x7f); length {
	case 126:
		more = 2
	case 127:
		more = 8
	}
	if head[1]&0x80 != 0 {
		mask = 4
	}
	if _, err = io.ReadFull(in, head[2:2+more+mask]); err != nil {
		return 0, 0, err
	}
	if more > 0 {
		length = 0
		for _, b := range head[2 : 2+more] {
			length = length<<8 | int(b)
		}
	}
	if length < 0 || length > mostFrame {
		return 0, 0, fmt.Errorf("a frame of %d bytes", length)
	}
	if head[0] != pingFrame {
		_, err = in.Discard(length)
	}
	return head[0], length, err
}

// acceptOf returns the answer to the key of a handshake.
func acceptOf(key string) string {
	sum := sha1.Sum([]byte(key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11")) //nolint:gosec // see the import
	return base64.StdEncoding.EncodeToString(sum[:])
}

// talk serves a Realtime session: it answers each frame with one of the same length.
func (m *mock) talk(conn net.Conn, in *bufio.Reader, key string) error {
	out := fmt.Appendf(nil, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"+
		"Sec-WebSocket-Accept: %s\r\n\r\n", acceptOf(key))
	out = appendFrame(out, []byte(openedEvent), nil)
	answers := map[int][]byte{}
	for {
		if _, err := conn.Write(out); err != nil {
			return errors.Join(err, io.EOF)
		}
		_, n, err := skipFrame(in)
		if err != nil {
			return errors.Join(err, io.EOF)
		}
		if answers[n] == nil {
			answers[n] = appendFrame(nil, event(answerEvent, n), nil)
		}
		out = answers[n]
	}
}

// opens reports whether a head asks for a session.
func (h *head) opens() bool {
	return h.key != "" && bytes.Contains([]byte(h.first), []byte(realtimePath+"?"))
}
