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
	// maxTargets bounds how many targets are stored, because clients choose their names. Configured targets come on
	// top.
	maxTargets = 4096
	// forgetEvery is the shortest time between two searches for targets to remove.
	forgetEvery = time.Second
)

// Event is a change in the health of a target.
type Event struct {
	Target    string // "<provider>/<model-name>"
	Account   string // id of the only account that is affected; empty for all
	Available bool   // the target answers again; otherwise it failed for the fifth time in a row
	Reason    string // of the last failure, for operators
	Brief     string // the reason for everybody
	At        time.Time
}

// Health records the health of targets and keys. It outlives tables: a reload of the configuration loses nothing.
type Health struct {
	notify func(Event)
	dearer dearer

	mu        sync.RWMutex
	targets   map[targetID]*circuit
	owned     map[string]map[targetID]*circuit // by account: the health as seen by that account only
	keys      map[keyID]*circuit
	budgets   map[string]*retryBudget // by provider
	traffic   map[string]*traffic     // by provider
	forgot    time.Time               // time of the last search for targets to remove
	forgotOwn time.Time
}

type (
	targetID struct{ provider, model string }
	keyID    struct{ provider, key string }
)

// NewHealth returns an empty Health. It calls notify for each change; notify must not block and may be nil.
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

// target returns the circuit of a target. Beyond the bound it returns a circuit that is not stored, unless the target
// is configured, so that model names made up by clients do not displace configured targets.
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
		id.model = strings.Clone(id.model) // the name may be a slice of a large string
		h.targets[id] = c
	}
	return c
}

// drop removes a target that has not answered or failed yet, unless its circuit has been replaced.
func (h *Health) drop(t *Target, c *circuit) {
	h.mu.Lock()
	defer h.mu.Unlock()
	id := targetID{t.Provider.Name(), t.Model}
	if c.isUnused() && h.targets[id] == c {
		delete(h.targets, id)
	}
}

// forget removes targets without recent failures.
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

// keysOf returns the circuits of a provider's keys, in their order.
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

// State is the state of a target or a provider.
type State string

// The states.
const (
	StateUnused  State = "unused"      // no attempt yet
	StateOK      State = "ok"          // the last attempt succeeded
	StateFailing State = "failing"     // the last attempt failed
	StateOpen    State = "unavailable" // the circuit is open: other targets are preferred
)

// Condition describes the health of a target.
type Condition struct {
	Target    string     `json:"target"` // "<provider>/<model-name>"
	State     State      `json:"state"`
	Failures  int        `json:"failures"`             // consecutive failures up to now
	Until     *time.Time `json:"until,omitempty"`      // time of the next probe of an open circuit
	LatencyMS int64      `json:"latency_ms,omitempty"` // moving average of the time to first token of streams
	LastError string     `json:"last_error,omitempty"` // for operators
	LastAt    *time.Time `json:"last_error_at,omitempty"`
	// Alone is the number of accounts that avoid the target because of failures that their own requests may have
	// caused. The failures themselves are only in the log.
	Alone int `json:"unavailable_to_accounts,omitempty"`
}

// ProviderCondition describes the health of a provider. Its state is that of its worst target.
type ProviderCondition struct {
	Name    string      `json:"name"`
	Dialect string      `json:"dialect"`
	BaseURL string      `json:"base_url"`
	State   State       `json:"state"`
	Keys    int         `json:"keys"`
	Resting int         `json:"keys_resting"`
	Targets []Condition `json:"targets"`
	// Credentials describes each key; empty for a provider without keys.
	Credentials []KeyCondition `json:"credentials,omitempty"`
	// Hour is the provider's traffic of the last hour.
	Hour Traffic `json:"-"`
}

// KeyCondition describes the health of a provider's key.
type KeyCondition struct {
	Fingerprint string     `json:"fingerprint"`     // last four digits of provider.KeyID
	Until       *time.Time `json:"until,omitempty"` // end of its rest; nil if it does not rest
}

// Providers returns the health of the table's providers, in its order.
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

// Compare returns a positive number if s is worse than o, and a negative one if o is worse.
func (s State) Compare(o State) int {
	order := []State{StateUnused, StateOK, StateFailing, StateOpen}
	return slices.Index(order, s) - slices.Index(order, o)
}

// conditions returns the health of a provider's known targets, by name.
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
