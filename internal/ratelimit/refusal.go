package ratelimit

import (
	"fmt"
	"time"

	"weir/internal/llm"
)

// limited is a kind of limit.
type limited int

const (
	theRequests limited = iota + 1
	theTokens
	theSlots
)

// busyRetry is the wait if the end of the wait is unknown: a slot is free as soon as another request of the same
// caller ends.
const busyRetry = time.Second

// refusal is the limit that requires the longest wait; its zero value means none.
type refusal struct {
	of   *level
	what limited
	wait time.Duration
}

func (n *refusal) note(of *level, what limited, wait time.Duration) {
	if wait > n.wait {
		*n = refusal{of, what, wait}
	}
}

// err returns the client's error.
func (n *refusal) err() error {
	l := n.of
	who := [numRanks]string{"This API key", "This account", "This installation"}[l.subject.rank]
	if l.part != nil {
		who = "This " + l.part.Name()
	}
	text := ""
	switch n.what {
	case theRequests:
		text = fmt.Sprintf("%s is limited to %s a minute.", who, counted(l.limits.RPM, "request"))
	case theTokens:
		text = fmt.Sprintf("%s is limited to %s a minute, and %s are reserved for this request.", who,
			counted(l.limits.TPM, "token"), fmt.Sprint(l.tokens))
	case theSlots:
		text = fmt.Sprintf("%s is limited to %s at a time.", who, counted(l.limits.Concurrency, "request"))
	}
	if l.limits != l.own {
		text += " This is this node's share during, and shortly after, an outage of the store of rate limits."
	}
	return &llm.Error{
		Code: llm.CodeRateLimited, RetryAfter: n.wait,
		Message: text + " " + llm.TryAgain(n.wait),
		Err:     n.exceeded(),
	}
}

// Exceeded is the cause of a refusal: the limit that the request would have exceeded.
type Exceeded struct {
	Of    string // "key", "account", "installation", "user" or "tag"
	What  string // "rpm", "tpm", "concurrency" or "rejected"
	Limit int64
}

// Error returns the text for the log.
func (x *Exceeded) Error() string { return fmt.Sprintf("%s of the %s: %d", x.What, x.Of, x.Limit) }

func (n *refusal) exceeded() *Exceeded {
	l := &n.of.limits
	x := &Exceeded{Of: [numRanks]string{"key", "account", "installation"}[n.of.subject.rank]}
	if n.of.part != nil {
		x.Of = n.of.part.Of()
	}
	switch n.what {
	case theRequests:
		x.What, x.Limit = "rpm", l.RPM
	case theTokens:
		x.What, x.Limit = "tpm", l.TPM
	case theSlots:
		x.What, x.Limit = "concurrency", l.Concurrency
	}
	return x
}

func counted(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
