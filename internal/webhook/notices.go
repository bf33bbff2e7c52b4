package webhook

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"weir/internal/budget"
)

const (
	rateLimitEvery = time.Minute      // at most one event per account and limit
	exceededEvery  = 5 * time.Second  // at most one check whether a budget is spent
	exceededFor    = 10 * time.Minute // how long a reported budget is remembered
	maxNotices     = 1024             // waiting to be written
	maxOfOne       = maxNotices / 16  // of one account
	maxKnown       = 1 << 14          // remembered names
	noticeRetry    = time.Second
)

// NoticesOptions configures Notices.
type NoticesOptions struct {
	// Tell writes an event. TellExceeded writes the event of a spent budget; it reports whether the budget is spent,
	// and may be called repeatedly.
	Tell         func(ctx context.Context, e Event) error
	TellExceeded func(ctx context.Context, x budget.Exceeded) (bool, error)
	Node         string
	Now          func() time.Time
	Log          *slog.Logger
}

// Notices writes events that occur outside of a transaction, such as refusals, in the background. Callers never wait:
// if the database is unavailable for long, events that do not fit into the queue are lost and logged.
type Notices struct {
	options NoticesOptions
	queue   chan notice

	mu    sync.Mutex
	known map[string]time.Time // when each name may be reported again
	waits map[string]int       // queued, by account
}

// notice is a pending write, and its account; empty for none.
type notice struct {
	account string
	write   func(context.Context) error
}

// NewNotices returns Notices, which Run writes.
func NewNotices(o NoticesOptions) *Notices {
	return &Notices{
		options: o, queue: make(chan notice, maxNotices), known: map[string]time.Time{}, waits: map[string]int{},
	}
}

// Run writes notices until ctx ends, and then the remaining ones.
func (n *Notices) Run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			n.finish(context.WithoutCancel(ctx))
			return
		case x := <-n.queue:
			n.write(ctx, x.write)
			n.wait(x.account, -1)
		}
	}
}

// finish writes the remaining notices, within a few seconds and without retries.
func (n *Notices) finish(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, finishFor)
	defer cancel()
	for {
		select {
		case x := <-n.queue:
			if err := x.write(ctx); err != nil {
				n.options.Log.Warn("an event is lost: the gateway is stopping", "err", err)
			}
		default:
			return
		}
	}
}

// write writes one notice, and retries until it succeeds.
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

// put queues a notice. One account cannot fill the queue.
func (n *Notices) put(account string, write func(context.Context) error) {
	if waits := n.wait(account, 1); account != "" && waits > maxOfOne {
		n.wait(account, -1)
		n.options.Log.Debug("an event is dropped: its account has too many waiting", "account", account)
		return
	}
	select {
	case n.queue <- notice{account, write}:
	default:
		n.wait(account, -1)
		n.options.Log.Warn("an event is lost: the database could not be written for too long")
	}
}

// wait adds more to the number of queued notices of an account, and returns the sum.
func (n *Notices) wait(account string, more int) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.waits[account] += more
	waits := n.waits[account]
	if waits == 0 {
		delete(n.waits, account)
	}
	return waits
}

// fresh reports whether that name was not reported recently, and remembers it for the given time.
func (n *Notices) fresh(name string, lasts time.Duration) bool {
	now := n.options.Now()
	n.mu.Lock()
	defer n.mu.Unlock()
	if now.Before(n.known[name]) {
		return false
	}
	n.know(name, now.Add(lasts))
	return true
}

func (n *Notices) know(name string, until time.Time) {
	if len(n.known) >= maxKnown {
		n.known = map[string]time.Time{}
	}
	n.known[name] = until
}

// RateLimited reports that a request of a key was refused because of a limit. All keys of an account share one event,
// so that many keys do not cause more events.
func (n *Notices) RateLimited(account, key string, limit RateLimit) {
	of := fmt.Sprintf("%s %s %s", account, limit.Of, limit.What)
	if !n.fresh("rate "+of, rateLimitEvery) {
		return
	}
	now := n.options.Now()
	e := NewEvent(RateLimitExceeded, account, now, Data{Key: &Key{ID: key}, RateLimit: &limit})
	e.Once, e.Until = string(RateLimitExceeded)+" "+of, now.Add(rateLimitEvery) // other nodes may report it too
	n.put(account, func(ctx context.Context) error { return n.options.Tell(ctx, e) })
}

// Exceeded reports that a budget has refused a request of an account.
func (n *Notices) Exceeded(account string, x budget.Exceeded) {
	name := fmt.Sprintf("budget %s %d %s", x.Budget.Scope, x.Budget.Period.Number(x.At), x.Budget.Limit)
	if !n.fresh(name, exceededEvery) {
		return
	}
	n.put(account, func(ctx context.Context) error {
		told, err := n.options.TellExceeded(ctx, x)
		if told {
			n.mu.Lock()
			defer n.mu.Unlock()
			n.know(name, n.options.Now().Add(exceededFor))
		}
		return err
	})
}

// Provider reports that a model has become unavailable at its provider, or answers again. A model is not public if only
// clients' requests have named it; then only operators receive the event, because one account's models are not for
// others.
func (n *Notices) Provider(t Type, of Target, public bool) {
	of.Node = n.options.Node
	e := NewEvent(t, "", n.options.Now(), Data{Target: &of})
	e.Internal = !public
	n.put("", func(ctx context.Context) error { return n.options.Tell(ctx, e) })
}
