package app_test

import (
	"strings"
	"testing"

	"weir/internal/ledger"
	"weir/internal/simulator"
)

// TestMeterOfEmbeddings holds what vectors are charged against what providers of
// each wire format served and told, and who reached none is not charged.
func TestMeterOfEmbeddings(t *testing.T) {
	t.Parallel()
	for name, prefix := range embedders {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			up := newUpstream(t)
			h := open(t, setup{yaml: "providers:" + spokenBy("house", name, up.url, prefix) + "prices:\n  house/*: {input: \"3\", output: \"11\"}\n"})
			for _, option := range []string{"", ":usage=missing", ":usage=none", ":usage=zero", ":usage=negative", ":usage=huge", ":usage=float", ":status=500", ":fault=reset"} {
				r := h.do(vendorEmbed(`{"model":"house/chat` + option + `","input":"one two three four five six"}`))
				row, record := h.entry(t, r.header.Get("X-Request-Id")), up.newest(t)
				checkEmbedding(t, option, r, &row, &record)
			}
			h.verify(t)
		})
	}
}

func checkEmbedding(t *testing.T, option string, r reply, row *ledger.Entry, record *simulator.Record) {
	t.Helper()
	in := row.Usage.InputTokens()
	switch {
	case option == ":status=500":
		if row.Outcome != ledger.OutcomeRejected || row.Cost != 0 {
			t.Errorf("%s: %+v", option, row.Settlement)
		}
		return
	case option == ":fault=reset":
		if row.Outcome != ledger.OutcomeFailed || row.Provenance != ledger.Estimated || in != 6 {
			t.Errorf("%s: %+v", option, row.Settlement)
		}
		return
	case record.Reported == nil:
		if row.Outcome != ledger.OutcomeOK || row.Provenance != ledger.Estimated || in != 6 {
			t.Errorf("%q: %+v", option, row.Settlement)
		}
	case row.Outcome != ledger.OutcomeOK || row.Provenance != ledger.Exact || in != record.Reported.InputTokens():
		t.Errorf("%q: %+v, told %v", option, row.Settlement, record.Reported)
	}
	told := r.header.Get("X-Weir-Cost-USD")
	if row.Usage.OutputTokens() != 0 || row.Hold < row.Cost || told != row.Cost.String() || strings.Contains(r.body, `"cost"`) && !strings.Contains(r.body, `"cost":`+told) {
		t.Errorf("%q: %+v of a hold of $%s; told $%s: %s", option, row.Settlement, row.Hold, told, r.body)
	}
}
