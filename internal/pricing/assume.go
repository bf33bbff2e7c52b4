package pricing

import (
	"encoding/json"

	"weir/internal/llm"
)

// assume sets the basis and the ceiling of a price by its entries at that second. An entry that prices tokens resets
// the values of earlier entries.
func assume(p *llm.Price, now []*addition, sec int64) error {
	for _, a := range now {
		switch {
		case a.Region != "":
		case a.Assumed || a.ended(sec):
			if a.pricesTokens() {
				p.Ceiling = 0
			}
			if err := a.raise(&p.Ceiling); err != nil {
				return err
			}
			p.Basis = llm.BasisSeller
		case a.pricesTokens():
			p.Basis, p.Ceiling = llm.BasisModel, 0
		}
	}
	return nil
}

// raise multiplies a ceiling by the entry's ceiling.
func (a *addition) raise(ceiling *int64) error {
	if a.Ceiling == "" {
		return nil
	}
	times, err := pico(a.Ceiling, picoPerUSD/thousand)
	*ceiling = max(thousand, *ceiling) * times / thousand
	return err
}

// ended reports whether that second is after the last day that the entry's source covers.
func (a *addition) ended(sec int64) bool { return a.Until != nil && sec >= a.Until.next() }

// next returns the first second of the following day.
func (d day) next() int64 { return int64(d) + secondsPerDay }

// pricesTokens reports whether the entry prices tokens in the usual mode.
func (a *addition) pricesTokens() bool {
	if a.Free || a.Mode != "" {
		return a.Free
	}
	var rates map[string]json.RawMessage
	if json.Unmarshal(a.Rates, &rates) != nil {
		return false
	}
	for name := range rates {
		if isTokenKey(name) {
			return true
		}
	}
	return false
}
