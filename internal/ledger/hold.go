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

// Hold is an opened attempt: the right to call the provider once, and the duty
// to settle. It belongs to one goroutine, but for Use and Settled.
type Hold struct {
	ledger  *Ledger
	attempt Attempt
	counted budget.Attempt
	used    atomic.Bool
	settled atomic.Bool
	charge  *llm.Money // of the settlement; nil where something of it has no price
}

var (
	errUsed    = errors.New("ledger: the hold was used before; another call needs another attempt")
	errSettled = errors.New("ledger: the attempt is settled")
)

const (
	// settleTries is how often a settlement is written before it is given up
	// and left to the next start, which makes it unknown.
	settleTries = 5
	settlePause = 20 * time.Millisecond
)

// Use spends the hold. It fails the second time, and after Settle.
func (h *Hold) Use() error {
	if h.settled.Load() {
		return errSettled
	}
	if !h.used.CompareAndSwap(false, true) {
		return errUsed
	}
	return nil
}

// Attempt is the attempt that the hold stands for.
func (h *Hold) Attempt() *Attempt { return &h.attempt }

// Settled reports whether the attempt is settled.
func (h *Hold) Settled() bool { return h.settled.Load() }

// Settle writes how the attempt ended. It fills in the cost, from the price
// that was resolved at opening, and the duration, and returns the cost: nil
// for an attempt without a price. Only the first call counts.
func (h *Hold) Settle(s Settlement) (*llm.Money, error) {
	if !h.settled.CompareAndSwap(false, true) {
		return nil, errSettled
	}
	h.complete(&s)
	var (
		at  Position
		err error
	)
	for try := range settleTries {
		if try > 0 {
			time.Sleep(settlePause << try)
		}
		if at, err = h.ledger.append(nil, &s, h.attempt.ID); err == nil {
			h.ledger.budgets.Spend(&h.counted, s.Charged(), at, nil)
			break
		}
	}
	if err != nil { // what it holds of budgets it holds on
		h.ledger.log.Error("a settlement could not be written; the attempt will be unknown after a restart",
			"attempt", h.attempt.ID.String(), "cost_usd", s.Cost.String(), "err", err)
	}
	return h.cost(&s), err
}

// Next settles the attempt, which does not count for its request, and opens
// the one that follows, in one write. When there is no room for the next one
// nothing is written, and this attempt is still to be settled. The cost is that
// of the settled one, as Settle returns it. Where the next attempt has a reservation,
// it was made with this one as Need.After.
func (h *Hold) Next(s Settlement, next Attempt) (*Hold, *llm.Money, error) {
	if h.settled.Load() {
		next.Reservation.Release()
		return nil, nil, errSettled
	}
	if err := next.checkReservation(); err != nil {
		return nil, nil, err
	}
	h.complete(&s)
	s.Counts = false
	after := h.ledger.begin(next)
	at, err := h.ledger.append(&after.attempt, &s, h.attempt.ID)
	if err != nil {
		h.ledger.budgets.Drop(&after.counted)
		return nil, nil, err
	}
	h.settled.Store(true)
	h.ledger.budgets.Spend(&h.counted, s.Charged(), at, next.Reservation)
	return after, h.cost(&s), nil
}

// begin is the hold of an attempt that counts against budgets from now on.
func (l *Ledger) begin(a Attempt) *Hold {
	h := &Hold{ledger: l, attempt: a, counted: budget.Attempt{
		Account: a.Account, Key: a.Key, Parts: a.PartScopes(), Arrived: a.Arrived, Most: a.MostCharged(),
		Reservation: a.Reservation,
	}}
	l.budgets.Begin(&h.counted)
	return h
}

// maxTier and maxReplyID bound the provider's word for a service tier and its id of a
// reply, in bytes.
const (
	maxTier    = 64
	maxReplyID = 256
)

// complete fills in what follows from the attempt, and bounds what a provider
// may have made up.
func (h *Hold) complete(s *Settlement) {
	s.Tier = strings.ToValidUTF8(s.Tier[:min(len(s.Tier), maxTier)], "")
	h.price(s)
	h.charge = h.chargeOf(s)
	seen := s.Outcome == OutcomeOK && s.Provenance != Estimated
	if seen || len(s.ReplyID) > maxReplyID || strings.ContainsFunc(s.ReplyID, func(r rune) bool {
		return r <= ' ' || r > '~'
	}) {
		s.ReplyID = ""
	}
	s.Ask = s.Ask && s.ReplyID != "" && s.Provenance == Estimated && s.AtMost > 0
	s.Duration = max(0, h.ledger.Now().Sub(h.attempt.Opened))
}

// price fills in what the usage costs, and what the account is charged for it.
func (h *Hold) price(s *Settlement) {
	h.priceUsage(s)
	h.attempt.SetCharge(s)
}

// priceUsage fills in what the usage costs, and what it may have cost at most where some of
// that is not known.
func (h *Hold) priceUsage(s *Settlement) {
	p := &h.attempt.Price
	s.Cost = min(p.Cost(&s.Usage, s.Tier), llm.MaxCost)
	s.Unpriced |= p.Unpriced(&s.Usage, s.Tier)
	most := llm.Money(0)
	if s.ProviderCost != nil && !believes(*s.ProviderCost) {
		s.ProviderCost, most = nil, h.attempt.Hold // no cost that anybody charges: who knows what it was
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
		s.AtMost = 0 // it cannot have cost more
	}
}

// believes says whether a provider's figure is one that can be true.
func believes(told llm.Money) bool { return told >= 0 && told <= llm.MaxCost }

// Bills says whether the attempt costs what its provider says that it charges; told is nil where it says nothing.
func (a *Attempt) Bills(told *llm.Money) bool {
	return a.BillByProvider && told != nil && believes(*told)
}

// tellsMore says whether the provider says that it charges more than the price comes to.
func (s *Settlement) tellsMore() bool {
	return s.ProviderCost != nil && isMore(*s.ProviderCost, s.Cost)
}

// isMore says whether a provider's figure is above a cost by more than it may have rounded: a
// thousandth of that, and some nano-dollars.
func isMore(told, cost llm.Money) bool { return told-cost > cost/1000+10 }

// checkReservation refuses an attempt that may cost more than it has reserved.
func (a *Attempt) checkReservation() error {
	if a.Reservation == nil || a.MostCharged() <= a.Reservation.Amount() {
		return nil
	}
	a.Reservation.Release()
	return fmt.Errorf("ledger: attempt %s may cost %s and has reserved %s", a.ID, a.MostCharged(), a.Reservation.Amount())
}

// Need is what an attempt needs of budgets.
type Need struct {
	budget.Need
	// Follows is the attempt that this one follows, and Settles how that one will be settled:
	// what it frees serves the next one. Nil for a first attempt.
	Follows *Hold
	Settles *Settlement
}

// Reserve holds an amount in all the budgets: see budget.Service.Reserve. The reservation belongs
// into an Attempt, or is released.
func (l *Ledger) Reserve(ctx context.Context, n Need) (*budget.Reservation, error) {
	if n.Follows != nil {
		n.After, n.Charged = n.Follows.attempt.Reservation, n.Follows.charged(n.Settles)
	}
	return l.budgets.Reserve(ctx, n.Need)
}

// charged is what the attempt counts for in budgets when it is settled so; its hold
// where nobody knows how.
func (h *Hold) charged(s *Settlement) llm.Money {
	if s == nil {
		return h.attempt.MostCharged()
	}
	ended := *s
	h.price(&ended)
	return ended.Charged()
}

// cost is what the attempt costs: nil where some of that is not known.
func (h *Hold) cost(s *Settlement) *llm.Money {
	if s.Unpriced != 0 || !h.attempt.Price.Known() && !s.Billed {
		return nil
	}
	return &s.Cost
}

// Charge is what the account is charged for the settled attempt: nil where some of that is not known.
func (h *Hold) Charge() *llm.Money { return h.charge }

// chargeOf is what the account is charged where the attempt is settled so.
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

// Difference is what the provider says that the attempt costs, less what its price comes
// to; ok is false where one of them is not known.
func (h *Hold) Difference(s *Settlement) (difference, computed llm.Money, ok bool) {
	p, told := &h.attempt.Price, s.ProviderCost
	if told == nil || !believes(*told) || s.Provenance != Exact || !p.Known() ||
		p.Unpriced(&s.Usage, s.Tier) != 0 {
		return 0, 0, false
	}
	computed = min(p.Cost(&s.Usage, s.Tier), llm.MaxCost)
	return *told - computed, computed, true
}
