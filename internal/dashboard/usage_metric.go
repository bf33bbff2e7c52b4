package dashboard

import (
	"time"

	"weir/internal/llm"
	"weir/internal/report"
)

// Metrics that are no measures of report.
const (
	metricSpend   = ""
	metricRefused = "refused"
	metricSpeed   = "first_token"
)

// metricChoices returns what a page of usage can show.
func metricChoices() []Choice {
	all := []Choice{
		{Value: metricSpend, Label: "Spend"},
		{Value: string(report.MeasureRequests), Label: "Requests"},
		{Value: string(report.MeasureTokens), Label: "Tokens"},
		{Value: string(report.MeasureIn), Label: "Tokens in"},
		{Value: string(report.MeasureOut), Label: "Tokens out"},
		{Value: string(report.MeasureCached), Label: "Tokens from caches"},
		{Value: string(report.MeasureMissed), Label: "Tokens missed"},
		{Value: string(report.MeasureMissCost), Label: "Cost of cache misses"},
		{Value: string(report.MeasureErrors), Label: "Failed attempts"},
		{Value: string(report.MeasureSaved), Label: "Saved by stored answers"},
		{Value: metricRefused, Label: "Refused requests"},
		{Value: metricSpeed, Label: "Time to first token"},
	}
	for c := range llm.Class(llm.NumClasses) {
		all = append(all, Choice{Value: c.String(), Label: c.What()})
	}
	return all
}

// metric is what a page of usage shows.
type metric struct {
	Choice
	measure report.Measure // empty for metrics that are no measures
}

func metricOf(f *form) metric {
	name := f.values.Get("metric")
	for _, c := range metricChoices() {
		if c.Value != name {
			continue
		}
		switch name {
		case metricSpend:
			return metric{c, report.MeasureCost}
		case metricRefused, metricSpeed:
			return metric{Choice: c}
		}
		return metric{c, report.Measure(name)}
	}
	f.mistake("metric", "This cannot be shown. Choose a value from the list.")
	return metric{metricChoices()[0], report.MeasureCost}
}

// isMoney reports whether amounts are nano-USD.
func (m *metric) isMoney() bool {
	return m.measure == report.MeasureCost || m.measure == report.MeasureMissCost || m.measure == report.MeasureSaved
}

// short formats an amount for a quick look, and whole with all digits.
func (m *metric) short(n int64) string {
	switch {
	case m.isMoney():
		return amount(llm.Money(n))
	case m.Value == metricSpeed:
		return took(time.Duration(n))
	}
	return compact(n)
}

func (m *metric) whole(n int64) string {
	if m.isMoney() {
		return dollars(llm.Money(n))
	}
	return number(n)
}
