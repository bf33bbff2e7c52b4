package budget

import (
	"fmt"
	"time"

	"weir/internal/llm"
)

// exceeded returns the client's error if a budget has too little left.
func exceeded(s *lease, n *Need) error {
	b := &s.budget
	limit := fmt.Sprintf("$%s in all", b.Limit)
	if b.Period != PeriodTotal {
		limit = fmt.Sprintf("$%s per %s", b.Limit, b.Period)
	}
	what := fmt.Sprintf("The budget of this %s, %s, has no room for this request: it needs at least $%s, and $%s is "+
		"left after spending and holds.", b.Of, limit, n.Least, s.refused-1)
	return &llm.Error{
		Code: llm.CodeBudgetExceeded, Message: what + " " + advice(b, n),
		Err: &Exceeded{Budget: *b, At: n.At, Least: n.Least, Left: s.refused - 1},
	}
}

// advice says what helps against a refusal.
func advice(b *Budget, n *Need) string {
	ends, over := b.Period.Ends(n.At)
	switch {
	case n.Least > b.Limit:
		return "That is more than the whole budget: lower the output cap, send less, or ask for a larger budget."
	case over:
		return fmt.Sprintf("It will reset at %s.", ends.Format(time.RFC3339))
	}
	return "It does not reset: ask for a larger one."
}

// Exceeded is the cause of a refusal: a budget that has too little left, as this node knows it, for the least amount
// that a request needs.
type Exceeded struct {
	Budget Budget
	At     time.Time // of the request
	Least  llm.Money
	Left   llm.Money // neither spent nor held
}

// Error returns the text for the log.
func (x *Exceeded) Error() string {
	return fmt.Sprintf("budget of %s %s: at least %s is needed", x.Budget.Of, x.Budget.Scope, x.Least)
}
