package quote

import (
	"weir/internal/charge"
	"weir/internal/llm"
)

// Turn describes a response of a session, which has no request of its own.
type Turn struct {
	Price llm.Price
	Terms *charge.Terms
	// Fixed is the bound of all usage except the output, in any classes of input.
	Fixed llm.Usage
	// Least and Most are output tokens: the shortest useful answer and the largest cap. They are equal if no cap can
	// be added.
	Least, Most int64
	// Modalities are the classes besides text that the response may have, all of which need a rate under a budget.
	Modalities llm.Classes
}

// Demand returns the need of the turn. It is never too low, because all input and all output count in their dearest
// class.
func (t *Turn) Demand() Demand {
	return Demand{
		Price: t.Price, terms: t.Terms, fixed: t.Fixed, modalities: t.Modalities, answers: 1,
		least: min(t.Least, t.Most), most: t.Most, open: true,
	}
}
