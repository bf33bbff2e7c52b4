package outbound

import (
	"fmt"
	"io"
	"net"
	"net/http"
)

// Bounded asks through another RoundTripper, and ends answers whose bodies are longer than Most bytes with an error:
// clients of others' libraries read whole answers into memory.
type Bounded struct {
	Through http.RoundTripper
	Most    int64
	// Whole says of which answers the body is passed on as it comes; nil for none.
	Whole func(*http.Response) bool
}

// RoundTrip is http.RoundTripper's.
func (b *Bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := b.Through.RoundTrip(r)
	if err != nil || b.Whole != nil && b.Whole(response) {
		return response, err
	}
	response.Body = &boundedBody{response.Body, b.Most, b.Most}
	return response, nil
}

type boundedBody struct {
	io.ReadCloser
	left, most int64
}

func (b *boundedBody) Read(p []byte) (int, error) {
	n, err := readAtMost(b.ReadCloser, p, &b.left)
	if b.left < 0 {
		return n, fmt.Errorf("the answer is longer than %d bytes", b.most)
	}
	return n, err
}

// readAtMost reads as long as there are bytes left to be read. Left is below 0 once there was one more.
func readAtMost(from io.Reader, p []byte, left *int64) (int, error) {
	if *left < 0 {
		return 0, nil
	}
	p = p[:min(int64(len(p)), *left+1)]
	n, err := from.Read(p)
	*left -= int64(n)
	return n, err
}

// BoundedConn is a connection over which at most Left more bytes are read; then reading it is an error.
type BoundedConn struct {
	net.Conn
	Left int64
}

// Read is net.Conn's.
func (c *BoundedConn) Read(p []byte) (int, error) {
	n, err := readAtMost(c.Conn, p, &c.Left)
	if c.Left < 0 {
		return n, fmt.Errorf("%s sends more than is read of it", c.RemoteAddr())
	}
	return n, err
}
