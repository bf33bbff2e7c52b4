package webhook

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"weir/internal/must"
)

// raw starts a receiver that answers one request with the given bytes, one by one, and then waits until the gateway
// disconnects.
func raw(t *testing.T, says string) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must.Do(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		from := bufio.NewReader(c)
		if r, err := http.ReadRequest(from); err == nil {
			_, _ = io.Copy(io.Discard, r.Body)
		}
		_, _ = io.WriteString(c, says)
		_, _ = from.ReadByte()
	}()
	t.Cleanup(func() { _ = l.Close(); <-done })
	return "http://" + l.Addr().String()
}

// TestTriesEndInTime checks that a try ends after its time, for any answer of the receiver. Here the time is short.
func TestTriesEndInTime(t *testing.T) {
	t.Parallel()
	for name, says := range map[string]string{
		"nothing":             "",
		"half a head":         "HTTP/1.1 200 OK\r\nContent-",
		"a body without end":  "HTTP/1.1 500 Sorry\r\n\r\nand",
		"less than announced": "HTTP/1.1 500 Sorry\r\nContent-Length: 100\r\n\r\nand",
		"half a chunk":        "HTTP/1.1 500 Sorry\r\nTransfer-Encoding: chunked\r\n\r\nffff\r\nand",
		"another protocol":    "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: tar-pit\r\n\r\nand",
		"early hints":         "HTTP/1.1 103 Early Hints\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSender(nil, nil, "test", nil)
			defer s.close()
			ctx, cancel := context.WithTimeoutCause(t.Context(), 300*time.Millisecond, errors.New("enough"))
			defer cancel()
			j := &Job{URL: raw(t, says), AllowPrivate: true, Payload: []byte("{}")}
			ended := make(chan Outcome, 1)
			go func() {
				a, err := s.send(ctx, j, true, time.Now(), "v1,x")
				o := Outcome{Job: j}
				o.judge(j, &a, err)
				ended <- o
			}()
			select {
			case o := <-ended:
				if o.State != Pending || o.Try.Error == "" {
					t.Errorf("%q: got %+v, want a failure with the reason", says, o)
				}
			case <-time.After(5 * time.Second):
				t.Errorf("%q: the try continues long after its time is over", says)
			}
		})
	}
}

// certified starts a receiver with a certificate for those names, which are not its own.
func certified(t *testing.T, names ...string) (address string, roots *x509.CertPool) {
	t.Helper()
	key := must.Get(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: names, NotAfter: time.Now().Add(time.Hour)}
	der := must.Get(x509.CreateCertificate(rand.Reader, template, template, key.Public(), key))(t)
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	return server.URL, x509.NewCertPool()
}

// TestErrorsOfReceivers checks that the error of a failed try is bounded text, even if a receiver influences it; and
// that it reveals nothing about the gateway's network.
func TestErrorsOfReceivers(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 2000)
	names := make([]string, 90)
	for i := range names {
		names[i] = fmt.Sprintf("%s%d\x00.test", long, i)
	}
	manyNames, roots := certified(t, names...)
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	must.Do(t, err)
	_ = closed.Close()
	for name, to := range map[string]string{
		"names in a certificate": strings.Replace(manyNames, "127.0.0.1", "receiver.test", 1),
		"no status":              raw(t, "HTTP/1.1 2\x00\xff0 "+long+"\r\n\r\n"),
		"no header":              raw(t, "HTTP/1.1 200 OK\r\n\x00\xff"+long+"\r\n\r\n"),
		"no protocol":            raw(t, long+"\x00\xff\r\n\r\n"),
		"no length":              raw(t, "HTTP/1.1 200 OK\r\nContent-Length: \xff"+long+"\r\n\r\n"),
		"nobody there":           "http://" + strings.Replace(closed.Addr().String(), "127.0.0.1", "receiver.test", 1),
		"reset":                  strings.Replace(resets(t), "127.0.0.1", "receiver.test", 1),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			resolver := newNames(t, map[string][]string{"receiver.test": {"127.0.0.1"}})
			s := newSender(nil, roots, "test", func(d *net.Dialer) { d.Resolver = resolver })
			defer s.close()
			j := &Job{URL: to, AllowPrivate: true, Payload: []byte("{}")}
			a, err := s.send(t.Context(), j, true, time.Now(), "v1,x")
			o := Outcome{Job: j}
			o.judge(j, &a, err)
			text := o.Try.Error
			if text == "" || len(text) > maxError || !utf8.ValidString(text) || strings.Contains(text, "\x00") {
				t.Errorf("got %d bytes, %.300q; want at most %d bytes of text", len(text), text, maxError)
			}
			if strings.Contains(text, "127.0.0.1") {
				t.Errorf("got %.300q, want no address", text)
			}
		})
	}
}

// resets starts a receiver that breaks the connection when a request arrives.
func resets(t *testing.T) (address string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		c, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		_ = c.(*net.TCPConn).SetLinger(0)
		_ = c.Close()
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// TestIdleConnections uses a receiver with a name for every delivery: they all lead to it, and few connections stay
// open.
func TestIdleConnections(t *testing.T) {
	t.Parallel()
	for _, http2 := range []bool{false, true} {
		t.Run(fmt.Sprintf("HTTP/2 %t", http2), func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			open, used := map[net.Conn]bool{}, map[string]bool{}
			server := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				mu.Lock()
				defer mu.Unlock()
				used[r.Proto] = true
			}))
			server.EnableHTTP2 = http2
			server.Config.ConnState = func(c net.Conn, state http.ConnState) {
				mu.Lock()
				defer mu.Unlock()
				open[c] = true
				if state == http.StateClosed {
					delete(open, c)
				}
			}
			server.StartTLS()
			defer server.Close()
			roots := x509.NewCertPool()
			roots.AddCert(server.Certificate())
			const hosts = 3 * maxIdle
			turns := map[string][]string{}
			for i := range hosts {
				turns[fmt.Sprintf("h%d.example.com", i)] = []string{"127.0.0.1"} // the certificate is for *.example.com
			}
			resolver := newNames(t, turns)
			s := newSender(nil, roots, "test", func(d *net.Dialer) { d.Resolver = resolver })
			defer s.close()
			_, port, _ := net.SplitHostPort(server.Listener.Addr().String())
			for host := range turns {
				a, err := s.send(t.Context(), &Job{URL: "https://" + host + ":" + port, Payload: []byte("{}")}, true, time.Now(), "v1,x")
				if err != nil || a.status != 200 {
					t.Fatalf("%s: got %+v, %v; want 200", host, a, err)
				}
			}
			n := 0
			for range 100 {
				mu.Lock()
				n = len(open)
				mu.Unlock()
				if n <= maxIdle+1 {
					return
				}
				time.Sleep(10 * time.Millisecond)
			}
			t.Errorf("%d connections are open after %d deliveries over %v, want %d", n, hosts, used, maxIdle)
		})
	}
}
