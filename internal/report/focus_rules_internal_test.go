package report

import (
	"encoding/json"
	"math/big"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"weir/internal/must"
)

// focusRule is a line of testdata/focus_rules.txt.
type focusRule struct {
	id           string
	since, until string // versions; empty for no bound
	column       string
	check, arg   string
	when         []string // conditions, all of which must be true
}

// focusRules returns the rules of a version.
func focusRules(t *testing.T, version string) (rules []focusRule) {
	t.Helper()
	since, until := "", ""
	for line := range strings.Lines(string(must.Get(os.ReadFile("testdata/focus_rules.txt"))(t))) {
		line = strings.TrimSpace(line)
		if from, is := strings.CutPrefix(line, "from "); is {
			since, until, _ = strings.Cut(from, " to ")
			continue
		}
		id, text, is := strings.Cut(line, ": ")
		if !is || line[0] == '#' || version < since || until != "" && version > until {
			continue
		}
		text, when, _ := strings.Cut(text, " when ")
		r := focusRule{id: id, since: since, until: until, check: text, column: strings.Split(strings.TrimPrefix(id, "CAU-"), "-")[0]}
		if when != "" {
			r.when = strings.Split(when, " & ")
		}
		for _, check := range []string{"present", "absent", "one of", "same as", "not"} {
			if arg, has := strings.CutPrefix(text, check+" "); has && text != "not null" && text != "not negative" {
				r.check, r.arg = check, arg
				break
			}
		}
		if r.check == "present" || r.check == "absent" {
			r.column = r.arg
		}
		rules = append(rules, r)
	}
	return rules
}

var (
	focusDecimal  = regexp.MustCompile(`^-?\d+\.\d+$`)
	focusNumber   = regexp.MustCompile(`^-?\d+(\.\d+)?(E-?\d+)?$`) // no plus sign, no comma and no unit
	focusMoment   = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$`)
	focusASCII    = regexp.MustCompile(`^[ -~]*$`)
	focusProperty = regexp.MustCompile(`^x_[A-Z][A-Za-z]+$`) // of our own, in SkuPriceDetails
)

// holds reports whether a condition, such as X=, X!= or X=a|b, is true for a row.
func holds(row map[string]string, condition string) bool {
	column, values, not := strings.Cut(condition, "!=")
	if !not {
		column, values, _ = strings.Cut(condition, "=")
	}
	return slices.Contains(strings.Split(values, "|"), row[column]) != not
}

// isBroken reports whether a row violates the rule. A null violates only rules about nulls.
func (r *focusRule) isBroken(row map[string]string) bool {
	for _, condition := range r.when {
		if !holds(row, condition) {
			return false
		}
	}
	value, there := row[r.column]
	switch r.check {
	case "present":
		return !there
	case "absent":
		return there
	case "not null":
		return value == ""
	case "null":
		return value != ""
	case "product":
		return new(big.Rat).Mul(rat(row["ListUnitPrice"]), rat(row["PricingQuantity"])).Cmp(rat(row["ListCost"])) != 0
	}
	return value != "" && r.isWrong(row, value)
}

func (r *focusRule) isWrong(row map[string]string, value string) bool {
	switch r.check {
	case "decimal":
		return !focusDecimal.MatchString(value)
	case "number":
		return !focusNumber.MatchString(value)
	case "text":
		return focusNumber.MatchString(value)
	case "ASCII":
		return !focusASCII.MatchString(value) || strings.TrimSpace(value) == ""
	case "time":
		return !focusMoment.MatchString(value)
	case "currency":
		return value != "USD"
	case "object":
		var object map[string]string
		return json.Unmarshal([]byte(value), &object) != nil || len(object) == 0
	case "not negative":
		return value[0] == '-'
	case "one of":
		return !slices.Contains(strings.Split(r.arg, "|"), value)
	case "not":
		return value == r.arg
	case "same as":
		return value != row[r.arg]
	}
	panic("no such check: " + r.id + ": " + r.check)
}

// broken returns the ids of the version's rules that a row violates, and other violations: of the specification's text,
// and of the properties of exports here.
func broken(t *testing.T, version string, row map[string]string) (ids []string) {
	t.Helper()
	for _, r := range focusRules(t, version) {
		if r.isBroken(row) {
			ids = append(ids, r.id+" ("+row[r.column]+")")
		}
	}
	say := func(ok bool, what string) {
		if !ok {
			ids = append(ids, what)
		}
	}
	for name, value := range row {
		say(value != "Not Applicable" && (value == "" || strings.TrimSpace(value) != ""), name+" is a placeholder")
	}
	say(row["BillingPeriodStart"] < row["BillingPeriodEnd"] && row["ChargePeriodStart"] < row["ChargePeriodEnd"], "a period ends before it starts")
	say(row["BillingPeriodStart"] <= row["ChargePeriodStart"] && row["ChargePeriodStart"] < row["BillingPeriodEnd"], "the charge is of another billing period")
	// Nothing is negotiated, discounted, paid in advance or sold by a third party.
	say(row["EffectiveCost"] == row["BilledCost"] && row["ContractedCost"] == row["BilledCost"], "EffectiveCost or ContractedCost is not BilledCost")
	say(row["ListUnitPrice"] != "" || row["ListCost"] == row["BilledCost"], "ListCost is not BilledCost where there is no unit price")
	say((row["SkuId"] == "") == (row["SkuMeter"] == "") && strings.HasPrefix(row["SkuPriceId"], row["SkuId"]), "SKU, meter and price do not belong together")
	var details map[string]string
	say(json.Unmarshal([]byte(row["SkuPriceDetails"]), &details) == nil, "SkuPriceDetails is no object")
	for name := range details {
		say(focusProperty.MatchString(name), "the property "+name+" is not one of our own")
	}
	return ids
}

// TestFOCUSRulesCatch is the negative control: each rule finds a row that violates it, and no other row.
func TestFOCUSRulesCatch(t *testing.T) {
	t.Parallel()
	wrong := map[string]string{
		"decimal": "15", "number": "+1.0", "text": "12", "ASCII": "é", "time": "2026-12-31T23:59:59+00:00", "currency": "usd", "object": "a=b",
		"not null": "", "null": "x", "not negative": "-1.0", "one of": "Spend", "same as": "another", "product": "", "absent": "x", "present": "",
	}
	for _, version := range FOCUSVersions() {
		rules := focusRules(t, version)
		if len(rules) < 150 {
			t.Errorf("got %d rules of %s, want those of all columns", len(rules), version)
		}
		for _, r := range rules {
			rows, _ := focusOf(t, version, priced(usedSome()))
			row := rows[0]
			if r.isBroken(row) {
				t.Errorf("%s: %s is broken by a row of an export", version, r.id)
			}
			for _, condition := range r.when {
				meet(row, condition)
			}
			row[r.column] = wrong[r.check]
			switch r.check {
			case "not":
				row[r.column] = r.arg
			case "present":
				delete(row, r.column)
			case "product":
				row["ListCost"] = "0.5"
			}
			if !r.isBroken(row) {
				t.Errorf("%s: %s is not broken by %s = %q", version, r.id, r.column, row[r.column])
			}
		}
	}
}

// meet makes a condition true for a row.
func meet(row map[string]string, condition string) {
	if holds(row, condition) {
		return
	}
	if column, _, not := strings.Cut(condition, "!="); not {
		row[column] = "another"
		return
	}
	column, value, _ := strings.Cut(condition, "=")
	row[column], _, _ = strings.Cut(value, "|")
}
