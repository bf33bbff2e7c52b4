package provider

import (
	"context"
	"errors"
	"io"
	"net"
	"runtime"
	"sync/atomic"
	"syscall"

	"weir/internal/dialect"
	"weir/internal/lifetime"
)

// exchange is one request and its answer, with its timers and its progress.
type exchange struct {
	watch

	provider *Provider
	parent   context.Context  // of the caller
	signed   []dialect.Header // headers that authenticate the gateway if no key does
	link     lifetime.Link    // to the parent
	apart    bool             // the parent has no effect any more, and never had
	sent     atomic.Bool      // a part of the request may have been sent

	call   Call // of Do
	http1  http1Body
	body   body
	answer Response
}

func (p *Provider) newExchange(parent context.Context, stream bool) *exchange {
	x, _ := p.exchanges.Get().(*exchange)
	if x == nil {
		x = &exchange{}
	}
	x.provider, x.parent = p, parent
	limits := p.opts.Timeouts
	if !stream {
		limits.FirstByte = p.wholeFirstByte
	}
	x.start(&limits)
	return x
}

// Release closes the body, and lets another exchange use the memory of this one, unless something may still refer to
// it. Neither the response nor its headers may be used afterwards: they are overwritten.
func (r *Response) Release() {
	_ = r.Body.Close()
	x := r.exchange
	if !x.apart || x.http1.written != nil {
		x.unset()
		return
	}
	p := x.provider
	x.provider, x.parent, x.signed, x.link, x.apart = nil, nil, nil, lifetime.Link{}, false
	x.sent.Store(false)
	x.call, x.body, x.answer = Call{}, body{}, Response{}
	x.http1.reset()
	p.exchanges.Put(x)
}

// follow aborts the exchange when its caller's context ends.
func (x *exchange) follow() { x.link = lifetime.Follow(x.parent, x) }

// Ended aborts the exchange, because its caller's context has ended.
func (x *exchange) Ended() { x.abort(errGivenUp) }

// finish stops the timers and aborts the unfinished rest.
func (x *exchange) finish() {
	x.apart = x.link.Cut() || x.apart
	x.stop()
	x.abort(errGivenUp)
}

// abandon is finish for an exchange without Release.
func (x *exchange) abandon() {
	x.finish()
	x.unset()
}

// failure classifies an error of the connection, or of the body if inBody is set.
func (x *exchange) failure(err error, inBody bool) *Failure {
	sent := inBody || x.sent.Load()
	return x.provider.failure(x.kind(err, sent, inBody), sent, err)
}

func (x *exchange) kind(err error, sent, inBody bool) Kind {
	reason := x.reason()
	if e, ok := errors.AsType[expiry](reason); ok {
		if Kind(e) == KindFirstByteTimeout && !sent {
			return KindConnectTimeout
		}
		return Kind(e)
	}
	switch {
	case reason != nil, x.parent.Err() != nil:
		return KindCanceled
	case !sent && isShortage(err):
		return KindShortage
	case !sent && isTimeout(err):
		return KindConnectTimeout
	case !sent:
		return KindRefused
	case inBody && errors.Is(err, io.ErrUnexpectedEOF):
		return KindTruncated
	case isBroken(err):
		return KindReset
	}
	return KindProtocol
}

func isTimeout(err error) bool {
	e, ok := errors.AsType[net.Error](err)
	return ok && e.Timeout()
}

// isBroken reports whether an error means a lost connection rather than an invalid answer.
func isBroken(err error) bool {
	if _, ok := errors.AsType[net.Error](err); ok {
		return true
	}
	if _, ok := errors.AsType[syscall.Errno](err); ok {
		return true
	}
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed)
}

// body is the body of a reply, read under the timers of its exchange.
type body struct {
	x     *exchange
	src   io.ReadCloser
	begun bool
	reads int   // since the last runtime.Gosched
	err   error // error at the end of the body
}

// yieldEvery is the number of reads after which a body yields the processor, because the reads of a provider that sends
// without pause never block.
const yieldEvery = 2

// Read returns io.EOF or a *Failure at the end.
func (b *body) Read(p []byte) (int, error) {
	if b.err != nil {
		return 0, b.err
	}
	if b.reads++; b.reads%yieldEvery == 0 {
		runtime.Gosched()
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

// Close aborts the unfinished exchange. It may be called while Read waits.
func (b *body) Close() error {
	err := b.src.Close()
	b.x.finish()
	return err
}
