package credential

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

const (
	// fetchTime bounds fetching a credential. A command such as "az" takes some seconds; an absent metadata service
	// never answers.
	fetchTime = 20 * time.Second
	// renewBefore is how long before its expiry a credential is renewed while it is still in use.
	renewBefore = 5 * time.Minute
	// renewAgain is the shortest time between two renewals, because some sources return the same credential until
	// shortly before its expiry.
	renewAgain = 30 * time.Second
	// lookAgain is how often a credential without an expiry is fetched again, because its file may have changed.
	lookAgain = 10 * time.Minute
	// lastMoments is how long before its expiry a credential is no longer used.
	lastMoments = 10 * time.Second
	// failureRest is how long no fetch is attempted after a failed one.
	failureRest = 5 * time.Second
)

// lease is a credential with an expiry.
type lease[T any] struct {
	value T
	end   time.Time // zero for never
}

// credentialCache holds one credential for all callers. It fetches it on first use and renews it before it expires. A
// caller that finds a valid one never waits.
type credentialCache[T any] struct {
	fetch func(ctx context.Context) (lease[T], error)
	now   func() time.Time

	mu     sync.Mutex
	had    []lease[T] // the current one, then the previous one
	renew  time.Time  // when to renew the current one
	err    error      // why there is none
	rest   time.Time  // until when err is returned without another fetch
	flight *flight[T] // the running fetch; nil if there is none
	closed bool
}

// flight is a running fetch with its waiting callers.
type flight[T any] struct {
	ctx     context.Context
	cancel  context.CancelFunc
	done    chan struct{} // closed when value and err are set
	value   T
	err     error
	waiting int
}

func newCredentialCache[T any](now func() time.Time, fetch func(ctx context.Context) (lease[T], error),
) *credentialCache[T] {
	return &credentialCache[T]{fetch: fetch, now: now}
}

// get returns a valid credential. If it has to wait for one and ctx ends first, it returns ctx's error.
func (k *credentialCache[T]) get(ctx context.Context) (T, error) {
	value, f, err := k.look()
	if f == nil {
		return value, err
	}
	defer k.leave(f)
	select {
	case <-f.done:
		return f.value, f.err
	case <-f.ctx.Done():
		return f.late()
	case <-ctx.Done():
		return value, ctx.Err()
	}
}

// late returns the result of a fetch after its timeout. The fetch may still be running, because not every source obeys
// its context.
func (f *flight[T]) late() (value T, err error) {
	select {
	case <-f.done:
		return f.value, f.err
	default:
		return value, errFetchTime
	}
}

var errFetchTime = fmt.Errorf("no answer within %s", fetchTime)

// look returns the current credential, or the error of the last fetch, or else the fetch to wait for.
func (k *credentialCache[T]) look() (value T, f *flight[T], err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := k.now()
	if len(k.had) > 0 && k.had[0].isGood(now) {
		if !now.Before(k.renew) && !k.closed {
			k.begin()
		}
		return k.had[0].value, nil, nil
	}
	if k.flight == nil && now.Before(k.rest) {
		return value, nil, k.err
	}
	f = k.begin()
	f.waiting++
	return value, f, nil
}

func (l *lease[T]) isGood(now time.Time) bool {
	return l.end.IsZero() || now.Add(lastMoments).Before(l.end)
}

// begin returns the running fetch, or starts one. The fetch does not depend on a caller's context, so that a caller
// that leaves does not cancel it for the others.
func (k *credentialCache[T]) begin() *flight[T] {
	if k.flight != nil {
		return k.flight
	}
	ctx, cancel := context.WithTimeout(context.Background(), fetchTime)
	f := &flight[T]{ctx: ctx, cancel: cancel, done: make(chan struct{})}
	k.flight = f
	go func() {
		defer cancel()
		l, err := k.fetch(ctx)
		if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
			err = errFetchTime
		}
		k.finish(f, l, err)
	}()
	return f
}

func (k *credentialCache[T]) finish(f *flight[T], l lease[T], err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := k.now()
	if err == nil && !l.isGood(now) {
		err = errors.New("the credential has expired")
	}
	f.value, f.err = l.value, err
	k.flight = nil
	if err != nil {
		k.err, k.rest = err, now.Add(failureRest)
		k.renew = now.Add(renewAgain)
	} else {
		k.had = append([]lease[T]{l}, k.had[:min(1, len(k.had))]...)
		k.renew = renewal(now, l.end)
	}
	close(f.done)
}

// renewal returns when to renew a credential that was fetched now.
func renewal(now, end time.Time) time.Time {
	if end.IsZero() {
		return now.Add(lookAgain)
	}
	at, soonest := end.Add(-renewBefore), now.Add(renewAgain)
	if at.Before(soonest) {
		return soonest
	}
	return at
}

func (k *credentialCache[T]) leave(f *flight[T]) {
	k.mu.Lock()
	defer k.mu.Unlock()
	f.waiting--
	k.cancelIdle()
}

// close cancels a fetch without waiting callers, now or later. Running requests still get their credential.
func (k *credentialCache[T]) close() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.closed = true
	k.cancelIdle()
}

func (k *credentialCache[T]) cancelIdle() {
	if k.closed && k.flight != nil && k.flight.waiting == 0 {
		k.flight.cancel()
	}
}

// known returns the credentials that may still be in use.
func (k *credentialCache[T]) known() []T {
	k.mu.Lock()
	defer k.mu.Unlock()
	all := make([]T, len(k.had))
	for i := range k.had {
		all[i] = k.had[i].value
	}
	return all
}
