package httpserver

import (
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

// TestHeadsInPieces feeds heads in pieces of every size.
func TestHeadsInPieces(t *testing.T) {
	t.Parallel()
	const get, post = "GET / HTTP/1.1\r\nHost: x\r\n\r\n", "POST / HTTP/1.1\r\nHost: x\r\n"
	for _, tt := range []struct {
		name, in string
		want     error
	}{
		{"a request", get, nil},
		{"an empty line before", "\r\n" + get, nil},
		{"a length", post + "Content-Length: 4\r\n\r\n", nil},
		{"a length of nothing", post + "Content-Length: 0\r\n\r\n", nil},
		{"chunks", post + "transfer-encoding: chunked\r\n\r\n", nil},
		{"a long header", post + "X: " + strings.Repeat("y", 10_000) + "\r\n\r\n", nil},
		{"a header of nothing", post + "X:\r\n\r\n", nil},
		{"a header twice", post + "X: y\r\nx: z\r\n\r\n", nil},
		{"bytes beyond ASCII", post + "X: caf\xe9\r\n\r\n", nil},
		{"many lines", post + strings.Repeat("X: y\r\n", 98) + "\r\n", nil},
		{"too many lines", post + strings.Repeat("X: y\r\n", 99) + "\r\n", errLines},
		{"too long", post + strings.Repeat("X: "+strings.Repeat("y", 1000)+"\r\n", 33) + "\r\n", errLongHead},
		{"bare LF at the end", "GET / HTTP/1.1\r\nHost: x\n\r\n", errBareLF},
		{"bare LF behind a long line", post + "X: " + strings.Repeat("y", 100) + "\n\r\n", errBareLF},
		{"bare LF that ends a head", "GET / HTTP/1.1\r\nHost: x\r\n\n", errBareLF},
		{"bare LF before", "\n" + get, errBareLF},
		{"bare CR", post + "X: y\rZ: z\r\n\r\n", errField},
		{"NUL", post + "X: y\x00\r\n\r\n", errField},
		{"a folded line", post + "X: y\r\n Content-Length: 4\r\n\r\n", errFolded},
		{"a line folded with a tab", post + "Transfer-Encoding:\r\n\tchunked\r\n\r\n", errFolded},
		{"a folded first line", "GET / HTTP/1.1\r\n Host: x\r\n\r\n", errFolded},
		{"a space before the colon", post + "Content-Length : 4\r\n\r\n", errField},
		{"no colon", post + "Content-Length\r\n\r\n", errField},
		{"no name", post + ": y\r\n\r\n", errField},
		{"a length and chunks", post + "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n", errTwoSizes},
		{"chunks and a length", post + "TRANSFER-ENCODING: chunked\r\ncontent-length: 4\r\n\r\n", errTwoSizes},
		{"a length and an unknown coding", post + "Content-Length: 4\r\nTransfer-Encoding: cow\r\n\r\n", errTwoSizes},
		{"an unknown coding", post + "Transfer-Encoding: cow\r\n\r\n", errCoding},
		{"no coding", post + "Transfer-Encoding:\r\n\r\n", errCoding},
		{"chunks twice", post + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n", errCoding},
		{"chunks behind another coding", post + "Transfer-Encoding: gzip, chunked\r\n\r\n", errCoding},
		{"chunks with the Kelvin sign", post + "Transfer-Encoding: chun\u212aed\r\n\r\n", errCoding},
		{"chunks with a control character", post + "Transfer-Encoding: \x0bchunked\r\n\r\n", errField},
		{"chunks of HTTP/1.0", "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", errOldChunk},
		{"two lengths", post + "Content-Length: 4\r\nContent-Length: 5\r\n\r\n", errLength},
		{"the same length twice", post + "Content-Length: 4\r\nContent-Length: 4\r\n\r\n", errLength},
		{"a list of lengths", post + "Content-Length: 4, 4\r\n\r\n", errLength},
		{"a length with a sign", post + "Content-Length: +4\r\n\r\n", errLength},
		{"a length below nothing", post + "Content-Length: -4\r\n\r\n", errLength},
		{"a length beyond all", post + "Content-Length: 9223372036854775808\r\n\r\n", errLength},
		{"a length in hexadecimal", post + "Content-Length: 0x4\r\n\r\n", errLength},
		{"no length", post + "Content-Length: \r\n\r\n", errLength},
		{"HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", errVersion},
		{"HTTP/1.2", "GET / HTTP/1.2\r\nHost: x\r\n\r\n", nil},
		{"HTTP/0.9", "GET /\r\n\r\n", errLine},
		{"another protocol", "GET / FTP/1.1\r\nHost: x\r\n\r\n", errLine},
		{"two spaces", "GET  / HTTP/1.1\r\nHost: x\r\n\r\n", errLine},
		{"a space in the target", "GET / x HTTP/1.1\r\nHost: x\r\n\r\n", errLine},
		{"a tab for a space", "GET\t/ HTTP/1.1\r\nHost: x\r\n\r\n", errLine},
		{"a target that is none", "GET x HTTP/1.1\r\nHost: x\r\n\r\n", errLine},
		{"a method that is none", "G(T / HTTP/1.1\r\nHost: x\r\n\r\n", errLine},
		{"no method", " / HTTP/1.1\r\nHost: x\r\n\r\n", errLine},
		{"a percent sign alone", "GET /%zz HTTP/1.1\r\nHost: x\r\n\r\n", errLine},
		{"no host", "GET / HTTP/1.1\r\n\r\n", errHost},
		{"no host in HTTP/1.0", "GET / HTTP/1.0\r\n\r\n", nil},
		{"two hosts", post + "Host: y\r\n\r\n", errHost},
		{"a host that is none", "GET / HTTP/1.1\r\nHost: x y\r\n\r\n", errHost},
		{"a target with a host", "GET http://y/z HTTP/1.1\r\nHost: x\r\n\r\n", nil},
		{"all that there is", "OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n", nil},
		{"another expectation", post + "Expect: more\r\n\r\n", errExpect},
	} {
		for size := 1; size <= len(tt.in); size++ {
			if len(tt.in) > 5000 && size > 2 && size < len(tt.in)-2 {
				continue
			}
			if err := takeHead(tt.in, size); !errors.Is(err, tt.want) {
				t.Errorf("%s, in pieces of %d: got %v, want %v", tt.name, size, err, tt.want)
				break
			}
		}
	}
}

// takeHead returns the result of a head that arrives in pieces of a size.
func takeHead(in string, size int) error {
	s := New(Options{MaxHead: 32 << 10, HeadTime: time.Minute})
	defer func() { _ = s.Close() }()
	below := &connection{Conn: &script{in: in, most: size}, of: s}
	below.tell(below.Conn)
	c := &client1{server: s, below: below, wire: below, ctx: s.closed}
	_, err := c.next()
	return err
}

// TestHeadsShareOneBound checks that heads beyond the common bound are refused, that small ones never are, and that
// each releases its bytes when its request ends or its connection is closed.
func TestHeadsShareOneBound(t *testing.T) {
	t.Parallel()
	s := New(Options{MaxHead: 64 << 10, HeadTime: time.Minute})
	defer func() { _ = s.Close() }()
	open := func(in string) (*client1, error) {
		below := &connection{Conn: &script{in: in, most: 4 << 10}, of: s}
		below.tell(below.Conn)
		c := &client1{server: s, below: below, wire: below, ctx: s.closed}
		_, err := c.next()
		return c, err
	}
	large := "GET / HTTP/1.1\r\nHost: x\r\n" + strings.Repeat("X: "+strings.Repeat("y", 300)+"\r\n", 90)
	var conns []*client1
	for {
		c, err := open(large)
		conns = append(conns, c)
		if errors.Is(err, errHeads) {
			break
		}
		if !errors.Is(err, io.EOF) || len(conns) > 5000 {
			t.Fatalf("%d unfinished heads of %d bytes are accepted: %v", len(conns), len(large), err)
		}
	}
	if _, err := open("GET / HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
		t.Errorf("a small head at the same time: %v", err)
	}
	first := conns[0]
	if first.releaseHead(); first.heads != 0 {
		t.Errorf("a request that is over: %d bytes counted, want none", first.heads)
	}
	conns[1].releaseHead()
	c, err := open(large + "\r\n")
	if conns = append(conns, c); err != nil || c.heads < 90*headLine {
		t.Errorf("a whole head when there is room again: %v, %d bytes counted, want its lines too", err, c.heads)
	}
	for _, c := range conns {
		c.close()
		c.close()
	}
	if n := s.heads.held.Load(); n != 0 {
		t.Errorf("%d bytes are left once all connections are closed", n)
	}
}

// script is a connection with data to read, in pieces of a size.
type script struct {
	net.Conn
	in   string
	most int
}

func (s *script) Read(p []byte) (int, error) {
	if s.in == "" {
		return 0, io.EOF
	}
	n := copy(p, s.in[:min(s.most, len(s.in))])
	s.in = s.in[n:]
	return n, nil
}

func (*script) Close() error                     { return nil }
func (*script) SetReadDeadline(time.Time) error  { return nil }
func (*script) SetWriteDeadline(time.Time) error { return nil }
