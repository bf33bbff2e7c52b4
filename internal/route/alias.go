package route

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"time"

	"weir/internal/llm"
)

// Strategy decides how an alias orders its targets. The targets behind the first are its fallbacks.
type Strategy string

// The strategies.
const (
	StrategyFallback Strategy = "fallback" // in the configured order
	StrategyWeighted Strategy = "weighted" // random, by weight
	StrategyLatency  Strategy = "latency"  // of two random targets, the one with the shorter time to first token
)

// Alias is a name for one or more targets.
type Alias struct {
	Targets  []string // full names
	Weights  []int    // by target; nil means 1 each, 0 makes a target a fallback only
	Strategy Strategy // empty means StrategyFallback
	// On lists the failures of a target that make the next one be tried; nil means those of the rules.
	On []llm.Cause
	// NoRescue disables the continuation of an interrupted answer at another target.
	NoRescue bool
}

type alias struct {
	targets  []Target
	weights  []int // by target
	chosen   []int // indexes of the targets that are not fallbacks only
	total    int   // of the weights
	strategy Strategy
	noRescue bool
}

func (t *Table) resolve(a *Alias) (*alias, error) {
	out := &alias{strategy: a.Strategy, noRescue: a.NoRescue}
	for i, full := range a.Targets {
		var err error
		if out.targets, err = t.named(out.targets, full); err != nil {
			return nil, fmt.Errorf("target %s: %w", full, err)
		}
		out.targets[i].on = a.On
		weight := 1
		if i < len(a.Weights) {
			weight = max(0, a.Weights[i])
		}
		if weight > 0 {
			out.chosen = append(out.chosen, i)
		}
		out.weights = append(out.weights, weight)
		out.total += weight
	}
	return out, nil
}

// alias returns the alias of that name, or else the one with the longest matching prefix before an asterisk; nil if
// there is none. Full names are never aliases.
func (t *Table) alias(model string) *alias {
	if a, ok := t.aliases[model]; ok || strings.Contains(model, "/") {
		return a
	}
	var found *alias
	longest := -1
	for name, a := range t.aliases {
		prefix, open := strings.CutSuffix(name, "*")
		if open && len(prefix) > longest && strings.HasPrefix(model, prefix) {
			found, longest = a, len(prefix)
		}
	}
	return found
}

// order appends the targets in the order that a request tries them.
func (a *alias) order(dst []Target, h *Health) []Target {
	from := len(dst)
	dst = append(dst, a.targets...)
	mine := dst[from:]
	first := 0
	switch {
	case len(mine) < 2 || len(a.chosen) == 0:
	case a.strategy == StrategyWeighted:
		first = a.draw()
	case a.strategy == StrategyLatency:
		first = a.quicker(h)
	}
	chosen := mine[first]
	copy(mine[1:first+1], mine[:first])
	mine[0] = chosen
	return dst
}

// draw returns a random index, by weight.
func (a *alias) draw() int {
	n := rand.N(a.total)
	for i, w := range a.weights {
		if n -= w; n < 0 {
			return i
		}
	}
	return 0
}

// quicker returns the faster of two random targets ("power of two choices"). A target without measurements counts as
// faster, so that it gets measured.
func (a *alias) quicker(h *Health) int {
	n := len(a.chosen)
	if n == 1 {
		return a.chosen[0]
	}
	at := rand.N(n)
	one, two := a.chosen[at], a.chosen[(at+1+rand.N(n-1))%n]
	if h.latencyOf(&a.targets[two]) < h.latencyOf(&a.targets[one]) {
		return two
	}
	return one
}

// latencyOf returns the target's average time to first token: 0 if it is unknown, the maximum if the target fails.
func (h *Health) latencyOf(t *Target) time.Duration {
	h.mu.RLock()
	c := h.targets[targetID{t.Provider.Name(), t.Model}]
	h.mu.RUnlock()
	if c == nil {
		return 0
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.row > 0 {
		return math.MaxInt64
	}
	return c.latency
}

// Rescues reports whether an interrupted answer to a request for the model, or for any model with fallbacks of its own,
// is continued at another target.
func (t *Table) Rescues(model string) bool {
	a := t.alias(model)
	return a == nil || !a.noRescue
}
