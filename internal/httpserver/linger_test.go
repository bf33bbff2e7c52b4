package httpserver_test

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"weir/internal/httpserver"
	"weir/internal/must"
)

// refusing is a handler that answers 401 before it reads a body, unless the path is /read.
func refusing(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/read" {
		_, _ = io.Copy(io.Discard, r.Body)
		return
	}
	w.WriteHeader(http.StatusUnauthorized)
	_, _ = io.WriteString(w, `{"error":"who are you?"}`)
}

// TestRefusalReachesSender checks that an answer to a request whose body was not read reaches a client that sends all
// of the body before it reads, such as Python's http.client, and then ends the connection.
func TestRefusalReachesSender(t *testing.T) {
	t.Parallel()
	example := httptest.NewTLSServer(nil)
	example.Close()
	secure := &tls.Config{Certificates: example.TLS.Certificates, MinVersion: tls.VersionTLS12}
	_, plain := started(t, httpserver.Options{Handler: http.HandlerFunc(refusing)})
	_, overTLS := started(t, httpserver.Options{Handler: http.HandlerFunc(refusing), Secure: secure})
	for _, size := range []int{300 << 10, 4 << 20, 12 << 20, 40 << 20} {
		body := bytes.Repeat([]byte("x"), size)
		for name, c := range map[string]struct {
			address, head string
			secure        bool
			status        int
		}{
			"plain":     {plain, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n", false, http.StatusUnauthorized},
			"TLS":       {overTLS, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n", true, http.StatusUnauthorized},
			"malformed": {plain, "POST / HTTP/1.1\r\nX: %d\r\n\r\n", false, http.StatusBadRequest},
			"plain HTTP where TLS is spoken": {
				overTLS, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n", false, http.StatusBadRequest,
			},
		} {
			t.Run(fmt.Sprintf("%s, %d bytes", name, size), func(t *testing.T) {
				t.Parallel()
				conn := dialAny(t, c.address, c.secure)
				for _, piece := range [][]byte{fmt.Appendf(nil, c.head, size), body} {
					if _, err := conn.Write(piece); err != nil {
						t.Fatalf("the client cannot send its body: %v", err)
					}
				}
				answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
				if err != nil {
					t.Fatalf("no answer: %v, want %d", err, c.status)
				}
				text, err := io.ReadAll(answer.Body)
				if answer.StatusCode != c.status || err != nil || len(text) == 0 || !answer.Close {
					t.Errorf("got %d, %q, %v, closed: %t; want %d with a text, closed", answer.StatusCode, text, err, answer.Close, c.status)
				}
			})
		}
	}
}

// dialAny dials, with TLS if secure is set.
func dialAny(t *testing.T, address string, secure bool) net.Conn {
	t.Helper()
	c := dial(t, address)
	must.Do(t, c.SetDeadline(time.Now().Add(time.Minute)))
	if !secure {
		return c
	}
	return tls.Client(c, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"http/1.1"}})
}

// TestRefusalReachesSenderHTTP2 checks the same for HTTP/2, where the server tells the client to stop (RFC 9113,
// section 8.1), and that the connection continues.
func TestRefusalReachesSenderHTTP2(t *testing.T) {
	t.Parallel()
	example := httptest.NewTLSServer(nil)
	example.Close()
	_, address := started(t, httpserver.Options{Handler: http.HandlerFunc(refusing), Secure: &tls.Config{
		Certificates: example.TLS.Certificates, MinVersion: tls.VersionTLS12,
	}})
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: true}
	t.Cleanup(transport.CloseIdleConnections)
	client := &http.Client{Transport: transport, Timeout: time.Minute}
	for _, path := range []string{"/", "/", "/read"} {
		answer, err := client.Post("https://"+address+path, "", strings.NewReader(strings.Repeat("x", 12<<20)))
		must.Do(t, err)
		text, err := io.ReadAll(answer.Body)
		must.Do(t, err)
		_ = answer.Body.Close()
		if refused := answer.StatusCode == http.StatusUnauthorized && len(text) > 0; refused != (path == "/") || answer.ProtoMajor != 2 {
			t.Errorf("POST %s over %s: got %d %q", path, answer.Proto, answer.StatusCode, text)
		}
	}
}

// refused returns a connection whose request was refused, and whose client has read the answer and is silent.
func refused(t *testing.T, address string) net.Conn {
	t.Helper()
	c := dial(t, address)
	_, err := io.WriteString(c, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n")
	must.Do(t, err)
	text := must.Get(io.ReadAll(c))(t)
	if !bytes.HasPrefix(text, []byte("HTTP/1.1 401 ")) {
		t.Fatalf("got %q, want 401", text)
	}
	return c
}

// isOpen reports whether the server still accepts data: after a close the second write, or a later one, fails.
func isOpen(c net.Conn) bool {
	for range 20 {
		if _, err := c.Write([]byte("x")); err != nil {
			return false
		}
		time.Sleep(5 * time.Millisecond)
	}
	return true
}

// TestLingeringBounded checks that a bounded number of connections linger, that the oldest end first, and that
// lingering ones make room for new connections.
func TestLingeringBounded(t *testing.T) {
	t.Parallel()
	const most, places = 16, 24 // minLingering
	_, address := started(t, httpserver.Options{Handler: http.HandlerFunc(refusing), Most: places})
	var all []net.Conn
	for range most + 1 {
		all = append(all, refused(t, address))
	}
	for i, ended := range []bool{0: true, 3: true, 4: false, most: false} {
		if i > 0 && i < 3 || i > 4 && i < most {
			continue
		}
		if got := isOpen(all[i]); got == ended {
			t.Errorf("connection %d of %d that linger: open is %t, want %t", i, len(all), got, !ended)
		}
	}
	for range places { // all places
		_, err := io.WriteString(dial(t, address), "G")
		must.Do(t, err)
	}
	c := dial(t, address)
	send(t, c, "/read")
	want(t, "a new connection beside those that linger", c, http.StatusOK)
	if isOpen(all[most]) {
		t.Errorf("the last one lingers on, want it closed for new connections")
	}
}

// TestUnfinishedHeadsGiveWay checks that partly received heads do not occupy connections for ever: the oldest ends, and
// a request with a whole head continues.
func TestUnfinishedHeadsGiveWay(t *testing.T) {
	t.Parallel()
	address, arrived, wait := served(t, nil, 8)
	busy := dial(t, address)
	send(t, busy, "/wait")
	<-arrived
	var halves []net.Conn
	for range 7 {
		c := dial(t, address)
		_, err := io.WriteString(c, "G")
		must.Do(t, err)
		time.Sleep(settle / 20) // the next one is younger
		halves = append(halves, c)
	}
	time.Sleep(settle)
	for range 3 {
		c := dial(t, address)
		send(t, c, "/")
		want(t, "a client beside unfinished heads", c, http.StatusOK)
		time.Sleep(settle / 20)
	}
	want(t, "the oldest unfinished head", halves[0], 0)
	_, err := io.WriteString(halves[6], "ET / HTTP/1.1\r\nHost: x\r\n\r\n")
	must.Do(t, err)
	want(t, "the youngest, when it is whole", halves[6], http.StatusOK)
	wait <- struct{}{}
	want(t, "one with a request", busy, http.StatusOK)
}
