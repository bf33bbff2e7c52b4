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
	rateLimitEvery = time.Minute      // at most one event for an account and a limit
	exceededEvery  = 5 * time.Second  // at most one question whether a budget is spent
	exceededFor    = 10 * time.Minute // for which it is known that a budget is told of
	maxNotices     = 1024             // that wait for the database
	maxOfOne       = maxNotices / 16  // of one account
	maxKnown       = 1 << 14          // names remembered
	noticeRetry    = time.Second
)

// NoticesOptions is what Notices are made of.
type NoticesOptions struct {
	// Tell writes an event, and TellExceeded that of a budget, if it is spent: then it
	// reports true, however often it is asked.
	Tell         func(ctx context.Context, e Event) error
	TellExceeded func(ctx context.Context, x budget.Exceeded) (bool, error)
	Node         string
	Now          func() time.Time
	Log          *slog.Logger
}

// Notices take what happens in no transaction of its own, such as refusals, and have
// it written beside. Whoever notices something never waits: where the database takes
// nothing for long, what does not fit is lost, and logged.
type Notices struct {
	options NoticesOptions
	queue   chan notice

	mu    sync.Mutex
	known map[string]time.Time // until when nothing of that name is noticed
	waits map[string]int       // in the queue, by account
}

// notice is what is to be written, and the account that it is of; none for everybody's.
type notice struct {
	account string
	write   func(context.Context) error
}

// NewNotices takes notices, which Run writes.
func NewNotices(o NoticesOptions) *Notices {
	return &Notices{
		options: o, queue: make(chan notice, maxNotices), known: map[string]time.Time{}, waits: map[string]int{},
	}
}

// Run writes what is noticed until ctx ends, and then what was noticed before.
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

// finish writes what waits, within a few seconds, and tries nothing again.
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

// put has something written. One account with many keys takes no place of others'.
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

// wait adds to how many notices of an account wait, and returns how many that are.
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

// fresh reports whether nothing of that name was noticed lately, and takes note of
// it for so long.
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

// RateLimited notices that a request of a key was refused because of a limit. One is told of for all
// keys of the account: an account with many keys is not told more often.
func (n *Notices) RateLimited(account, key string, limit RateLimit) {
	of := fmt.Sprintf("%s %s %s", account, limit.Of, limit.What)
	if !n.fresh("rate "+of, rateLimitEvery) {
		return
	}
	now := n.options.Now()
	e := NewEvent(RateLimitExceeded, account, now, Data{Key: &Key{ID: key}, RateLimit: &limit})
	e.Once, e.Until = string(RateLimitExceeded)+" "+of, now.Add(rateLimitEvery) // other nodes notice, too
	n.put(account, func(ctx context.Context) error { return n.options.Tell(ctx, e) })
}

// Exceeded notices that a budget has refused a request of an account.
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

// Provider notices that a model has become unavailable at its provider, or answers
// again. One that is not public, because only clients' requests have named it, is for
// operators: what one account asks for is not for others.
func (n *Notices) Provider(t Type, of Target, public bool) {
	of.Node = n.options.Node
	e := NewEvent(t, "", n.options.Now(), Data{Target: &of})
	e.Internal = !public
	n.put("", func(ctx context.Context) error { return n.options.Tell(ctx, e) })
}
