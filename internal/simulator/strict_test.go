package simulator_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"weir/internal/dialect/registry/registrytest"
	"weir/internal/dialect/rules"
	"weir/internal/dialect/rules/rulestest"
	"weir/internal/llm"
	"weir/internal/simulator"
)

// TestStrictKeepsEveryRule checks that the simulator refuses a violation of a rule with the vendor's message, and
// accepts the same request once it is fitted: encoders and refusals share one entry of the table. Without Fit each of
// them fails, which is the control.
func TestStrictKeepsEveryRule(t *testing.T) {
	t.Parallel()
	s := newSimulator(t, simulator.Options{Strict: true})
	lenient := newSimulator(t, simulator.Options{})
	for _, rule := range rules.Table() {
		for _, of := range rule.Of {
			for _, d := range registrytest.All() {
				if of.Format != "" && of.Format != d.Name || of.Format == "" && d.Name != "openai" {
					continue
				}
				t.Run(rule.Name+"/"+d.Name+"/"+of.Provider, func(t *testing.T) {
					t.Parallel()
					model := "echo"
					if name := rulestest.Model(of); name != "" {
						model = name + "/echo"
					}
					if of.Provider != "" {
						model += ":vendor=" + of.Provider
					}
					r, wrong := rulestest.Example(rule.Ask)
					r.Model = model
					if rule.Own || of.Provider == "openrouter" { // the fields of the client's wire format, and marks
						r.ExtraOf = d.Name
					}
					fitted, _, err := rules.For(of.Provider, d.Name).Fit(r, rule.Own)
					c, l := client{t: t, d: d, sim: s}, client{t: t, d: d, sim: lenient}
					breaking := func(c *client) said { return send(c, r, model) }
					if body := string(wrong); wrong != nil {
						if d.Name == "openai" { // others have the model in the path
							body = fmt.Sprintf(`{"model":%q,`, model) + body[1:]
						}
						breaking = func(c *client) said { return sendBody(c, []byte(body), model) }
					}
					if !isUnwritten(rule.Ask) {
						if got := breaking(&c); got.err == nil && (got.status != http.StatusBadRequest || !strings.Contains(got.body, someWords(rule.Says))) {
							t.Errorf("what breaks it got %d %s, want 400 and %q", got.status, got.body, rule.Says)
						}
						if got := breaking(&l); got.err == nil && got.status != http.StatusOK {
							t.Errorf("a simulator that is not strict refuses it: %d %s", got.status, got.body)
						}
					}
					if err != nil {
						return // it is refused before it is sent
					}
					if got := send(&c, fitted, model); got.status != http.StatusOK {
						t.Errorf("the fitted request got %d %s, want 200", got.status, got.body)
					}
				})
			}
		}
	}
}

// isUnwritten reports whether no encoder writes a violation: only bodies of clients have it, or it is not a request of
// the wire format, such as an empty conversation.
func isUnwritten(ask rules.Ask) bool {
	switch ask.(type) {
	case rules.ThinkingBack, rules.NoFunctions, rules.SomethingSaid:
		return true
	}
	return false
}

// someWords returns the words of a refusal before the field's name.
func someWords(says string) string {
	words, rest, _ := strings.Cut(says, "%s")
	if len(words) < 8 {
		words, _, _ = strings.Cut(rest, "%s")
	}
	words, _, _ = strings.Cut(words, "`")
	return strings.Trim(words, ` '"`)
}

// send sends a request as the client half of the wire format writes it.
func send(c *client, r *llm.Request, model string) said {
	c.t.Helper()
	body, _, err := c.d.EncodeRequest(r, &llm.Quirks{})
	if err != nil {
		return said{err: err}
	}
	return sendBody(c, body, model)
}

// sendBody sends a body to a model.
func sendBody(c *client, body []byte, model string) said {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	h := way{"memory", "http://demo", c.sim.RoundTripper()}.askAt(ctx, c.path(model, false), string(body))
	return said{status: h.status, body: h.body}
}
