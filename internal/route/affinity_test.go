package route_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"weir/internal/dialect/registry/registrytest"
	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/pricing"
	"weir/internal/provider"
	"weir/internal/route"
)

// place is the provider and key that answered a request.
type place struct {
	provider string
	key      int
}

// node is one of several gateways with the same configuration: three providers with two keys each.
type node struct {
	t     *testing.T
	table *route.Table
	now   time.Time
}

func newNode(t *testing.T) *node {
	t.Helper()
	var providers []*provider.Provider
	for _, name := range []string{"a", "b", "c"} {
		p := must.Get(provider.New(provider.Options{
			Name: name, Dialect: registrytest.All()[1], BaseURL: "https://" + name + ".example.com/v1",
			APIKeys: []llm.Secret{llm.NewSecret("first-" + name), llm.NewSecret("second-" + name)},
		}))(t)
		t.Cleanup(p.Close)
		providers = append(providers, p)
	}
	three := []string{"a/m", "b/m", "c/m"}
	table, err := route.NewTable(route.Options{
		Providers: providers, Book: must.Get(pricing.NewBook(pricing.Overrides{}))(t),
		Aliases: map[string]route.Alias{
			"fallback": {Targets: three},
			"weighted": {Targets: three, Weights: []int{5, 3, 2}, Strategy: route.StrategyWeighted},
			"latency":  {Targets: three, Strategy: route.StrategyLatency},
			"none":     {Targets: three, Strategy: route.StrategyWeighted, NoAffinity: true},
		},
	})
	must.Do(t, err)
	return &node{t, table, time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)}
}

// ask sends one request of a conversation. Each attempt fails in the way that fails returns for its place; nil lets it
// succeed.
func (n *node) ask(alias, conversation string, fails func(place) *provider.Failure) place {
	n.t.Helper()
	targets := must.Get(n.table.Targets(nil, alias, ""))(n.t)
	if !n.table.Chooses(targets) && alias != "none" {
		n.t.Fatalf("the conversation makes no difference to %s", alias)
	}
	c := route.Conversation(1).WithText(conversation)
	p := n.table.Plan(route.Caller{Account: "account", Conversation: c}, targets, n.now)
	for {
		at := place{p.Target().Provider.Name(), p.Target().Key}
		f := fails(at)
		if f == nil {
			p.Succeeded(n.now, 0)
			return at
		}
		p.Failed(f, n.now)
		if _, ok := p.After(f, n.now); !ok {
			return place{}
		}
	}
}

func healthy(place) *provider.Failure { return nil }

const conversations = 1000

func named(i int) string { return fmt.Sprintf("conversation %d", i) }

// TestConversationStaysAtTwoNodes asks two nodes in turn: at least 99 of 100 turns have the target and key of the first
// one. The control is an alias without affinity.
func TestConversationStaysAtTwoNodes(t *testing.T) {
	t.Parallel()
	const turns = 10
	for alias, stays := range map[string]bool{"fallback": true, "weighted": true, "latency": true, "none": false} {
		nodes := []*node{newNode(t), newNode(t)}
		stayed := 0
		for i := range conversations {
			var first place
			for turn := range turns {
				at := nodes[turn%2].ask(alias, named(i), healthy)
				if turn == 0 {
					first = at
				}
				if at == first {
					stayed++
				}
			}
		}
		if share := float64(stayed) / (conversations * turns); stays != (share >= 0.99) {
			t.Errorf("%s: %.1f %% of turns stayed, want at least 99: %t", alias, 100*share, stays)
		}
	}
}

// TestDeadTargetMovesOnlyItsOwnConversations lets one provider fail, and one key, and answer again.
func TestDeadTargetMovesOnlyItsOwnConversations(t *testing.T) {
	t.Parallel()
	limited := status(429, llm.CodeRateLimited)
	limited.RetryAfter = 20 * time.Second
	tests := map[string]struct {
		alias string
		f     *provider.Failure
		dead  func(place) bool
	}{
		"weighted, a target": {"weighted", status(503, llm.CodeProviderUnavailable), func(p place) bool { return p.provider == "b" }},
		"weighted, a key":    {"weighted", limited, func(p place) bool { return p == place{"b", 0} }},
		"fallback, a target": {"fallback", status(503, llm.CodeProviderUnavailable), func(p place) bool { return p.provider == "a" }},
		"fallback, a key":    {"fallback", limited, func(p place) bool { return p == place{"a", 1} }},
	}
	for name, test := range tests {
		n := newNode(t)
		fails := func(at place) *provider.Failure {
			if test.dead(at) {
				return test.f
			}
			return nil
		}
		before, moved := map[int]place{}, 0
		for i := range conversations {
			before[i] = n.ask(test.alias, named(i), healthy)
		}
		for i := range conversations {
			at := n.ask(test.alias, named(i), fails)
			switch {
			case test.dead(at) || at == place{}:
				t.Fatalf("%s: %s got no answer", name, named(i))
			case !test.dead(before[i]) && at != before[i]:
				t.Fatalf("%s: %s moved from %v to %v", name, named(i), before[i], at)
			case test.dead(before[i]):
				moved++
			}
		}
		if moved == 0 {
			t.Errorf("%s: no conversation was there", name)
		}
		n.now = n.now.Add(time.Minute)
		for i := range conversations {
			if at := n.ask(test.alias, named(i), healthy); at != before[i] {
				t.Fatalf("%s: %s is at %v afterwards, want %v as before", name, named(i), at, before[i])
			}
		}
	}
}

// TestWeightsHoldOverConversations counts conversations by target and key, also while a target is down: the others share
// its conversations by their weights.
func TestWeightsHoldOverConversations(t *testing.T) {
	t.Parallel()
	const many = 20 * conversations
	down := func(at place) *provider.Failure {
		if at.provider == "a" {
			return status(503, llm.CodeProviderUnavailable)
		}
		return nil
	}
	for _, test := range []struct {
		alias string
		fails func(place) *provider.Failure
		want  map[string]float64
	}{
		{"weighted", healthy, map[string]float64{"a": 0.5, "b": 0.3, "c": 0.2}},
		{"weighted", down, map[string]float64{"b": 0.6, "c": 0.4}},
		{"latency", healthy, map[string]float64{"a": 1. / 3, "b": 1. / 3, "c": 1. / 3}},
		{"fallback", healthy, map[string]float64{"a": 1}},
		{"fallback", down, map[string]float64{"b": 1}},
		{"none", healthy, map[string]float64{"a": 1. / 3, "b": 1. / 3, "c": 1. / 3}},
	} {
		n, got := newNode(t), map[place]int{}
		for i := range many {
			got[n.ask(test.alias, named(i), test.fails)]++
		}
		for _, name := range []string{"a", "b", "c"} {
			for key := range 2 {
				share := float64(got[place{name, key}]) / many
				if math.Abs(share-test.want[name]/2) > 0.01 {
					t.Errorf("%s: key %d of %s has %.1f %% of conversations, want %.1f", test.alias, key, name, 100*share,
						50*test.want[name])
				}
			}
		}
	}
}

// TestSlowTargetGivesConversationsAway checks that a conversation leaves the slower one of its targets only if the other
// takes less than half the time.
func TestSlowTargetGivesConversationsAway(t *testing.T) {
	t.Parallel()
	for slow, leaves := range map[time.Duration]bool{150 * time.Millisecond: false, 300 * time.Millisecond: true} {
		n, moved := newNode(t), 0
		measure := func(model string, took time.Duration) {
			for range 50 {
				p := n.table.Plan(route.Caller{}, must.Get(n.table.Targets(nil, model, ""))(t), n.now)
				p.Succeeded(n.now, took)
			}
		}
		for _, model := range []string{"a/m", "b/m", "c/m"} {
			measure(model, 100*time.Millisecond)
		}
		before := map[int]place{}
		for i := range conversations {
			before[i] = n.ask("latency", named(i), healthy)
		}
		measure("b/m", slow)
		for i := range conversations {
			switch at := n.ask("latency", named(i), healthy); {
			case before[i].provider != "b" && at != before[i]:
				t.Fatalf("%v: %s moved from %v to %v", slow, named(i), before[i], at)
			case at != before[i]:
				moved++
			}
		}
		if leaves != (moved > 0) {
			t.Errorf("with %v instead of 100ms, %d conversations moved, want some: %t", slow, moved, leaves)
		}
	}
}
