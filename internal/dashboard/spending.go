package dashboard

import (
	"weir/internal/llm"
)

// spending is a sum of charges, with its uncertain part.
type spending struct {
	Cost     llm.Money
	AtMost   llm.Money // 0 if Cost is known
	Unpriced bool      // some usage has no price and adds 0
	Places   int       // least decimals of the cost
}

func spendingOf(cost, uncertain llm.Money, unpricedAttempts int64) spending {
	return spending{Cost: cost, AtMost: boundOf(cost, uncertain), Unpriced: unpricedAttempts > 0}
}

// String formats the sum in a line of text.
func (s spending) String() string {
	text := dollars(s.Cost)
	if s.AtMost > 0 {
		text += ", at most " + dollars(s.AtMost)
	}
	if s.Unpriced {
		text += ", some unpriced"
	}
	return text
}

// costText formats the cost of an attempt, as far as it is known.
func costText(cost llm.Money, unpriced bool) string {
	switch {
	case !unpriced:
		return dollars(cost)
	case cost == 0:
		return "unpriced"
	}
	return "at least " + dollars(cost)
}
