// Package lifetime provides a context that is embedded in the object that it belongs to. Unlike the contexts of package
// context, it allocates nothing on the heap while nothing waits for it.
package lifetime

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Follower is notified when a context ends.
type Follower interface {
	// Ended is called once, in a goroutine of its own.
	Ended()
}

// Lifetime is a context.Context that ends when End is called. The zero value has no values. It must not be copied.
type Lifetime struct {
	values context.Context // nil for none
	over   atomic.Bool

	mu    sync.Mutex
	done  chan struct{} // nil until Done is called
	first Follower      // the first follower, in most cases the only one
	more  []Follower
}

// Begin sets the context that provides the values; its end has no effect. Begin must be called before the lifetime is
// shared.
func (l *Lifetime) Begin(values context.Context) { l.values = values }

// End ends the lifetime and notifies its followers. Further calls have no effect.
func (l *Lifetime) End() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over.Swap(true) {
		return
	}
	if l.done != nil {
		close(l.done)
	}
	if l.first != nil {
		go l.first.Ended()
	}
	for _, f := range l.more {
		go f.Ended()
	}
	l.first, l.more = nil, nil
}

// Deadline implements context.Context. A lifetime has no deadline.
func (l *Lifetime) Deadline() (at time.Time, ok bool) { return at, false }

// Done implements context.Context.
func (l *Lifetime) Done() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.done == nil {
		if l.done = make(chan struct{}); l.over.Load() {
			close(l.done)
		}
	}
	return l.done
}

// Err implements context.Context.
func (l *Lifetime) Err() error {
	if l.over.Load() {
		return context.Canceled
	}
	return nil
}

// Value implements context.Context.
func (l *Lifetime) Value(key any) any {
	if l.values == nil {
		return nil
	}
	return l.values.Value(key)
}

// AfterFunc calls f in a goroutine of its own when the lifetime ends, unless stop is called before. Package context
// calls AfterFunc for contexts derived from this one.
func (l *Lifetime) AfterFunc(f func()) (stop func() bool) {
	own := &function{f}
	l.add(own)
	return func() bool { return l.remove(own) }
}

type function struct{ call func() }

// Ended implements Follower.
func (f *function) Ended() { f.call() }

func (l *Lifetime) add(f Follower) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.over.Load():
		go f.Ended()
	case l.first == nil:
		l.first = f
	default:
		l.more = append(l.more, f)
	}
}

// remove reports whether f was removed before it was notified.
func (l *Lifetime) remove(f Follower) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.first == f {
		l.first = nil
		return true
	}
	i := slices.Index(l.more, f)
	if i < 0 {
		return false
	}
	l.more = slices.Delete(l.more, i, i+1)
	return true
}

// Link connects a follower to a context. The zero value connects nothing.
type Link struct {
	of       *Lifetime
	follower Follower
	stop     func() bool // for a context that is not a Lifetime
}

// Follow notifies f when ctx ends. A follower is a pointer, and follows a context once.
func Follow(ctx context.Context, f Follower) Link {
	if l, ok := ctx.(*Lifetime); ok {
		l.add(f)
		return Link{of: l, follower: f}
	}
	return Link{stop: context.AfterFunc(ctx, f.Ended)}
}

// Cut ends the link, and reports whether it did so before the follower was notified.
func (k *Link) Cut() bool {
	switch {
	case k.of != nil:
		return k.of.remove(k.follower)
	case k.stop != nil:
		return k.stop()
	}
	return false
}
