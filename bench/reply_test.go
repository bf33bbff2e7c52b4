package main

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

const (
	wholeAnswer   = "HTTP/1.1 200 OK\r\ncontent-length: 5\r\nX-Other: a\r\n\r\nhello"
	chunkedAnswer = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nB;name=x\r\n, the weir.\r\n0\r\nTrailer: x\r\n\r\n"
	emptyAnswer   = "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n"
)

// feedAll feeds an answer in parts of n bytes, until it is complete.
func feedAll(r *reply, text string, n int) (done bool, err error) {
	for len(text) > 0 && !done && err == nil {
		part := text[:min(n, len(text))]
		text = text[len(part):]
		done, err = r.feed([]byte(part))
	}
	return done, err
}

func TestReplyHoweverItIsCut(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text, body string
		status     int
	}{
		{wholeAnswer, "hello", 200},
		{chunkedAnswer, "hello, the weir.", 200},
		{emptyAnswer, "", 503},
	} {
		for n := 1; n <= len(c.text); n++ {
			var body strings.Builder
			r := reply{body: func(p []byte) { body.Write(p) }}
			for range 2 { // the second answer on the same connection
				body.Reset()
				done, err := feedAll(&r, c.text, n)
				if !done || err != nil || r.status != c.status || body.String() != c.body {
					t.Fatalf("%.40q in parts of %d: got done %v, status %d, body %q, error %v; want done, %d, %q",
						c.text, n, done, r.status, body.String(), err, c.status, c.body)
				}
			}
		}
	}
}

func TestReplyRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, want string }{
		{"HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n", "not an HTTP/1.1 answer"},
		{"HTTP/1.1 200 OK\r\n\r\n", "neither Content-Length nor chunks"},
		{"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", "neither Content-Length nor chunks"},
		{"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\nmore", "bytes follow"},
		{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n", "is no number"},
		{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n", "longer than its size"},
		{"HTTP/1.1 200 OK\r\nA: " + strings.Repeat("b", maxHead), "over 32768 bytes"},
	} {
		var r reply
		_, err := feedAll(&r, c.text, 4096)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.60q: got error %v, want one with %q", c.text, err, c.want)
		}
	}
}

// FuzzReply checks that how an answer is cut changes nothing.
func FuzzReply(f *testing.F) {
	for _, text := range []string{wholeAnswer, chunkedAnswer, emptyAnswer, "HTTP/1.1 200"} {
		f.Add(text, 7)
	}
	f.Fuzz(func(t *testing.T, text string, n int) {
		read := func(n int) string {
			var body strings.Builder
			r := reply{body: func(p []byte) { body.Write(p) }}
			done, err := feedAll(&r, text, n)
			if errors.Is(err, errFollowed) { // seen where one part holds both
				err = nil
			}
			return fmt.Sprintf("%v %v %d %q", done, err != nil, r.status, body.String())
		}
		if len(text) > maxHead { // the bound acts at the ends of parts
			t.Skip("longer than any head")
		}
		if got, want := read(max(1, n)), read(1); got != want {
			t.Errorf("%q in parts of %d: got %s, want %s as in parts of 1", text, n, got, want)
		}
	})
}

func TestStampsHoweverTheyAreCut(t *testing.T) {
	t.Parallel()
	text := `{"content":"t=000000000000000042 "} {"content":"t=12"} "t={"content":"t=123456789012345678 "}`
	for n := 1; n <= len(text); n++ {
		var s stamps
		var got []int64
		for rest := text; len(rest) > 0; {
			part := rest[:min(n, len(rest))]
			rest = rest[len(part):]
			s.scan([]byte(part), func(at int64) { got = append(got, at) })
		}
		if want := "[42 123456789012345678]"; fmt.Sprint(got) != want {
			t.Fatalf("stamps in parts of %d: got %v, want %s", n, got, want)
		}
	}
}

func TestPutStamp(t *testing.T) {
	t.Parallel()
	b := make([]byte, stampDigits)
	putStamp(b, 1234567890)
	if got, want := string(b), "000000001234567890"; got != want {
		t.Errorf("putStamp: got %s, want %s", got, want)
	}
}
