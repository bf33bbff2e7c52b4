package httpserver

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"
)

// FuzzRequests checks that an accepted request is one for net/http too, with the same head, the same body and the same
// rest after it. More requests may be refused.
func FuzzRequests(f *testing.F) {
	for _, in := range []string{
		"GET / HTTP/1.1\r\nHost: x\r\n\r\nGET",
		"POST /a?b=%20c HTTP/1.1\r\nHost: x:80\r\nContent-Length: 5\r\nX-A: b\r\nx-a: c\r\n\r\nhello GET",
		"POST http://y/ HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n2;a=b\r\nhe\r\n3\r\nllo\r\n0\r\nX: y\r\n\r\nGET",
		"\r\nOPTIONS * HTTP/1.0\r\nConnection: close, keep-alive\r\nExpect: 100-continue\r\n\r\n",
		"CONNECT x:443 HTTP/1.1\r\nHost: x:443\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
	} {
		f.Add(in, byte(3))
	}
	s := New(Options{MaxHead: 32 << 10, HeadTime: time.Minute})
	f.Cleanup(func() { _ = s.Close() })
	f.Fuzz(func(t *testing.T, in string, size byte) {
		below := &connection{Conn: &script{in: in, most: int(size) + 1}, of: s}
		below.tell(below.Conn)
		c := &client1{server: s, below: below, wire: below, ctx: s.closed}
		defer c.close()
		x, err := c.next()
		if err != nil {
			return
		}
		x.body.expects = false // nothing can be written
		got := x.request
		body, bodyErr := io.ReadAll(got.Body)
		rest := string(c.unused()) + below.Conn.(*script).in

		reader := bufio.NewReader(strings.NewReader(strings.TrimLeft(in, "\r\n")))
		want, err := http.ReadRequest(reader)
		if err != nil {
			t.Fatalf("net/http refuses an accepted request: %v", err)
		}
		wantBody, wantErr := io.ReadAll(want.Body)
		if bodyErr == nil && (wantErr != nil || !bytes.Equal(body, wantBody)) {
			t.Errorf("got the body %q, want %q, %v", body, wantBody, wantErr)
		}
		if left, _ := io.ReadAll(reader); bodyErr == nil && rest != string(left) {
			t.Errorf("got %q behind it, want %q", rest, left)
		}
		header := want.Header.Clone()
		if len(header["Pragma"]) > 0 { // net/http converts it to Cache-Control (RFC 9111, section 5.4, deprecates it)
			header["Cache-Control"] = got.Header["Cache-Control"]
		}
		if got.Method != want.Method || got.RequestURI != want.RequestURI || got.Host != want.Host || *got.URL != *want.URL && got.URL.User == nil {
			t.Errorf("got %s %q %q %+v, want %s %q %q %+v", got.Method, got.RequestURI, got.Host, got.URL, want.Method, want.RequestURI, want.Host, want.URL)
		}
		if len(got.Header)+len(header) > 0 && !reflect.DeepEqual(withoutTrailer(got.Header), withoutTrailer(header)) {
			t.Errorf("got the header %v, want %v", got.Header, header)
		}
		if got.ContentLength != want.ContentLength || len(got.TransferEncoding) != len(want.TransferEncoding) || got.Close != want.Close {
			t.Errorf("got a length of %d, %v, close %v; want %d, %v, %v", got.ContentLength, got.TransferEncoding, got.Close,
				want.ContentLength, want.TransferEncoding, want.Close)
		}
	})
}

// withoutTrailer returns a header without the fields that net/http removes.
func withoutTrailer(h http.Header) http.Header {
	h = h.Clone()
	h.Del("Trailer")
	return h
}
