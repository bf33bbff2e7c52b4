package faults_test

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"weir/internal/e2e/harness"
	"weir/internal/must"
	"weir/internal/route"
)

// fault is one of the sixteen faults of a provider: the behaviour of the first target of an alias, and of its fallback.
type fault struct {
	name, fault, spare string
	refused            bool // the client gets an error: that of the fault
	waits              bool // ends when a timer of the gateway's runs out
	first, second      int  // the most attempts at the first target and at its fallback
	again              int  // further requests
}

func faultCatalogue() []fault {
	return []fault{
		{name: "429 once, with Retry-After", fault: "status=429,retry_after=1,once", second: 1, first: 1},
		{name: "429 always", fault: "status=429", second: 1, first: 1},
		{name: "500 once", fault: "status=500,once", second: 1, first: 2},
		{name: "503 always", fault: "status=503", second: 1, first: 1},
		{name: "reset before headers", fault: "fault=reset", second: 1, first: 3},
		{name: "no answer", fault: "fault=silence", second: 1, first: 1, waits: true},
		{name: "slow first token", fault: "ttft=30s", second: 1, first: 1, waits: true},
		{name: "stream cut", fault: "fault=cut,at=5,pace=20ms", second: 1, first: 1},
		{name: "stream stalled", fault: "fault=stall,at=5,pace=20ms", second: 1, first: 1, waits: true},
		{name: "malformed event", fault: "fault=malformed,at=5,pace=20ms", second: 1, first: 1},
		{name: "no end marker", fault: "fault=no-end", first: 1},
		{name: "context length", fault: "fault=context-length", second: 1, first: 1},
		{name: "content filter", fault: "fault=content-policy", first: 1, refused: true},
		{name: "cut, and the fallback refuses prefill", fault: "fault=cut,at=5,pace=20ms", spare: "fault=no-prefill", second: 2, first: 1},
		{name: "flapping", fault: "status=500,flap=2", second: 1, first: 3, again: 6},
		{name: "accounting of a fail-over", fault: "fault=cut,at=8,pace=20ms", second: 1, first: 1},
	}
}

// TestFaultCatalogue runs a public benchmark's sixteen faults, streaming, with one fallback: each ends with the whole
// answer or its own error, and the number of attempts is bounded. The table goes to docs/reliability.md.
func TestFaultCatalogue(t *testing.T) {
	t.Parallel()
	up, spare := harness.NewUpstream(t), harness.NewUpstream(t)
	providers, aliases, prices := "", "", ""
	all := faultCatalogue()
	for i, a := range all {
		first, second := fmt.Sprintf("first%d", i), fmt.Sprintf("second%d", i) // targets share no health
		wait, total := "1m", "5m"
		if a.waits {
			wait, total = "1s", "5s"
		}
		providers += harness.Hasty(strings.ReplaceAll(harness.ProviderYAML(first, up.URL), "retries: 0", "retries: 2"), wait, total) +
			strings.ReplaceAll(harness.ProviderYAML(second, spare.URL), "retries: 0", "retries: 2\n    prefill: yes")
		target := second + "/echo"
		if a.spare != "" {
			target += ":" + a.spare
		}
		aliases += fmt.Sprintf("  case%d: {targets: [\"%s/echo:%s\", %q]}\n", i, first, a.fault, target)
		prices += fmt.Sprintf("  %s/*: {input: \"0.15\", output: \"0.60\"}\n  %s/*: {input: \"0.30\", output: \"1.20\"}\n", first, second)
	}
	yaml := "providers:" + providers + "aliases:\n" + aliases + "prices:\n" + prices
	h := harness.Open(t, harness.Setup{YAML: yaml})
	table := make([]string, len(all))
	t.Run("all", func(t *testing.T) {
		for i := range all {
			t.Run(all[i].name, func(t *testing.T) {
				t.Parallel()
				table[i] = all[i].check(t, h, up, i)
			})
		}
	})
	if t.Failed() {
		return
	}
	text := "| # | what the first target does | what the client gets | asked at most: first, fallback |\n|---|---|---|---|\n" + strings.Join(table, "")
	document(t, "sixteen", text)
}

// check runs a fault and returns its line of the table.
func (a *fault) check(t *testing.T, h *harness.Gateway, up *harness.Upstream, i int) string {
	model := fmt.Sprintf("case%d", i)
	var line string
	for range a.again + 1 {
		r := h.Do(harness.Ask{
			Path: "/v1/chat", Header: []string{"Accept", "text/event-stream"},
			Body: fmt.Sprintf(`{"model":%q,"messages":[{"role":"user","prompt":%q}]}`, model, harness.Words),
		})
		rows := h.CountedRows(t, r)
		first, second := 0, 0
		for _, row := range rows {
			if strings.HasPrefix(row.Model, "first") {
				first++
			} else {
				second++
			}
		}
		if first > a.first || second > a.second {
			t.Errorf("got %d and %d requests: %+v", first, second, rows)
		}
		if a.refused {
			e := harness.WantError(t, r, http.StatusBadRequest, "INVALID_REQUEST")
			line = fmt.Sprintf("| %d | %s | its error: %s | %d, %d |\n", i+1, a.name, e.Code, a.first, a.second)
			continue
		}
		a.whole(t, h, r, rows)
		line = fmt.Sprintf("| %d | %s | the whole answer | %d, %d |\n", i+1, a.name, a.first, a.second)
	}
	return line
}

// whole checks that the client got one whole answer, and that all attempts are in the ledger at their cost.
func (a *fault) whole(t *testing.T, h *harness.Gateway, r harness.Reply, rows []harness.Row) {
	t.Helper()
	if r.Status != http.StatusOK {
		t.Errorf("status %d: %s", r.Status, r.Body)
		return
	}
	events, failure := harness.SplitStream(t, r.Body)
	if failure != nil || harness.Text(events) != harness.Words || !strings.HasSuffix(r.Body, "data: [DONE]\n\n") {
		t.Errorf("got %q, error %+v, in\n%s", harness.Text(events), failure, r.Body)
		return
	}
	last := events[len(events)-1]
	counts := 0
	for _, row := range rows {
		if row.Counts {
			counts++
		}
	}
	if counts != 1 || !rows[len(rows)-1].Counts {
		t.Errorf("%d rows count, want the last alone: %+v", counts, rows)
	}
	if got := harness.AttemptsTold(last); got != len(rows) && len(rows) > 1 {
		t.Errorf("the last piece reports %d attempts, the ledger has %d", got, len(rows))
	}
	if last.Usage == nil || last.Usage.Cost.String() != harness.SumOfCosts(t, rows) {
		t.Errorf("the last piece has the cost %v, the ledger %s", last.Usage, harness.SumOfCosts(t, rows))
	}
}

// document checks that a marked section of docs/reliability.md is current, or writes it.
func document(t *testing.T, section, text string) {
	t.Helper()
	path := filepath.Join("..", "..", "..", "docs", "reliability.md")
	page := must.Get(os.ReadFile(path))(t)
	begin, end := "<!-- "+section+": written by go test ./internal/e2e/faults -run 'TestFaultCatalogue|TestRuleTable' -update -->\n", "<!-- /"+section+" -->\n"
	before, rest, ok := bytes.Cut(page, []byte(begin))
	_, after, closed := bytes.Cut(rest, []byte(end))
	if !ok || !closed {
		t.Fatalf("docs/reliability.md has no section %s", section)
	}
	want := slices.Concat(before, []byte(begin+text+end), after)
	if bytes.Equal(page, want) {
		return
	}
	if !*harness.Update {
		t.Errorf("the section %s of docs/reliability.md is not current: run the test with -update", section)
		return
	}
	must.Do(t, os.WriteFile(path, want, 0o644))
}

// TestRuleTable checks that the rules in the documentation are those in force.
func TestRuleTable(t *testing.T) {
	t.Parallel()
	mark := map[bool]string{true: "yes", false: "–"}
	text := "| what happened | in `on` | the same target again | with another key | the next target | the key rests | counts against the target |\n|---|---|---|---|---|---|---|\n"
	for _, r := range route.Rules() {
		onward := mark[r.Onward]
		if r.OnwardFirst {
			onward = "yes, before the same target"
		}
		if r.Larger {
			onward = "one of a larger or unknown window"
		}
		cause := "–"
		if r.Cause != "" {
			cause = "`" + string(r.Cause) + "`"
		}
		text += fmt.Sprintf("| %s | %s | %s | %s | %s | %s | %s |\n", r.When, cause, mark[r.Again], mark[r.OtherKey], onward, mark[r.RestsKey], r.Counts)
	}
	document(t, "rules", text)
}
