package meter_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"weir/internal/budget"
	"weir/internal/dialect/registry/registrytest"
	"weir/internal/e2e/harness"
	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/simulator"
)

// targets are the providers of the table, with their models.
var targets = []struct{ name, provider, model string }{
	{"OpenAI", "openai", "gpt-5.6-sol/chat"},
	{"Anthropic", "anthropic", "claude-sonnet-4-5/chat"},
	{"Bedrock", "bedrock", "us.anthropic.claude-sonnet-4-6/chat"},
	{"OpenRouter", "openrouter", "anthropic/claude-sonnet-4.5/chat"},
}

// configuration returns four providers with two keys each, and two aliases for each model: before, without affinity and
// without added marks, and after, with both.
func configuration(url string) string {
	var b strings.Builder
	b.WriteString("providers:\n")
	for name, base := range map[string]string{"openai": "/v1", "anthropic": "/v1", "bedrock": "", "openrouter": "/v1"} {
		more := ""
		switch name {
		case "bedrock":
			more = ", auth: bearer"
		case "openai":
			more = ", also: [responses]"
		}
		fmt.Fprintf(&b, "  %s: {base_url: %q, allow_private: true, api_keys: [key-one, key-two], retries: 0%s}\n", name, url+base, more)
	}
	b.WriteString("aliases:\n")
	for _, t := range targets {
		fmt.Fprintf(&b, "  before-%s: {targets: [%q], affinity: none, cache_marks: client}\n", t.provider, t.provider+"/"+t.model)
		fmt.Fprintf(&b, "  after-%s: {targets: [%q], cache_marks: add}\n", t.provider, t.provider+"/"+t.model)
	}
	// The prices of Claude Sonnet and of GPT-5.6 Sol.
	const claude = `{input: "3", cache_read: "0.30", cache_write: "3.75", cache_write_1h: "6", output: "15"}`
	fmt.Fprintf(&b, "prices:\n  openai/*: {input: \"4\", cache_read: \"0.40\", cache_write: \"5\", output: \"20\"}\n")
	fmt.Fprintf(&b, "  anthropic/*: %s\n  bedrock/*: %s\n  openrouter/*: %s\n", claude, claude, claude)
	return b.String()
}

// openCaching starts a gateway before a simulator that caches prompts.
func openCaching(t *testing.T) *harness.Gateway {
	t.Helper()
	s := simulator.New(simulator.Options{Dialects: registrytest.All(), Seed: 1, Strict: true, PromptCache: true})
	ts := httptest.NewServer(s)
	t.Cleanup(func() {
		s.Close()
		ts.Close()
	})
	return harness.Open(t, harness.Setup{YAML: configuration(ts.URL)})
}

// read is the part of a session that its provider read from its cache.
type read struct {
	tokens, possible int64
	cost             llm.Money
	dropped          string // of the last turn
}

// percent returns the tokens that were read in percent of the possible ones.
func (r read) percent() int64 { return r.tokens * 100 / r.possible }

// run sends a session and adds up its rows. The prompt of each turn begins with the whole prompt of the turn before: so
// much could be read.
func run(t *testing.T, h *harness.Gateway, a *agent, s *session) (sum read) {
	t.Helper()
	before := int64(0)
	for turn := range turns {
		r := h.Do(a.ask(s, turn))
		if r.Status != http.StatusOK {
			t.Fatalf("%s at %s, turn %d: %d %s", a.name, s.model, turn, r.Status, r.Body)
		}
		e := h.Entry(t, r.Header.Get("X-Request-Id"))
		sum.possible += before
		sum.tokens += e.Usage[llm.CacheRead]
		sum.cost += e.Cost
		before = e.Usage.InputTokens()
		sum.dropped = r.Header.Get("X-Weir-Dropped")
	}
	return sum
}

// TestSessionsReadTheirCaches sends sessions of 20 turns of three agents to four providers that really cache: with
// affinity and added marks at least 90 percent of the readable prefix is read, and the session costs less. The control
// is the gateway without both. It writes the table of docs/prompt-caching.md.
func TestSessionsReadTheirCaches(t *testing.T) {
	t.Parallel()
	h := openCaching(t)
	var table strings.Builder
	table.WriteString("| agent | provider | read before | after | cost before | after |\n|---|---|---|---|---|---|\n")
	unread := 0
	for i := range agents {
		a := &agents[i]
		for _, to := range targets {
			before := run(t, h, a, &session{"before " + a.name + to.provider, "before-" + to.provider})
			after := run(t, h, a, &session{"after " + a.name + to.provider, "after-" + to.provider})
			if after.percent() < 90 || after.cost >= before.cost {
				t.Errorf("%s at %s: %d %% are read, want 90; it costs %v, before %v; dropped %q", a.name, to.name,
					after.percent(), after.cost, before.cost, after.dropped)
			}
			if before.percent() <= 50 {
				unread++
			}
			fmt.Fprintf(&table, "| %s | %s | %d %% | %d %% | $%s | $%s |\n", a.name, to.name, before.percent(), after.percent(), dollars(before.cost), dollars(after.cost))
		}
	}
	if unread < 6 {
		t.Errorf("%d sessions read at most half of their input before, want at least 6: the control shows nothing", unread)
	}
	inDocument(t, table.String())
}

// dollars returns an amount in dollars with three decimals.
func dollars(m llm.Money) string {
	const milli = int64(llm.USD) / 1000
	n := (int64(m) + milli/2) / milli
	return fmt.Sprintf("%d.%03d", n/1000, n%1000)
}

// inDocument compares the table with that of the page, or writes it.
func inDocument(t *testing.T, want string) {
	t.Helper()
	const path, begin, end = "../../../docs/prompt-caching.md", "<!-- sessions: written by go test ./internal/e2e/meter -run TestSessionsReadTheirCaches -update -->\n", "<!-- end of sessions -->"
	page := string(must.Get(os.ReadFile(path))(t))
	before, rest, ok := strings.Cut(page, begin)
	old, after, ended := strings.Cut(rest, end)
	switch {
	case !ok || !ended:
		t.Fatalf("%s has no place for the table", path)
	case *harness.Update:
		must.Do(t, os.WriteFile(path, []byte(before+begin+"\n"+want+"\n"+end+after), 0o644))
	case old != "\n"+want+"\n":
		t.Errorf("the table of %s is not current: run the test with -update. It is now\n%s", path, want)
	}
}

// TestBudgetHoldsWithAddedMarks checks that budgets are never passed when marks are added, although tokens that are
// written to a cache cost more than input: every hold covers its cost, and the sum of costs stays within the budget.
func TestBudgetHoldsWithAddedMarks(t *testing.T) {
	t.Parallel()
	for _, to := range targets {
		h := openCaching(t)
		const limit = 3 * llm.USD / 10
		h.SetBudget(limit, budget.PeriodTotal)
		written, dearer, refused := int64(0), 0, false
		spent := llm.Money(0)
		for turn := 0; turn < turns && !refused; turn++ {
			r := h.Do(opencode(&session{fmt.Sprint("budget ", turn), "after-" + to.provider}, turn))
			if refused = r.Status != http.StatusOK; refused {
				continue
			}
			e := h.Entry(t, r.Header.Get("X-Request-Id"))
			if e.Cost > e.Hold {
				t.Errorf("%s: an attempt costs %v, more than its hold of %v (%+v)", to.name, e.Cost, e.Hold, e.Usage)
			}
			spent += e.Cost
			written += e.Usage[llm.CacheWrite]
			plain := ledger.Entry{Attempt: e.Attempt}
			plain.Usage[llm.Input], plain.Usage[llm.Output] = e.Usage.InputTokens(), e.Usage.OutputTokens()
			if e.Cost > e.Price.Cost(&plain.Usage, "") {
				dearer++
			}
		}
		if !refused || spent > limit {
			t.Errorf("%s: %v were spent of %v, refused: %t", to.name, spent, limit, refused)
		}
		if written == 0 || dearer == 0 {
			t.Errorf("%s: %d tokens were written, %d attempts cost more than without marks: the test shows nothing", to.name, written, dearer)
		}
	}
}
