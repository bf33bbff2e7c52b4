package lifetime_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"weir/internal/lifetime"
)

// counted counts its notifications.
type counted struct{ told int }

func (c *counted) Ended() { c.told++ }

type key struct{}

// TestContextConformance checks that a lifetime obeys package context's contract, for waiting goroutines and for
// derived contexts.
func TestContextConformance(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		cause := errors.New("the reason")
		parent, end := context.WithCancelCause(context.WithValue(t.Context(), key{}, "value"))
		var l lifetime.Lifetime
		l.Begin(parent)
		child, cancel := context.WithTimeout(&l, time.Hour)
		defer cancel()
		apart := context.WithoutCancel(&l)
		end(cause)
		synctest.Wait()
		if l.Err() != nil || child.Err() != nil || l.Value(key{}) != "value" || child.Value(key{}) != "value" {
			t.Errorf("before its end: %v, %v, %v", l.Err(), child.Err(), l.Value(key{}))
		}
		if at, ok := l.Deadline(); ok {
			t.Errorf("a deadline at %v, want none", at)
		}
		l.End()
		l.End()
		synctest.Wait()
		for _, ctx := range []context.Context{&l, child} {
			select {
			case <-ctx.Done():
			default:
				t.Error("it has ended, and is not done")
			}
			if !errors.Is(ctx.Err(), context.Canceled) {
				t.Errorf("after its end: %v", ctx.Err())
			}
		}
		if got := context.Cause(&l); !errors.Is(got, cause) {
			t.Errorf("cause %v, want that of the context it has its values from", got)
		}
		if apart.Err() != nil {
			t.Errorf("a context without its end: %v", apart.Err())
		}
	})
}

// TestFollowersAreNotifiedOnce checks that followers are notified once, of a lifetime as of any other context, unless
// they stopped following.
func TestFollowersAreNotifiedOnce(t *testing.T) {
	t.Parallel()
	for _, own := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			l := &lifetime.Lifetime{}
			other, end := context.WithCancel(context.Background())
			ctx := other
			if own {
				ctx, end = l, l.End
			}
			var first, second, third, cut, late counted
			links := []lifetime.Link{lifetime.Follow(ctx, &first), lifetime.Follow(ctx, &cut), lifetime.Follow(ctx, &second)}
			if !links[1].Cut() || links[1].Cut() {
				t.Error("a link was not cut, or twice")
			}
			if !links[0].Cut() {
				t.Error("the first link was not cut")
			}
			links[0] = lifetime.Follow(ctx, &first)
			stop := context.AfterFunc(ctx, third.Ended)
			end()
			synctest.Wait()
			after := lifetime.Follow(ctx, &late)
			synctest.Wait()
			for i, c := range []*counted{&first, &second, &third, &late} {
				if c.told != 1 {
					t.Errorf("own %t: follower %d was notified %d times, want once", own, i, c.told)
				}
			}
			if cut.told != 0 || links[0].Cut() || after.Cut() || stop() {
				t.Errorf("own %t: one with a cut link was notified %d times, or a notified one could be cut", own, cut.told)
			}
		})
	}
	if new(lifetime.Link).Cut() {
		t.Error("there was no link, and it was cut")
	}
}

// TestFollowingDoesNotAllocate checks that following a lifetime does not allocate.
func TestFollowingDoesNotAllocate(t *testing.T) {
	l, f := &lifetime.Lifetime{}, &counted{}
	if got := testing.AllocsPerRun(100, func() {
		k := lifetime.Follow(l, f)
		k.Cut()
	}); got != 0 {
		t.Errorf("%v allocations, want none", got)
	}
}
