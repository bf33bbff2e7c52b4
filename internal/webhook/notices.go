package webhook

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"weir/internal/ledger"
)

const (
	rateLimitEvery = time.Minute     // at most one event for a key
	exceededEvery  = 5 * time.Second // at most one question whether a budget is spent
	maxNotices     = 1024            // that wait for the database
	maxKnown       = 1 << 14         // names remembered
	noticeRetry    = time.Second
)

// NoticesOptions is what Notices are made of.
type NoticesOptions struct {
	// Tell writes an event, and TellExceeded that of a budget, if it is spent.
	Tell         func(ctx context.Context, e Event) error
	TellExceeded func(ctx context.Context, x ledger.Exceeded) (bool, error)
	Node         string
	Now          func() time.Time
	Log          *slog.Logger
}

// Notices take what happens in no transaction of its own, such as refusals, and have
// it written beside. Whoever notices something never waits: where the database takes
// nothing for long, what does not fit is lost, and logged.
type Notices struct {
	options NoticesOptions
	queue   chan func(context.Context) error

	mu    sync.Mutex
	known map[string]time.Time // until when nothing of that name is noticed
}

// NewNotices takes notices, which Run writes.
func NewNotices(o NoticesOptions) *Notices {
	return &Notices{options: o, queue: make(chan func(context.Context) error, maxNotices), known: map[string]time.Time{}}
}

// Run writes what is noticed until ctx ends, and then what was noticed before.
func (n *Notices) Run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			n.finish(context.WithoutCancel(ctx))
			return
		case write := <-n.queue:
			n.write(ctx, write)
		}
	}
}

// finish writes what waits, within a few seconds, and tries nothing again.
func (n *Notices) finish(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, finishFor)
	defer cancel()
	for {
		select {
		case write := <-n.queue:
			if err := write(ctx); err != nil {
				n.options.Log.Warn("an event is lost: the gateway stops", "err", err)
			}
		default:
			return
		}
	}
}

// write writes one notice, and tries again until it is written.
func (n *Notices) write(ctx context.Context, write func(context.Context) error) {
	for try := 1; ; try++ {
		asking, cancel := context.WithTimeout(ctx, askFor)
		err := write(asking)
		cancel()
		if err == nil || ctx.Err() != nil {
			return
		}
		if try == 1 {
			n.options.Log.Warn("an event could not be written; it is tried again", "err", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(noticeRetry):
		}
	}
}

func (n *Notices) put(write func(context.Context) error) {
	select {
	case n.queue <- write:
	default:
		n.options.Log.Warn("an event is lost: the database has taken none for long")
	}
}

// fresh reports whether nothing of that name was noticed lately, and takes note of
// it for so long.
func (n *Notices) fresh(name string, lasts time.Duration) bool {
	now := n.options.Now()
	n.mu.Lock()
	defer n.mu.Unlock()
	if now.Before(n.known[name]) {
		return false
	}
	if len(n.known) >= maxKnown {
		n.known = map[string]time.Time{}
	}
	n.known[name] = now.Add(lasts)
	return true
}

// RateLimited notices that a request of a key was refused because of a limit.
func (n *Notices) RateLimited(account, key string, limit RateLimit) {
	if !n.fresh("rate "+key, rateLimitEvery) {
		return
	}
	now := n.options.Now()
	e := NewEvent(RateLimitExceeded, account, now, Data{Key: &Key{ID: key}, RateLimit: &limit})
	e.Once, e.Until = string(RateLimitExceeded)+" "+key, now.Add(rateLimitEvery) // other nodes notice, too
	n.put(func(ctx context.Context) error { return n.options.Tell(ctx, e) })
}

// Exceeded notices that a budget has refused a request.
func (n *Notices) Exceeded(x ledger.Exceeded) {
	if !n.fresh("budget "+x.Budget.Scope+" "+string(x.Budget.Period)+" "+x.Budget.Limit.String(), exceededEvery) {
		return
	}
	n.put(func(ctx context.Context) error {
		_, err := n.options.TellExceeded(ctx, x)
		return err
	})
}

// Provider notices that a model has become unavailable at its provider, or answers
// again. One that is not public, because only clients' requests have named it, is for
// operators: what one account asks for is not for others.
func (n *Notices) Provider(t Type, of Target, public bool) {
	of.Node = n.options.Node
	e := NewEvent(t, "", n.options.Now(), Data{Target: &of})
	e.Internal = !public
	n.put(func(ctx context.Context) error { return n.options.Tell(ctx, e) })
}
