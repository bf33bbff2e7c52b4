// Package lifetime has a context that is part of what it is the context of: it takes nothing from the
// heap where nobody waits for it, unlike those of package context.
package lifetime

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Follower is told that a context has ended.
type Follower interface {
	// Ended is called once, in a goroutine of its own.
	Ended()
}

// Lifetime is a context.Context that ends when End is called. Its zero value is one without values. It
// must not be copied.
type Lifetime struct {
	values context.Context // nil for none
	over   atomic.Bool

	mu    sync.Mutex
	done  chan struct{} // nil until somebody asks for it
	first Follower      // room for one, which is nearly always enough
	more  []Follower
}

// Begin gives it the values of a context, whose end is not its own. Nobody has it yet.
func (l *Lifetime) Begin(values context.Context) { l.values = values }

// End ends it, and tells its followers. Only the first call counts.
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

// Deadline implements context.Context: there is none.
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

// AfterFunc has f called in a goroutine of its own when it ends, unless stop is called before.
// Package context calls it for the contexts that are made of this one.
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

// remove reports whether f was not told.
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

// Link is a follower of a context. The zero value is none.
type Link struct {
	of       *Lifetime
	follower Follower
	stop     func() bool // of another context than a Lifetime
}

// Follow has f told when ctx ends. A follower is a pointer, and follows a context once.
func Follow(ctx context.Context, f Follower) Link {
	if l, ok := ctx.(*Lifetime); ok {
		l.add(f)
		return Link{of: l, follower: f}
	}
	return Link{stop: context.AfterFunc(ctx, f.Ended)}
}

// Cut ends the link, and reports whether its follower was not told.
func (k *Link) Cut() bool {
	switch {
	case k.of != nil:
		return k.of.remove(k.follower)
	case k.stop != nil:
		return k.stop()
	}
	return false
}
