package plan

import (
	"weir/internal/charge"
	"weir/internal/llm"
)

// price returns the price of the current attempt in the replay, and the terms by which its account is charged. Other
// is false if both are the recorded ones.
func (o *outcome) price() (p llm.Price, terms *charge.Terms, other bool) {
	e, r := o.entry(), o.replay
	if o.target != nil {
		terms = o.principal.Terms(o.target.Provider.Name(), o.target.Model, e.Arrived)
		return r.state.Table.Price(o.target, e.Arrived), terms, true
	}
	if r.state.Table != r.present.Table {
		then, err := r.state.Table.Targets(nil, e.FullModel(), "")
		now, alsoErr := r.present.Table.Targets(nil, e.FullModel(), "")
		if err == nil && alsoErr == nil {
			p = r.state.Table.Price(&then[0], e.Arrived)
			if p.Version != r.present.Table.Price(&now[0], e.Arrived).Version {
				return p, e.Terms, true
			}
		}
	}
	return e.Price, e.Terms, false
}

// most returns the charge of the attempt for a bound of its usage.
func (o *outcome) most(bound llm.Usage) llm.Money {
	e := o.entry()
	p, terms, other := o.price()
	if !p.Known() && !terms.Own() || !other && bound == e.Bound {
		return e.MostCharged()
	}
	return terms.Bound(min(llm.MaxCost, p.Bound(&bound)), &p, &bound, "")
}

// charges returns the attempt's charge, as far as it is known.
func (o *outcome) charges() llm.Money {
	e := o.entry()
	p, terms, other := o.price()
	if !p.Known() && !terms.Own() || !other {
		return e.Charge()
	}
	return terms.Charge(min(llm.MaxCost, p.Cost(&e.Usage, e.Tier)), &p, &e.Usage, e.Tier)
}

// charged returns the upper bound of the attempt's charge.
func (o *outcome) charged() llm.Money { return o.charges() + o.entry().Charged() - o.entry().Charge() }
