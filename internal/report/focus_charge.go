package report

import (
	"math/big"
	"strconv"
	"strings"
	"time"

	"weir/internal/audit"
	"weir/internal/ledger"
	"weir/internal/llm"
)

// tags are an object of JSON, as FOCUS has them; null for none.
func (c *focusCharge) tags() string {
	if len(c.of.Attribution.Tags) == 0 {
		return ""
	}
	return tagsObject(c.of.Attribution.Tags)
}

// focusCharge is a row: something that an attempt used, with what it cost.
type focusCharge struct {
	of      *Exported
	meter   string
	class   string // in SkuId
	counted llm.Class
	above   int64 // input tokens, of the price's tier; 0 for none
	priced  bool  // the cost is number times rate; else it is that of the attempt
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

// isUsage reports whether something was charged for use. A cost below 0 is left by
// corrections alone.
func (c *focusCharge) isUsage() bool { return c.cost >= 0 }

func (c *focusCharge) billed() string { return c.cost.Fixed() }

func (c *focusCharge) provider() string { return audit.PlainCell(c.of.Provider) }

func (c *focusCharge) ends() string {
	ends := c.of.Opened.Add(c.of.Duration).Truncate(time.Second).Add(time.Second)
	return focusTime(ends)
}

// perMillion says that a million units have a price, as vendors' lists have it for tokens. Price times quantity then is
// the list cost with six decimals each.
func (c *focusCharge) perMillion() bool { return c.priced && c.unit == llm.Input.Unit() }

// seconds says that the unit is the second, as the specification has no milliseconds.
func (c *focusCharge) seconds() bool { return c.unit == llm.Milliseconds.Unit() }

// quantity is in the unit of unitName; null where nothing was used. Programs take a number without a decimal point for
// no Decimal.
func (c *focusCharge) quantity() string {
	if !c.isUsage() {
		return ""
	}
	if c.seconds() {
		return decimal(c.number, 3)
	}
	return count(c.number) + ".0"
}

// unitName is a unit as the specification spells it.
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
	case c.seconds():
		return decimal(c.rate, 9)
	}
	return decimal(c.rate, 12)
}

// listCost is exactly quantity times unit price, to the pico-dollar; the billed cost is
// rounded to the nano-dollar, so that the rows of an attempt add up.
func (c *focusCharge) listCost() string {
	if !c.isUsage() {
		return c.billed()
	}
	return new(big.Rat).SetFrac(new(big.Int).Mul(big.NewInt(c.number), big.NewInt(c.rate)), big.NewInt(1e12)).FloatString(12)
}

// decimal is n, from 0 on, divided by that power of ten, with all its decimals.
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
