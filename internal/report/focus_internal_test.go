package report

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math/big"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/must"
)

// focusRule is what FOCUS 1.2 says of a column, from the page of that column at
// https://focus.finops.org/focus-specification/v1-2/ (2025-05-29).
type focusRule struct {
	name      string
	mandatory bool
	nulls     bool // allowed
	kind      string
	allowed   []string
}

// focusRules are the mandatory columns, and the others that the export has.
var focusRules = []focusRule{
	{name: "BilledCost", mandatory: true, kind: "decimal"},
	{name: "BillingAccountId", mandatory: true},
	{name: "BillingAccountName", mandatory: true, nulls: true},
	{name: "BillingCurrency", mandatory: true, kind: "currency"},
	{name: "BillingPeriodEnd", mandatory: true, kind: "time"},
	{name: "BillingPeriodStart", mandatory: true, kind: "time"},
	{name: "ChargeCategory", mandatory: true, allowed: []string{"Usage", "Purchase", "Tax", "Credit", "Adjustment"}},
	{name: "ChargeClass", mandatory: true, nulls: true, allowed: []string{"Correction"}},
	{name: "ChargeDescription", mandatory: true, nulls: true},
	{name: "ChargeFrequency", allowed: []string{"One-Time", "Recurring", "Usage-Based"}},
	{name: "ChargePeriodEnd", mandatory: true, kind: "time"},
	{name: "ChargePeriodStart", mandatory: true, kind: "time"},
	{name: "ConsumedQuantity", nulls: true, kind: "decimal"},
	{name: "ConsumedUnit", nulls: true, kind: "unit"},
	{name: "ContractedCost", mandatory: true, kind: "decimal"},
	{name: "EffectiveCost", mandatory: true, kind: "decimal"},
	{name: "InvoiceId", nulls: true},
	{name: "InvoiceIssuerName", mandatory: true},
	{name: "ListCost", mandatory: true, kind: "decimal"},
	{name: "ListUnitPrice", nulls: true, kind: "not negative"},
	{name: "PricingCategory", nulls: true, allowed: []string{"Standard", "Dynamic", "Committed", "Other"}},
	{name: "PricingQuantity", mandatory: true, nulls: true, kind: "decimal"},
	{name: "PricingUnit", mandatory: true, nulls: true, kind: "unit"},
	{name: "ProviderName", mandatory: true},
	{name: "PublisherName", mandatory: true},
	{name: "ResourceId", nulls: true},
	{name: "ResourceName", nulls: true},
	{name: "ResourceType", nulls: true},
	{name: "ServiceCategory", mandatory: true, allowed: []string{
		"AI and Machine Learning", "Analytics", "Business Applications", "Compute", "Databases", "Developer Tools", "Multicloud", "Identity",
		"Integration", "Internet of Things", "Management and Governance", "Media", "Migration", "Mobile", "Networking", "Security", "Storage", "Web", "Other",
	}},
	{name: "ServiceName", mandatory: true},
	{name: "ServiceSubcategory", allowed: []string{ // of AI and Machine Learning
		"AI Platforms", "Bots", "Generative AI", "Machine Learning", "Natural Language Processing", "Other (AI and Machine Learning)",
	}},
	{name: "SkuId", nulls: true},
	{name: "SkuMeter", nulls: true},
	{name: "SkuPriceId", nulls: true},
	{name: "SubAccountId", nulls: true},
	{name: "SubAccountName", nulls: true},
	{name: "Tags", nulls: true, kind: "tags"},
}

var (
	// The numeric format has no plus sign, no comma and no unit.
	focusNumber = regexp.MustCompile(`^-?\d+(\.\d+)?(E-?\d+)?$`)
	// Times are in UTC, to the second.
	focusMoment = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$`)
	// Units are one noun in the plural, with a capital; of time, seconds and more.
	focusUnit = regexp.MustCompile(`^[A-Z][a-z]+s$`)
)

// breaks says which rules a row breaks.
func breaks(row map[string]string) (broken []string) {
	must := func(ok bool, format string, args ...any) {
		if !ok {
			broken = append(broken, fmt.Sprintf(format, args...))
		}
	}
	for _, r := range focusRules {
		value, there := row[r.name]
		must(there || !r.mandatory, "%s is not there", r.name)
		if must(value != "" || r.nulls, "%s is null", r.name); value == "" {
			continue
		}
		must(strings.TrimSpace(value) != "" && value != "Not Applicable", "%s is a placeholder", r.name)
		must(r.allowed == nil || slices.Contains(r.allowed, value), "%s is %q", r.name, value)
		switch r.kind {
		case "decimal", "not negative":
			must(focusNumber.MatchString(value) && (r.kind == "decimal" || value[0] != '-'), "%s is %q, no number", r.name, value)
		case "time":
			must(focusMoment.MatchString(value), "%s is %q, no time", r.name, value)
		case "currency":
			must(value == "USD", "%s is %q, no code of ISO 4217 that is billed here", r.name, value)
		case "tags": // https://focus.finops.org/focus-specification/v1-2/#key-valueformat
			var tags map[string]string
			must(json.Unmarshal([]byte(value), &tags) == nil && len(tags) > 0, "%s is %q, no object of strings", r.name, value)
		case "unit":
			must(focusUnit.MatchString(value) && value != "Milliseconds", "%s is %q, no unit", r.name, value)
		}
	}
	usage := row["ChargeCategory"] == "Usage" && row["ChargeClass"] != "Correction"
	for _, name := range []string{"ListUnitPrice", "PricingCategory", "PricingQuantity", "SkuId", "SkuPriceId", "ConsumedQuantity"} {
		must(row[name] != "" || !usage, "%s is null in a charge for usage", name)
	}
	must(row["ConsumedQuantity"] == "" || row["ChargeCategory"] == "Usage", "ConsumedQuantity is there and ChargeCategory is not Usage")
	must(row["ChargeFrequency"] != "Usage-Based" || row["ChargeCategory"] != "Purchase", "a purchase is Usage-Based")
	for _, pair := range [][2]string{
		{"ConsumedQuantity", "ConsumedUnit"}, {"PricingQuantity", "PricingUnit"}, {"SubAccountId", "SubAccountName"}, {"ResourceId", "ResourceType"}, {"SkuId", "SkuMeter"},
	} {
		must((row[pair[0]] == "") == (row[pair[1]] == ""), "one of %s and %s is null", pair[0], pair[1])
	}
	must(row["BillingPeriodStart"] < row["BillingPeriodEnd"] && row["ChargePeriodStart"] < row["ChargePeriodEnd"], "a period ends before it starts")
	must(row["BillingPeriodStart"] <= row["ChargePeriodStart"] && row["ChargePeriodStart"] < row["BillingPeriodEnd"], "the charge is of another billing period")
	// Without a contracted unit price the contracted cost is the billed one; without a
	// list unit price the list cost is; with one it is the product.
	must(row["ContractedCost"] == row["BilledCost"], "ContractedCost %s is not BilledCost", row["ContractedCost"])
	if row["ListUnitPrice"] == "" {
		must(row["ListCost"] == row["BilledCost"], "ListCost %s is not BilledCost", row["ListCost"])
	} else {
		product := new(big.Rat).Mul(rat(row["ListUnitPrice"]), rat(row["PricingQuantity"]))
		must(product.Cmp(rat(row["ListCost"])) == 0, "ListCost %s is not ListUnitPrice times PricingQuantity", row["ListCost"])
	}
	// Nothing is discounted, paid beforehand or sold by a third party.
	must(row["EffectiveCost"] == row["BilledCost"], "EffectiveCost %s is not BilledCost", row["EffectiveCost"])
	return broken
}

func rat(text string) *big.Rat {
	if r, ok := new(big.Rat).SetString(text); ok {
		return r
	}
	return new(big.Rat)
}

// priced is an attempt that used that, at a price that names most classes.
func priced(u llm.Usage) *Exported {
	e := &Exported{AccountName: "acme", KeyLabel: "nightly report"}
	e.ID = ledger.AttemptID{Request: uuid.UUID{7}, N: 1}
	e.Account, e.Key, e.Provider, e.Model = "acc-1", "key-1", "openai", "gpt-5"
	e.Arrived = time.Date(2026, 12, 31, 23, 59, 59, 999_000_000, time.UTC)
	e.Opened, e.Duration = e.Arrived.Add(time.Millisecond), 2*time.Second
	e.Price = llm.Price{Version: "v1", Rates: llm.Rates{
		llm.Input: 150, llm.CacheRead: 15, llm.Output: 601, llm.Reasoning: llm.Free, llm.Requests: 5_000_000_001, llm.Milliseconds: 100_000_007, llm.Searches: 10_000_000_000,
	}}
	e.Price.Tiers = []llm.Tier{{Above: 200_000, Rates: e.Price.Rates}}
	e.Price.Modes = []llm.Mode{{Name: "priority", Times: 1750}}
	e.Usage, e.Outcome, e.Provenance = u, ledger.OutcomeOK, ledger.Exact
	e.Cost, e.Unpriced = e.Price.Cost(&e.Usage, ""), e.Price.Unpriced(&e.Usage, "")
	return e
}

// focusOf is what an export has of one attempt.
func focusOf(t *testing.T, e *Exported) (rows []map[string]string, left Omitted) {
	t.Helper()
	var out bytes.Buffer
	left, err := exportFOCUS(&out, func(fn func(*Exported) error) error { return fn(e) })
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

// TestFOCUS has every row of an export keep the published rules of FOCUS 1.2, and the rows
// of an attempt add up to its cost and to its bound.
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
			e := priced(test.used)
			if test.change != nil {
				test.change(e)
			}
			rows, left := focusOf(t, e)
			var meters []string
			billed, most := new(big.Rat), new(big.Rat)
			for _, row := range rows {
				for _, broken := range breaks(row) {
					t.Errorf("%s: %s", row["SkuMeter"], broken)
				}
				meters = append(meters, row["SkuMeter"])
				billed.Add(billed, rat(row["BilledCost"]))
				most.Add(most, rat(row["x_CostAtMost"]))
			}
			if !slices.Equal(meters, test.meters) {
				t.Errorf("got rows of %q, want %q", meters, test.meters)
			}
			if len(rows) > 0 && (billed.Cmp(rat(e.Cost.String())) != 0 || most.Cmp(rat(e.Charged().String())) != 0) {
				t.Errorf("got %s and at most %s in all, want %s and %s", billed.FloatString(9), most.FloatString(9), e.Cost, e.Charged())
			}
			if left != test.left {
				t.Errorf("got %+v left out, want %+v", left, test.left)
			}
		})
	}
}

// TestFOCUSColumns has each column once, those of FOCUS before our own, and no other.
func TestFOCUSColumns(t *testing.T) {
	t.Parallel()
	var names []string
	for i := range focusColumns {
		names = append(names, focusColumns[i].name)
	}
	own := slices.IndexFunc(names, func(name string) bool { return strings.HasPrefix(name, "x_") })
	if !slices.IsSorted(names[:own]) || !slices.IsSorted(names[own:]) {
		t.Errorf("got the columns %q, want those of FOCUS first", names)
	}
	for _, name := range names[:own] {
		if !slices.ContainsFunc(focusRules, func(r focusRule) bool { return r.name == name }) {
			t.Errorf("%s is in no rule of FOCUS 1.2", name)
		}
	}
}

// TestFOCUSRulesCatch is the negative control: the rules find what breaks them.
func TestFOCUSRulesCatch(t *testing.T) {
	t.Parallel()
	for name, value := range map[string]string{
		"BilledCost": "", "ListCost": "0", "ContractedCost": "0", "EffectiveCost": "$1", "BillingCurrency": "usd", "BillingPeriodEnd": "2026-12-01T00:00:00Z",
		"BillingPeriodStart": "2026-12-01", "ChargeCategory": "Spend", "ChargeClass": "Regular", "ChargeFrequency": "Daily", "ChargePeriodEnd": "2026-12-31T23:59:59+00:00",
		"ChargePeriodStart": "2027-01-01T00:00:00Z", "ConsumedUnit": "", "PricingQuantity": "", "PricingUnit": "tokens", "ProviderName": "", "ServiceCategory": "AI",
		"ServiceName": " ", "SkuId": "", "SubAccountName": "", "PublisherName": "", "ListUnitPrice": "+1", "PricingCategory": "", "InvoiceIssuerName": "", "Tags": "project=alpha",
	} {
		rows, _ := focusOf(t, priced(llm.Usage{llm.Input: 333}))
		if rows[0][name] = value; len(breaks(rows[0])) == 0 {
			t.Errorf("%s = %q: got no rule that it breaks", name, value)
		}
	}
	rows, _ := focusOf(t, priced(llm.Usage{llm.Input: 333}))
	if delete(rows[0], "BilledCost"); len(breaks(rows[0])) == 0 {
		t.Error("no BilledCost: got no rule that it breaks")
	}
}

// TestFOCUSTags has the tags and the end user of a request in all its rows.
func TestFOCUSTags(t *testing.T) {
	t.Parallel()
	e := priced(llm.Usage{llm.Input: 333, llm.Output: 4})
	e.Attribution = llm.Attribution{User: "=ada", Tags: []llm.Tag{{Name: "team", Value: `s"earch`}, {Name: "project", Value: "alpha"}}}
	rows, _ := focusOf(t, e)
	for _, row := range rows {
		for _, broken := range breaks(row) {
			t.Error(broken)
		}
		if row["Tags"] != `{"team":"s\"earch","project":"alpha"}` || row["x_EndUser"] != "'=ada" {
			t.Errorf("got the tags %s and the end user %s", row["Tags"], row["x_EndUser"])
		}
	}
	if len(rows) != 2 {
		t.Errorf("got %d rows, want 2", len(rows))
	}
	e.Attribution = llm.Attribution{}
	if rows, _ = focusOf(t, e); rows[0]["Tags"] != "" {
		t.Errorf("got the tags %s of a request without any", rows[0]["Tags"])
	}
}
