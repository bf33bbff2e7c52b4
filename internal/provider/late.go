package provider

import (
	"errors"
	"sync/atomic"
)

// Late is an exchange whose answer did not begin in time, while the provider works on:
// most vendors charge for it all the same, so that its usage is worth waiting for.
type Late struct {
	exchange *exchange
	call     Call
	wait     func() (answer, error)
}

// ReadAll waits for the whole answer, for the rest of the exchange's total time or until
// the context that Do was given ends, and closes the exchange. The answer is as Do and
// Response.ReadAll give it, of at most 1 MiB.
func (l *Late) ReadAll() (*Response, []byte, error) {
	x := l.exchange
	l.call.Abandoned = new(atomic.Bool)
	l.call.Abandoned.Store(true)
	a, err := l.wait()
	r, err := x.response(&l.call, a, x.sendFailure(&l.call, err))
	if err != nil {
		return nil, nil, err
	}
	text, err := r.ReadAll()
	return r, text, err
}

// Close gives the exchange up.
func (l *Late) Close() { l.exchange.finish() }

// errLate is an answer that did not begin in time, and that can be waited for.
var errLate = errors.New("no first byte in time")

// lateError is errLate with the way to wait on.
type lateError struct {
	wait func() (answer, error)
}

func (*lateError) Error() string { return errLate.Error() }

// sendFailure is what an error of wire.send is; nil for none.
func (x *exchange) sendFailure(c *Call, err error) *Failure {
	if err == nil {
		return nil
	}
	late, ok := errors.AsType[*lateError](err)
	if !ok {
		return x.failure(err, false)
	}
	f := x.provider.failure(KindFirstByteTimeout, true, errLate)
	f.Late = &Late{exchange: x, call: *c, wait: late.wait}
	return f
}
