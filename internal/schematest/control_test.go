package schematest_test

import (
	"cmp"
	"slices"
	"testing"

	"weir/internal/dialect/rules"
	"weir/internal/must"
	"weir/internal/provider"
)

// mostTried are how many conversations of each client API are looked at for one that breaks a rule.
const mostTried = 1000

// TestEachRuleIsNeeded is the negative control of the table: without a rule, some conversation of the generator
// violates it at each group of its targets, and with it the same conversation does not. A rule that the generator never
// reaches fails.
func TestEachRuleIsNeeded(t *testing.T) {
	t.Parallel()
	for _, rule := range rules.Table() {
		if isBeyond(rule.Ask) {
			continue
		}
		for _, of := range rule.Of {
			t.Run(rule.Name+"/"+of.Provider+"/"+of.Format, func(t *testing.T) {
				t.Parallel()
				c, body, ok := unfitted(t, &rule, of)
				if !ok {
					t.Fatalf("no conversation of the generator breaks it")
				}
				if r := newRoute(t, c, targetOf(t, of)); r.breaks(&rule, body) {
					t.Errorf("broken though it is kept, by the conversation of %s\n%s", c.name, body)
				}
			})
		}
	}
}

// isBeyond reports whether no conversation of the generator can violate a rule: its example and whole conversations
// test the simulator and the gateway. The encoder signs calls despite the rules, duplicate results are valid at no
// client API, the user always speaks, and does so first, and the encoders of Gemini and Bedrock join the messages of
// one role.
func isBeyond(ask rules.Ask) bool {
	switch a := ask.(type) {
	case rules.SignedCalls, rules.OneResult, rules.SomethingSaid, rules.UserFirst, rules.Alternation:
		return true
	case rules.ResultsNext:
		return a.Beside
	}
	return false
}

// unfitted returns the first conversation that violates a rule if it is not applied.
func unfitted(t *testing.T, rule *rules.Rule, of rules.Of) (c client, body []byte, ok bool) {
	t.Helper()
	var routes []*route
	for _, c := range clients() {
		r := newRoute(t, c, targetOf(t, of))
		r.rules = rules.New(slices.DeleteFunc(r.rules.All(), func(other rules.Rule) bool { return other.Name == rule.Name }))
		if rule.Own || !r.isOwn() {
			routes = append(routes, r)
		}
	}
	for n := range uint64(mostTried) {
		for _, r := range routes {
			body := encoded(r.client.make(newGenerator(n)))
			if r.breaks(rule, body) {
				return r.client, body, true
			}
		}
	}
	return client{}, nil, false
}

// targetOf returns a model of a group of targets.
func targetOf(t *testing.T, of rules.Of) target {
	t.Helper()
	to := target{provider: of.Provider, format: of.Format, model: "m"}
	if to.provider == "" {
		to.provider = map[string]string{"responses": "openai"}[of.Format]
	}
	to.provider = cmp.Or(to.provider, of.Format)
	to.format = cmp.Or(to.format, must.Get(provider.LoadCatalogue())(t).Find(to.provider).Dialect)
	if model := of.Model(); model != "" {
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
func (r *route) breaks(rule *rules.Rule, body []byte) bool {
	if isSeenInTree(rule.Ask) {
		a := r.client.asked(body)
		if a.err != nil {
			return false
		}
		fitted, err := r.fitted(a)
		return err == nil && rule.Ask.Broken(fitted, nil) != ""
	}
	out, _, err := r.sent(r.client.asked(body))
	if err != nil {
		return false
	}
	tree, err := r.out.DecodeRequest(out)
	return err == nil && rule.Ask.Broken(tree, out) != ""
}
