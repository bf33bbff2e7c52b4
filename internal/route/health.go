package route

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"time"

	"weir/internal/provider"
)

const (
	// maxTargets bounds how many targets are remembered: their names are what
	// clients ask for. Those of the aliases come on top.
	maxTargets = 4096
	// forgetEvery is how often room is looked for among them.
	forgetEvery = time.Second
)

// Event is a change in the health of a target.
type Event struct {
	Target    string // "<provider>/<model-name>"
	Account   string // the id of the one for which alone it changed; empty for all
	Available bool   // it answers again; otherwise it failed for the fifth time in a row
	Reason    string // of the last failure, fit to be shown to operators
	Brief     string // the same, fit to be shown to everybody
	At        time.Time
}

// Health remembers how targets and keys fare. It outlives the tables: a reload
// of the configuration forgets nothing.
type Health struct {
	notify func(Event)
	dearer dearer

	mu        sync.RWMutex
	targets   map[targetID]*circuit
	owned     map[string]map[targetID]*circuit // by account, what it alone has met
	keys      map[keyID]*circuit
	budgets   map[string]*retryBudget // by provider
	traffic   map[string]*traffic     // by provider
	forgot    time.Time               // when room was looked for
	forgotOwn time.Time
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
		notify: notify, targets: map[targetID]*circuit{}, owned: map[string]map[targetID]*circuit{},
		keys: map[keyID]*circuit{}, budgets: map[string]*retryBudget{},
		traffic: map[string]*traffic{},
	}
}

// target is the circuit of a target. Beyond the bound, one that nobody keeps,
// unless the target is one that was configured: what clients make up pushes
// none of these out.
func (h *Health) target(t *Target, configured bool, now time.Time) *circuit {
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
	if len(h.targets) >= maxTargets && now.Sub(h.forgot) >= forgetEvery {
		h.forgot = now
		forget(h.targets, now)
	}
	if configured || len(h.targets) < maxTargets {
		id.model = strings.Clone(id.model) // it may be a slice of something large
		h.targets[id] = c
	}
	return c
}

// drop forgets a target of which nothing is known, unless it has another circuit by now.
func (h *Health) drop(t *Target, c *circuit) {
	h.mu.Lock()
	defer h.mu.Unlock()
	id := targetID{t.Provider.Name(), t.Model}
	if c.isUnused() && h.targets[id] == c {
		delete(h.targets, id)
	}
}

// forget drops the targets of which nothing bad is known.
func forget(targets map[targetID]*circuit, now time.Time) {
	for id, c := range targets {
		c.mu.Lock()
		idle := c.row == 0 && c.openFor == 0 || now.Sub(c.used) > longestOpen
		c.mu.Unlock()
		if idle {
			delete(targets, id)
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

// State is how a target, or a provider, fares.
type State string

// The states.
const (
	StateUnused  State = "unused"      // nobody asked it yet
	StateOK      State = "ok"          // it answered last time
	StateFailing State = "failing"     // it failed last time
	StateOpen    State = "unavailable" // its circuit is open: it is passed over where another is left
)

// Condition is how a target fares.
type Condition struct {
	Target    string     `json:"target"` // "<provider>/<model-name>"
	State     State      `json:"state"`
	Failures  int        `json:"failures"`             // in a row, up to now
	Until     *time.Time `json:"until,omitempty"`      // when an open circuit may be probed
	LatencyMS int64      `json:"latency_ms,omitempty"` // moving average of the time to the first token of streams
	LastError string     `json:"last_error,omitempty"` // fit to be shown to an operator
	LastAt    *time.Time `json:"last_error_at,omitempty"`
	// Alone is for how many accounts alone it is passed over: of what their own requests
	// may have brought about, all else is in the log.
	Alone int `json:"unavailable_to_accounts,omitempty"`
}

// ProviderCondition is how a provider fares: as its worst target does.
type ProviderCondition struct {
	Name    string      `json:"name"`
	Dialect string      `json:"dialect"`
	BaseURL string      `json:"base_url"`
	State   State       `json:"state"`
	Keys    int         `json:"keys"`
	Resting int         `json:"keys_resting"`
	Targets []Condition `json:"targets"`
	// Credentials are the keys one by one; none for a provider that asks for no key.
	Credentials []KeyCondition `json:"credentials,omitempty"`
	// Hour is what it was asked in the last hour.
	Hour Traffic `json:"-"`
}

// KeyCondition is how a provider's key fares.
type KeyCondition struct {
	Fingerprint string     `json:"fingerprint"`     // last four digits of provider.KeyID
	Until       *time.Time `json:"until,omitempty"` // when its rest ends; nil while it does not rest
}

// Providers is how the table's providers fare, in its order.
func (t *Table) Providers(now time.Time) []ProviderCondition {
	all := make([]ProviderCondition, 0, len(t.providers))
	for _, p := range t.providers {
		c := ProviderCondition{
			Name: p.Name(), Dialect: p.Dialect().Name, BaseURL: p.ShownURL(p.BaseURL()), State: StateUnused,
			Keys: p.Keys(), Targets: t.health.conditions(p.Name(), now),
			Hour: t.byName[p.Name()].traffic.hour(now),
		}
		for i, k := range t.byName[p.Name()].keys {
			if !k.usable(now) {
				c.Resting++
			}
			if id := p.KeyID(i); id != "" {
				c.Credentials = append(c.Credentials, KeyCondition{id[len(id)-4:], k.rests(now)})
			}
		}
		for i := range c.Targets {
			if c.Targets[i].State.Compare(c.State) > 0 {
				c.State = c.Targets[i].State
			}
		}
		all = append(all, c)
	}
	return all
}

// Compare is above 0 where s is worse than o, and below 0 where o is.
func (s State) Compare(o State) int {
	order := []State{StateUnused, StateOK, StateFailing, StateOpen}
	return slices.Index(order, s) - slices.Index(order, o)
}

// conditions are the targets of a provider that were asked, by name.
func (h *Health) conditions(providerName string, now time.Time) []Condition {
	h.mu.RLock()
	defer h.mu.RUnlock()
	all, alone := []Condition{}, h.alone(now)
	for id, c := range h.targets {
		if id.provider == providerName {
			one := c.condition(id.provider+"/"+id.model, now)
			if one.Alone = alone[id]; one.Alone > 0 && one.State.Compare(StateFailing) < 0 {
				one.State = StateFailing
			}
			all = append(all, one)
		}
	}
	slices.SortFunc(all, func(a, b Condition) int { return cmp.Compare(a.Target, b.Target) })
	return all
}

func (c *circuit) condition(name string, now time.Time) Condition {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := Condition{
		Target: name, State: StateOK, Failures: c.row, LatencyMS: c.latency.Milliseconds(), LastError: c.lastErr,
	}
	if !c.lastAt.IsZero() {
		at := c.lastAt.UTC()
		out.LastAt = &at
	}
	switch {
	case now.Before(c.until):
		until := c.until.UTC()
		out.State, out.Until = StateOpen, &until
	case c.openFor > 0 || c.row > 0:
		out.State = StateFailing
	case !c.asked:
		out.State = StateUnused
	}
	return out
}
