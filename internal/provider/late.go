package provider

import "errors"

// Late is an exchange whose answer did not begin in time, while the provider may still be working. Most vendors charge
// for such an answer, so its usage is worth waiting for.
type Late struct {
	exchange *exchange
	wait     func() (answer, error)
}

// ReadAll waits for the whole answer, until the exchange's total timeout or the end of the context passed to Do, and
// closes the exchange. It returns the same as Do and Response.ReadAll, for an answer of at most 1 MiB.
func (l *Late) ReadAll() (*Response, []byte, error) {
	x := l.exchange
	a, err := l.wait()
	r, err := x.response(a, x.sendFailure(err))
	if err != nil {
		return nil, nil, err
	}
	text, err := r.readAll(true)
	x.unset()
	return r, text, err
}

// Close aborts the exchange.
func (l *Late) Close() { l.exchange.abandon() }

// errLate means that an answer did not begin in time and can be awaited further.
var errLate = errors.New("no first byte in time")

// lateError is errLate with the function that waits further.
type lateError struct {
	wait func() (answer, error)
}

func (*lateError) Error() string { return errLate.Error() }

// sendFailure returns the failure for an error of wire.send; nil if there is none.
func (x *exchange) sendFailure(err error) *Failure {
	if err == nil {
		return nil
	}
	late, ok := errors.AsType[*lateError](err)
	if !ok {
		return x.failure(err, false)
	}
	f := x.provider.failure(KindFirstByteTimeout, true, errLate)
	f.Late = &Late{exchange: x, wait: late.wait}
	return f
}
