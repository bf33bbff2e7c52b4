package route

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/cespare/xxhash/v2"

	"weir/internal/llm"
)

// Strategy decides how an alias orders its targets. The targets behind the first are its fallbacks.
type Strategy string

// The strategies.
const (
	StrategyFallback Strategy = "fallback" // in the configured order
	StrategyWeighted Strategy = "weighted" // by weight: over conversations, or over requests without affinity
	StrategyLatency  Strategy = "latency"  // of two targets, the one with the shorter time to first token
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
	// NoAffinity lets each request of a conversation choose its target and key anew.
	NoAffinity bool
	// ServedModel is the policy for answers of another model; empty means FlagServed.
	ServedModel ServedModel
	// CacheMarks says who sets marks of prompt caches; empty means that the target's provider decides.
	CacheMarks CacheMarks
	// AnswerCache is the greatest age of stored answers; 0 for no stored answers.
	AnswerCache time.Duration
}

// CacheMarks says who sets the marks at which prompt caches end.
type CacheMarks string

// The settings.
const (
	ClientMarks CacheMarks = "client" // only clients
	AddMarks    CacheMarks = "add"    // the gateway, in requests whose client set none
)

// AddsCacheMarks reports whether requests without marks get them at the target.
func (t *Target) AddsCacheMarks() bool {
	if t.alias != nil && t.alias.cacheMarks != "" {
		return t.alias.cacheMarks == AddMarks
	}
	return t.Provider.AddsCacheMarks()
}

type alias struct {
	targets    []Target
	on         []llm.Cause // failures that make the next target be tried; nil means by the rules
	strategy   Strategy
	noRescue   bool
	noAffinity bool

	servedModel ServedModel
	cacheMarks  CacheMarks
	answerCache time.Duration
}

func (t *Table) resolve(a *Alias) (*alias, error) {
	out := &alias{
		on: a.On, strategy: cmp.Or(a.Strategy, StrategyFallback), noRescue: a.NoRescue, noAffinity: a.NoAffinity,
		servedModel: a.ServedModel, cacheMarks: a.CacheMarks, answerCache: a.AnswerCache,
	}
	for i, full := range a.Targets {
		var err error
		if out.targets, err = t.named(out.targets, full); err != nil {
			return nil, fmt.Errorf("target %s: %w", full, err)
		}
		target := &out.targets[i]
		target.alias, target.seed, target.weight = out, xxhash.Sum64String(target.FullName()), 1
		if i < len(a.Weights) {
			target.weight = max(0, a.Weights[i])
		}
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

// order brings targets of the alias into the order in which a request of a conversation tries them: without one, of a
// conversation that is drawn at random.
func (a *alias) order(targets []Target, h *Health, c Conversation) {
	faster := time.Duration(worthMove)
	if c == 0 {
		c, faster = Conversation(rand.Uint64()), 1 // "power of two choices"
	}
	rankTargets(targets, a.strategy == StrategyWeighted, c)
	// A target without measurements counts as faster, so that it gets measured.
	if a.strategy == StrategyLatency && len(targets) > 1 && targets[1].weight > 0 &&
		h.latencyOf(&targets[1]) < h.latencyOf(&targets[0])/faster {
		targets[0], targets[1] = targets[1], targets[0]
	}
}

// worthMove is how many times faster another target must be for a conversation to leave its own, whose prompt cache
// would be lost.
const worthMove = 2

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
