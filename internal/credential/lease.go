package credential

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

const (
	// fetchTime bounds getting a credential. A command such as "az" takes some
	// seconds; a metadata service that is not there answers nothing at all.
	fetchTime = 20 * time.Second
	// renewBefore is how long before its end a credential is fetched anew,
	// while it is still used.
	renewBefore = 5 * time.Minute
	// renewAgain is the least time between two such fetches: some sources go
	// on giving the same credential until shortly before its end.
	renewAgain = 30 * time.Second
	// lookAgain is after how long a credential without an end is looked for
	// anew: it may have been exchanged in its file.
	lookAgain = 10 * time.Minute
	// lastMoments is how long before its end a credential is not used any more.
	lastMoments = 10 * time.Second
	// failureRest is how long nobody tries again to get what could not be had.
	failureRest = 5 * time.Second
)

// lease is a credential that is good for a while.
type lease[T any] struct {
	value T
	end   time.Time // zero for never
}

// credentialCache has one credential for all callers, fetched when it is first needed
// and again before it ends. Whoever finds a good one never waits.
type credentialCache[T any] struct {
	fetch func(ctx context.Context) (lease[T], error)
	now   func() time.Time

	mu     sync.Mutex
	had    []lease[T] // the present one, then the one before it
	renew  time.Time  // when the present one is fetched anew
	err    error      // why there is none
	rest   time.Time  // until when that is taken for granted
	flight *flight[T] // the fetch under way; nil for none
	closed bool
}

// flight is one fetch and those who wait for it.
type flight[T any] struct {
	ctx     context.Context
	cancel  context.CancelFunc
	done    chan struct{} // closed once value and err are set
	value   T
	err     error
	waiting int
}

func newCredentialCache[T any](now func() time.Time, fetch func(ctx context.Context) (lease[T], error),
) *credentialCache[T] {
	return &credentialCache[T]{fetch: fetch, now: now}
}

// get is a credential that is good now. It waits for one at most until ctx
// ends; its own error is ctx's then.
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

// late is what a fetch came to whose time is over. It may not have ended: not
// every source listens to its context.
func (f *flight[T]) late() (value T, err error) {
	select {
	case <-f.done:
		return f.value, f.err
	default:
		return value, errFetchTime
	}
}

var errFetchTime = fmt.Errorf("none within %s", fetchTime)

// look is the credential at hand, or why there is none, or else the fetch to
// wait for.
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

// begin is the fetch under way, begun where there is none. It belongs to no
// caller, so that none who leaves takes it from the others.
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
		err = errors.New("the one that was found has expired")
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

// renewal is when a credential that was got now is fetched anew.
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

// close gives up a fetch that nobody waits for, now or later. Requests under
// way still get theirs.
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

// known are the credentials that may still be on their way somewhere.
func (k *credentialCache[T]) known() []T {
	k.mu.Lock()
	defer k.mu.Unlock()
	all := make([]T, len(k.had))
	for i := range k.had {
		all[i] = k.had[i].value
	}
	return all
}
