package meter_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"weir/internal/e2e/harness"
	"weir/internal/ledger"
	"weir/internal/llm"
)

func (x *exchange) check(t *testing.T) {
	t.Helper()
	row := x.last()
	outcome, provenance := ledger.OutcomeOK, ledger.Exact
	switch {
	case x.broken && x.stream:
		outcome = ledger.OutcomeCut
	case x.broken:
		outcome = ledger.OutcomeFailed
	}
	if x.estimated || x.stream && strings.Contains(x.model, "usage=decreasing") { // which was more before
		provenance = ledger.Estimated
	}
	odd := x.oddEnd()
	if odd != nil {
		outcome, provenance = odd.outcome, odd.provenance
	}
	if len(x.rows) != 1 || row.Outcome != outcome || row.Provenance != provenance {
		t.Errorf("%s: %d rows, %s and %s, want %s and %s\n%s", x, len(x.rows), row.Outcome, row.Provenance, outcome, provenance, x.reply.Body)
		return
	}
	if row.Cost != harness.CostOf(&row.Usage) {
		t.Errorf("%s: costs %s, want %s", x, row.Cost, harness.CostOf(&row.Usage))
	}
	if row.Provenance == ledger.Exact && x.record.Reported == nil && !x.totals {
		t.Errorf("%s: exact, without reported usage", x)
	}
	if odd != nil {
		t.Logf("%s: %s and %s: %s", x, row.Outcome, row.Provenance, odd.reason)
		return
	}
	if x.estimated {
		x.checkEstimate(t)
	} else if want := x.truth(); row.Usage != want {
		t.Errorf("%s: entered %v, truly %v", x, row.Usage, want)
	}
	x.checkTold(t)
}

// truth returns the usage that the books must have for an answer with reported usage.
func (x *exchange) truth() llm.Usage {
	u := x.record.Usage
	if x.record.Reported != nil {
		u = *x.record.Reported
	}
	u = harness.Folded(x.dialect, u, harness.Folds)
	if x.totals {
		u = harness.Folded(x.dialect, u, foldsOfTotals)
	}
	u[llm.Requests] = 1
	return u
}

// checkEstimate compares an estimate with the true usage: it has only text that was seen, in its class, and an input. A
// provider's report of its input before a break is accepted.
func (x *exchange) checkEstimate(t *testing.T) {
	t.Helper()
	u, served := x.last().Usage, x.record.Usage
	if x.broken && !x.stream {
		served[llm.Output], served[llm.Reasoning] = 0, 0 // none of it was read
	}
	for _, c := range []llm.Class{llm.Output, llm.Reasoning} {
		if off := u[c] - served[c]; max(off, -off) > 3+served[c]/2 || served[c] == 0 && u[c] != 0 {
			t.Errorf("%s: estimated %d of %s, truly %d", x, u[c], c, served[c])
		}
	}
	if x.broken && x.stream && x.dialect == "anthropic" {
		if u[llm.Input] != served[llm.Input] || u[llm.CacheRead] != served[llm.CacheRead] {
			t.Errorf("%s: estimated %v, after the report of %v", x, u, served)
		}
	} else if u[llm.Input] < 4 || u[llm.CacheRead] != 0 {
		t.Errorf("%s: estimated %v, want an input", x, u)
	}
}

// toldUsage is the usage object at both client APIs.
type toldUsage struct {
	harness.Tokens
	PromptDetails *struct {
		Cached int64 `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
	CompletionDetails *struct {
		Reasoning int64 `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
	Cost json.Number `json:"cost"`
}

// usageTold returns the last usage in a reply; nil without one.
func usageTold(t *testing.T, body string, stream bool) (u *toldUsage) {
	t.Helper()
	for line := range strings.SplitSeq(body, "\n") {
		data, isData := strings.CutPrefix(line, "data: ")
		if stream && (!isData || data == "[DONE]") {
			continue
		}
		var piece struct{ Usage *toldUsage }
		if json.Unmarshal([]byte(data), &piece) == nil && piece.Usage != nil {
			u = piece.Usage
		}
	}
	return u
}

// told returns the last usage that the client received; nil without one.
func (x *exchange) told(t *testing.T) *toldUsage {
	t.Helper()
	if dialect := usageAPIs[x.path]; dialect != "" {
		return vendorTold(dialect, x.reply.Body)
	}
	return usageTold(t, x.reply.Body, x.stream)
}

// checkTold compares the client's usage with the books. Between equal wire formats, the provider's usage passes
// unchanged: if it is implausible, only the cost is from the books.
func (x *exchange) checkTold(t *testing.T) {
	t.Helper()
	same := x.dialect == "openai" && x.path == "/v1/chat/completions" || x.dialect == usageAPIs[x.path]
	told, u := x.told(t), x.last().Usage
	switch {
	case x.broken:
		if told != nil && told.Cost != "" || x.reply.Header.Get("X-Weir-Cost-USD") != "" {
			t.Errorf("%s: reported %+v of an answer that broke off: %s", x, told, x.reply.Body)
		}
		return
	case !x.stream && x.reply.Header.Get("X-Weir-Cost-USD") != x.total().String():
		t.Errorf("%s: X-Weir-Cost-USD %s, want %s", x, x.reply.Header.Get("X-Weir-Cost-USD"), x.total())
	}
	if same && x.estimated {
		if told != nil && told.Cost.String() != x.total().String() {
			t.Errorf("%s: reported the cost %s, want %s", x, told.Cost, x.total())
		}
		return
	}
	if told == nil || told.Tokens != (harness.Tokens{Prompt: u.InputTokens(), Completion: u.OutputTokens(), Total: u.TotalTokens()}) {
		t.Errorf("%s: reported %+v, entered %v: %s", x, told, u, x.reply.Body)
		return
	}
	if (x.stream || x.path != "/v1/chat") && told.Cost.String() != x.total().String() {
		t.Errorf("%s: reported the cost %s, want %s", x, told.Cost, x.total())
	}
	if x.path != "/v1/chat" && !x.totals && (told.PromptDetails.Cached != u[llm.CacheRead] || told.CompletionDetails.Reasoning != u[llm.Reasoning]) {
		t.Errorf("%s: reported details %+v and %+v, entered %v", x, told.PromptDetails, told.CompletionDetails, u)
	}
}

// checkGone checks an answer whose client left in the middle: the books have the part that had arrived, and not the
// part that the provider may have generated later.
func (x *exchange) checkGone(t *testing.T) {
	t.Helper()
	row, served := x.last(), x.record.Usage
	if row.Outcome != ledger.OutcomeClientGone || row.Provenance != ledger.Estimated || row.Cost != harness.CostOf(&row.Usage) {
		t.Errorf("%s, left: %+v", x, row.Settlement)
	}
	if n := row.Usage[llm.Output]; n > served[llm.Output]+3 || x.stream != (n > 0) || row.Usage[llm.Input] < 4 || row.Usage[llm.Reasoning] != 0 {
		t.Errorf("%s, left: entered %v, truly %v", x, row.Usage, served)
	}
	if x.stream && x.dialect == "anthropic" && (row.Usage[llm.Input] != served[llm.Input] || row.Usage[llm.CacheRead] != served[llm.CacheRead]) {
		t.Errorf("%s, left: entered %v, truly %v", x, row.Usage, served)
	}
}

// checkUses compares the sums with the rows.
func checkUses(h *harness.Gateway, t *testing.T, all []*exchange) {
	t.Helper()
	var tokens, requests int64
	var cost llm.Money
	for _, x := range all {
		for i := range x.rows {
			tokens += x.rows[i].Usage.TotalTokens()
			cost += x.rows[i].Cost
		}
		requests++
	}
	page := h.Uses("?limit=1000")
	if got, want := page.Total, [3]string{fmt.Sprint(tokens), fmt.Sprint(requests), cost.String()}; [3]string{got.Tokens.String(), got.Requests.String(), got.Cost.String()} != want {
		t.Errorf("/v1/uses: %+v, want %v tokens, requests, cost", got, want)
	}
}
