package outbound

import (
	"fmt"
	"io"
	"net"
	"net/http"
)

// Bounded sends requests through another RoundTripper, and returns an error for bodies longer than Most bytes, because
// libraries read whole answers into memory.
type Bounded struct {
	Through http.RoundTripper
	Most    int64
	// Whole selects the answers with bodies of any length; nil selects none.
	Whole func(*http.Response) bool
}

// RoundTrip implements http.RoundTripper.
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

// readAtMost reads while left is not negative. It reads at most one byte more than left, after which left is negative.
func readAtMost(from io.Reader, p []byte, left *int64) (int, error) {
	if *left < 0 {
		return 0, nil
	}
	p = p[:min(int64(len(p)), *left+1)]
	n, err := from.Read(p)
	*left -= int64(n)
	return n, err
}

// BoundedConn is a connection that returns an error after Left bytes were read.
type BoundedConn struct {
	net.Conn
	Left int64
}

// Read implements net.Conn.
func (c *BoundedConn) Read(p []byte) (int, error) {
	n, err := readAtMost(c.Conn, p, &c.Left)
	if c.Left < 0 {
		return n, fmt.Errorf("%s sent more data than is accepted", c.RemoteAddr())
	}
	return n, err
}
