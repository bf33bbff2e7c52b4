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

// SetCharge fills in what the account is charged beyond the cost, which has to be filled in, as have the prices.
func (a *Attempt) SetCharge(s *Settlement) {
	s.Margin, s.MarginUncertain = 0, 0
	if a.Terms == nil {
		return
	}
	charged := a.ChargeHold
	if s.Provenance != Unknown {
		charged = a.Terms.Charge(s.Cost, &a.Price, &s.Usage, s.Tier)
	}
	s.Margin = charged - s.Cost
	if s.MostCost() > s.Cost {
		s.MarginUncertain = max(charged, a.mostCharged(s.AtMost)) - charged - (s.MostCost() - s.Cost)
	}
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
	switch {
	case !a.Terms.Own():
		most = a.Terms.Markup.Of(to + left + c.Uncertain)
		charged = a.Terms.Markup.Of(to)
	case c.Kind == CorrectionAmount:
		more := max(-charged, min(c.Cost, llm.MaxCost-charged))
		charged, most = charged+more, most+more
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
	case cost >= bound:
		return most
	case cost > estimate:
		return charged + charge.Part(most-charged, cost-estimate, bound-estimate)
	case cost < estimate:
		return charge.Part(charged, cost, estimate)
	}
	return charged
}

// Terms and margins stand at the end of their records, where a flag says so: an older program reads what is before them.
const (
	flagTerms  = flagTags << 1
	flagMargin = flagAsk << 1
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
