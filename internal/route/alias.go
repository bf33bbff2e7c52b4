package route

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"time"

	"weir/internal/llm"
)

// Strategy is how an alias orders its targets. Whatever it is, those behind
// the first are its fallbacks.
type Strategy string

// The strategies.
const (
	StrategyFallback Strategy = "fallback" // as they are written
	StrategyWeighted Strategy = "weighted" // at random, by weight
	StrategyLatency  Strategy = "latency"  // of two at random, the one with the shorter time to first token
)

// Alias is a name for targets.
type Alias struct {
	Targets  []string // full names
	Weights  []int    // by target; nil for 1 each, 0 for one that is only a fallback
	Strategy Strategy // empty for StrategyFallback
	// On are the only failures of a target after which the next one is asked; nil for those of the rules.
	On []llm.Cause
	// NoRescue lets an answer that dies half-way stay dead.
	NoRescue bool
}

type alias struct {
	targets  []Target
	weights  []int // by target
	chosen   []int // the places of targets that are no mere fallbacks
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

// alias is the one of that name, or else the longest with an asterisk in the
// place of its end; nil for none. Full names are no aliases.
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

// order appends the targets in the order in which one request tries them.
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

// draw chooses at random, by weight.
func (a *alias) draw() int {
	n := rand.N(a.total)
	for i, w := range a.weights {
		if n -= w; n < 0 {
			return i
		}
	}
	return 0
}

// quicker is the better of two targets at random: the power of two choices. One
// of which nothing is known yet is the better one, so that it becomes known.
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

// latencyOf is the target's moving average; 0 where nothing is known, endless
// where it fails.
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

// Rescues reports whether an answer to a request for that model, or for any
// model with fallbacks of its own, is continued elsewhere when it dies.
func (t *Table) Rescues(model string) bool {
	a := t.alias(model)
	return a == nil || !a.noRescue
}
