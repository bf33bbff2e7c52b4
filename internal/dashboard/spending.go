package dashboard

import (
	"weir/internal/llm"
)

// spending is a sum of charges, with what is not known of it.
type spending struct {
	Cost     llm.Money
	AtMost   llm.Money // 0 where Cost is known
	Unpriced bool      // some usage has no price and adds 0
}

func spendingOf(cost, uncertain llm.Money, unpricedAttempts int64) spending {
	return spending{Cost: cost, AtMost: boundOf(cost, uncertain), Unpriced: unpricedAttempts > 0}
}

// String is the sum in a line of text.
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

// costText is what an attempt costs, as far as that is known.
func costText(cost llm.Money, unpriced bool) string {
	switch {
	case !unpriced:
		return dollars(cost)
	case cost == 0:
		return "unpriced"
	}
	return "at least " + dollars(cost)
}
