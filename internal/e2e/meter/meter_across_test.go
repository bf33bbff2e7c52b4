package meter_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"weir/internal/e2e/harness"
	"weir/internal/ledger"
	"weir/internal/llm"
)

// TestMeterAcrossDialects begins an answer at one provider and continues or replaces it at another one of another wire
// format: the books have all attempts, and the reported cost is their sum.
func TestMeterAcrossDialects(t *testing.T) {
	t.Parallel()
	up := harness.NewUpstream(t)
	yaml, prices, aliases := "providers:", "prices:\n", "aliases:\n"
	names := slices.Sorted(maps.Keys(harness.Spoken()))
	for i, name := range names {
		p := harness.SpokenBy("p-"+name, name, up.URL, harness.Spoken()[name])
		if i%2 == 0 {
			p = strings.Replace(p, "retries: 0", "retries: 0\n    prefill: yes", 1)
		}
		yaml += p
		prices += "  p-" + name + "/*: " + harness.RatesYAML + "\n"
	}
	clientAPIs := slices.Concat(meterAPIs, slices.Sorted(maps.Keys(usageAPIs)))
	var all []*exchange
	for i, a := range names {
		for j, b := range names {
			if a == b {
				continue
			}
			for k, path := range clientAPIs {
				seed := 100*k + 7*i + j
				first := fmt.Sprintf("p-%s/story:fault=cut,at=20,tokens=60,prompt=100,cached=30,seed=%d", a, seed)
				alias := fmt.Sprintf("from-%s-to-%s-%d", a, b, k)
				aliases += fmt.Sprintf("  %s: {targets: [%q, \"p-%s/story:tokens=60,prompt=100,cached=30,seed=%d\"]}\n", alias, first, b, seed)
				for _, stream := range []bool{true, false} {
					all = append(all, &exchange{metered: metered{model: alias}, dialect: b, path: path, stream: stream})
				}
			}
		}
	}
	h := harness.Open(t, harness.Setup{YAML: yaml + prices + aliases})
	for _, x := range all {
		x.reply = h.Do(meterAsk(x.path, x.model, "", x.stream))
	}
	enter(h, t, up, all)
	for _, x := range all {
		x.checkRescued(t, slices.Index(names, x.dialect)%2 == 0)
	}
	checkUses(h, t, all)
	h.Verify(t)
}

func (x *exchange) checkRescued(t *testing.T, prefills bool) {
	t.Helper()
	if len(x.rows) != 2 {
		t.Errorf("%s: %d rows: %s", x, len(x.rows), x.reply.Body)
		return
	}
	first, last := &x.rows[0], x.last()
	if first.Provenance != ledger.Estimated || first.Counts || last.Provenance != ledger.Exact || last.Outcome != ledger.OutcomeOK || last.Usage != x.truth() {
		t.Errorf("%s: %+v, then %+v, truly %v", x, first.Settlement, last.Settlement, x.truth())
	}
	if first.Cost != harness.CostOf(&first.Usage) || last.Cost != harness.CostOf(&last.Usage) {
		t.Errorf("%s: %+v, then %+v", x, first.Settlement, last.Settlement)
	}
	told, u := x.told(t), last.Usage
	if x.stream && prefills { // the input of the first, the text of both
		u = first.Usage
		u[llm.Output] += last.Usage[llm.Output]
	}
	if told == nil || told.Tokens != (harness.Tokens{Prompt: u.InputTokens(), Completion: u.OutputTokens(), Total: u.TotalTokens()}) {
		t.Errorf("%s: reported %+v, entered %v and %v: %s", x, told, first.Usage, last.Usage, x.reply.Body)
		return
	}
	if cost := x.total().String(); (x.stream || x.path != "/v1/chat") && told.Cost.String() != cost || !x.stream && x.reply.Header.Get("X-Weir-Cost-USD") != cost {
		t.Errorf("%s: reported the cost %s, %s; want %s", x, told.Cost, x.reply.Header.Get("X-Weir-Cost-USD"), cost)
	}
}
