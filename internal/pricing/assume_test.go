package pricing_test

import (
	"strings"
	"testing"

	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/pricing"
)

// TestAssumedFrom checks when a price of a file is assumed, and its upper bound then.
func TestAssumedFrom(t *testing.T) {
	t.Parallel()
	const (
		ours = `{"entries": [ENTRIES]}`
		list = `{"assumed": true, "entries": [ENTRIES]}`
		sale = `"provider":"openai","models":["gpt-5-mini"],"rates":{"input_mtok":"1","output_mtok":"1"},"until":"2026-11-21","ceiling":"1.5"`
		next = `"provider":"openai","models":["gpt-5-mini"],"rates":{"input_mtok":"3","output_mtok":"1"},"since":"2026-11-25"`
		tool = `"provider":"openai","models":["gpt-5-mini"],"rates":{"web_searches_kcount":"7"},"since":"2026-11-25"`
	)
	million := llm.Usage{llm.Input: 1_000_000, llm.Output: 1_000_000}
	tests := []struct {
		name, file, model string
		entries           []string
		at                string
		basis             llm.Basis
		cost, most        string
	}{
		{"a promotion on its last day", ours, "gpt-5-mini", []string{sale}, "2026-11-21T23:59:59Z", llm.BasisModel, "2", "2"},
		{"the day after", ours, "gpt-5-mini", []string{sale}, "2026-11-22T00:00:00Z", llm.BasisSeller, "2", "3"},
		{"until the next price", ours, "gpt-5-mini", []string{sale, next}, "2026-11-24T23:59:59Z", llm.BasisSeller, "2", "3"},
		{"the next price", ours, "gpt-5-mini", []string{sale, next}, "2026-11-25T00:00:00Z", llm.BasisModel, "4", "4"},
		{"a later entry that prices no token", ours, "gpt-5-mini", []string{sale, tool}, "2026-11-25T00:00:00Z", llm.BasisSeller, "2", "3"},
		{"somebody else's list", list, "gpt-5-mini", []string{next}, "2026-11-25T00:00:00Z", llm.BasisSeller, "4", "4"},
		{"somebody else's list before its day", list, "gpt-5-mini", []string{next}, "2026-11-24T00:00:00Z", llm.BasisModel, "2.25", "2.25"},
		{"a model that the data lacks", list, "gpt-99", []string{`"provider":"openai","models":["gpt-99"],"adds":{"equals":"gpt-99"},"rates":{"input_mtok":"1","output_mtok":"2"}`}, "2026-11-25T00:00:00Z", llm.BasisSeller, "3", "3"},
		{"one that is free there", list, "gpt-99", []string{`"provider":"openai","models":["gpt-99"],"adds":{"equals":"gpt-99"},"free":true`}, "2026-11-25T00:00:00Z", llm.BasisSeller, "0", "0"},
		{"a mode alone", list, "gpt-5-mini", []string{`"provider":"openai","models":["gpt-5-mini"],"mode":"priority","times":"3"`}, "2026-11-25T00:00:00Z", llm.BasisSeller, "2.25", "2.25"},
		{"with a ceiling", list, "gpt-5-mini", []string{strings.Replace(next, `"since"`, `"ceiling":"1.1","since"`, 1)}, "2026-11-25T00:00:00Z", llm.BasisSeller, "4", "4.4"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var entries []string
			for _, e := range tt.entries {
				entries = append(entries, "{"+e+`,"source":"contract"}`)
			}
			text := strings.Replace(tt.file, "ENTRIES", strings.Join(entries, ","), 1)
			b := newBook(t, pricing.Overrides{Files: []pricing.File{{Path: "prices.json", Text: []byte(text)}}})
			p := b.Price("openai", tt.model, moment(t, tt.at))
			cost, most := p.Cost(&million, "").String(), p.CostAtMost(&million, "").String()
			if p.Basis != tt.basis || cost != tt.cost || most != tt.most {
				t.Errorf("got basis %d, %s, %s at most, want %d, %s, %s", p.Basis, cost, most, tt.basis, tt.cost, tt.most)
			}
			if hold := p.Bound(&million); hold < must.Get(llm.ParseMoney(tt.most))(t) {
				t.Errorf("got a hold of %s, want %s at least", hold, tt.most)
			}
		})
	}
}

// TestAssumedMistakes checks the mistakes in a file's assumed prices.
func TestAssumedMistakes(t *testing.T) {
	t.Parallel()
	const entry = `"provider":"openai","models":["gpt-5-mini"],"source":"x"`
	for text, want := range map[string]string{
		`{"assumed": false, "entries": [{` + entry + `,"rates":{"input_mtok":"1"}}]}`:                                      "`assumed` must be true or absent",
		`{"entries": [{` + entry + `,"rates":{"input_mtok":"1"},"ceiling":"1.5"}]}`:                                        "`ceiling` needs `until`",
		`{"entries": [{` + entry + `,"rates":{"input_mtok":"1"},"until":"2026-11-21","ceiling":"much"}]}`:                  "`ceiling` must be a decimal above 0",
		`{"entries": [{` + entry + `,"rates":{"input_mtok":"1"},"until":"soon"}]}`:                                         "`until` must be a date",
		`{"entries": [{` + entry + `,"rates":{"input_mtok":"1"},"since":"2026-11-22","until":"2026-11-21"}]}`:              "`until` must not be before `since`",
		`{"entries": [{` + entry + `,"mode":"priority","times":"2","until":"2026-11-21"}]}`:                                "cannot be combined with `mode`",
		`{"entries": [{` + entry + `,"rates":{"input_mtok":"1"},"until":"2026-11-21","assumed":true}]}`:                    `unknown name "assumed"`,
		`{"assumed": true, "entries": [{` + entry + `,"rates":{"input_mtok":"1"},"until":"2026-11-21","ceiling":"0.00"}]}`: "`ceiling` must be a decimal above 0",
	} {
		_, err := pricing.NewBook(pricing.Overrides{Files: []pricing.File{{Path: "prices.json", Text: []byte(text)}}})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
}

// TestAssumedInTheData checks that the embedded data has the end of a promised promotion, and that a seller's price is
// assumed if the seller has several for one model.
func TestAssumedInTheData(t *testing.T) {
	t.Parallel()
	b := newBook(t, pricing.Overrides{})
	used := llm.Usage{llm.Input: 100_000, llm.Output: 10_000}
	for _, tt := range []struct {
		provider, model, at string
		basis               llm.Basis
		cost, most          string
	}{
		{"openai", "gpt-5.6-sol", "2026-11-21T23:59:59Z", llm.BasisModel, "0.6", "0.6"},
		{"openai", "gpt-5.6-sol", "2026-11-22T00:00:00Z", llm.BasisSeller, "0.6", "0.9"}, // 5 / 30 before it: 0.8
		{"openai", "gpt-5.6-terra", "2026-11-22T00:00:00Z", llm.BasisModel, "0.32", "0.32"},
		{"azure", "gpt-5.6-sol", "2026-11-22T00:00:00Z", llm.BasisSeller, "0.8", "0.896"},
		{"azure", "o4-mini", now, llm.BasisSeller, "0.154", "0.17248"}, // 0.1694 in a Data Zone
		{"azure", "o3", now, llm.BasisSeller, "0.28", "0.3136"},        // 0.308
		{"azure", "gpt-4.1", now, llm.BasisSeller, "0.28", "0.3136"},
	} {
		p := b.Price(tt.provider, tt.model, moment(t, tt.at))
		cost, most := p.Cost(&used, "").String(), p.CostAtMost(&used, "").String()
		if p.Basis != tt.basis || cost != tt.cost || most != tt.most {
			t.Errorf("%s/%s at %s: got basis %d, %s, %s at most, want %d, %s, %s", tt.provider, tt.model, tt.at, p.Basis, cost,
				most, tt.basis, tt.cost, tt.most)
		}
	}
	for _, l := range b.Models("azure", moment(t, now)) {
		if strings.HasSuffix(l.ID, ":free") {
			continue
		}
		if l.Price.Known() && (l.Price.Basis == llm.BasisModel || l.Price.Ceiling <= 1100) {
			t.Errorf("azure/%s: got basis %d with a ceiling of %d thousandths, want it assumed, with 1100 at least", l.ID,
				l.Price.Basis, l.Price.Ceiling)
		}
	}
}
