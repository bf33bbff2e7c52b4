package schematest_test

import (
	"bytes"
	"cmp"
	"slices"
	"sync"
	"testing"

	"weir/internal/dialect/rules"
	"weir/internal/dialect/rules/rulestest"
	"weir/internal/must"
)

// mostTried is the number of conversations of each client API that are searched for a violation of a rule.
const mostTried = 1000

// TestEachRuleIsNeeded is the negative control of the table: without a rule, some conversation of the generator
// violates it at each group of its targets, and with it the same conversation does not. A rule that the generator never
// reaches fails.
func TestEachRuleIsNeeded(t *testing.T) {
	t.Parallel()
	for _, rule := range rules.Table() {
		for _, of := range rule.Of {
			if isBeyond(&rule, of) {
				continue
			}
			t.Run(rule.Name+"/"+of.Provider+"/"+of.Format, func(t *testing.T) {
				t.Parallel()
				c, a, ok := unfitted(t, &rule, of)
				if !ok {
					t.Fatalf("none of %d conversations of each client API breaks it: extend the generator (generate_*_test.go) by the fields that it needs", mostTried)
				}
				if r := newRoute(t, c, targetOf(t, of)); r.breaks(&rule, a) {
					t.Errorf("broken though it is kept, by the conversation of %s\n%s", c.name, a.body)
				}
			})
		}
	}
}

// TestWordIsInBodiesThatBreakRule checks that every generated body in the target's own wire format that breaks a rule
// contains the rule's Word: the gateway would forward a body without it unchanged.
func TestWordIsInBodiesThatBreakRule(t *testing.T) {
	t.Parallel()
	broken := 0
	for _, rule := range rules.Table() {
		for _, of := range rule.Of {
			to := targetOf(t, of)
			for n, made := range conversations()[to.format] {
				a := made()
				legacy := bytes.Contains(a.body, []byte(`"function_call":`)) // has no ids, only the tree has
				if !rule.Own || legacy || a.err != nil || rule.Ask.Broken(a.tree, a.body) == "" {
					continue
				}
				if broken++; !bytes.Contains(a.body, []byte(rule.Word)) {
					t.Errorf("%s: the word %q is not in the body of seed %d, which breaks the rule\n%s", rule.Name, rule.Word, n, a.body)
					break
				}
			}
		}
	}
	if broken == 0 {
		t.Error("no generated body breaks a rule")
	}
}

// isBeyond reports whether no conversation of the generator can violate a rule: its example and whole conversations
// test the simulator and the gateway. The encoder signs calls despite the rules, duplicate results are valid at no
// client API, the user always speaks, and does so first, and the encoders of Gemini and Bedrock join the messages of
// one role.
func isBeyond(rule *rules.Rule, of rules.Of) bool {
	switch a := rule.Ask.(type) {
	case rules.InBody: // only clients of the format violate it, and encoders apply it
		return !rule.Own
	case rules.OneResult, rules.SomethingSaid, rules.UserFirst:
		return true
	case rules.LongMarksFirst: // only clients of the format set lifetimes, and those that write it into other formats
		return of.Format == "anthropic"
	case rules.ResultsNext:
		return a.Beside
	}
	return false
}

// unfitted returns the first conversation that violates a rule if it is not applied.
func unfitted(t *testing.T, rule *rules.Rule, of rules.Of) (c client, a *asked, ok bool) {
	t.Helper()
	var routes []*route
	for _, c := range clients() {
		r := newRoute(t, c, targetOf(t, of))
		r.rules = rules.New(slices.DeleteFunc(r.rules.All(), func(other rules.Rule) bool { return other.Name == rule.Name }))
		if rule.Own || !r.isOwn() {
			routes = append(routes, r)
		}
	}
	for n := range mostTried {
		for _, r := range routes {
			if a := conversations()[r.client.name][n](); r.breaks(rule, a) {
				return r.client, a, true
			}
		}
	}
	return client{}, nil, false
}

// conversations returns the conversations to try for each client API. Each is made at its first use.
var conversations = sync.OnceValue(func() map[string][]func() *asked {
	all := map[string][]func() *asked{}
	for _, c := range clients() {
		for n := range uint64(mostTried) {
			all[c.name] = append(all[c.name], sync.OnceValue(func() *asked { return c.asked(encoded(c.make(newGenerator(n)))) }))
		}
	}
	return all
})

// targetOf returns a model of a group of targets.
func targetOf(t *testing.T, of rules.Of) target {
	t.Helper()
	to := target{provider: of.Provider, format: of.Format, model: "m"}
	if to.provider == "" {
		to.provider = map[string]string{"responses": "openai"}[of.Format]
	}
	to.provider = cmp.Or(to.provider, of.Format)
	to.format = cmp.Or(to.format, must.Get(catalogue())(t).Find(to.provider).Dialect)
	if model := rulestest.Model(of); model != "" {
		to.model = model + "-x"
	}
	return to
}

// isSeenInTree reports whether no body shows the violation of a rule: missing thinking, or a forced call in a wire
// format without a member for it.
func isSeenInTree(ask rules.Ask) bool {
	a, is := ask.(rules.ThinkingBack)
	return is && !a.Required || ask == rules.NoForcedTools{}
}

// breaks reports whether the request sent for a client's request violates a rule: by its body, or by its tree.
func (r *route) breaks(rule *rules.Rule, a *asked) bool {
	if isSeenInTree(rule.Ask) {
		if a.err != nil {
			return false
		}
		fitted, err := r.fitted(a)
		return err == nil && rule.Ask.Broken(fitted, nil) != ""
	}
	out, _, err := r.sent(a)
	if err != nil {
		return false
	}
	tree, err := r.out.DecodeRequest(out)
	return err == nil && rule.Ask.Broken(tree, out) != ""
}
