package gateway

import (
	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/quote"
)

// spent sums up the attempts of a request.
type spent struct {
	tokens  int64
	money   llm.Money
	priced  bool     // all of them had a price
	models  []string // of all attempts, in order
	reached bool     // an attempt reached its provider
	failed  bool     // an attempt was charged, or failed for another reason than the client's own mistake
	costs   bool     // an attempt may cost something
	unsure  bool     // the cost of an attempt is not exact
	last    llm.Final
}

// add adds a settled attempt and its charge; a nil cost means that it has no price.
func (s *spent) add(settled *ledger.Settlement, cost *llm.Money) {
	s.unsure = s.unsure || cost == nil || settled.Provenance != ledger.Exact
	s.tokens += settled.Usage.TotalTokens()
	if s.priced = s.priced && cost != nil; cost != nil {
		s.money += *cost
	}
}

// cost returns the charge so far; nil if a part of it has no price.
func (s *spent) cost() *llm.Money {
	if !s.priced {
		return nil
	}
	return &s.money
}

// attempts returns how many attempts were opened.
func (s *spent) attempts() int { return len(s.models) }

// model returns the full name of the last attempt's model.
func (s *spent) model() string { return s.models[len(s.models)-1] }

// final returns the values for the end of an answer with that tally and usage. They are valid until the next call.
func (s *spent) final(t *quote.Tally, usage *llm.Usage) *llm.Final {
	s.last = llm.Final{
		Finish: t.Finish, Stopped: t.Stopped, Usage: *usage, Reported: true,
		Cost: s.cost(), Attempts: s.attempts(), Models: s.models,
	}
	return &s.last
}
