package pgtest

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/url"
	"sync"
	"testing"

	"weir/internal/must"
)

// Cut says when a Proxy cuts a connection that commits.
type Cut int

// Times when a connection is cut.
const (
	CutNever    Cut = iota
	CutBefore       // the server does not receive the commit
	CutAtCommit     // right after the commit: the server may receive it, the client gets no answer
	CutAnswer       // the server has committed, the client gets no answer
)

// Proxy forwards between clients and a server, and cuts connections at times that a test chooses. It reads the
// protocol, so clients must not encrypt.
type Proxy struct {
	listener net.Listener
	target   string
	running  sync.WaitGroup

	mu     sync.Mutex
	closed bool
	plan   Cut
	left   int // connections still to be cut
	cuts   int
	links  map[*link]bool
}

// link is one connection through the proxy.
type link struct{ client, server net.Conn }

func (l *link) close() { _ = errors.Join(l.client.Close(), l.server.Close()) } // it may be closed already

// NewProxy starts a proxy to the server at HOST:PORT, which ends with the test.
func NewProxy(t testing.TB, target string) *Proxy {
	t.Helper()
	listener := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	p := &Proxy{listener: listener, target: target, links: map[*link]bool{}}
	p.running.Go(p.accept)
	t.Cleanup(p.close)
	return p
}

// URL returns the URL of a database of the server through the proxy.
func (p *Proxy) URL(database string) string {
	u := url.URL{
		Scheme: "postgres", User: url.User(user), Host: p.listener.Addr().String(), Path: "/" + database,
		RawQuery: "sslmode=disable",
	}
	return u.String()
}

// CutCommits cuts the next n connections that commit.
func (p *Proxy) CutCommits(plan Cut, n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.plan, p.left = plan, n
}

// Cuts returns how many connections CutCommits has cut so far.
func (p *Proxy) Cuts() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cuts
}

func (p *Proxy) close() {
	p.mu.Lock()
	p.closed = true
	_ = p.listener.Close() // it ends accept
	for l := range p.links {
		l.close()
	}
	p.mu.Unlock()
	p.running.Wait()
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.running.Go(func() { p.serve(client) })
	}
}

func (p *Proxy) serve(client net.Conn) {
	defer func() { _ = client.Close() }() // it may be closed already
	p.mu.Lock()
	closed := p.closed
	p.mu.Unlock()
	if closed {
		return
	}
	server, err := net.Dial("tcp", p.target)
	if err != nil {
		return
	}
	l := &link{client, server}
	defer l.close()
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return
	}
	p.links[l] = true
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.links, l)
	}()
	var both sync.WaitGroup
	both.Go(func() { p.relay(l, l.client, l.server, p.request) })
	both.Go(func() { p.relay(l, l.server, l.client, p.answer) })
	both.Wait()
}

// relay copies until an end closes or look returns that the connection must be cut; look also returns how many bytes
// are still forwarded.
func (p *Proxy) relay(l *link, from io.Reader, to io.Writer, look func(b []byte) (pass int, cut bool)) {
	defer l.close()
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		pass, cut := look(buf[:n])
		if cut { // before a quick answer can reach the client
			_ = l.client.Close()
		}
		if pass > 0 {
			if _, err := to.Write(buf[:pass]); err != nil {
				return
			}
		}
		if err != nil || cut {
			return
		}
	}
}

// request checks the messages of a client. The end of a transaction is a message of its own, in one piece.
func (p *Proxy) request(b []byte) (int, bool) {
	at := bytes.Index(bytes.ToLower(b), []byte("commit\x00"))
	if at < 0 {
		return len(b), false
	}
	switch {
	case p.take(CutBefore):
		return 0, true
	case p.take(CutAtCommit):
		return len(b), true
	}
	return len(b), false
}

// answer checks the messages of the server.
func (p *Proxy) answer(b []byte) (int, bool) {
	if bytes.Contains(b, []byte("COMMIT\x00")) && p.take(CutAnswer) {
		return 0, true
	}
	return len(b), false
}

// take reports whether a connection must be cut now.
func (p *Proxy) take(plan Cut) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.plan != plan || p.left == 0 {
		return false
	}
	p.left--
	p.cuts++
	return true
}
