package report

import (
	"bytes"
	"encoding/csv"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/must"
)

func rat(text string) *big.Rat {
	if r, ok := new(big.Rat).SetString(text); ok {
		return r
	}
	return new(big.Rat)
}

// priced returns an attempt with that usage, at a price that names most classes.
func priced(u llm.Usage) *Exported {
	e := &Exported{AccountName: "acme", KeyLabel: "nightly report"}
	e.ID = ledger.AttemptID{Request: uuid.UUID{7}, N: 1}
	e.Account, e.Key, e.Provider, e.Model = "acc-1", "key-1", "openai", "gpt-5"
	e.Arrived = time.Date(2026, 12, 31, 23, 59, 59, 999_000_000, time.UTC)
	e.Opened, e.Duration = e.Arrived.Add(time.Millisecond), 2*time.Second
	e.Price = llm.Price{Version: "v1", Rates: llm.Rates{
		llm.Input: 150, llm.CacheRead: 15, llm.Output: 601, llm.Reasoning: llm.Free, llm.Requests: 5_000_000_001, llm.Milliseconds: 100_000_007_000, llm.Searches: 10_000_000_000,
	}}
	e.Price.Tiers = []llm.Tier{{Above: 200_000, Rates: e.Price.Rates}}
	e.Price.Modes = []llm.Mode{{Name: "priority", Times: 1750}}
	e.Usage, e.Outcome, e.Provenance = u, ledger.OutcomeOK, ledger.Exact
	e.Cost, e.Unpriced = e.Price.Cost(&e.Usage, ""), e.Price.Unpriced(&e.Usage, "")
	return e
}

// focusOf exports one attempt, in a version of FOCUS.
func focusOf(t *testing.T, version string, e *Exported) (rows []map[string]string, left Omitted) {
	t.Helper()
	var out bytes.Buffer
	left, err := exportFOCUS(version, &out, func(fn func(*Exported) error) error { return fn(e) })
	must.Do(t, err)
	cells := must.Get(csv.NewReader(&out).ReadAll())(t)
	for _, row := range cells[1:] {
		named := map[string]string{}
		for i, name := range cells[0] {
			named[name] = row[i]
		}
		rows = append(rows, named)
	}
	return rows, left
}

// usedSome returns usage with a row of each kind.
func usedSome() llm.Usage { return llm.Usage{llm.Input: 333} }

// TestFOCUS checks that every row of an export obeys the published rules of its version of FOCUS, and that the rows of
// an attempt add up to its cost and to its bound.
func TestFOCUS(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		change func(*Exported)
		used   llm.Usage
		meters []string
		left   Omitted
	}{
		{"classes and tools", nil, llm.Usage{llm.Input: 333, llm.CacheRead: 7, llm.Output: 77, llm.Reasoning: 5, llm.Requests: 1, llm.Searches: 3}, []string{"Input tokens", "Cache read tokens", "Output tokens", "Reasoning tokens", "Request fee", "Web search"}, Omitted{}},
		{"a tier and a mode", func(e *Exported) { e.Tier, e.Cost = "priority", e.Price.Cost(&e.Usage, "priority") }, llm.Usage{llm.Input: 200_001, llm.Output: 1}, []string{"Input tokens", "Output tokens"}, Omitted{}},
		{"seconds", nil, llm.Usage{llm.Milliseconds: 12_345}, []string{"Audio"}, Omitted{}},
		{"no fee for a request", func(e *Exported) { e.Price.Rates[llm.Requests] = 0; e.Cost = e.Price.Cost(&e.Usage, "") }, llm.Usage{llm.Input: 10_000, llm.Requests: 1}, []string{"Input tokens"}, Omitted{}},
		{"free", func(e *Exported) {
			e.Price.Rates = llm.Rates{llm.Input: llm.Free}
			e.Price.Tiers, e.Cost = nil, 0
		}, llm.Usage{llm.Input: 10_000}, []string{"Input tokens"}, Omitted{}},
		{"end not seen", func(e *Exported) { e.Provenance, e.AtMost = ledger.Estimated, e.Cost+llm.USD }, llm.Usage{llm.Input: 333, llm.Output: 1}, []string{"Input tokens", "Output tokens"}, Omitted{}},
		{"process died", func(e *Exported) { e.Provenance, e.Cost, e.AtMost = ledger.Unknown, 1234, 1234 }, llm.Usage{llm.Input: 333}, []string{"Request"}, Omitted{}},
		{"the provider's figure", func(e *Exported) { e.Billed, e.Cost = true, 777 }, llm.Usage{llm.Input: 333}, []string{"Request"}, Omitted{}},
		{"corrected", func(e *Exported) { e.Cost += 55 }, llm.Usage{llm.Input: 333}, []string{"Request"}, Omitted{}},
		{"corrected below nothing", func(e *Exported) { e.Cost = -55 }, llm.Usage{llm.Input: 333}, []string{"Request"}, Omitted{}},
		{"rejected", nil, llm.Usage{}, nil, Omitted{}},
		{"partly without a price", nil, llm.Usage{llm.Input: 333, llm.Maps: 1}, []string{"Input tokens"}, Omitted{Part: 1}},
		{"without a price", func(e *Exported) {
			e.Price, e.Cost = llm.Price{}, 0
			e.Unpriced = e.Price.Unpriced(&e.Usage, "")
		}, llm.Usage{llm.Input: 333}, nil, Omitted{Whole: 1}},
		{"account and key gone", func(e *Exported) { e.AccountName, e.KeyLabel = "", "" }, llm.Usage{llm.Input: 333}, []string{"Input tokens"}, Omitted{}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			for _, version := range FOCUSVersions() {
				e := priced(test.used)
				if test.change != nil {
					test.change(e)
				}
				holdFOCUS(t, version, e, test.meters, test.left)
			}
		})
	}
}

// holdFOCUS checks the rows of an attempt against the rules, the expected kinds, and its cost.
func holdFOCUS(t *testing.T, version string, e *Exported, wanted []string, omitted Omitted) {
	t.Helper()
	rows, left := focusOf(t, version, e)
	var meters []string
	billed, most := new(big.Rat), new(big.Rat)
	for _, row := range rows {
		for _, id := range broken(t, version, row) {
			t.Errorf("%s: %s breaks %s", version, row["SkuMeter"], id)
		}
		meters = append(meters, row["SkuMeter"])
		billed.Add(billed, rat(row["BilledCost"]))
		most.Add(most, rat(row["x_CostAtMost"]))
	}
	if !slices.Equal(meters, wanted) {
		t.Errorf("got rows of %q, want %q", meters, wanted)
	}
	if len(rows) > 0 && (billed.Cmp(rat(e.Cost.String())) != 0 || most.Cmp(rat(e.Charged().String())) != 0) {
		t.Errorf("got %s and at most %s in all, want %s and %s", billed.FloatString(9), most.FloatString(9), e.Cost, e.Charged())
	}
	if left != omitted {
		t.Errorf("got %+v left out, want %+v", left, omitted)
	}
}

// TestFOCUSColumns checks that each column of a version appears once, those of FOCUS before our own, and no other.
func TestFOCUSColumns(t *testing.T) {
	t.Parallel()
	for _, version := range FOCUSVersions() {
		var names []string
		for i := range focusColumns {
			if focusColumns[i].is(version) {
				names = append(names, focusColumns[i].name)
			}
		}
		own := slices.IndexFunc(names, func(name string) bool { return strings.HasPrefix(name, "x_") })
		if !slices.IsSorted(names[:own]) || !slices.IsSorted(names[own:]) || len(slices.Compact(slices.Clone(names))) != len(names) {
			t.Errorf("%s: got the columns %q, want those of FOCUS first", version, names)
		}
		for _, name := range names[:own] {
			if !slices.ContainsFunc(focusRules(t, version), func(r focusRule) bool { return r.column == name && r.check != "absent" }) {
				t.Errorf("%s is in no rule of FOCUS %s", name, version)
			}
		}
	}
}

// TestFOCUSPrices checks that tokens are priced by the million, other units by one, and that the kind of tokens is
// named.
func TestFOCUSPrices(t *testing.T) {
	t.Parallel()
	e := priced(llm.Usage{llm.Input: 333, llm.CacheRead: 2_000_000, llm.Output: 15, llm.Milliseconds: 12_345, llm.Searches: 3})
	e.Tier, e.Region = "priority", "eu-west-1"
	e.Cost = e.Price.Cost(&e.Usage, "priority")
	rows, _ := focusOf(t, "1.4", e)
	var got []string
	for _, row := range rows {
		must.Equal(t, row["RegionId"]+" "+row["RegionName"], "eu-west-1 eu-west-1", "region")
		got = append(got, strings.Join([]string{
			row["ConsumedQuantity"], row["ConsumedUnit"], row["PricingQuantity"], row["PricingUnit"], row["ListUnitPrice"], row["ListCost"], row["BilledCost"], row["SkuPriceDetails"],
		}, " "))
	}
	const of = `","x_ServingMode":"priority","x_AboveInputTokens":"200000"}`
	want := []string{
		`333.0 Tokens 0.000333 1000000 Tokens 0.000262 0.000000087246 0.000000087 {"x_ModelId":"gpt-5","x_TokenDirection":"Input","x_TokenCacheAction":"Uncached` + of,
		`2000000.0 Tokens 2.000000 1000000 Tokens 0.000026 0.000052000000 0.000052000 {"x_ModelId":"gpt-5","x_TokenDirection":"Input","x_TokenCacheAction":"Read` + of,
		`15.0 Tokens 0.000015 1000000 Tokens 0.001051 0.000000015765 0.000000016 {"x_ModelId":"gpt-5","x_TokenDirection":"Output` + of,
		`12.345 Seconds 12.345 Seconds 0.100000007000 1.234500086415000 1.234500086 {"x_ModelId":"gpt-5` + of,
		`3.0 Searches 3.0 Searches 0.010000000000 0.030000000000 0.030000000 {"x_ModelId":"gpt-5` + of,
	}
	must.Equal(t, got, want, "quantities, prices, costs and details")
}

// TestFOCUSTags checks that all rows of a request have its tags and its end user.
func TestFOCUSTags(t *testing.T) {
	t.Parallel()
	e := priced(llm.Usage{llm.Input: 333, llm.Output: 4})
	e.Attribution = llm.Attribution{User: "=ada", Tags: []llm.Tag{{Name: "team", Value: `s"earch`}, {Name: "project", Value: "alpha"}}}
	rows, _ := focusOf(t, "1.2", e)
	for _, row := range rows {
		for _, id := range broken(t, "1.2", row) {
			t.Error(id)
		}
		if row["Tags"] != `{"team":"s\"earch","project":"alpha"}` || row["x_EndUser"] != "'=ada" {
			t.Errorf("got the tags %s and the end user %s", row["Tags"], row["x_EndUser"])
		}
	}
	if len(rows) != 2 {
		t.Errorf("got %d rows, want 2", len(rows))
	}
	e.Attribution = llm.Attribution{}
	if rows, _ = focusOf(t, "1.2", e); rows[0]["Tags"] != "" {
		t.Errorf("got the tags %s of a request without any", rows[0]["Tags"])
	}
}
