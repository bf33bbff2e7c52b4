package route_test

import (
	"slices"
	"testing"

	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/provider"
	"weir/internal/route"
)

// coded returns a failure with that status and the provider's code.
func coded(code int, told llm.Code, word string) *provider.Failure {
	f := status(code, told)
	f.Upstream.Code, f.Err.Word = word, word
	return f
}

// TestCausesOfAnAlias checks that an alias falls back only after the failures that it names, and that the rules apply
// if it names none.
func TestCausesOfAnAlias(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		f     *provider.Failure
		cause llm.Cause
		usual bool
	}{
		{"no connection", fault(provider.KindRefused), llm.CauseUnreachable, true},
		{"silent", fault(provider.KindFirstByteTimeout), llm.CauseTimeout, true},
		{"silent later", fault(provider.KindIdleTimeout), llm.CauseTimeout, true},
		{"504", status(504, llm.CodeProviderTimeout), llm.CauseTimeout, true},
		{"reset", fault(provider.KindReset), llm.CauseBrokenOff, true},
		{"ended by a failure", provider.Aborted(), llm.CauseBrokenOff, true},
		{"not the protocol", fault(provider.KindProtocol), llm.CauseBadAnswer, true},
		{"500", status(500, llm.CodeProviderError), llm.CauseServerError, true},
		{"503", status(503, llm.CodeProviderUnavailable), llm.CauseOverloaded, true},
		{"429", status(429, llm.CodeRateLimited), llm.CauseRateLimited, true},
		{"429 without money", coded(429, llm.CodeRateLimited, "insufficient_quota"), llm.CauseQuota, true},
		{"402", status(402, llm.CodeProviderError), llm.CauseQuota, true},
		{"401", status(401, llm.CodeProviderError), llm.CauseCredentials, true},
		{"403", status(403, llm.CodeProviderError), llm.CauseForbidden, true},
		{"404", status(404, llm.CodeModelNotFound), llm.CauseModelNotFound, true},
		{"too long", coded(400, llm.CodeInvalidRequest, "context_length_exceeded"), llm.CauseContextLength, true},
		{"a policy", coded(400, llm.CodeInvalidRequest, "content_policy_violation"), llm.CauseContentPolicy, false},
		{"400", status(400, llm.CodeInvalidRequest), llm.CauseInvalidRequest, false},
		{"413", status(413, llm.CodeRequestTooLarge), llm.CauseInvalidRequest, false},
		{"the whole time is over", fault(provider.KindTotalTimeout), "", false},
		{"the client left", fault(provider.KindCanceled), "", false},
		{"no file or port", fault(provider.KindShortage), "", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			others := slices.DeleteFunc(llm.Causes(), func(c llm.Cause) bool { return c == test.cause })
			named := slices.DeleteFunc(llm.Causes(), func(c llm.Cause) bool { return c != test.cause })
			w := newWorld(t, map[string]route.Alias{
				"usual": {Targets: []string{"a/m", "c/m"}},
				"named": {Targets: []string{"a/m", "c/m"}, On: named},
				"other": {Targets: []string{"a/m", "c/m"}, On: others},
				"never": {Targets: []string{"a/m", "c/m"}, On: []llm.Cause{}},
			}, 0)
			for alias, onward := range map[string]bool{"usual": test.usual, "named": test.cause != "", "other": false, "never": false} {
				want := []string{"a/m"}
				if onward {
					want = append(want, "c/m")
				}
				p := w.plan(alias)
				got := []string{p.Target().FullName()}
				if _, ok := p.After(test.f, w.now); ok {
					got = append(got, p.Target().FullName())
				}
				must.Equal(t, got, want, "the targets of the alias %s after %v", alias, test.f)
			}
		})
	}
}

// TestRulesNameCauses checks that each cause belongs to a rule, and that each rule names a cause.
func TestRulesNameCauses(t *testing.T) {
	t.Parallel()
	var named []llm.Cause
	for _, r := range route.Rules() {
		if r.Cause != "" && !slices.Contains(named, r.Cause) {
			named = append(named, r.Cause)
		}
		if r.Onward && r.Cause == "" {
			t.Errorf("%s: the next target is tried, and no cause names it", r.When)
		}
	}
	all := llm.Causes()
	slices.Sort(all)
	slices.Sort(named)
	must.Equal(t, named, all, "the causes of the rules")
}

// TestCausesOfContinuedAnswers checks that a broken answer continues at another target for the same causes.
func TestCausesOfContinuedAnswers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string]route.Alias{
		"usual": {Targets: []string{"a/m", "c/m"}},
		"named": {Targets: []string{"a/m", "c/m"}, On: []llm.Cause{llm.CauseBrokenOff}},
		"other": {Targets: []string{"a/m", "c/m"}, On: []llm.Cause{llm.CauseOverloaded}},
	}, 0)
	for alias, want := range map[string]bool{"usual": true, "named": true, "other": false} {
		p := w.plan(alias)
		must.Equal(t, p.Continues(fault(provider.KindReset)), want, "whether an answer of the alias %s continues", alias)
	}
}
