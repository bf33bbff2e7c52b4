package httpserver_test

import (
	"bufio"
	"cmp"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"weir/internal/httpserver"
	"weir/internal/must"
)

// served starts a server of up to most connections. A request to /wait is answered after the channel sends.
func served(t *testing.T, secure *tls.Config, most int) (address string, arrived, wait chan struct{}) {
	t.Helper()
	arrived, wait = make(chan struct{}), make(chan struct{})
	_, address = started(t, httpserver.Options{Secure: secure, Most: most, Handler: http.HandlerFunc(
		func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/wait" {
				arrived <- struct{}{}
				<-wait
			}
			if r.TLS != nil {
				w.Header().Set("X-TLS", r.Proto)
			}
		})})
	return address, arrived, wait
}

// started starts a server that ends with the test.
func started(t *testing.T, o httpserver.Options) (s *httpserver.Server, address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must.Do(t, err)
	o.MaxHead, o.HeadTime, o.IdleTime = 32<<10, cmp.Or(o.HeadTime, time.Minute), cmp.Or(o.IdleTime, idleTime)
	o.Most = cmp.Or(o.Most, 100)
	s = httpserver.New(o)
	var running sync.WaitGroup
	running.Go(func() { _ = s.Serve(l) })
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		_ = s.Shutdown(ctx)
		_ = s.Close()
		running.Wait()
	})
	return s, l.Addr().String()
}

// idleTime is longer than any test here leaves a connection idle that it continues.
const idleTime = 2 * time.Second

// settle is the longest time until a server marks a connection as idle after its answer was read.
const settle = 200 * time.Millisecond

func dial(t *testing.T, address string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", address)
	must.Do(t, err)
	t.Cleanup(func() { _ = c.Close() })
	must.Do(t, c.SetDeadline(time.Now().Add(10*time.Second)))
	return c
}

func send(t *testing.T, c net.Conn, path string) {
	t.Helper()
	_, err := io.WriteString(c, "GET "+path+" HTTP/1.1\r\nHost: x\r\n\r\n")
	must.Do(t, err)
}

// status returns the answer's status; 0 for a closed connection.
func status(c net.Conn) int {
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return 0
	}
	_ = resp.Body.Close()
	return resp.StatusCode
}

func want(t *testing.T, what string, c net.Conn, code int) {
	t.Helper()
	if got := status(c); got != code {
		t.Errorf("%s: got %d, want %d", what, got, code)
	}
}

// TestMostConnections checks that the connection without a request for the longest time is closed, never one with a
// request, and that the new one is closed if all have requests.
func TestMostConnections(t *testing.T) {
	t.Parallel()
	address, arrived, wait := served(t, nil, 3)
	busy := dial(t, address)
	send(t, busy, "/wait")
	<-arrived
	kept := dial(t, address)
	send(t, kept, "/")
	want(t, "a first request", kept, http.StatusOK)
	time.Sleep(settle)
	silent := dial(t, address)

	fourth := dial(t, address)
	send(t, fourth, "/")
	answer, err := http.ReadResponse(bufio.NewReader(fourth), nil)
	must.Do(t, err)
	if answer.StatusCode != http.StatusOK || !answer.Close {
		t.Errorf("a connection too many: got %d, closed %t; want 200, closed: places are short", answer.StatusCode, answer.Close)
	}
	want(t, "the longest idle", kept, 0)
	fifth, sixth := dial(t, address), dial(t, address)
	for _, c := range []net.Conn{fifth, sixth} {
		send(t, c, "/wait")
		<-arrived
	}
	want(t, "one that has never sent anything", silent, 0)
	seventh := dial(t, address)
	want(t, "where all have a request", seventh, 0)

	for range 3 {
		wait <- struct{}{}
	}
	for _, c := range []net.Conn{busy, fifth, sixth} {
		want(t, "one with a request", c, http.StatusOK)
	}
	time.Sleep(settle)
	last := dial(t, address)
	send(t, last, "/")
	want(t, "when they are over", last, http.StatusOK)
}

// TestRefusedConnectionEnds checks that a connection ends after a refusal.
func TestRefusedConnectionEnds(t *testing.T) {
	t.Parallel()
	address, _, _ := served(t, nil, 3)
	c := dial(t, address)
	for _, piece := range []string{"GET / HTTP/1.1\r\n", "Host: x\nX: y\r\n", "Host: x\r\n\r\n"} {
		_, _ = io.WriteString(c, piece) // it may be closed
		time.Sleep(settle / 4)
	}
	want(t, "a head of which a part was refused", c, http.StatusBadRequest)
}

// TestTLS checks that HTTP/1.1 over TLS is as strict as without, and that there is also HTTP/2.
func TestTLS(t *testing.T) {
	t.Parallel()
	example := httptest.NewTLSServer(nil)
	example.Close()
	address, _, _ := served(t, &tls.Config{Certificates: example.TLS.Certificates, MinVersion: tls.VersionTLS12}, 2)
	stalled := dial(t, address) // which never agrees on TLS
	for _, proto := range []string{"HTTP/1.1", "HTTP/2.0"} {
		transport := &http.Transport{
			TLSClientConfig: example.Client().Transport.(*http.Transport).TLSClientConfig.Clone(), ForceAttemptHTTP2: proto == "HTTP/2.0",
		}
		if proto == "HTTP/1.1" {
			transport.TLSClientConfig.NextProtos = []string{"http/1.1"}
		}
		resp, err := (&http.Client{Transport: transport, Timeout: 10 * time.Second}).Get("https://" + address + "/")
		must.Do(t, err)
		_ = resp.Body.Close()
		if got := resp.Header.Get("X-TLS"); got != proto || resp.StatusCode != http.StatusOK {
			t.Errorf("got %d over %q, want 200 over %s", resp.StatusCode, got, proto)
		}
		if proto == "HTTP/1.1" { // the other one replaces it
			continue
		}
		transport.CloseIdleConnections()
	}
	want(t, "one that never agreed on TLS", stalled, 0)
	resp, err := http.Get("http://" + address + "/")
	must.Do(t, err)
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusBadRequest || !resp.Close {
		t.Errorf("plain http where TLS is spoken: got %d, closed %t; want 400, closed", resp.StatusCode, resp.Close)
	}
	c, err := tls.Dial("tcp", address, &tls.Config{InsecureSkipVerify: true})
	must.Do(t, err)
	t.Cleanup(func() { _ = c.Close() })
	_, err = io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\nContent-Length: 0\r\n\r\n")
	must.Do(t, err)
	want(t, "a line that ends in LF", c, http.StatusBadRequest)
	c, err = tls.Dial("tcp", address, &tls.Config{InsecureSkipVerify: true})
	must.Do(t, err)
	t.Cleanup(func() { _ = c.Close() })
	_, err = io.WriteString(c, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
	must.Do(t, err)
	want(t, "HTTP/2 without agreement", c, http.StatusHTTPVersionNotSupported)
}

// TestIdleConnectionsEnd checks that a connection is closed after its idle time, and never with a request.
func TestIdleConnectionsEnd(t *testing.T) {
	t.Parallel()
	address, arrived, wait := served(t, nil, 10)
	busy, silent, idle := dial(t, address), dial(t, address), dial(t, address)
	send(t, busy, "/wait")
	<-arrived
	send(t, idle, "/")
	want(t, "a first request", idle, http.StatusOK)
	want(t, "one that has been idle", idle, 0)
	want(t, "one that has never sent anything", silent, 0)
	wait <- struct{}{}
	want(t, "one with a request", busy, http.StatusOK)
	want(t, "when its request is over", busy, 0)
}
