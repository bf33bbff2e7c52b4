package report

import (
	"slices"
	"strings"

	"weir/internal/llm"
)

// Measure is an amount of usage by which groups are sorted and drawn: one of the constants, or a class of usage.
type Measure string

// These are the measures besides the classes.
const (
	MeasureCost     Measure = "cost" // the account's charge
	MeasureRequests Measure = "requests"
	MeasureTokens   Measure = "tokens"
	MeasureIn       Measure = "input_tokens"
	MeasureOut      Measure = "output_tokens"
	MeasureCached   Measure = "cached_tokens" // read from a provider's cache
	MeasureAttempts Measure = "attempts"
	MeasureErrors   Measure = "errors" // failed attempts
	// MeasureMissed counts input tokens that could have been read from prompt caches, and MeasureMissCost what reading
	// them would have saved the account.
	MeasureMissed   Measure = "missed_tokens"
	MeasureMissCost Measure = "missed_cost"
	MeasureHits     Measure = "cached_requests" // answered from the answer cache
	MeasureSaved    Measure = "saved"           // what their answers were charged the first time
)

// Measures returns all measures except classes.
func Measures() []Measure {
	return []Measure{
		MeasureCost, MeasureRequests, MeasureTokens, MeasureIn, MeasureOut, MeasureCached, MeasureAttempts,
		MeasureErrors, MeasureMissed, MeasureMissCost, MeasureHits, MeasureSaved,
	}
}

// ParseMeasure parses a name; an empty one is an empty measure. The error is a *llm.Error that names the parameter.
func ParseMeasure(param, name string) (Measure, error) {
	m := Measure(name)
	if name == "" || slices.Contains(Measures(), m) || len(m.Classes()) > 0 {
		return m, nil
	}
	names := make([]string, 0, len(Measures()))
	for _, one := range Measures() {
		names = append(names, string(one))
	}
	return "", llm.Invalidf(param, "%s is %.40q. Use %s, or a class of usage such as reasoning.", param, name,
		strings.Join(names, ", "))
}

// Classes returns the classes that the measure adds up; none for other measures.
func (m Measure) Classes() (list []llm.Class) {
	for c := range llm.Class(llm.NumClasses) {
		switch {
		case m == MeasureIn && c.IsInput(), m == MeasureOut && c.IsOutput(),
			m == MeasureCached && (c == llm.CacheRead || c == llm.CacheReadAudio), string(m) == c.String():
			list = append(list, c)
		}
	}
	return list
}

// Of returns the amount in a group: nano-USD for MeasureCost, MeasureMissCost and MeasureSaved.
func (m Measure) Of(u *Use) (n int64) {
	switch m {
	case MeasureCost:
		return int64(u.Cost)
	case MeasureRequests:
		return u.Requests
	case MeasureTokens:
		return u.Usage.TotalTokens()
	case MeasureAttempts:
		return u.Attempts
	case MeasureErrors:
		return u.Errors
	case MeasureMissed:
		return u.Missed.Tokens
	case MeasureMissCost:
		return int64(u.Missed.Cost())
	case MeasureHits:
		return u.Cached
	case MeasureSaved:
		return int64(u.Saved)
	}
	for _, c := range m.Classes() {
		n += u.Usage[c]
	}
	return n
}
