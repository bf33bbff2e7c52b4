package framing

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
)

// TestFraming feeds requests in pieces of every size.
func TestFraming(t *testing.T) {
	t.Parallel()
	const get, post = "GET / HTTP/1.1\r\nHost: x\r\n\r\n", "POST / HTTP/1.1\r\nHost: x\r\n"
	for _, tt := range []struct {
		name, in string
		want     error
	}{
		{"two requests", get + get, nil},
		{"an empty line between", get + "\r\n" + get, nil},
		{"a body, and another request", post + "Content-Length: 4\r\n\r\na\nb\n" + get, nil},
		{"a body of nothing", post + "Content-Length: 0\r\n\r\n" + get, nil},
		{"chunks", post + "transfer-encoding: chunked\r\n\r\n2\r\n\n\n\r\n0\r\n\r\n", nil},
		{"a long header", post + "X: " + strings.Repeat("y", 10_000) + "\r\n\r\n", nil},
		{"many lines", post + strings.Repeat("X: y\r\n", 98) + "\r\n" + get, nil},
		{"too many lines", post + strings.Repeat("X: y\r\n", 99) + "\r\n", errLines},
		{"bare LF at the end", "GET / HTTP/1.1\r\nHost: x\n\r\n", errBareLF},
		{"bare LF behind a long line", post + "X: " + strings.Repeat("y", 100) + "\n\r\n", errBareLF},
		{"bare LF that ends a head", "GET / HTTP/1.1\r\nHost: x\r\n\n", errBareLF},
		{"bare LF behind a body", post + "Content-Length: 4\r\n\r\na\nb\n" + strings.Replace(get, "\r", "", 1), errBareLF},
		{"a folded line", post + "X: y\r\n Content-Length: 4\r\n\r\n", errFolded},
		{"a line folded with a tab", post + "Transfer-Encoding:\r\n\tchunked\r\n\r\n", errFolded},
		{"a length and chunks", post + "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n", errTwoSizes},
		{"chunks and a length", post + "TRANSFER-ENCODING: chunked\r\ncontent-length: 4\r\n\r\n", errTwoSizes},
		{"a length and an unknown encoding", post + "Content-Length: 4\r\nTransfer-Encoding: cow\r\n\r\n", errTwoSizes},
		{"two lengths", post + "Content-Length: 4\r\nContent-Length: 5\r\n\r\n", errLength},
		{"the same length twice", post + "Content-Length: 4\r\nContent-Length: 4\r\n\r\n", errLength},
		{"a length with a sign", post + "Content-Length: +4\r\n\r\n", errLength},
		{"a length with zeros", post + "Content-Length: " + strings.Repeat("0", 100) + "4\r\n\r\n", errLength},
		{"HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", errPreface},
		{"no length", post + "Content-Length: \r\n\r\n", errLength},
	} {
		for size := 1; size <= len(tt.in); size++ {
			f, err := newFraming(), error(nil)
			for rest := []byte(tt.in); len(rest) > 0 && err == nil; rest = rest[min(size, len(rest)):] {
				err = f.take(rest[:min(size, len(rest))])
			}
			if !errors.Is(err, tt.want) {
				t.Errorf("%s, in pieces of %d: got %v, want %v", tt.name, size, err, tt.want)
				break
			}
			if want := fmt.Sprint(newFraming()); err == nil && !f.passed && fmt.Sprint(framing{length: f.length, body: f.body, inHead: f.inHead, chunked: f.chunked}) != want {
				t.Errorf("%s, in pieces of %d: left at %+v, want %s", tt.name, size, f, want)
				break
			}
		}
	}
}

// TestHeadsTogether holds that heads are refused beyond what all may take, that small
// ones never are, and that each gives back what it took when its request is over or its connection is closed.
func TestHeadsTogether(t *testing.T) {
	t.Parallel()
	all := &heads{}
	open := func(in string) (*strictConn, error) {
		c := &strictConn{Conn: &script{in: in}, framing: newFraming(), heads: all}
		_, err := c.Read(make([]byte, len(in)))
		return c, err
	}
	large := "GET / HTTP/1.1\r\n" + strings.Repeat("X: "+strings.Repeat("y", 300)+"\r\n", 90)
	var conns []*strictConn
	for {
		c, err := open(large)
		if err != nil {
			if !errors.Is(err, errHeads) {
				t.Fatal(err)
			}
			break
		}
		if conns = append(conns, c); len(conns) > 3000 {
			t.Fatalf("%d unfinished heads of %d bytes are taken", len(conns), len(large))
		}
	}
	if _, err := open("GET / HTTP/1.1\r\nHost: x\r\n"); err != nil {
		t.Errorf("a small head beside them: %v", err)
	}
	first := conns[0]
	first.Conn = &script{in: "\r\n"}
	if _, err := first.Read(make([]byte, 2)); err != nil || first.counted.Load() == 0 {
		t.Errorf("a head that has ended: %v, %d bytes counted, want some", err, first.counted.Load())
	}
	if first.release(); first.counted.Load() != 0 {
		t.Errorf("a request that is over: %d bytes counted, want none", first.counted.Load())
	}
	for _, c := range conns {
		_ = c.Close()
		_ = c.Close()
	}
	if n := all.held.Load(); n != 0 {
		t.Errorf("%d bytes are left once all connections are closed", n)
	}
}

// script is a connection that has something to read.
type script struct {
	net.Conn
	in string
}

func (s *script) Read(p []byte) (int, error) {
	n := copy(p, s.in)
	s.in = s.in[n:]
	return n, nil
}

func (*script) Close() error { return nil }
