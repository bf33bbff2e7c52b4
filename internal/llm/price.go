package llm

import (
	"slices"
	"strings"
)

// Rate is what one token, or one unit of a class that is not tokens, costs in
// pico-dollars (10^-12 USD): one dollar per million tokens is 1,000,000. The zero value
// is a rate that nobody knows.
type Rate int64

// Free is the rate of what costs nothing, as its provider says.
const Free Rate = -1

// RateOf is the rate of so many pico-dollars, from 0.
func RateOf(pico int64) Rate {
	if pico == 0 {
		return Free
	}
	return Rate(pico)
}

// Known reports whether anybody knows what the class costs.
func (r Rate) Known() bool { return r != 0 }

// Pico is the rate in pico-dollars; 0 for one that is free or unknown.
func (r Rate) Pico() int64 { return max(0, int64(r)) }

// Rates are prices by class. Rates{} is unknown in every class.
type Rates [NumClasses]Rate

// Tier is a set of rates that holds for a whole request once its input tokens
// exceed Above.
type Tier struct {
	Above int64 `json:"above"`
	Rates Rates `json:"rates"`
}

// Mode is a way of serving that changes what a request costs: a service tier, a region,
// a speed; or what a unit is, such as the size of an image.
type Mode struct {
	// Name is that of ModeName.
	Name string
	// Times is what tokens cost in this mode, in thousandths of what they cost without
	// it. It is 0 where the mode has rates of its own.
	Times int64
	Rates Rates
	Tiers []Tier // ordered by Above, ascending
}

// Basis says how the price of a model was found.
type Basis uint8

// The bases.
const (
	BasisModel Basis = iota // for exactly that model, by its source or the operator
	// for the same model, in the list that its provider's catalogue entry names, in another region, in somebody
	// else's price list, or past the day until which its source promised it
	BasisSeller
	BasisFamily // for models with a name like it
)

// Price is what one model of one provider costs at one moment. It is resolved
// once, when an attempt is opened, and never again.
type Price struct {
	// Version names these exact rates for ever; it stands on every attempt
	// that was priced with them. Empty when the model is unpriced.
	Version string
	Basis   Basis
	// Ceiling is the most that the provider may charge where the basis is not BasisModel, in thousandths of the rates, as
	// the source of the price says; 0 where it says nothing. WithMargin has it count.
	Ceiling int64
	// Rates hold where no tier and no mode does.
	Rates Rates
	// Tiers are ordered by Above, ascending.
	Tiers []Tier
	// Modes are those whose price is known. Nil says that the price is the same in all;
	// else one that is not among them has no price.
	Modes []Mode
}

// Known reports whether the model has a price. Unknown is a state of its own:
// such a request costs "unpriced", which is not zero.
func (p *Price) Known() bool { return p != nil && p.Version != "" }

// Has reports whether the price of a mode is known, which may be the usual one. A request
// may leave the mode open.
func (p *Price) Has(mode string) bool {
	name := ModeName(mode)
	return name == "" || p.Modes == nil || slices.ContainsFunc(p.Modes, func(m Mode) bool { return m.Name == name })
}

// ModeName is the name, in Modes, of what a provider calls a service tier: in lower
// case; empty for the usual one. A region or a speed has a name with its kind before
// it: "geo:us", "speed:fast".
func ModeName(tier string) string {
	name := strings.ToLower(tier)
	switch strings.TrimPrefix(name, "service_tier_") {
	case "", "default", "standard", "auto", "on_demand", "ondemand", "unspecified", "standard_only", "geo:global",
		"geo:not_available", "speed:standard", "latency:standard":
		return ""
	}
	return strings.TrimPrefix(name, "service_tier_")
}

// Cost is what the usage costs, rounded once, half up, to the nano-dollar; what has no
// rate adds nothing. Served are the modes in which the provider says it served the
// request, with commas. The cost saturates at the largest Money.
func (p *Price) Cost(u *Usage, served string) Money {
	if !p.Known() {
		return 0
	}
	r, _ := p.ratesFor(u.InputTokens(), served)
	return r.cost(u)
}

// MadeAtMost is what the usage costs at most where it is not told which of its output is of
// an image or a sound: all of it may be of the class that costs most.
func (p *Price) MadeAtMost(u *Usage, served string) Money {
	if !p.Known() {
		return 0
	}
	r, _ := p.ratesFor(u.InputTokens(), served)
	most := *u
	clear(most[firstOutput:NumTokens])
	most[r.dearest(firstOutput, Class(NumTokens))] = u.OutputTokens()
	return r.cost(&most)
}

// Unpriced are the classes of a usage that have no rate.
func (p *Price) Unpriced(u *Usage, served string) Classes {
	var r Rates
	if p.Known() {
		r, _ = p.ratesFor(u.InputTokens(), served)
	}
	return r.missing(u)
}

// Bound is an upper bound of what a request can cost that has at most so many tokens of
// input and of output, whichever class, tier and mode they fall in, and of every other
// class no more than is given, with the margin. What has no rate adds nothing.
func (p *Price) Bound(most *Usage) Money { return p.BoundAsked(most, "") }

// ShortCache says, among what BoundAsked is told of a request, that it has nothing kept in a cache for an hour.
const ShortCache = "cache:short"

// BoundAsked is Bound for a request that says so much of its units, in modes with commas,
// as Head.Asked does, or that it has nothing kept in a cache for an hour.
func (p *Price) BoundAsked(most *Usage, asked string) (bound Money) {
	p.reach(most.InputTokens(), asked, func(r Rates) {
		u := r.dearestOf(most)
		bound = max(bound, r.cost(&u))
	})
	return p.Dearest(bound)
}

// UnboundedAsked are the classes for which BoundAsked adds nothing because they have no rate.
func (p *Price) UnboundedAsked(most *Usage, asked string) (unknown Classes) {
	if !p.Known() {
		var none Rates
		return none.missing(most)
	}
	p.reach(most.InputTokens(), asked, func(r Rates) {
		u := r.dearestOf(most)
		unknown |= r.missing(&u)
	})
	return unknown
}

// Without are those of the classes that have no rate where no tier and no mode holds.
func (p *Price) Without(of Classes) (unknown Classes) {
	for c, rate := range p.Rates {
		if of.Has(Class(c)) && !rate.Known() {
			unknown = unknown.With(Class(c))
		}
	}
	return unknown
}

// reach calls with all rates that a request may be charged at which has at most so many
// tokens of input, and says so much of its units.
func (p *Price) reach(input int64, asked string, with func(Rates)) {
	if !p.Known() {
		return
	}
	short := false
	for mode := range strings.SplitSeq(asked, ",") { // without an allocation
		short = short || mode == ShortCache
	}
	each := func(rates *Rates, tiers []Tier, times int64) {
		reached := func(r Rates) {
			r.multiply(times)
			p.setUnits(&r, asked, true)
			if short {
				r[CacheWrite1h] = 0
			}
			with(r)
		}
		reached(*rates)
		for i := range tiers {
			if tiers[i].Above >= input {
				break
			}
			reached(tiers[i].Rates)
		}
	}
	times := p.mostTimes()
	each(&p.Rates, p.Tiers, times)
	if times > thousand {
		each(&p.Rates, p.Tiers, thousand)
	}
	for i := range p.Modes {
		if m := &p.Modes[i]; m.Times == 0 && !isUnit(m.Name) {
			each(&m.Rates, m.Tiers, times)
		}
	}
}

// mostTimes is what tokens cost at most in modes that may meet, in thousandths. Of one kind, such as the service tiers, no two do.
func (p *Price) mostTimes() int64 {
	times := int64(thousand)
	for i := range p.Modes {
		most := int64(thousand)
		for j := range p.Modes {
			m := &p.Modes[j]
			if m.kind() != p.Modes[i].kind() || m.Name == anySeller {
				continue
			}
			if j < i {
				most = thousand // its kind was seen
				break
			}
			most = max(most, m.Times)
		}
		times = times * most / thousand
	}
	return times
}

// kind is what stands before the colon of the name; empty for a service tier.
func (m *Mode) kind() string {
	kind, _, of := strings.Cut(m.Name, ":")
	if !of {
		return ""
	}
	return kind
}

// Multiply has tokens cost so many thousandths, in every tier and mode.
func (p *Price) Multiply(times int64) {
	multiply := func(r *Rates, tiers []Tier) {
		r.multiply(times)
		for i := range tiers {
			tiers[i].Rates.multiply(times)
		}
	}
	multiply(&p.Rates, p.Tiers)
	for i := range p.Modes { // those with Times follow
		multiply(&p.Modes[i].Rates, p.Modes[i].Tiers)
	}
}

// Charges reports whether a mode has a price of its own.
func (p *Price) Charges(mode string) bool {
	return slices.ContainsFunc(p.Modes, func(m Mode) bool { return m.Name == mode })
}

// Refused is the mode of a request that its provider refused for what it says, by the
// wire format in which it was asked.
func Refused(dialect string) string { return "refused:" + dialect }

// thousand is how many thousandths Mode.Times has to change nothing.
const thousand = 1000

// ratesFor are the rates for a request of so many tokens of input that was served in
// those modes, and what the input had to exceed for them, 0 where no tier holds. In a
// mode of which nobody knows the price, tokens have no rate.
func (p *Price) ratesFor(input int64, served string) (r Rates, above int64) {
	rates, tiers, times := p.Rates, p.Tiers, []int64(nil)
	unknown, search := false, (*Rates)(nil)
	for name := range strings.SplitSeq(served, ",") {
		name = ModeName(name)
		if name == "" || p.Modes == nil || isUnit(name) || name == anySeller {
			continue
		}
		i := slices.IndexFunc(p.Modes, func(m Mode) bool { return m.Name == name })
		switch {
		case i < 0:
			unknown = true
		case p.Modes[i].Times > 0:
			times = append(times, p.Modes[i].Times)
		case name == SearchPreview: // which goes with any other mode
			search = &p.Modes[i].Rates
		default:
			rates, tiers = p.Modes[i].Rates, p.Modes[i].Tiers
		}
	}
	r = rates
	for i := range tiers {
		if input > tiers[i].Above {
			r, above = tiers[i].Rates, tiers[i].Above
		}
	}
	for _, t := range times {
		r.multiply(t)
	}
	if unknown {
		clear(r[:NumTokens])
	}
	if search != nil {
		r[Searches] = search[Searches]
	}
	p.setUnits(&r, served, false)
	return r, above
}
