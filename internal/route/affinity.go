package route

import (
	"cmp"
	"math"
	"slices"

	"github.com/cespare/xxhash/v2"
)

// Caller says whose request a plan is for.
type Caller struct {
	Account string // id of the requesting account
	// Conversation is the conversation that the request belongs to. Its requests prefer the same target and the same
	// key of a provider, whose prompt cache has their common beginning.
	Conversation Conversation
}

// Conversation is a hash that identifies a conversation; 0 if it is unknown. Targets and keys are ranked for it by
// rendezvous hashing: each node computes the same ranks from the same configuration, and a target that is added or
// removed moves only its own conversations. The hash has no secret key, because a client that tries conversations finds
// one for each target in any case.
type Conversation uint64

// With returns the conversation with a further text that identifies it.
func (c Conversation) With(text []byte) Conversation { return c.mix(xxhash.Sum64(text)) }

// WithText is With for a string.
func (c Conversation) WithText(text string) Conversation { return c.mix(xxhash.Sum64String(text)) }

// mix combines two hashes by the finalizer of SplitMix64, whose outputs are independent of one another for inputs that
// differ in one bit (https://prng.di.unimi.it/splitmix64.c).
func (c Conversation) mix(seed uint64) Conversation {
	x := bitsOf(uint64(c)) ^ seed
	return Conversation(bitsOf(x))
}

func bitsOf(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// rank returns the rank of a target for the conversation. The highest one wins, in proportion to the weights. Without a
// weight it is below all others. See Schindelhauer and Schomaker, "Weighted Distributed Hash Tables" (2005).
func (c Conversation) rank(seed uint64, weight int) float64 {
	if weight <= 0 {
		return math.Inf(-1)
	}
	const bits = 53
	uniform := (float64(uint64(c.mix(seed))>>(64-bits)) + 0.5) / (1 << bits)
	return float64(weight) / -math.Log(uniform)
}

// Chooses reports whether the conversation of a request makes a difference to its target or key.
func (t *Table) Chooses(targets []Target) bool {
	for i := range targets {
		a := targets[i].alias
		if a.isSticky() && (a.draws() || len(t.entryOf(&targets[i]).keys) > 1) {
			return true
		}
	}
	return false
}

// isSticky reports whether conversations stay with a target of the alias, and with a key of its provider. A nil alias
// is that of a model's full name.
func (a *alias) isSticky() bool { return a == nil || !a.noAffinity }

// draws reports whether the alias does not always try its targets in the configured order.
func (a *alias) draws() bool { return a != nil && a.strategy != StrategyFallback && len(a.targets) > 1 }

// of returns the conversation by which a target is chosen, and a key for it; 0 for none.
func (c Conversation) of(target *Target) Conversation {
	if !target.alias.isSticky() {
		return 0
	}
	return c
}

// orderTargets brings the targets of each alias into the order in which a request tries them.
func orderTargets(targets []Target, h *Health, c Conversation) {
	for from := 0; from < len(targets); {
		a, end := targets[from].alias, from+1
		for end < len(targets) && targets[end].alias == a {
			end++
		}
		if a.draws() {
			a.order(targets[from:end], h, c.of(&targets[from]))
		}
		from = end
	}
}

// rankTargets sorts targets by their rank for the conversation. Targets that are only fallbacks stay behind the others,
// in the configured order.
func rankTargets(targets []Target, weighted bool, c Conversation) {
	slices.SortStableFunc(targets, func(a, b Target) int {
		return cmp.Compare(c.rank(b.seed, b.share(weighted)), c.rank(a.seed, a.share(weighted)))
	})
}

// share returns the target's weight; without weights it is equal for all but those that are only fallbacks.
func (t *Target) share(weighted bool) int {
	if weighted {
		return t.weight
	}
	return min(1, t.weight)
}
