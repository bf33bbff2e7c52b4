package ratelimit

import (
	"strconv"
	"sync"
	"sync/atomic"
)

const (
	// maxPending bounds the changes that wait to be sent to Valkey. Beyond it the oldest is dropped: the amount it
	// concerns then counts until it leaves the window.
	maxPending = 16 << 10
	// maxBatch is how many operations a call in the background has, and maxCarried how many are added to the call of
	// a request.
	maxBatch   = 256
	maxCarried = 16
)

// script holds the keys and arguments of a call, in the form of limits.lua.
type script struct{ keys, args []string }

func (s *script) op(key string, args ...string) {
	s.keys = append(s.keys, key)
	s.args = append(s.args, args...)
}

// change is an operation on a counter that no request waits for.
type change struct {
	key                    string
	member                 string // of a slot; empty for a window
	second, refund, excess int64
}

func (c *change) write(s *script) {
	if c.member != "" {
		s.op(c.key, "f", c.member)
		return
	}
	s.op(c.key, "s", strconv.FormatInt(c.second, 10), strconv.FormatInt(c.refund, 10), strconv.FormatInt(c.excess, 10))
}

// outbox holds the changes that wait to be sent to Valkey.
type outbox struct {
	dropped atomic.Int64
	wake    chan struct{} // signals new changes

	mu      sync.Mutex
	pending []change
	first   int // index of the first pending change that was not taken
}

func newOutbox() *outbox { return &outbox{wake: make(chan struct{}, 1)} }

func (o *outbox) put(changes ...change) {
	if len(changes) == 0 {
		return
	}
	o.mu.Lock()
	for _, c := range changes {
		if len(o.pending)-o.first >= maxPending {
			o.first++
			o.dropped.Add(1)
		}
		if o.first >= maxPending {
			o.pending, o.first = append(o.pending[:0], o.pending[o.first:]...), 0
		}
		o.pending = append(o.pending, c)
	}
	o.mu.Unlock()
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// take moves up to most changes, oldest first, into a call, and returns how many.
func (o *outbox) take(most int, into *script) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	n := min(most, len(o.pending)-o.first)
	for i := range n {
		o.pending[o.first+i].write(into)
	}
	if o.first += n; o.first == len(o.pending) {
		o.pending, o.first = o.pending[:0], 0
	}
	return n
}

func (o *outbox) len() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.pending) - o.first
}
