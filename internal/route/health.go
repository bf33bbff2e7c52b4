package route

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"weir/internal/provider"
)

// maxTargets bounds how many targets are remembered: their names are what
// clients ask for.
const maxTargets = 4096

// Event is a change in the health of a target.
type Event struct {
	Target    string // "<provider>/<model-name>"
	Available bool   // it answers again; otherwise it failed for the fifth time in a row
	Reason    string // of the last failure, fit to be shown
	At        time.Time
}

// Health remembers how targets and keys fare. It outlives the tables: a reload
// of the configuration forgets nothing.
type Health struct {
	notify func(Event)

	mu      sync.RWMutex
	targets map[targetID]*circuit
	keys    map[keyID]*circuit
	budgets map[string]*retryBudget // by provider
}

type (
	targetID struct{ provider, model string }
	keyID    struct{ provider, key string }
)

// NewHealth remembers nothing yet. Notify is told of every change, and must
// not block; nil for nobody.
func NewHealth(notify func(Event)) *Health {
	if notify == nil {
		notify = func(Event) {}
	}
	return &Health{
		notify: notify, targets: map[targetID]*circuit{}, keys: map[keyID]*circuit{}, budgets: map[string]*retryBudget{},
	}
}

// target is the circuit of a target. Beyond the bound, one that nobody keeps.
func (h *Health) target(t *Target, now time.Time) *circuit {
	id := targetID{t.Provider.Name(), t.Model}
	h.mu.RLock()
	c := h.targets[id]
	h.mu.RUnlock()
	if c != nil {
		return c
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if c := h.targets[id]; c != nil {
		return c
	}
	c = &circuit{used: now}
	if len(h.targets) >= maxTargets {
		h.forget(now)
	}
	if len(h.targets) < maxTargets {
		h.targets[id] = c
	}
	return c
}

// forget drops the targets of which nothing bad is known.
func (h *Health) forget(now time.Time) {
	for id, c := range h.targets {
		c.mu.Lock()
		idle := c.row == 0 && c.openFor == 0 || now.Sub(c.used) > longestOpen
		c.mu.Unlock()
		if idle {
			delete(h.targets, id)
		}
	}
}

// keysOf are the circuits of a provider's keys, in their order.
func (h *Health) keysOf(p *provider.Provider) []*circuit {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := make([]*circuit, p.Keys())
	for i := range all {
		id := keyID{p.Name(), p.KeyID(i)}
		if h.keys[id] == nil {
			h.keys[id] = &circuit{}
		}
		all[i] = h.keys[id]
	}
	return all
}

func (h *Health) budgetOf(p *provider.Provider) *retryBudget {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.budgets[p.Name()] == nil {
		h.budgets[p.Name()] = &retryBudget{}
	}
	return h.budgets[p.Name()]
}

// Condition is how a target fares.
type Condition struct {
	Target    string        `json:"target"`     // "<provider>/<model-name>"
	State     State         `json:"state"`      //
	Row       int           `json:"failures"`   // since the last success
	Until     time.Time     `json:"until"`      // when an open circuit may be probed
	Latency   time.Duration `json:"latency_ns"` // moving average of the time to the first token; 0 unknown
	LastError string        `json:"last_error"` // fit to be shown; empty for none
	LastAt    time.Time     `json:"last_error_at"`
}

// State is that of a circuit.
type State string

// The states.
const (
	StateOK      State = "ok"
	StateFailing State = "failing" // it failed last time
	StateOpen    State = "open"    // it is passed over where another is left
	StateProbing State = "probing" // one request finds out whether it works again
)

// Conditions lists the targets that were asked, by name.
func (h *Health) Conditions(now time.Time) []Condition {
	h.mu.RLock()
	defer h.mu.RUnlock()
	all := make([]Condition, 0, len(h.targets))
	for id, c := range h.targets {
		all = append(all, c.condition(id.provider+"/"+id.model, now))
	}
	slices.SortFunc(all, func(a, b Condition) int { return cmp.Compare(a.Target, b.Target) })
	return all
}

func (c *circuit) condition(name string, now time.Time) Condition {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := Condition{Target: name, State: StateOK, Row: c.row, Latency: c.latency, LastError: c.lastErr, LastAt: c.lastAt}
	switch {
	case c.probing:
		out.State = StateProbing
	case now.Before(c.until):
		out.State, out.Until = StateOpen, c.until
	case c.openFor > 0 || c.row > 0:
		out.State = StateFailing
	}
	return out
}

// Resting is how many keys of the provider rest.
func (h *Health) Resting(p *provider.Provider, now time.Time) (n int) {
	for _, c := range h.keysOf(p) {
		if !c.usable(now) {
			n++
		}
	}
	return n
}
