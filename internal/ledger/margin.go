package ledger

import (
	"encoding/binary"

	"weir/internal/charge"
	"weir/internal/llm"
)

// MostCharged is the most that the account is charged for the attempt, as far as its bound tells.
func (a *Attempt) MostCharged() llm.Money {
	if a.Terms == nil {
		return a.Hold
	}
	return a.ChargeHold
}

// SetCharge fills in what the account is charged beyond the cost, and the marks of the charge. The cost and the prices have
// to be filled in.
func (a *Attempt) SetCharge(s *Settlement) {
	charged := a.setMargin(s)
	if a.Terms == nil {
		return
	}
	if unpriced := a.unpricedCharge(s); a.Terms.Own() || unpriced != s.Unpriced {
		s.ChargeUnpriced = &unpriced
	}
	s.MarginUncertain = max(charged, a.mostChargedFor(s)) - charged - (s.MostCost() - s.Cost)
}

// SetChargeBefore is SetCharge as it was before charges had marks of their own: the charge had a bound where the cost had.
func (a *Attempt) SetChargeBefore(s *Settlement) {
	charged := a.setMargin(s)
	if a.Terms != nil && s.MostCost() > s.Cost {
		s.MarginUncertain = max(charged, a.mostCharged(s.AtMost)) - charged - (s.MostCost() - s.Cost)
	}
}

// setMargin fills in the margin alone, and returns the charge.
func (a *Attempt) setMargin(s *Settlement) (charged llm.Money) {
	s.Margin, s.MarginUncertain, s.ChargeUnpriced = 0, 0, nil
	switch {
	case a.Terms == nil:
		return s.Cost
	case s.Provenance == Unknown:
		charged = a.ChargeHold
	default:
		charged = a.Terms.Charge(s.Cost, &a.Price, &s.Usage, s.Tier)
	}
	s.Margin = charged - s.Cost
	return charged
}

// unpricedCharge are the classes that the charge is without. That of an unknown outcome is what the hold is charged with.
func (a *Attempt) unpricedCharge(s *Settlement) llm.Classes {
	if a.Terms.Own() && s.Provenance == Unknown {
		return 0
	}
	return a.Terms.Unpriced(s.Unpriced, &a.Price, &s.Usage, s.Tier)
}

// mostChargedFor is what the account is charged at most for an attempt that was settled so. At a price of its own that
// follows from what was used: where that is not known there is a bound, whatever is known of the cost.
func (a *Attempt) mostChargedFor(s *Settlement) llm.Money {
	switch {
	case s.Provenance == Unknown:
		return a.ChargeHold
	case !a.Terms.Own() || s.Provenance == Estimated:
		return a.mostCharged(s.MostCost())
	case s.MostCost() == s.Cost || a.Terms.Covers(&a.Price, &s.Usage, s.Tier):
		return 0
	}
	return a.mostCharged(s.AtMost)
}

// mostCharged is what the account is charged at most where the attempt cost that much at most: at a price of its own what
// the hold is charged with, and so much more as the bound is above the hold.
func (a *Attempt) mostCharged(atMost llm.Money) llm.Money {
	switch {
	case !a.Terms.Own():
		return a.Terms.Markup.Of(atMost)
	case atMost > a.Hold && a.Hold > 0:
		return charge.Part(a.ChargeHold, atMost, a.Hold)
	}
	return a.ChargeHold
}

// Margin is what the account is charged for the attempt beyond its cost, corrections included, and what that may come to
// beyond it until the attempt is resolved.
func (a *Row) Margin() (margin, uncertain llm.Money) {
	margin, uncertain = a.Settlement.Margin, a.MarginUncertain
	for i := range a.Corrections {
		margin += a.Corrections[i].Margin
		uncertain += a.Corrections[i].MarginUncertain
	}
	return margin, uncertain
}

// charged is a correction with what it adds to what the account is charged: with a markup what follows from the cost, and
// at a price of the account's own the part of the charge that is of the cost. An amount adds to such a charge as it is.
func (a *Row) charged(c Correction) Correction {
	if a.Terms == nil {
		return c
	}
	usage, cost := a.Corrected()
	usage.Add(&c.Usage)
	margin, uncertain := a.Margin()
	left := a.Uncertain()
	charged, most := cost+margin, cost+margin+left+uncertain
	to := cost + c.Cost
	ofCost, ofCharge := a.LeftUnpriced()
	switch {
	case !a.Terms.Own():
		most = a.Terms.Markup.Of(to + left + c.Uncertain)
		charged = a.Terms.Markup.Of(to)
	case c.Kind == CorrectionAmount:
		if ofCost == 0 || ofCharge != 0 { // else it decides the cost, and the charge has a price
			more := max(-charged, min(c.Cost, llm.MaxCost-charged))
			charged, most = charged+more, most+more
		}
		if a.isDecidedBy(&c) {
			most = charged
		}
	default:
		charged = between(to, cost, cost+left, charged, most)
		if usage.IsZero() && to == 0 {
			charged = 0
		}
		most = charged
	}
	return a.chargedAt(c, charged, most)
}

// chargedAt is a correction by which the account is charged that much in the end, and at most that much.
func (a *Row) chargedAt(c Correction, charged, most llm.Money) Correction {
	_, cost := a.Corrected()
	margin, uncertain := a.Margin()
	c.Margin = charged - (cost + c.Cost) - margin
	c.MarginUncertain = max(charged, most) - charged - (a.Uncertain() + c.Uncertain) - uncertain
	return c
}

// between is the charge of a cost, of which those of an estimate and of a bound are known, and that none has of nothing.
func between(cost, estimate, bound, charged, most llm.Money) llm.Money {
	switch {
	case cost < estimate:
		return charge.Part(charged, cost, estimate)
	case cost == estimate:
		return charged
	case cost < bound:
		return charged + charge.Part(most-charged, cost-estimate, bound-estimate)
	}
	return most
}

// Terms and charges stand at the end of their records, where a flag says so: an older program reads what is before them.
const (
	flagTerms          = flagTags << 1
	flagMargin         = flagAsk << 1
	flagChargeUnpriced = flagMargin << 1
)

func appendTerms(dst []byte, a *Attempt) []byte {
	dst = binary.AppendVarint(dst, int64(a.Terms.Markup))
	dst = appendText(dst, a.Terms.Price.Version)
	return binary.AppendVarint(dst, int64(a.ChargeHold))
}

func (d *decoder) terms(a *Attempt, known names) {
	a.Terms = &charge.Terms{Markup: charge.Markup(d.varint())}
	a.Terms.Price.Version = known.text(d.take(d.uvarint()))
	a.ChargeHold = llm.Money(d.varint())
}

func chargeFlags(s *Settlement) (flags uint64) {
	if s.Margin != 0 || s.MarginUncertain != 0 {
		flags |= flagMargin
	}
	if s.ChargeUnpriced != nil {
		flags |= flagChargeUnpriced
	}
	return flags
}

func appendCharge(dst []byte, s *Settlement) []byte {
	if s.Margin != 0 || s.MarginUncertain != 0 {
		dst = binary.AppendVarint(binary.AppendVarint(dst, int64(s.Margin)), int64(s.MarginUncertain))
	}
	if s.ChargeUnpriced != nil {
		dst = appendClasses(dst, *s.ChargeUnpriced)
	}
	return dst
}

func (d *decoder) charge(s *Settlement, flags uint64) {
	if flags&flagMargin != 0 {
		s.Margin, s.MarginUncertain = llm.Money(d.varint()), llm.Money(d.varint())
	}
	if flags&flagChargeUnpriced != 0 {
		s.ChargeUnpriced = new(d.classes())
	}
}
