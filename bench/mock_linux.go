package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync"
	"time"
)

// maxRequest bounds a request, head and body.
const maxRequest = 64 << 10

// maxWait bounds what the name of a model makes a reply wait.
const maxWait = 10 * time.Second

func mockCommand(ctx context.Context, args []string, stderr io.Writer) error {
	fs := flag.NewFlagSet("bench mock", flag.ContinueOnError)
	listen := fs.String("listen", "127.0.0.1:9000", "loopback `address` to listen on")
	cert := fs.String("cert", "", "`file` of a certificate: answer over TLS")
	key := fs.String("key", "", "`file` of its key")
	if err := parse(fs, args, stderr); err != nil {
		return err
	}
	at, err := loopback(*listen)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", at.String())
	if err != nil {
		return err
	}
	if *cert != "" {
		pair, err := tls.LoadX509KeyPair(*cert, *key)
		if err != nil {
			return errors.Join(err, l.Close())
		}
		l = tls.NewListener(l, &tls.Config{Certificates: []tls.Certificate{pair}})
	}
	fmt.Fprintf(stderr, "mock listening on http://%s\n", l.Addr())
	return serveMock(ctx, l)
}

// loopback reads an address that no other machine can reach.
func loopback(s string) (netip.AddrPort, error) {
	at, err := netip.ParseAddrPort(s)
	if err != nil || !at.Addr().Is4() || !at.Addr().IsLoopback() {
		return at, fmt.Errorf("%w: the address %q must be 127.0.0.1:PORT: the benchmark stays on loopback", errUsage, s)
	}
	return at, nil
}

// mock is a provider that speaks OpenAI's Chat Completions and costs almost
// nothing: a goroutine for each connection, prepared answers, one write each.
type mock struct {
	clock   clock
	replies *mockReplies

	mu    sync.Mutex
	conns map[net.Conn]struct{}
}

// serveMock answers on l until ctx ends.
func serveMock(ctx context.Context, l net.Listener) error {
	m := &mock{clock: newClock(), replies: newMockReplies(), conns: map[net.Conn]struct{}{}}
	var running sync.WaitGroup
	defer running.Wait()
	stop := context.AfterFunc(ctx, func() { _ = l.Close(); m.closeAll() })
	defer stop()
	for {
		conn, err := l.Accept()
		if ctx.Err() != nil {
			m.closeAll()
			return nil
		}
		if err != nil {
			return fmt.Errorf("accept: %w", err)
		}
		m.track(conn)
		running.Go(func() { m.serve(conn) })
	}
}

func (m *mock) track(conn net.Conn) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.conns[conn] = struct{}{}
}

func (m *mock) closeAll() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for conn := range m.conns {
		_ = conn.Close()
	}
}

// serve answers one connection, request after request, until it ends.
func (m *mock) serve(conn net.Conn) {
	defer func() {
		_ = conn.Close()
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(m.conns, conn)
	}()
	r := requestReader{conn: conn, buf: make([]byte, 4<<10)}
	for {
		body, err := r.next()
		if err == nil {
			err = m.answer(conn, body)
		}
		if bad := (*badRequest)(nil); errors.As(err, &bad) {
			_, _ = fmt.Fprintf(conn, "HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s", len(bad.text), bad.text)
		}
		if err != nil {
			return
		}
	}
}

func (m *mock) answer(conn net.Conn, body []byte) error {
	if !bytes.Contains(body, []byte(`"stream":true`)) {
		time.Sleep(parseWait(modelOf(body)))
		_, err := conn.Write(m.replies.whole)
		return err
	}
	s, err := parseShape(modelOf(body))
	if err != nil {
		return &badRequest{err.Error()}
	}
	return m.stream(conn, s)
}

// parseWait is how long a whole reply is waited for: 100 ms for the model
// w100ms, not at all for any other name.
func parseWait(model string) time.Duration {
	text, ok := strings.CutPrefix(model, "w")
	if d, err := time.ParseDuration(text); ok && err == nil {
		return min(max(d, 0), maxWait)
	}
	return 0
}

// modelOf is the model of a request, as far as needed to read the shape of it.
func modelOf(body []byte) string {
	_, rest, _ := bytes.Cut(body, []byte(`"model":"`))
	name, _, _ := bytes.Cut(rest, []byte(`"`))
	return string(name)
}

// stream sends the pieces, each in a write of its own, at times that do not
// drift.
func (m *mock) stream(conn net.Conn, s shape) error {
	if _, err := conn.Write(m.replies.begin); err != nil {
		return err
	}
	piece := bytes.Clone(m.replies.piece)
	due := time.Now()
	for range s.pieces {
		putStamp(piece[m.replies.stamp:], m.clock.now())
		if _, err := conn.Write(piece); err != nil {
			return err
		}
		if s.delay > 0 {
			due = due.Add(s.delay)
			time.Sleep(time.Until(due))
		}
	}
	for _, p := range [][]byte{m.replies.finish, m.replies.usage, m.replies.done} {
		if _, err := conn.Write(p); err != nil {
			return err
		}
	}
	return nil
}

// badRequest is a request that the mock does not understand.
type badRequest struct{ text string }

func (e *badRequest) Error() string { return e.text }

// requestReader reads requests off a keep-alive connection.
type requestReader struct {
	conn io.Reader
	buf  []byte
	n    int // bytes read
	used int // bytes of the request that was given last
}

// next is the body of the next request. It is valid until the next call.
func (r *requestReader) next() ([]byte, error) {
	r.n = copy(r.buf, r.buf[r.used:r.n])
	r.used = 0
	for {
		if i := bytes.Index(r.buf[:r.n], headEnd); i >= 0 {
			return r.body(r.buf[:i], i+len(headEnd))
		}
		if err := r.fill(maxRequest); err != nil {
			return nil, err
		}
	}
}

// body reads the body behind a head that ends at start.
func (r *requestReader) body(head []byte, start int) ([]byte, error) {
	length, err := contentLength(head)
	if err != nil {
		return nil, err
	}
	for r.n < start+length {
		if err := r.fill(start + length); err != nil {
			return nil, err
		}
	}
	r.used = start + length
	return r.buf[start:r.used], nil
}

// fill reads more, into a buffer that grows to at most maxRequest.
func (r *requestReader) fill(want int) error {
	if r.n == len(r.buf) {
		if r.n >= maxRequest || want > maxRequest {
			return &badRequest{"the request is over 64 KiB"}
		}
		r.buf = append(r.buf, make([]byte, len(r.buf))...)
	}
	n, err := r.conn.Read(r.buf[r.n:])
	r.n += n
	if n > 0 {
		return nil
	}
	return err
}

// contentLength is the length of the body; 0 where the head names none.
func contentLength(head []byte) (int, error) {
	_, fields, _ := bytes.Cut(head, lineEnd)
	for len(fields) > 0 {
		var field []byte
		field, fields, _ = bytes.Cut(fields, lineEnd)
		name, value, _ := bytes.Cut(field, []byte(":"))
		switch {
		case len(name) == len("Content-Length") && bytes.EqualFold(name, []byte("Content-Length")):
			n := digits(bytes.TrimSpace(value))
			if n < 0 || n > maxRequest {
				return 0, &badRequest{"the Content-Length must be a number of at most 65536"}
			}
			return int(n), nil
		case len(name) == len("Transfer-Encoding") && bytes.EqualFold(name, []byte("Transfer-Encoding")):
			return 0, &badRequest{"send a Content-Length: chunks are not read here"}
		}
	}
	return 0, nil
}
