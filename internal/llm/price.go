package llm

import (
	"slices"
	"strings"
)

// Rate is the price of one token, or of one unit of another class, in pico-dollars (10^-12 USD): one dollar per
// million tokens is 1,000,000. That of Milliseconds is the price of a second, so that a minute costs what a vendor's
// page says. The zero value is an unknown rate.
type Rate int64

// Free is the rate of a class that the provider does not charge for.
const Free Rate = -1

// RateOf returns the rate of a number of pico-dollars, which must not be negative.
func RateOf(pico int64) Rate {
	if pico == 0 {
		return Free
	}
	return Rate(pico)
}

// Known reports whether the rate is known.
func (r Rate) Known() bool { return r != 0 }

// Pico returns the rate in pico-dollars; 0 if it is free or unknown.
func (r Rate) Pico() int64 { return max(0, int64(r)) }

// Rates are rates by class. Rates{} is unknown in every class.
type Rates [NumClasses]Rate

// Tier is a set of rates that applies to a whole request if its input tokens exceed Above.
type Tier struct {
	Above int64 `json:"above"`
	Rates Rates `json:"rates"`
}

// Mode is a way of serving that changes the price of a request, such as a service tier, a region or a speed; or a
// property of a unit, such as the size of an image.
type Mode struct {
	// Name is in the form that ModeName returns.
	Name string
	// Times multiplies the price of tokens, in thousandths. It is 0 if the mode has rates of its own.
	Times int64
	Rates Rates
	Tiers []Tier // in ascending order of Above
}

// Basis is the origin of a model's price.
type Basis uint8

// The bases.
const (
	BasisModel Basis = iota // a price of exactly that model, by its source or the operator
	// a price of the same model in the list that its provider's catalogue entry names, in another region, or in
	// another company's price list, or a price past the last day that its source guaranteed
	BasisSeller
	BasisFamily // a price of models with a similar name
)

// Price is the price of one model at one provider at one moment. It is resolved once, when an attempt is opened, and
// never again.
type Price struct {
	// Version identifies these exact rates for ever; it is recorded with every attempt priced with them. Empty if the
	// model has no price.
	Version string
	Basis   Basis
	// Ceiling is the most that the provider may charge if the basis is not BasisModel, in thousandths of the rates,
	// by the source of the price; 0 if the source does not say. WithMargin applies it.
	Ceiling int64
	// Rates apply without a tier and a mode.
	Rates Rates
	// Tiers are in ascending order of Above.
	Tiers []Tier
	// Modes are the modes with a known price. Nil means that the price is the same in all modes; otherwise a mode
	// that is not listed has an unknown price.
	Modes []Mode
}

// Known reports whether the model has a price. The cost of a request without a price is "unpriced", which differs
// from zero.
func (p *Price) Known() bool { return p != nil && p.Version != "" }

// Has reports whether the price of a mode is known. An empty mode is the default one.
func (p *Price) Has(mode string) bool {
	name := ModeName(mode)
	return name == "" || p.Modes == nil || slices.ContainsFunc(p.Modes, func(m Mode) bool { return m.Name == name })
}

// ModeName returns the name, in Modes, of a provider's service tier: in lower case; empty for the default one. The
// name of a region or a speed has its kind in front: "geo:us", "speed:fast".
func ModeName(tier string) string {
	name := strings.ToLower(tier)
	switch strings.TrimPrefix(name, "service_tier_") {
	case "", "default", "standard", "auto", "on_demand", "ondemand", "unspecified", "standard_only", "geo:global",
		"geo:not_available", "speed:standard", "latency:standard":
		return ""
	}
	return strings.TrimPrefix(name, "service_tier_")
}

// Cost returns the cost of the usage, rounded once, half up, to the nano-dollar. A class without a rate adds nothing.
// served lists the modes that the provider reported, separated by commas. The cost saturates at the largest Money.
func (p *Price) Cost(u *Usage, served string) Money {
	if !p.Known() {
		return 0
	}
	r, _ := p.ratesFor(u.InputTokens(), served)
	return r.cost(u)
}

// MadeAtMost returns the highest cost of a usage whose output tokens the provider does not split into text, images
// and sound: it prices all of them in the most expensive class.
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

// Unpriced returns the classes of a usage that have no rate.
func (p *Price) Unpriced(u *Usage, served string) Classes {
	var r Rates
	if p.Known() {
		r, _ = p.ratesFor(u.InputTokens(), served)
	}
	return r.missing(u)
}

// Bound returns an upper bound of the cost of a request with at most that many tokens of input and of output, in any
// class, tier and mode, and at most the given units of each other class, including the margin. A class without a rate
// adds nothing.
func (p *Price) Bound(most *Usage) Money { return p.BoundAsked(most, "") }

// ShortCache is the mode for BoundAsked of a request that stores nothing in a cache for an hour.
const ShortCache = "cache:short"

// BoundAsked is Bound for a request whose units are described by modes separated by commas, as in Head.Asked,
// including ShortCache.
func (p *Price) BoundAsked(most *Usage, asked string) (bound Money) {
	p.reach(most.InputTokens(), asked, func(r Rates) {
		u := r.dearestOf(most)
		bound = max(bound, r.cost(&u))
	})
	return p.Dearest(bound)
}

// UnboundedAsked returns the classes for which BoundAsked adds nothing because they have no rate.
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

// Without returns the given classes that have no rate when no tier and no mode applies.
func (p *Price) Without(of Classes) (unknown Classes) {
	for c, rate := range p.Rates {
		if of.Has(Class(c)) && !rate.Known() {
			unknown = unknown.With(Class(c))
		}
	}
	return unknown
}

// reach calls a function with all rates that may apply to a request with at most that many tokens of input and with
// those modes of its units.
func (p *Price) reach(input int64, asked string, with func(Rates)) {
	if !p.Known() {
		return
	}
	short := false
	for mode := range strings.SplitSeq(asked, ",") { // does not allocate
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

// mostTimes returns the largest factor on the price of tokens in modes that can apply together, in thousandths. Two
// modes of one kind, such as service tiers, cannot.
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
				most = thousand // this kind was counted already
				break
			}
			most = max(most, m.Times)
		}
		times = times * most / thousand
	}
	return times
}

// kind returns the name up to its colon; empty for a service tier.
func (m *Mode) kind() string {
	kind, _, of := strings.Cut(m.Name, ":")
	if !of {
		return ""
	}
	return kind
}

// Multiply multiplies the price of tokens by a number of thousandths, in every tier and mode.
func (p *Price) Multiply(times int64) {
	multiply := func(r *Rates, tiers []Tier) {
		r.multiply(times)
		for i := range tiers {
			tiers[i].Rates.multiply(times)
		}
	}
	multiply(&p.Rates, p.Tiers)
	for i := range p.Modes { // modes with Times follow the price's own rates
		multiply(&p.Modes[i].Rates, p.Modes[i].Tiers)
	}
}

// Charges reports whether a mode has a price of its own.
func (p *Price) Charges(mode string) bool {
	return slices.ContainsFunc(p.Modes, func(m Mode) bool { return m.Name == mode })
}

// Refused returns the mode of a request that its provider refused because of its content, in a wire format.
func Refused(dialect string) string { return "refused:" + dialect }

// thousand is the neutral value of Mode.Times.
const thousand = 1000

// ratesFor returns the rates for a request with that many tokens of input, served in those modes, and the threshold
// of the tier that applies, 0 for none. In a mode without a known price, tokens have no rate.
func (p *Price) ratesFor(input int64, served string) (r Rates, above int64) {
	rates, tiers, times := p.Rates, p.Tiers, []int64(nil)
	unknown, search := false, (*Rates)(nil)
	if p.Modes == nil {
		served = ""
	}
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
		case name == SearchPreview: // applies together with any other mode
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
