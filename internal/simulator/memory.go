package simulator

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"strconv"
	"syscall"
)

// RoundTripper serves requests in this process, without a socket: the body of a response streams while it is generated,
// a slow reader slows the answer, and closing the body or ending the request's context cancels it. A connection that
// would be cut is an io.ErrUnexpectedEOF, one that would be reset a syscall.ECONNRESET.
func (s *Server) RoundTripper() http.RoundTripper { return roundTripper{s} }

type roundTripper struct{ s *Server }

// RoundTrip serves one request. The caller closes the response's body.
func (t roundTripper) RoundTrip(r *http.Request) (*http.Response, error) {
	if trace := httptrace.ContextClientTrace(r.Context()); trace != nil && trace.GotConn != nil {
		trace.GotConn(httptrace.GotConnInfo{}) // the request counts as sent
	}
	ctx, cancel := context.WithCancel(r.Context())
	inner := r.WithContext(ctx)
	if inner.Body == nil {
		inner.Body = http.NoBody
	}
	m := newMemory(ctx)
	unbind := context.AfterFunc(ctx, func() { m.out.CloseWithError(ctx.Err()) })
	done := make(chan struct{})
	go func() {
		defer close(done)
		t.s.ServeHTTP(m, inner)
		m.finish()
	}()
	end := func() {
		cancel()
		<-done
		unbind()
	}
	select {
	case <-m.ready:
	case <-ctx.Done():
		_ = inner.Body.Close()
		end()
		return nil, ctx.Err()
	}
	_ = inner.Body.Close()
	if m.err != nil {
		end()
		return nil, m.err
	}
	return m.response(r, end), nil
}

// memory is a wire with an http.Response at its other end.
type memory struct {
	ctx    context.Context
	header http.Header
	status int
	left   int64 // of the declared length; unset without one
	in     *io.PipeReader
	out    *io.PipeWriter
	ready  chan struct{} // closed once status or err is known
	err    error         // in place of a response
}

func newMemory(ctx context.Context) *memory {
	m := &memory{ctx: ctx, header: http.Header{}, left: unset, ready: make(chan struct{})}
	m.in, m.out = io.Pipe()
	return m
}

// Header returns the header of the response, to be set before the first Write.
func (m *memory) Header() http.Header { return m.header }

// WriteHeader sends the headers; an informational status goes to the request's trace, as in net/http's Transport.
func (m *memory) WriteHeader(status int) {
	if m.status != 0 {
		return
	}
	if status < http.StatusOK {
		m.inform(status)
		return
	}
	m.status = status
	m.declare(m.header.Get("Content-Length"))
	close(m.ready)
}

func (m *memory) inform(status int) {
	trace := httptrace.ContextClientTrace(m.ctx)
	if trace != nil && trace.Got1xxResponse != nil {
		// the answer continues whatever the trace returns
		_ = trace.Got1xxResponse(status, textproto.MIMEHeader(m.header.Clone()))
	}
}

func (m *memory) declare(length string) {
	if n, err := strconv.ParseInt(length, 10, 64); err == nil {
		m.left = n
	}
}

// Write passes a piece of the body to the reader and waits until it is read.
func (m *memory) Write(b []byte) (int, error) {
	m.WriteHeader(http.StatusOK)
	if m.left == unset {
		return m.out.Write(b)
	}
	part := b[:min(int64(len(b)), m.left)]
	if len(part) == 0 {
		return len(b), nil // bytes beyond the declared length are not read
	}
	m.left -= int64(len(part))
	if n, err := m.out.Write(part); err != nil {
		return n, err
	}
	if m.left == 0 {
		_ = m.out.Close()
	}
	return len(b), nil
}

// Flush sends the headers; pieces of the body are never buffered.
func (m *memory) Flush() { m.WriteHeader(http.StatusOK) }

func (m *memory) hang(how hangUp, _ <-chan struct{}) {
	err := io.ErrUnexpectedEOF
	if how == hangReset {
		err = &net.OpError{Op: "read", Net: "memory", Err: syscall.ECONNRESET}
	}
	if m.ctx.Err() != nil {
		err = m.ctx.Err()
	}
	if m.status == 0 {
		m.err = err
		m.status = unset
		close(m.ready)
	}
	m.out.CloseWithError(err)
}

func (m *memory) lie(length int64) {
	m.header.Set("Content-Length", strconv.FormatInt(length, 10))
	m.WriteHeader(http.StatusOK)
}

func (m *memory) finish() {
	m.WriteHeader(http.StatusOK)
	switch {
	case m.ctx.Err() != nil:
		m.out.CloseWithError(m.ctx.Err())
	case m.left > 0:
		m.out.CloseWithError(io.ErrUnexpectedEOF)
	default:
		_ = m.out.Close()
	}
}

func (m *memory) response(r *http.Request, end func()) *http.Response {
	length := int64(-1)
	if n, err := strconv.ParseInt(m.header.Get("Content-Length"), 10, 64); err == nil {
		length = n
	}
	return &http.Response{
		Status: strconv.Itoa(m.status) + " " + http.StatusText(m.status), StatusCode: m.status, Proto: "HTTP/1.1",
		ProtoMajor: 1, ProtoMinor: 1, Header: m.header, ContentLength: length, Request: r,
		Body: &memoryBody{PipeReader: m.in, end: end},
	}
}

// memoryBody is a response's body; closing it ends the request and waits for all its goroutines.
type memoryBody struct {
	*io.PipeReader
	end func()
}

// Close cancels the rest of the answer.
func (b *memoryBody) Close() error {
	err := b.PipeReader.Close()
	b.end()
	return err
}
