package report

import (
	"cmp"
	"encoding/csv"
	"io"
	"strconv"
	"strings"
	"time"

	"weir/internal/audit"
	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// focusColumns are the columns of the FinOps Open Cost and Usage Specification 1.2
// (https://focus.finops.org/focus-specification/v1-2/, 2025-05-29): all that are
// mandatory, and the recommended and conditional ones for which there is a value. Those
// of our own come last and begin with x_.
//
// A row is a charge: what an attempt used of one class, at its price. An attempt is one
// row where its cost is not the sum of these: the provider's own figure, an unknown
// outcome, a corrected cost. The BilledCost of the rows adds up to the ledger's cost, and
// x_CostAtMost to its upper bound. An attempt that used nothing has no row.
//
// A cost column must not be null, and a cost that nobody knows is not 0: usage without
// a known price has no row, and x_Unpriced names its classes in the rows of the same attempt.
var focusColumns = []struct {
	name  string
	value func(*focusCharge) string
}{
	{"BilledCost", (*focusCharge).billed},
	{"BillingAccountId", constant("weir")},
	{"BillingAccountName", constant("Weir")},
	{"BillingCurrency", constant("USD")},
	{"BillingPeriodEnd", func(c *focusCharge) string { return focusTime(monthOf(c.of.Arrived).AddDate(0, 1, 0)) }},
	{"BillingPeriodStart", func(c *focusCharge) string { return focusTime(monthOf(c.of.Arrived)) }},
	{"ChargeCategory", func(c *focusCharge) string { return either(c.isUsage(), "Usage", "Adjustment") }},
	{"ChargeClass", constant("")}, // there is no invoice that a correction could be of
	{"ChargeDescription", func(c *focusCharge) string { return c.meter + " of " + c.of.FullModel() }},
	{"ChargeFrequency", func(c *focusCharge) string { return either(c.isUsage(), "Usage-Based", "One-Time") }},
	{"ChargePeriodEnd", (*focusCharge).ends},
	{"ChargePeriodStart", func(c *focusCharge) string { return focusTime(c.of.Arrived) }},
	{"ConsumedQuantity", (*focusCharge).quantity},
	{"ConsumedUnit", (*focusCharge).unitName},
	{"ContractedCost", (*focusCharge).billed},
	{"EffectiveCost", (*focusCharge).billed},
	{"InvoiceId", constant("")},
	{"InvoiceIssuerName", (*focusCharge).provider},
	{"ListCost", (*focusCharge).listCost},
	{"ListUnitPrice", (*focusCharge).listUnitPrice},
	{"PricingCategory", func(c *focusCharge) string { return either(c.priced, "Standard", "Other") }},
	{"PricingQuantity", (*focusCharge).quantity},
	{"PricingUnit", (*focusCharge).unitName},
	{"ProviderName", (*focusCharge).provider},
	{"PublisherName", (*focusCharge).provider},
	{"ResourceId", func(c *focusCharge) string { return c.of.ID.String() }},
	{"ResourceName", func(c *focusCharge) string { return audit.PlainCell(c.of.Model) }},
	{"ResourceType", constant("Model call")},
	{"ServiceCategory", constant("AI and Machine Learning")},
	{"ServiceName", constant("Model inference")},
	{"ServiceSubcategory", constant("Generative AI")},
	{"SkuId", (*focusCharge).sku},
	{"SkuMeter", func(c *focusCharge) string { return c.meter }},
	{"SkuPriceId", func(c *focusCharge) string { return c.sku() + c.priceOf }},
	{"SubAccountId", func(c *focusCharge) string { return c.of.Account }},
	{"SubAccountName", func(c *focusCharge) string { return audit.PlainCell(cmp.Or(c.of.AccountName, c.of.Account)) }},
	{"Tags", (*focusCharge).tags},
	{"x_CostAtMost", func(c *focusCharge) string { return (c.cost + c.beyond).String() }},
	{"x_EndUser", func(c *focusCharge) string { return audit.PlainCell(c.of.Attribution.User) }},
	{"x_InputTokens", func(c *focusCharge) string { return count(c.used.InputTokens()) }},
	{"x_KeyId", func(c *focusCharge) string { return c.of.Key }},
	{"x_KeyLabel", func(c *focusCharge) string { return audit.PlainCell(c.of.KeyLabel) }},
	{"x_OutputTokens", func(c *focusCharge) string { return count(c.used.OutputTokens()) }},
	{"x_PriceVersion", func(c *focusCharge) string { return c.of.Price.Version }},
	{"x_Provenance", func(c *focusCharge) string { return string(c.of.Provenance) }},
	{"x_Unpriced", func(c *focusCharge) string { return strings.Join(c.of.Unpriced.Names(), " ") }},
}

// tags are an object of JSON, as FOCUS has them; null for none.
func (c *focusCharge) tags() string {
	var object []byte
	for i, t := range c.of.Attribution.Tags {
		object = append(object, either(i == 0, "{", ",")...)
		object = rawjson.AppendString(append(rawjson.AppendString(object, t.Name), ':'), t.Value)
	}
	if object == nil {
		return ""
	}
	return string(append(object, '}'))
}

// focusCharge is a row: something that an attempt used, with what it cost.
type focusCharge struct {
	of      *Exported
	meter   string
	class   string // in SkuId
	priceOf string // the tier and the modes of the price, in SkuPriceId
	priced  bool   // the cost is number times rate; else it is that of the attempt
	number  int64
	unit    string
	rate    int64 // in pico-dollars
	cost    llm.Money
	beyond  llm.Money // what it may have cost more
	used    llm.Usage
}

// chargesOf are the charges of an attempt: none where it used nothing, or nothing of which
// a price is known.
func chargesOf(e *Exported) (charges []focusCharge) {
	lines, above := e.Price.Lines(&e.Usage, e.Tier)
	var sum llm.Money
	for _, l := range lines {
		sum += l.Amount
		if !l.Rate.Known() || l.Class == llm.Requests && l.Rate == llm.Free {
			continue // no price, or no fee
		}
		c := focusCharge{
			of: e, meter: l.Class.What(), class: l.Class.String(), priceOf: priceSuffix(e, above), priced: true,
			number: l.Count, unit: l.Class.Unit(), rate: l.Rate.Pico(), cost: l.Amount,
		}
		c.used[l.Class] = l.Count
		charges = append(charges, c)
	}
	nothing := e.Cost == 0 && (e.Usage.IsZero() || e.Unpriced != 0)
	if whole := e.Billed || e.Provenance == ledger.Unknown || sum != e.Cost; whole && !nothing {
		charges = []focusCharge{{
			of: e, meter: "Request", class: "request", number: 1, unit: "Requests", rate: int64(e.Cost) * 1000,
			cost: e.Cost, used: e.Usage,
		}}
	} else if whole {
		charges = nil
	}
	if len(charges) > 0 {
		charges[0].beyond = e.MostCost() - e.Cost
	}
	return charges
}

// priceSuffix says which of a model's prices holds, by what is not an amount.
func priceSuffix(e *Exported, above int64) (suffix string) {
	if above > 0 {
		suffix = ":above-" + count(above)
	}
	if e.Price.Modes != nil && e.Tier != "" {
		suffix += ":" + e.Tier
	}
	return suffix
}

// isUsage reports whether something was charged for use. A cost below 0 is left by
// corrections alone.
func (c *focusCharge) isUsage() bool { return c.cost >= 0 }

func (c *focusCharge) billed() string { return c.cost.String() }

func (c *focusCharge) provider() string { return audit.PlainCell(c.of.Provider) }

func (c *focusCharge) sku() string { return audit.PlainCell(c.of.FullModel() + ":" + c.class) }

func (c *focusCharge) ends() string {
	ends := c.of.Opened.Add(c.of.Duration).Truncate(time.Second).Add(time.Second)
	return focusTime(ends)
}

// quantity is in the unit of unitName; null where nothing was used.
func (c *focusCharge) quantity() string {
	switch {
	case !c.isUsage():
		return ""
	case c.unit == llm.Milliseconds.Unit():
		return decimal(c.number, 1000)
	}
	return count(c.number)
}

// unitName is a unit as the specification spells it, which has no milliseconds.
func (c *focusCharge) unitName() string {
	switch {
	case !c.isUsage():
		return ""
	case c.unit == llm.Milliseconds.Unit():
		return "Seconds"
	}
	return c.unit
}

func (c *focusCharge) listUnitPrice() string {
	switch {
	case !c.isUsage():
		return ""
	case c.unit == llm.Milliseconds.Unit():
		return llm.FormatUnitRate(c.rate * 1000)
	}
	return llm.FormatUnitRate(c.rate)
}

// listCost is exactly quantity times unit price, to the pico-dollar; the billed cost is
// rounded to the nano-dollar, so that the rows of an attempt add up.
func (c *focusCharge) listCost() string {
	if !c.isUsage() {
		return c.billed()
	}
	return llm.FormatUnitRate(c.number * c.rate)
}

// decimal is n divided by a power of ten.
func decimal(n, by int64) string {
	text := strconv.FormatInt(by+n%by, 10)[1:]
	return strings.TrimRight(strings.TrimRight(count(n/by)+"."+text, "0"), ".")
}

func monthOf(t time.Time) time.Time {
	year, month, _ := t.UTC().Date()
	return time.Date(year, month, 1, 0, 0, 0, 0, time.UTC)
}

// focusTime is a time in the specification's format, which has whole seconds.
func focusTime(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05Z") }

func constant(text string) func(*focusCharge) string {
	return func(*focusCharge) string { return text }
}

func either(is bool, yes, no string) string {
	if is {
		return yes
	}
	return no
}

// exportFOCUS writes charges.
func exportFOCUS(w io.Writer, each Attempts) (o Omitted, err error) {
	out := csv.NewWriter(w)
	row := make([]string, len(focusColumns))
	for i := range focusColumns {
		row[i] = focusColumns[i].name
	}
	if err := out.Write(row); err != nil {
		return o, err
	}
	err = each(func(e *Exported) error {
		charges := chargesOf(e)
		switch {
		case e.Unpriced == 0:
		case len(charges) == 0:
			o.Whole++
		default:
			o.Part++
		}
		for i := range charges {
			for k := range focusColumns {
				row[k] = focusColumns[k].value(&charges[i])
			}
			if err := out.Write(row); err != nil {
				return err
			}
		}
		return nil
	})
	if out.Flush(); err != nil {
		return o, err
	}
	return o, out.Error()
}
