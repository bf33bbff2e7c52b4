package outbound_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"weir/internal/must"
	"weir/internal/outbound"
)

func TestParseProxy(t *testing.T) {
	t.Parallel()
	for text, good := range map[string]bool{
		"http://u:secret@p:3128": true, "https://p": true, "socks5://u:secret@p:1080": true, "socks5h://p:1080": true,
		"p:3128": false, "ftp://u:secret@p": false, "http://": false, "http://u:secret@p:x": false, "socks4://p": false,
	} {
		p, err := outbound.ParseProxy(text)
		if (err == nil) != good || (p != nil) != good {
			t.Errorf("%s: got %v, want it accepted: %t", text, err, good)
		}
		if err != nil && (strings.Contains(err.Error(), "secret") || !strings.Contains(err.Error(), "outbound.proxy")) {
			t.Errorf("%s: got %v, want one that names the setting and no password", text, err)
		}
	}
	if p, err := outbound.ParseProxy(""); p != nil || err != nil {
		t.Errorf("none: got %v", err)
	}
}

// TestSOCKS checks that names are sent to a SOCKS5 proxy unresolved, with its name and password.
func TestSOCKS(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must.Do(t, err)
	t.Cleanup(func() { _ = l.Close() })
	asked := make(chan string, 1)
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		_ = c.SetDeadline(time.Now().Add(10 * time.Second))
		r := bufio.NewReader(c)
		got := take(r, 4) + "|" // version, two methods: none, password (RFC 1928)
		_, _ = c.Write([]byte{5, 2})
		got += take(r, 1+1+4+1+6) + "|" // RFC 1929
		_, _ = c.Write([]byte{1, 0})
		got += take(r, 4+1+12+2)
		_, _ = c.Write([]byte{5, 0, 0, 1, 0, 0, 0, 0, 0, 0})
		asked <- got
		if _, err := http.ReadRequest(r); err == nil {
			_, _ = io.WriteString(c, "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")
		}
	}()
	proxy := must.Get(outbound.ParseProxy("socks5://user:secret@" + l.Addr().String()))(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	req := must.Get(http.NewRequestWithContext(ctx, http.MethodGet, "http://acme.example/v1", http.NoBody))(t)
	res := must.Get((&http.Transport{Proxy: proxy, DisableKeepAlives: true}).RoundTrip(req))(t)
	_ = res.Body.Close()
	const want = "\x05\x02\x00\x02|\x01\x04user\x06secret|\x05\x01\x00\x03\x0cacme.example\x00\x50"
	if got := <-asked; res.StatusCode != http.StatusNoContent || got != want {
		t.Errorf("status %d, the proxy got %q, want %q", res.StatusCode, got, want)
	}
}

func take(r io.Reader, n int) string {
	b := make([]byte, n)
	n, _ = io.ReadFull(r, b)
	return string(b[:n])
}
