package dashboard

import (
	"cmp"
	"strconv"
	"strings"

	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/report"
	"weir/internal/tool"
)

// pricedAs describes the modes of the price that apply to an attempt.
func pricedAs(a *report.Attempt) string {
	switch {
	case a.Billed:
		return "the cost that the provider reports"
	case !a.Price.Known() || a.Provenance == ledger.Unknown || a.Usage.IsZero():
		return ""
	}
	var texts []string
	modes, unknown := a.Price.ServedAs(a.Settlement.Tier)
	for i := range modes {
		text := modes[i].Name + ", at its own rates"
		if times := modes[i].Times; times > 0 {
			text = modes[i].Name + ", tokens at " + strconv.FormatFloat(float64(times)/1000, 'f', -1, 64) +
				" times the standard rates"
		}
		texts = append(texts, text)
	}
	for _, name := range unknown {
		texts = append(texts, name+", price unknown")
	}
	return cmp.Or(strings.Join(texts, "; "), "standard")
}

// priceVersion returns the version of an attempt's price; empty if a line of the cost names the price list.
func priceVersion(a *report.Attempt) string {
	if a.Price.Version == report.PriceList {
		return ""
	}
	return cmp.Or(a.Price.Version, "unknown")
}

// costRows returns lines whose amounts add up to the attempt's cost. Without a price they show the usage.
func costRows(a *report.Attempt) (rows []costRow) {
	priced := map[llm.Class]bool{}
	for _, l := range a.Lines {
		if l.Class == llm.Requests && l.Rate == llm.Free {
			continue // no fee
		}
		rows = append(rows, costRowOf(l, a.Provider))
		priced[l.Class] = priced[l.Class] || l.What == report.LineUsage
	}
	if a.Price.Known() && a.Provenance != ledger.Unknown && !a.Billed {
		return rows
	}
	var used []costRow
	for c, n := range a.Usage {
		if n > 0 && !priced[llm.Class(c)] {
			used = append(used, costRow{className(llm.Class(c), a.Provider), countText(llm.Class(c), n), none, none})
		}
	}
	return append(used, rows...)
}

func costRowOf(l report.CostLine, provider string) costRow {
	row := costRow{Count: none, Rate: none, Amount: dollars(l.Amount)}
	switch l.What {
	case report.LineUsage:
		row.What, row.Count = className(l.Class, provider), countText(l.Class, l.Count)
		row.Rate = rateText(l.Class, l.Rate)
		if !l.Rate.Known() {
			row.Amount = none // unknown, which is not 0
		}
	case report.LineHold:
		row.What = "Upper bound of the cost"
	case report.LineProvider:
		row.What = "Charged by the provider"
	case report.LineCorrection:
		row.What = "Correction"
	case report.LineCharge:
		row.What = "By the price list"
	case report.LineOther:
		row.What = "Not explained by the price"
	}
	return row
}

// className returns the name of a class for tables, where prices show which classes are tokens. The seconds of a tool
// are those of its call, not of sound.
func className(c llm.Class, provider string) string {
	if c == llm.Milliseconds && strings.HasPrefix(provider, tool.Prefix) {
		return "Time of the call"
	}
	return strings.Replace(c.What(), " tokens", "", 1)
}

// countText formats the count of a class.
func countText(c llm.Class, n int64) string {
	if c == llm.Milliseconds {
		return strconv.FormatFloat(float64(n)/1000, 'f', -1, 64) + " s"
	}
	return number(n)
}

// rateText formats the price of a class: per million tokens, per second, or per unit.
func rateText(c llm.Class, rate llm.Rate) string {
	switch {
	case !rate.Known():
		return "unknown"
	case int(c) < llm.NumTokens:
		return perMillion(rate) + " per million"
	case c == llm.Milliseconds:
		return "$" + llm.FormatUnitRate(rate.Pico()) + " per second"
	}
	return "$" + llm.FormatUnitRate(rate.Pico()) + " each"
}

// perMillion formats the price of a million tokens.
func perMillion(rate llm.Rate) string {
	if !rate.Known() {
		return "?"
	}
	return dollars(llm.Money(rate.Pico()) * 1000)
}
