package dashboard

import (
	"sync"
	"time"
)

const (
	onceFor = time.Hour
	onceMax = 4096 // forms remembered; beyond that the memory starts anew
)

// once remembers forms that were sent, so that a page loaded again does not do
// again what must not be done twice. It is of this node alone, and forgets: a
// convenience, not a promise.
type once struct {
	mu   sync.Mutex
	seen map[string]time.Time
}

// first reports whether the form of that name is sent for the first time. One
// without a name always is.
func (o *once) first(name string, now time.Time) bool {
	if name == "" {
		return true
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if at, ok := o.seen[name]; ok && now.Sub(at) < onceFor {
		return false
	}
	if o.seen == nil || len(o.seen) >= onceMax {
		o.seen = map[string]time.Time{}
	}
	o.seen[name] = now
	return true
}

// forget lets a form be sent again that was sent in vain.
func (o *once) forget(name string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.seen, name)
}
