package ledger

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"weir/internal/budget"
	"weir/internal/llm"
)

// Hold represents an opened attempt: the right to call the provider once, and the duty to settle. Except for Use and
// Settled, only one goroutine may use it.
type Hold struct {
	ledger  *Ledger
	attempt Attempt
	counted budget.Attempt
	used    atomic.Bool
	settled atomic.Bool
	charge  *llm.Money // of the settlement; nil if part of it has no price

	settlement Settlement // by Settle
	unwritten  bool       // it could not be written: the amount stays reserved
}

var (
	errUsed    = errors.New("ledger: the hold is already used; open a new attempt for another call")
	errSettled = errors.New("ledger: the attempt is already settled")
)

const (
	// settleTries is the number of times that a settlement is written. If all fail, the next start settles the attempt
	// as unknown.
	settleTries = 5
	settlePause = 20 * time.Millisecond
)

// Use consumes the hold. It fails on the second call, and after Settle.
func (h *Hold) Use() error {
	if h.settled.Load() {
		return errSettled
	}
	if !h.used.CompareAndSwap(false, true) {
		return errUsed
	}
	return nil
}

// Attempt returns the hold's attempt.
func (h *Hold) Attempt() *Attempt { return &h.attempt }

// Settled reports whether the attempt is settled.
func (h *Hold) Settled() bool { return h.settled.Load() }

// Settle records how the attempt ended. It fills in the duration if it is 0, and the cost by the price that was
// resolved at opening. It returns the cost, or nil for an attempt without a price. Only the first call has an effect. A
// settlement without an outcome is an error and has none: the attempt stays open.
func (h *Hold) Settle(settlement Settlement) (*llm.Money, error) {
	if !h.settled.CompareAndSwap(false, true) {
		return nil, errSettled
	}
	h.settlement = settlement
	s := &h.settlement
	if err := h.complete(s); err != nil {
		h.settled.Store(false)
		return nil, err
	}
	var (
		at  Position
		err error
	)
	for try := range settleTries {
		if try > 0 {
			time.Sleep(settlePause << try)
		}
		if at, err = h.ledger.append(nil, s, h.attempt.ID); err == nil {
			h.ledger.budgets.Spend(&h.counted, s.Charged(), at, nil)
			break
		}
	}
	if h.unwritten = err != nil; h.unwritten { // its amount stays reserved in the budgets
		h.ledger.log.Error("a settlement could not be written; after a restart the attempt will be settled as unknown",
			"attempt", h.attempt.ID.String(), "cost_usd", s.Cost.String(), "err", err)
	}
	return h.cost(s), err
}

// Next settles the attempt without counting it for its request, and opens the following attempt, in one write. If the
// journal has no space for the next attempt, nothing is written and this attempt still has to be settled. The returned
// cost is this attempt's, as in Settle. If the next attempt has a reservation, that must have been made with this
// attempt as Need.After.
func (h *Hold) Next(s Settlement, next Attempt) (*Hold, *llm.Money, error) {
	if h.settled.Load() {
		next.Reservation.Release()
		return nil, nil, errSettled
	}
	if err := next.checkReservation(); err != nil {
		return nil, nil, err
	}
	if err := h.complete(&s); err != nil {
		next.Reservation.Release()
		return nil, nil, err
	}
	s.Counts = false
	after := new(Hold)
	if err := h.ledger.begin(after, next); err != nil {
		return nil, nil, err
	}
	at, err := h.ledger.append(&after.attempt, &s, h.attempt.ID)
	if err != nil {
		h.ledger.budgets.Drop(&after.counted)
		return nil, nil, err
	}
	h.settled.Store(true)
	h.ledger.budgets.Spend(&h.counted, s.Charged(), at, next.Reservation)
	return after, h.cost(&s), nil
}

// begin sets the hold of an attempt and starts to count the attempt against budgets. It fails if no database could
// store the attempt.
func (l *Ledger) begin(h *Hold, a Attempt) error {
	a.Bound.Clamp()
	if err := a.check(); err != nil {
		a.Reservation.Release()
		return fmt.Errorf("open attempt %s: %w", a.ID, err)
	}
	h.ledger, h.attempt = l, a
	h.counted = budget.Attempt{
		Account: a.Account, Key: a.Key, Parts: a.PartScopes(), Arrived: a.Arrived, Most: a.MostCharged(),
		Reservation: a.Reservation,
	}
	l.budgets.Begin(&h.counted)
	return nil
}

// IsFree reports whether the ledger does not refer to the hold, so that its memory may be used again: it was not
// opened, or it was settled and its settlement was written.
func (h *Hold) IsFree() bool { return h.ledger == nil || h.settled.Load() && !h.unwritten }

// maxTier and maxReplyID bound the provider's service tier and reply id, in bytes.
const (
	maxTier    = 64
	maxReplyID = 256
)

// complete fills in the fields that follow from the attempt, and bounds the fields that come from the provider. It
// fails if the result is no settlement.
func (h *Hold) complete(s *Settlement) error {
	s.Usage.Clamp()
	s.Tier = printable(s.Tier, maxTier)
	s.Served.Model = printable(s.Served.Model, maxServed)
	s.Missed.Tokens = min(s.Missed.Tokens, llm.MaxCount)
	h.attempt.take(s)
	h.price(s)
	h.attempt.priceMiss(s)
	h.charge = h.chargeOf(s)
	seen := s.Outcome == OutcomeOK && s.Provenance != Estimated
	if seen || len(s.ReplyID) > maxReplyID || strings.ContainsFunc(s.ReplyID, func(r rune) bool {
		return r <= ' ' || r > '~'
	}) {
		s.ReplyID = ""
	}
	s.Ask = s.Ask && s.ReplyID != "" && s.Provenance == Estimated && s.AtMost > 0
	if s.Duration == 0 {
		s.Duration = max(0, h.ledger.Now().Sub(h.attempt.Opened))
	}
	if err := s.check(); err != nil {
		h.ledger.log.Error("an attempt cannot be settled; after a restart it will be settled as unknown", "attempt",
			h.attempt.ID.String(), "err", err)
		return fmt.Errorf("settle attempt %s: %w", h.attempt.ID, err)
	}
	return nil
}

// price fills in the cost of the usage and the account's charge.
func (h *Hold) price(s *Settlement) {
	h.priceUsage(s)
	h.attempt.SetCharge(s)
}

// priceUsage fills in the cost of the usage, and its upper bound if part of the usage is unknown.
func (h *Hold) priceUsage(s *Settlement) {
	p := &h.attempt.Price
	s.Cost = min(p.Cost(&s.Usage, s.Tier), llm.MaxCost)
	s.Unpriced |= p.Unpriced(&s.Usage, s.Tier)
	most := llm.Money(0)
	if s.ProviderCost != nil && !believes(*s.ProviderCost) {
		s.ProviderCost, most = nil, h.attempt.Hold // implausible: the true charge is unknown
		if s.Provenance == Exact {
			s.Provenance = Assumed
		}
	}
	s.Billed = h.attempt.Bills(s.ProviderCost)
	if s.Billed {
		s.Cost, s.Unpriced, s.AtMost = *s.ProviderCost, 0, 0
		return
	}
	if s.Provenance == Exact && s.Cost > 0 && (p.Basis != llm.BasisModel || p.Dearest(s.Cost) > s.Cost) {
		s.Provenance = Assumed
	}
	most = max(most, min(p.Dearest(s.Cost), llm.MaxCost))
	switch {
	case s.Provenance == Estimated || s.Provenance == Unknown:
		most = max(most, min(s.AtMost, llm.MaxCost))
	case s.Unpriced != 0:
		most = h.attempt.Hold
	}
	if s.tellsMore() {
		most = max(most, *s.ProviderCost)
		if s.Provenance == Exact && s.Unpriced == 0 {
			s.Provenance = Assumed
		}
	}
	if s.AtMost = most; most <= s.Cost {
		s.AtMost = 0 // the cost cannot be higher
	}
}

// believes reports whether a provider's figure is plausible.
func believes(told llm.Money) bool { return told >= 0 && told <= llm.MaxCost }

// Bills reports whether the attempt costs the amount that its provider reports. Told is nil if the provider reports
// none.
func (a *Attempt) Bills(told *llm.Money) bool {
	return a.BillByProvider && told != nil && believes(*told)
}

// tellsMore reports whether the provider reports a higher charge than the price yields.
func (s *Settlement) tellsMore() bool {
	return s.ProviderCost != nil && isMore(*s.ProviderCost, s.Cost)
}

// isMore reports whether a provider's figure exceeds a cost by more than rounding explains: a thousandth of the cost
// and 10 nano-dollars.
func isMore(told, cost llm.Money) bool { return told-cost > cost/1000+10 }

// checkReservation returns an error if the attempt may cost more than it has reserved.
func (a *Attempt) checkReservation() error {
	if a.Reservation == nil || a.MostCharged() <= a.Reservation.Amount() {
		return nil
	}
	a.Reservation.Release()
	return fmt.Errorf("ledger: attempt %s may cost %s and has reserved %s", a.ID, a.MostCharged(),
		a.Reservation.Amount())
}

// Need describes the amount that an attempt needs from budgets.
type Need struct {
	budget.Need
	// Follows is the preceding attempt, and Settles is its coming settlement. Its freed amount is available to the next
	// attempt. Both are nil for a first attempt.
	Follows *Hold
	Settles *Settlement
}

// Reserve reserves an amount in all the budgets, as budget.Service.Reserve describes. The caller puts the reservation
// into an Attempt or releases it.
func (l *Ledger) Reserve(ctx context.Context, n Need) (*budget.Reservation, error) {
	if n.Follows != nil {
		n.After, n.Charged = n.Follows.attempt.Reservation, n.Follows.charged(n.Settles)
	}
	return l.budgets.Reserve(ctx, n.Need)
}

// charged returns the amount that the attempt counts in budgets after settlement s. If s is nil, that is its hold.
func (h *Hold) charged(s *Settlement) llm.Money {
	if s == nil {
		return h.attempt.MostCharged()
	}
	ended, before := *s, h.attempt.Price
	h.attempt.take(s)
	h.price(&ended)
	h.attempt.Price = before
	return ended.Charged()
}

// cost returns the attempt's cost, or nil if part of it is unknown.
func (h *Hold) cost(s *Settlement) *llm.Money {
	if s.Unpriced != 0 || !h.attempt.Price.Known() && !s.Billed && !s.Cached.Hit {
		return nil
	}
	return &s.Cost
}

// Charge returns the account's charge for the settled attempt, or nil if part of it is unknown.
func (h *Hold) Charge() *llm.Money { return h.charge }

// chargeOf returns the account's charge for settlement s.
func (h *Hold) chargeOf(s *Settlement) *llm.Money {
	cost := h.cost(s)
	switch {
	case s.ChargeUnpriced == nil && (cost == nil || s.Margin == 0):
		return cost
	case s.UnpricedCharge() != 0:
		return nil
	}
	return new(s.Charge())
}

// Difference compares the provider's reported cost with the cost by the price. computed is the cost by the price;
// difference is the reported cost minus computed. ok is false if one of them is unknown.
func (h *Hold) Difference(s *Settlement) (difference, computed llm.Money, ok bool) {
	p, told := &h.attempt.Price, s.ProviderCost
	if told == nil || !believes(*told) || s.Provenance != Exact || !p.Known() ||
		p.Unpriced(&s.Usage, s.Tier) != 0 {
		return 0, 0, false
	}
	computed = min(p.Cost(&s.Usage, s.Tier), llm.MaxCost)
	return *told - computed, computed, true
}
