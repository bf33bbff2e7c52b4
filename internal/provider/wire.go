package provider

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
)

// Header gives the header of an answer.
type Header interface {
	// Get is the first value of the field; empty for none. Its name is in
	// canonical form, such as "Content-Type".
	Get(name string) string
}

// wire carries requests to a provider, and answers back.
type wire interface {
	// send sends the request and waits for the head of its answer. It sets
	// x.sent before anything can go out, and attaches to x what aborts it.
	send(x *exchange, c *Call, target string) (answer, error)
	// close closes idle connections.
	close()
}

// answer is what has come so far. Closing its body aborts the rest.
type answer struct {
	status int
	header Header
	length int64 // of the body; -1 for unknown
	body   io.ReadCloser
}

// newWire chooses: net/http's Transport for whatever needs TLS, HTTP/2 or a
// proxy, and the plain client for the rest.
func newWire(o *Options) (wire, error) {
	if o.Transport != nil {
		return &standard{o.Transport}, nil
	}
	t, err := newTransport(o)
	if err != nil {
		return nil, err
	}
	u, err := url.Parse(o.BaseURL)
	if err != nil {
		return nil, err
	}
	if o.Proxy == "" && suitsPlain(u) {
		return newPlain(u, o), nil
	}
	return &standard{t}, nil
}

// standard sends by a RoundTripper.
type standard struct {
	transport http.RoundTripper
}

// send gives the request a body of a type that net/http's Transport knows to
// be in memory: with any other, headers leave in a write of their own.
func (s *standard) send(x *exchange, c *Call, target string) (answer, error) {
	ctx, cancel := context.WithCancel(x.parent)
	if !x.attach(cancel) {
		cancel()
		return answer{}, errGivenUp
	}
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		// The Transport asks again when it found a connection closed before
		// anything was written to it.
		GetConn: func(string) { x.sent.Store(false) },
		GotConn: func(httptrace.GotConnInfo) { x.sent.Store(true) },
	})
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, x.provider.origin+target, bytes.NewReader(c.Body))
	if err != nil {
		cancel()
		return answer{}, err
	}
	x.headers(c, req.Header.Set)
	res, err := s.transport.RoundTrip(req) //nolint:bodyclose // canceledBody closes it
	if err != nil {
		cancel()
		return answer{}, err
	}
	x.http2 = res.ProtoMajor == 2
	return answer{res.StatusCode, res.Header, res.ContentLength, &canceledBody{res.Body, cancel}}, nil
}

func (s *standard) close() {
	if c, ok := s.transport.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// canceledBody is a body whose request is canceled by closing it.
type canceledBody struct {
	io.ReadCloser
	cancel context.CancelFunc
}

// Close cancels first, so that what is unfinished cannot hold it up.
func (b *canceledBody) Close() error {
	b.cancel()
	return b.ReadCloser.Close()
}
