package ledger

import (
	"encoding/binary"

	"weir/internal/charge"
	"weir/internal/llm"
)

// MostCharged returns the upper bound of the account's charge, as far as the attempt's bound allows one.
func (a *Attempt) MostCharged() llm.Money {
	if a.Terms == nil {
		return a.Hold
	}
	return a.ChargeHold
}

// SetCharge fills in the difference between the account's charge and the cost, its uncertainty and its unpriced
// classes. The cost and the prices must be filled in.
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

// SetChargeBefore does the same as SetCharge did before charges had marks of their own: the charge had a bound only if
// the cost had one.
func (a *Attempt) SetChargeBefore(s *Settlement) {
	charged := a.setMargin(s)
	if a.Terms != nil && s.MostCost() > s.Cost {
		s.MarginUncertain = max(charged, a.mostCharged(s.AtMost)) - charged - (s.MostCost() - s.Cost)
	}
}

// setMargin fills in only the margin, and returns the charge.
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

// unpricedCharge returns the classes that the charge excludes. At a price of the account's own, the charge of an
// unknown outcome is that of the hold, so it excludes none.
func (a *Attempt) unpricedCharge(s *Settlement) llm.Classes {
	if a.Terms.Own() && s.Provenance == Unknown {
		return 0
	}
	return a.Terms.Unpriced(s.Unpriced, &a.Price, &s.Usage, s.Tier)
}

// mostChargedFor returns the upper bound of the account's charge for a settled attempt. At a price of the account's own
// the charge follows from the usage: if the usage is unknown, the charge has a bound even if the cost is known.
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

// mostCharged returns the upper bound of the account's charge if the attempt costs at most atMost. At a price of the
// account's own that is the charge of the hold, increased in proportion if atMost is above the hold.
func (a *Attempt) mostCharged(atMost llm.Money) llm.Money {
	switch {
	case !a.Terms.Own():
		return a.Terms.Markup.Of(atMost)
	case atMost > a.Hold && a.Hold > 0:
		return charge.Part(a.ChargeHold, atMost, a.Hold)
	}
	return a.ChargeHold
}

// Margin returns the difference between the account's charge and the cost, corrections included, and the amount by
// which it may still grow until the attempt is resolved.
func (a *Row) Margin() (margin, uncertain llm.Money) {
	margin, uncertain = a.Settlement.Margin, a.MarginUncertain
	for i := range a.Corrections {
		margin += a.Corrections[i].Margin
		uncertain += a.Corrections[i].MarginUncertain
	}
	return margin, uncertain
}

// charged returns c with the amounts that it adds to the account's charge. With a markup they follow from the cost. At
// a price of the account's own a resolution changes the charge in proportion to the cost, and a correction by an amount
// adds that amount to the charge.
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
		if ofCost == 0 || ofCharge != 0 { // otherwise it decides only the cost, because the charge has a price
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

// chargedAt returns c with the amounts that bring the account's final charge to charged, and its upper bound to most.
func (a *Row) chargedAt(c Correction, charged, most llm.Money) Correction {
	_, cost := a.Corrected()
	margin, uncertain := a.Margin()
	c.Margin = charged - (cost + c.Cost) - margin
	c.MarginUncertain = max(charged, most) - charged - (a.Uncertain() + c.Uncertain) - uncertain
	return c
}

// between returns the charge of a cost by linear interpolation between three points: 0, the estimate's charge and the
// bound's charge.
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

// Terms and charges stand at the end of their records and are marked by flags. An older program ignores them, because
// it stops reading before them.
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
