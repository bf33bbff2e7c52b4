package dashboard

import (
	"sync"
	"time"
)

const (
	onceFor = time.Hour
	onceMax = 4096 // remembered forms; beyond that it starts anew
)

// once remembers sent forms, so that reloading a page does not repeat an action. It only knows the forms of this
// node, and forgets them: a convenience, not a guarantee.
type once struct {
	mu   sync.Mutex
	seen map[string]time.Time
}

// first reports whether the form of that name is sent for the first time. It always reports true for a form without a
// name.
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

// forget allows a failed form to be sent again.
func (o *once) forget(name string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.seen, name)
}
