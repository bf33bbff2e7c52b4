package rules_test

import (
	"strings"
	"testing"
	"time"

	"weir/internal/dialect/rules"
	"weir/internal/dialect/rules/rulestest"
	"weir/internal/llm"
)

// TestRulesFitTheirExamples checks that each rule's example violates it, that Fit corrects that, and that the rule has
// its source.
func TestRulesFitTheirExamples(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, rule := range rules.Table() {
		t.Run(rule.Name, func(t *testing.T) {
			t.Parallel()
			if _, err := time.Parse(time.DateOnly, rule.Seen); err != nil || !strings.HasPrefix(rule.Source, "https://") {
				t.Errorf("its source is %q of %q: want an address and a day", rule.Source, rule.Seen)
			}
			if rule.Own != (rule.Word != "") {
				t.Errorf("own is %v and its word %q: want both or none", rule.Own, rule.Word)
			}
			for _, of := range rule.Of {
				fits(t, &rule, of)
			}
		})
		if seen[rule.Name] {
			t.Errorf("two rules are called %s", rule.Name)
		}
		seen[rule.Name] = true
	}
}

// fits checks this for one group of targets.
func fits(t *testing.T, rule *rules.Rule, of rules.Of) {
	t.Helper()
	only := *rule
	only.Of = []rules.Of{of}
	set := rules.New([]rules.Rule{only})
	r, body := rulestest.Example(rule.Ask)
	r.Model = "m"
	if model := rulestest.Model(of); model != "" {
		r.Model = "vendor/" + model + "-large"
	}
	if set.Broken(r, body) == "" {
		t.Fatalf("%+v: its example does not break it", of)
	}
	fitted, _, err := set.Fit(r, rule.Own)
	if err != nil {
		if e := llm.AsError(err); e.Code != llm.CodeInvalidRequest || e.Param == "" {
			t.Errorf("refuses with %v: want an error of a field of the client's", err)
		}
		return
	}
	if what := set.Broken(fitted, nil) + set.Broken(fitted, []byte(`{}`)); what != "" {
		t.Errorf("%+v: after Fit it is broken: %s", of, what)
	}
	if set.Broken(r, body) == "" {
		t.Errorf("%+v: Fit has changed the request that it was given", of)
	}
}

// TestSchemasOfChatConcernChatOnly checks that rules from schemas of Chat Completions do not change requests that are
// forwarded in another wire format of the same vendor.
func TestSchemasOfChatConcernChatOnly(t *testing.T) {
	t.Parallel()
	for _, vendor := range []string{"mistral", "groq", "cerebras", "openrouter"} {
		for _, rule := range rules.For(vendor, "responses").All() {
			switch rule.Ask.(type) {
			case rules.NoCustomTools, rules.NoFunctions, rules.NoNames:
				t.Errorf("%s: the rule %s applies to Responses, want only those of Chat Completions", vendor, rule.Name)
			}
		}
	}
}

// TestCustomToolsAreFoundByName checks that a custom tool becomes its own function, whatever stands before it.
func TestCustomToolsAreFoundByName(t *testing.T) {
	t.Parallel()
	r, _ := rulestest.Example(rules.NoCustomTools{})
	r.Tools = append([]llm.Tool{{Raw: []byte(`{"type":"local_shell"}`)}}, r.Tools...)
	r.Elsewhere.Tools = append([]llm.Tool{{Name: "shell"}}, r.Elsewhere.Tools...)
	r.Elsewhere.Called.Add("shell", llm.ClientTool{Kind: "local_shell"})
	set := rules.New([]rules.Rule{{Name: "x", Of: []rules.Of{{}}, Own: true, Ask: rules.NoCustomTools{}}})
	fitted, _, err := set.Fit(r, true)
	if err != nil || fitted.Tools[1].Name != "patch" || fitted.Tools[0].Raw == nil {
		t.Errorf("got %+v, %v; want the tool of another type unchanged, and then the function patch", fitted.Tools, err)
	}
}
