package provider

import (
	"bytes"
	"context"
	"errors"
	"io"
	"iter"
	"net/http"
)

// wire transports requests to a provider and its answers.
type wire interface {
	// send sends the request and waits for the head of its answer. It sets x.sent before anything can be sent, and
	// attaches to x the function that aborts it. With Call.KeepLate the error of a late answer is a *lateError.
	send(x *exchange, c *Call, method, target string) (answer, error)
	// close closes idle connections.
	close()
}

func newWire(o *Options) (wire, error) {
	if o.Local != nil {
		return &local{o.Local}, nil
	}
	return newHTTP1(o)
}

// local is the wire to a provider inside this process.
type local struct {
	transport http.RoundTripper
}

func (l *local) send(x *exchange, c *Call, method, target string) (answer, error) {
	ctx, cancel := context.WithCancel(x.parent)
	if !x.attach(cancel) {
		cancel()
		return answer{}, errGivenUp
	}
	// A RoundTripper may read the body after it has returned.
	req, err := http.NewRequestWithContext(ctx, method, x.provider.origin+target, bytes.NewReader(bytes.Clone(c.Body)))
	if err != nil {
		cancel()
		return answer{}, err
	}
	x.headers(c, req.Header.Set)
	x.sent.Store(true)
	if !c.KeepLate {
		return l.roundTrip(req, cancel)
	}
	return l.roundTripLate(x, req, cancel)
}

func (l *local) roundTrip(req *http.Request, cancel context.CancelFunc) (answer, error) {
	res, err := l.transport.RoundTrip(req) //nolint:bodyclose // canceledBody closes it
	if err != nil {
		cancel()
		return answer{}, err
	}
	return answer{res.StatusCode, localFields{res.Header}, res.ContentLength, &canceledBody{res.Body, cancel}}, nil
}

// roundTripLate is roundTrip for an answer that may be late. It runs in a goroutine of its own, because a call of a
// RoundTripper cannot be left and resumed.
func (l *local) roundTripLate(x *exchange, req *http.Request, cancel context.CancelFunc) (answer, error) {
	type result struct {
		answer answer
		err    error
	}
	results := make(chan result, 2) // the notice that it is late, and the answer
	x.keepLate(func() bool {
		results <- result{err: errLate}
		return true
	})
	go func() {
		a, err := l.roundTrip(req, cancel)
		x.headCame()
		results <- result{a, err}
	}()
	await := func() (answer, error) {
		r := <-results // ends with the total timeout
		return r.answer, r.err
	}
	a, err := await()
	if errors.Is(err, errLate) {
		return answer{}, &lateError{await}
	}
	return a, err
}

func (*local) close() {}

// canceledBody is a body that cancels its request when it is closed.
type canceledBody struct {
	io.ReadCloser
	cancel context.CancelFunc
}

// Close cancels first, so that it does not wait for the unfinished rest.
func (b *canceledBody) Close() error {
	b.cancel()
	return b.ReadCloser.Close()
}

// localFields is a header that also iterates over its fields.
type localFields struct{ http.Header }

// All implements Header.
func (f localFields) All() iter.Seq2[string, string] {
	return func(yield func(name, value string) bool) {
		for name, values := range f.Header {
			for _, value := range values {
				if !yield(name, value) {
					return
				}
			}
		}
	}
}
