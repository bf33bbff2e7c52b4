//go:build linux

package hostiletest_test

import (
	"bufio"
	"bytes"
	"compress/flate"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// First bytes of frames (RFC 6455, section 5.2).
const (
	wsText      = 0x81
	wsBegun     = 0x01 // a text that continues
	wsContinued = 0x00
	wsPing      = 0x89
	wsPacked    = 0xc1 // a compressed text
)

// wsAsks is a request over a WebSocket.
func wsAsks(model, more string) string {
	return `{"type":"response.create","model":"` + model + `","store":false,"input":"x"` + more + `}`
}

func socketAttacks() []attack {
	bomb := &bytes.Buffer{}
	w, _ := flate.NewWriter(bomb, flate.BestCompression)
	_, _ = w.Write(make([]byte, 64<<20))
	_ = w.Flush()
	deep := wsAsks(goodModel, `,"metadata":{"x":`+strings.Repeat("[", 10_000)+strings.Repeat("]", 10_000)+`}`)
	return []attack{
		{name: "WebSockets: floods of pings", held: "beyond 36 KiB of pings, more than 1 KiB a second ends the connection", check: only(closed), hostile: sends(bytes.Repeat(wsFrame(wsPing, nil), 50_000))},
		{name: "WebSockets: floods of empty fragments", held: "so do the heads of frames", check: only(closed), hostile: sends(wsFrame(wsBegun, nil), bytes.Repeat(wsFrame(wsContinued, nil), 50_000))},
		{name: "WebSockets: one byte a fragment", held: "beyond an eighth of the content", check: only(closed), hostile: sends(wsFrame(wsBegun, nil), bytes.Repeat(wsFrame(wsContinued, []byte("x")), 50_000))},
		{name: "WebSockets: no masks", held: "the connection ends", check: only(closed), hostile: sends([]byte{wsText, 2, '{', '}'})},
		{name: "WebSockets: reserved bits and kinds", held: "1002", check: only(closed, "1002"), hostile: sends(wsFrame(wsText|0x30, []byte("{}")))},
		{name: "WebSockets: giant frames", held: "1009 beyond max_body; an announced length takes no memory", check: only(closed, "1009"), lasts: strict(4*time.Second, 2*time.Second), hostile: giantFrames},
		{name: "WebSockets: compression bombs", held: "1002: compression is declined", check: only(closed, "1002"), hostile: sends(wsFrame(wsPacked, bomb.Bytes()))},
		{name: "WebSockets: messages 10,000 deep", held: "400 beyond 100 levels", check: only(closed, `"status":400`), hostile: sends(wsFrame(wsText, []byte(deep)))},
		{name: "WebSockets: messages that do not end", held: "a message has 60 s, and counts by account as it comes", hostile: unendingMessages, lasts: strict(6*time.Second, 3*time.Second)},
		{name: "WebSockets: slow readers of answers", held: "an answer that is not taken waits, and others go on", hostile: deafSockets, lasts: strict(6*time.Second, 3*time.Second)},
		{name: "WebSockets: all lanes full", held: "32 requests a WebSocket; the account's share for all", hostile: fullLanes, lasts: strict(6*time.Second, 3*time.Second)},
		{name: "WebSockets: idle ones", held: "11 KB each, 18 over TLS, by account at most 80 % of the places", hostile: idleSockets, lasts: strict(6*time.Second, 3*time.Second)},
	}
}

// wsFrame returns a masked frame, whose mask is zero.
func wsFrame(first byte, content []byte) []byte {
	b := []byte{first, 0x80}
	switch n := len(content); {
	case n < 126:
		b[1] |= byte(n)
	case n < 1<<16:
		b[1] |= 126
		b = binary.BigEndian.AppendUint16(b, uint16(n))
	default:
		b[1] |= 127
		b = binary.BigEndian.AppendUint64(b, uint64(n))
	}
	return append(append(b, 0, 0, 0, 0), content...)
}

// openSocket opens a WebSocket; nil if that fails, which it counts.
func (a *attacker) openSocket() (net.Conn, *bufio.Reader) {
	conn := a.dial()
	if conn == nil {
		return nil, nil
	}
	_ = conn.SetDeadline(time.Now().Add(patience))
	_, _ = io.WriteString(conn, "GET "+responsesPath+" HTTP/1.1\r\nHost: "+a.address+"\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"+
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nAuthorization: Bearer "+a.key+"\r\n\r\n")
	in := bufio.NewReader(conn)
	res, err := http.ReadResponse(in, nil)
	if err != nil || res.StatusCode != http.StatusSwitchingProtocols {
		a.count("no WebSocket")
		_ = conn.Close()
		return nil, nil
	}
	return conn, in
}

// sends opens WebSockets, sends the bytes and counts how the gateway ends them.
func sends(frames ...[]byte) func(a *attacker) {
	all := bytes.Join(frames, nil)
	return func(a *attacker) {
		a.many(4, 20*time.Millisecond, func(int) {
			conn, in := a.openSocket()
			if conn == nil {
				return
			}
			defer conn.Close()
			go func() { _, _ = conn.Write(all) }()
			a.count(a.howEnds(in))
		})
	}
}

// howEnds returns the code of the close frame, the status of an error, or that the connection was closed.
func (a *attacker) howEnds(in *bufio.Reader) string {
	for {
		head := make([]byte, 2)
		if _, err := io.ReadFull(in, head); err != nil {
			return closed
		}
		n := int64(head[1] & 0x7f)
		if n == 126 {
			long := make([]byte, 2)
			_, _ = io.ReadFull(in, long)
			n = int64(binary.BigEndian.Uint16(long))
		}
		content, err := io.ReadAll(io.LimitReader(in, n))
		switch {
		case err != nil:
			return closed
		case head[0] == 0x88 && len(content) >= 2:
			return fmt.Sprint(binary.BigEndian.Uint16(content))
		case bytes.Contains(content, []byte(`"status":400`)):
			return `"status":400`
		}
	}
}

// giantFrames sends messages longer than any may be, and announces still longer ones.
func giantFrames(a *attacker) {
	head := []byte{wsText, 0xff, 0, 0, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0}
	a.many(2, 50*time.Millisecond, func(int) {
		conn, in := a.openSocket()
		if conn == nil {
			return
		}
		defer conn.Close()
		_, _ = conn.Write(head)
		go func() { _, _ = io.Copy(conn, endless{a.ctx}) }()
		a.count(a.howEnds(in))
	})
}

// heldSockets opens WebSockets, sends to each, reads nothing and keeps them.
func (a *attacker) heldSockets(n int, frames []byte) {
	for range n {
		conn, _ := a.openSocket()
		if conn == nil {
			return
		}
		defer conn.Close()
		a.count("WebSockets")
		_, _ = conn.Write(frames)
		if !a.pause(2 * time.Millisecond) {
			return
		}
	}
	<-a.ctx.Done()
}

func unendingMessages(a *attacker) {
	a.heldSockets(long(100, 20), wsFrame(wsBegun, bytes.Repeat([]byte(" "), 1<<20)))
}

func deafSockets(a *attacker) {
	a.heldSockets(long(20, 5), wsFrame(wsText, []byte(wsAsks("wide/wide", ""))))
}

func fullLanes(a *attacker) {
	var all []byte
	for i := range 64 {
		all = append(all, wsFrame(wsText, []byte(wsAsks("wide/wide", fmt.Sprintf(`,"stream_id":"%d"`, i%20))))...)
	}
	a.heldSockets(long(20, 5), all)
}

func idleSockets(a *attacker) { a.heldSockets(connections(), nil) }
