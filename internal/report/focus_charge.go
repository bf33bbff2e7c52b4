package report

import (
	"cmp"
	"math/big"
	"strconv"
	"strings"
	"time"

	"weir/internal/audit"
	"weir/internal/ledger"
	"weir/internal/llm"
)

// tags returns the tags as a JSON object, as FOCUS requires; null for none.
func (c *focusCharge) tags() string {
	if len(c.of.Attribution.Tags) == 0 {
		return ""
	}
	return tagsObject(c.of.Attribution.Tags)
}

// focusCharge is a row: a part of an attempt's usage, with its cost.
type focusCharge struct {
	of      *Exported
	meter   string
	class   string // as in SkuId
	counted llm.Class
	above   int64 // input tokens above which the price's tier begins; 0 for none
	priced  bool  // the cost is number times rate; otherwise it is that of the whole attempt
	number  int64
	unit    string
	rate    int64 // in pico-dollars
	cost    llm.Money
	beyond  llm.Money // amount by which the cost may be higher
	used    llm.Usage
}

// chargesOf returns the charges of an attempt: none if it used nothing, or nothing with a known price.
func chargesOf(e *Exported) (charges []focusCharge) {
	lines, above := e.Price.Lines(&e.Usage, e.Tier)
	var sum llm.Money
	for _, l := range lines {
		sum += l.Amount
		if !l.Rate.Known() || l.Class == llm.Requests && l.Rate == llm.Free {
			continue // no price or no fee
		}
		c := focusCharge{
			of: e, meter: l.Class.What(), class: l.Class.String(), counted: l.Class, above: above, priced: true,
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

// isUsage reports whether the charge is for usage. Only corrections leave a negative cost.
func (c *focusCharge) isUsage() bool { return c.cost >= 0 }

func (c *focusCharge) billed() string { return c.cost.Fixed() }

func (c *focusCharge) periodEnd() string { return focusTime(monthOf(c.of.Arrived).AddDate(0, 1, 0)) }

func (c *focusCharge) frequency() string { return either(c.isUsage(), "Usage-Based", "One-Time") }

func (c *focusCharge) subAccount() string {
	return audit.PlainCell(cmp.Or(c.of.AccountName, c.of.Account))
}

func (c *focusCharge) provider() string { return audit.PlainCell(c.of.Provider) }

func (c *focusCharge) ends() string {
	ends := c.of.Opened.Add(c.of.Duration).Truncate(time.Second).Add(time.Second)
	return focusTime(ends)
}

// perMillion reports whether the price is per million units, as in vendors' lists for tokens. Price and quantity then
// have six decimals each, and their product is the list cost.
func (c *focusCharge) perMillion() bool { return c.priced && c.unit == llm.Input.Unit() }

// seconds reports whether the unit is the second, because the specification has no milliseconds.
func (c *focusCharge) seconds() bool { return c.unit == llm.Milliseconds.Unit() }

// quantity returns the quantity in the unit of unitName; null without usage. It has a decimal point, because some
// programs do not read an integer as a Decimal.
func (c *focusCharge) quantity() string {
	if !c.isUsage() {
		return ""
	}
	if c.seconds() {
		return decimal(c.number, 3)
	}
	return count(c.number) + ".0"
}

// unitName returns the unit in the specification's spelling.
func (c *focusCharge) unitName() string {
	switch {
	case !c.isUsage():
		return ""
	case c.seconds():
		return "Seconds"
	}
	return c.unit
}

func (c *focusCharge) pricingQuantity() string {
	if c.isUsage() && c.perMillion() {
		return decimal(c.number, 6)
	}
	return c.quantity()
}

func (c *focusCharge) pricingUnit() string {
	if c.isUsage() && c.perMillion() {
		return "1000000 " + c.unit
	}
	return c.unitName()
}

func (c *focusCharge) listUnitPrice() string {
	switch {
	case !c.isUsage():
		return ""
	case c.perMillion():
		return decimal(c.rate, 6)
	}
	return decimal(c.rate, 12)
}

// listCost returns exactly quantity times unit price. The billed cost is rounded to the nano-dollar
// so that the rows of an attempt add up.
func (c *focusCharge) listCost() string {
	if !c.isUsage() {
		return c.billed()
	}
	pico := new(big.Int).Mul(big.NewInt(c.number), big.NewInt(c.rate))
	if c.seconds() { // the number is in milliseconds, the rate that of a second
		return new(big.Rat).SetFrac(pico, big.NewInt(1e15)).FloatString(15)
	}
	return new(big.Rat).SetFrac(pico, big.NewInt(1e12)).FloatString(12)
}

// decimal returns n, which must not be negative, divided by that power of ten, with all its decimals.
func decimal(n int64, places int) string {
	digits := strconv.FormatInt(n, 10)
	if short := places + 1 - len(digits); short > 0 {
		digits = strings.Repeat("0", short) + digits
	}
	return digits[:len(digits)-places] + "." + digits[len(digits)-places:]
}

func monthOf(t time.Time) time.Time {
	year, month, _ := t.UTC().Date()
	return time.Date(year, month, 1, 0, 0, 0, 0, time.UTC)
}

// focusTime formats a time as the specification does, in whole seconds.
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
