package provider

import (
	"bytes"
	"context"
	"errors"
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
	// x.sent before anything can go out, and attaches to x what aborts it. With
	// Call.KeepLate a late answer is a *lateError.
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
	http2  bool // it came over HTTP/2
}

// newWire chooses: net/http's Transport for whatever needs TLS, HTTP/2 or a
// proxy, and the plain client for the rest. Asking is by net/http alone.
func newWire(o *Options) (w wire, asking *standard, err error) {
	if o.Transport != nil {
		asking = &standard{o.Transport}
		return asking, asking, nil
	}
	t, err := newTransport(o)
	if err != nil {
		return nil, nil, err
	}
	u, err := url.Parse(o.BaseURL)
	if err != nil {
		return nil, nil, err
	}
	asking = &standard{t}
	if o.Proxy == "" && suitsPlain(u) {
		return newPlain(u, o), asking, nil
	}
	return asking, asking, nil
}

// standard sends by a RoundTripper.
type standard struct {
	transport http.RoundTripper
}

// send gives the request a body of a type that net/http's Transport knows to
// be in memory: with any other, headers leave in a write of their own.
func (s *standard) send(x *exchange, c *Call, target string) (answer, error) {
	return s.request(x, c, http.MethodPost, target)
}

func (s *standard) request(x *exchange, c *Call, method, target string) (answer, error) {
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
	req, err := http.NewRequestWithContext(ctx, method, x.provider.origin+target, bytes.NewReader(c.Body))
	if err != nil {
		cancel()
		return answer{}, err
	}
	x.headers(c, req.Header.Set)
	if !c.KeepLate {
		return s.roundTrip(req, cancel)
	}
	return s.roundTripLate(x, req, cancel)
}

func (s *standard) roundTrip(req *http.Request, cancel context.CancelFunc) (answer, error) {
	res, err := s.transport.RoundTrip(req) //nolint:bodyclose // canceledBody closes it
	if err != nil {
		cancel()
		return answer{}, err
	}
	return answer{res.StatusCode, res.Header, res.ContentLength, &canceledBody{res.Body, cancel}, res.ProtoMajor == 2},
		nil
}

// roundTripLate is roundTrip for an answer that may be late: in a goroutine of its own, for
// nobody can leave a RoundTripper and come back.
func (s *standard) roundTripLate(x *exchange, req *http.Request, cancel context.CancelFunc) (answer, error) {
	type result struct {
		answer answer
		err    error
	}
	results := make(chan result, 2) // that it is late, and the answer
	x.keepLate(func() bool {
		sent := x.sent.Load()
		if sent {
			results <- result{err: errLate}
		}
		return sent
	})
	go func() {
		a, err := s.roundTrip(req, cancel)
		x.headCame()
		results <- result{a, err}
	}()
	await := func() (answer, error) {
		r := <-results // which the total time ends
		return r.answer, r.err
	}
	a, err := await()
	if errors.Is(err, errLate) {
		return answer{}, &lateError{await}
	}
	return a, err
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
