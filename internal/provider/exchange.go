package provider

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http/httptrace"
	"sync/atomic"
	"syscall"
)

// exchange is one request and its answer: the timers, and what is known of how
// far it got.
type exchange struct {
	watch

	provider *Provider
	parent   context.Context // of the caller
	ctx      context.Context // of the request; its cause is an expiry when a timer ran out
	sent     atomic.Bool     // a connection was there to write to
	http2    bool            // the answer came over HTTP/2
}

func (p *Provider) newExchange(parent context.Context) *exchange {
	x := &exchange{provider: p, parent: parent}
	ctx, cancel := context.WithCancelCause(parent)
	x.ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		// The Transport asks again when it found a connection closed before
		// anything was written to it.
		GetConn: func(string) { x.sent.Store(false) },
		GotConn: func(httptrace.GotConnInfo) { x.sent.Store(true) },
	})
	x.start(&p.opts.Timeouts, cancel)
	return x
}

// finish ends the timers and aborts what is still under way.
func (x *exchange) finish() {
	x.stop()
	x.cancel(nil)
}

// failure says what an error of the Transport, or of a body once inBody, is.
func (x *exchange) failure(err error, inBody bool) *Failure {
	sent := inBody || x.sent.Load()
	return x.provider.failure(x.kind(err, sent, inBody), sent, err)
}

func (x *exchange) kind(err error, sent, inBody bool) Kind {
	if e, ok := errors.AsType[expiry](context.Cause(x.ctx)); ok {
		if Kind(e) == KindFirstByteTimeout && !sent {
			return KindConnectTimeout
		}
		return Kind(e)
	}
	switch {
	case x.parent.Err() != nil:
		return KindCanceled
	case !sent && isTimeout(err):
		return KindConnectTimeout
	case !sent:
		return KindRefused
	case inBody && errors.Is(err, io.ErrUnexpectedEOF):
		return KindTruncated
	case isBroken(err), x.http2: // HTTP/2 has errors of its own for a broken stream
		return KindReset
	}
	return KindProtocol
}

func isTimeout(err error) bool {
	e, ok := errors.AsType[net.Error](err)
	return ok && e.Timeout()
}

// isBroken tells a lost connection from an answer that could not be understood.
func isBroken(err error) bool {
	if _, ok := errors.AsType[net.Error](err); ok {
		return true
	}
	if _, ok := errors.AsType[syscall.Errno](err); ok {
		return true
	}
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed)
}

// body is the body of a reply under the timers of its exchange.
type body struct {
	x     *exchange
	src   io.ReadCloser
	begun bool
	err   error // what the body ended with
}

// Read returns io.EOF or a *Failure at the end.
func (b *body) Read(p []byte) (int, error) {
	if b.err != nil {
		return 0, b.err
	}
	b.x.wait()
	n, err := b.src.Read(p)
	if n > 0 {
		b.x.rest()
	}
	if n > 0 && !b.begun {
		b.begun = true
		b.x.limitWaits(KindIdleTimeout, b.x.provider.opts.Timeouts.Idle)
	}
	if err == nil {
		return n, nil
	}
	b.x.stop()
	if b.err = err; err != io.EOF {
		b.err = b.x.failure(err, true)
	}
	return n, b.err
}

// Close aborts what is unfinished. It may be called while Read waits.
func (b *body) Close() error {
	b.x.finish()
	return b.src.Close()
}
