package ledger

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"weir/internal/llm"
)

// These are the kinds of correction. An attempt can have one that resolves it and up to MaxCorrections by an amount.
const (
	CorrectionResolved = "resolved" // sets the final cost of an attempt whose end was not observed
	CorrectionAmount   = "amount"   // adds an amount to the cost, such as a credit note
)

const (
	// MaxCorrections is the maximum number of corrections by an amount per attempt.
	MaxCorrections = 100
	maxReason      = 500 // characters
)

// These errors say why an attempt cannot be corrected.
var (
	ErrNoAttempt = errors.New("the attempt does not exist, or its row was deleted by retention: check its id")
	ErrOpen      = errors.New("the attempt is still running: correct it when it has ended")
	ErrResolved  = errors.New("the attempt is already resolved: correct it by an amount")
	ErrKnown     = errors.New("the attempt's cost is known, or has no price: correct it by an amount")
	// ErrAmount is returned for an amount of 0 if the cost is known, and for an amount that brings the cost below 0 or
	// above llm.MaxCost.
	ErrAmount      = errors.New("invalid amount")
	ErrReason      = fmt.Errorf("the reason must have 1 to %d printable characters", maxReason)
	ErrCorrections = fmt.Errorf("the attempt already has the maximum of %d corrections by an amount", MaxCorrections)
)

// Row holds an attempt as the database stores it.
type Row struct {
	Entry       // as it was settled or, if it is open, opened
	Corrections []Correction
}

// Correction is a later decision about an attempt.
type Correction struct {
	Kind  string    // CorrectionResolved or CorrectionAmount
	Seq   int       // number among the attempt's corrections of this kind, from 1
	Usage llm.Usage // added to the usage; may be negative
	Cost  llm.Money // added to the cost; may be negative
	// Uncertain is added to the amount by which the true cost may exceed the known cost. It is positive only if the
	// provider reports a higher charge than was known.
	Uncertain llm.Money
	// Margin and MarginUncertain are added to the settlement's fields of these names.
	Margin, MarginUncertain llm.Money
	// Priced reports that the correction decides the cost, and so the charge, of usage without a price.
	Priced bool
	Reason string    // empty if none was given; the rule for a resolution by rule
	By     string    // the person or process that decided
	At     time.Time // UTC
}

// Corrected returns the attempt's usage and cost including corrections.
func (a *Row) Corrected() (usage llm.Usage, cost llm.Money) {
	usage, cost = a.Usage, a.Cost
	for i := range a.Corrections {
		usage.Add(&a.Corrections[i].Usage)
		cost += a.Corrections[i].Cost
	}
	return usage, cost
}

// Uncertain returns how much the true cost may exceed the known cost, until the attempt is resolved.
func (a *Row) Uncertain() llm.Money {
	left := a.MostCost() - a.Cost
	for i := range a.Corrections {
		left += a.Corrections[i].Uncertain
	}
	return left
}

// LeftUnpriced returns the classes that the cost and the charge still exclude because they have no price. A correction
// that prices them clears both sets.
func (a *Row) LeftUnpriced() (ofCost, ofCharge llm.Classes) {
	for i := range a.Corrections {
		if a.Corrections[i].Priced {
			return 0, 0
		}
	}
	return a.Unpriced, a.UnpricedCharge()
}

// Correct requests a correction by an amount, which also decides the cost of usage without a price.
type Correct struct {
	ID      AttemptID
	Account string    // id of the account that must own the attempt; empty for any
	Amount  llm.Money // added to the cost; negative for a credit note, 0 to declare usage without a price free
	Reason  string    // 1 to 500 printable characters
}

// Correction returns the correction by that amount. It returns ErrOpen, ErrReason, ErrCorrections or ErrAmount if the
// attempt cannot have it.
func (c *Correct) Correction(a *Row) (Correction, error) {
	unprintable := func(r rune) bool { return !unicode.IsPrint(r) || r == utf8.RuneError }
	_, cost := a.Corrected()
	ofCost, ofCharge := a.LeftUnpriced()
	decidesNothing := c.Amount == 0 && ofCost|ofCharge == 0
	n := 0
	for i := range a.Corrections {
		if a.Corrections[i].Kind == CorrectionAmount {
			n++
		}
	}
	switch {
	case a.Outcome == OutcomeOpen:
		return Correction{}, ErrOpen
	case strings.TrimSpace(c.Reason) == "", utf8.RuneCountInString(c.Reason) > maxReason, strings.ContainsFunc(c.Reason,
		unprintable):
		return Correction{}, ErrReason
	case n >= MaxCorrections:
		return Correction{}, ErrCorrections
	case decidesNothing || c.Amount < -cost || c.Amount > llm.MaxCost-cost:
		return Correction{},
			fmt.Errorf("%w: the attempt costs $%s; the amount must not be 0, and the corrected cost must be $0 to $%s",
				ErrAmount, cost, llm.MaxCost)
	}
	r := Correction{Kind: CorrectionAmount, Seq: n + 1, Cost: c.Amount, Priced: ofCost|ofCharge != 0, Reason: c.Reason}
	if a.isDecidedBy(&r) {
		r.Uncertain = -a.Uncertain()
	}
	return a.charged(r), nil
}

// Rule decides the cost of attempts that are resolved together.
type Rule string

// These are the rules.
const (
	RuleAtMost   Rule = "at_most"  // their upper bounds
	RuleEstimate Rule = "estimate" // their best estimates
	RuleRelease  Rule = "release"  // nothing: their providers did no work
)

// Resolve returns the correction that resolves an attempt by the rule. The attempt must be Unseen. Estimates and bounds
// do not decide the cost of usage without a price.
func (r Rule) Resolve(a *Row) (c Correction) {
	_, cost := a.Corrected()
	switch r {
	case RuleRelease:
		return a.Release()
	case RuleAtMost:
		margin, uncertain := a.Margin()
		most := cost + a.Uncertain()
		if c = a.ResolveAt(most); a.Terms.Own() { // the charge may have a bound even if the cost has none
			c = a.chargedAt(c, most+margin+uncertain, 0)
		}
	default:
		c = a.ResolveAt(cost)
	}
	c.Priced = false
	return c
}

// ResolveAt returns the correction that sets the attempt's final cost, other corrections included. The usage does not
// change.
func (a *Row) ResolveAt(cost llm.Money) Correction {
	_, now := a.Corrected()
	return a.charged(Correction{
		Kind: CorrectionResolved, Seq: 1, Cost: cost - now, Uncertain: -a.Uncertain(), Priced: true,
	})
}

// Release returns the correction that sets the attempt's usage and cost to zero.
func (a *Row) Release() Correction {
	usage, cost := a.Corrected()
	c := Correction{Kind: CorrectionResolved, Seq: 1, Cost: -cost, Uncertain: -a.Uncertain(), Priced: true}
	for class, n := range usage {
		c.Usage[class] = -n
	}
	return a.charged(c)
}

// ReasonAsked is the reason of a correction that follows from a provider's later answer about a reply.
const ReasonAsked = "asked the provider"

// Tell returns the correction that sets the usage and cost to the provider's final record of the reply. The cost
// follows from the attempt's price, which must be filled in, or is the provider's own figure if billByProvider is set.
// If that figure is above the price, or if the counts or the tier allow a higher cost, the higher amount becomes the
// new bound, as in Hold.price, and the attempt stays unresolved. Tell returns false if the record decides nothing: some
// usage has no price, or a price that depends on unreported facts; the numbers are implausible; or the attempt already
// has a correction.
func (a *Row) Tell(r *llm.Reply, billByProvider bool) (Correction, bool) {
	used, tier, p := r.Usage, cmp.Or(r.Tier, a.Tier), &a.Price
	used[llm.Requests] = a.Usage[llm.Requests]
	// charged separately from tokens; no provider's record reports it
	used[llm.OtherTools] = max(used[llm.OtherTools], a.Usage[llm.OtherTools])
	half := used.InputTokens() == 0 && used.OutputTokens() > 0
	cost, told := p.Cost(&used, tier), r.ProviderCost
	if a.Provenance != Estimated || a.AtMost == 0 || len(a.Corrections) > 0 || half || !used.Plausible() ||
		!a.Believes(&used) || told != nil && *told > llm.MaxCost {
		return Correction{}, false
	}
	_, certain := p.AtMost(&used, tier, a.Duration)
	switch {
	case a.Terms.Unpriced(0, p, &used, tier) != 0:
		return Correction{}, false
	case told != nil && billByProvider:
		cost = *told
	case !certain, p.Unpriced(&used, tier) != 0:
		return Correction{}, false
	case told != nil && *told > cost && used[llm.CacheWrite] == 0:
		written := used // OpenRouter does not report tokens written to a cache
		written[llm.CacheWrite], written[llm.Input] = used[llm.Input], 0
		if p.Cost(&written, tier) > cost {
			cost = *told
		}
	}
	cost = min(cost, llm.MaxCost)
	c := Correction{
		Kind: CorrectionResolved, Seq: 1, Cost: cost - a.Cost, Uncertain: -a.Uncertain(), Priced: true,
		Reason: ReasonAsked,
	}
	most := cost
	if told == nil {
		most = max(most, min(llm.MaxCost, a.toldAtMost(r, &used, tier)))
	} else if isMore(*told, cost) {
		most = *told
	}
	if most > cost {
		c.Kind = CorrectionAmount
		c.Uncertain += most - cost
	}
	for class := range used {
		c.Usage[class] = used[class] - a.Usage[class]
	}
	if a.Terms == nil {
		return c, true
	}
	charged := a.Terms.Charge(cost, p, &used, tier)
	if known := told != nil && a.Terms.Covers(p, &used, tier); most > cost && !known {
		return a.chargedAt(c, charged, a.mostCharged(most)), true
	}
	return a.chargedAt(c, charged, charged), true
}

// toldAtMost returns the upper bound of a reply's cost if the provider reports its usage but not its charge. The counts
// may contradict one another. If neither the request nor the reply names a service tier, the most expensive tier may
// have been used.
func (a *Row) toldAtMost(r *llm.Reply, used *llm.Usage, tier string) llm.Money {
	price := &a.Price
	cost := func(modes string) llm.Money {
		most := price.CostAtMost(used, modes)
		if r.Most != nil {
			all := *r.Most
			all.Raise(&llm.Usage{llm.Requests: used[llm.Requests], llm.OtherTools: used[llm.OtherTools]})
			most = max(most, price.CostAtMost(&all, modes))
		}
		return most
	}
	most := cost(tier)
	if served := llm.ServiceTier(tier); served != "" && served != "auto" {
		return most
	}
	for i := range price.Modes {
		if name := price.Modes[i].Name; !strings.Contains(name, ":") {
			most = max(most, cost(strings.Trim(tier+","+name, ",")))
		}
	}
	return most
}

// Resolved reports whether a correction has decided the attempt's cost.
func (a *Row) Resolved() bool {
	for i := range a.Corrections {
		if c := &a.Corrections[i]; c.Kind == CorrectionResolved || a.isDecidedBy(c) {
			return true
		}
	}
	return false
}

// isDecidedBy reports whether a correction decides everything that was unknown: the provider reported the usage, and
// only its price was missing.
func (a *Row) isDecidedBy(c *Correction) bool {
	return c.Priced && (a.Provenance == Exact || a.Provenance == Assumed)
}

// Unresolved reports whether the cost or the charge of an ended attempt is still unknown: its end was not observed, or
// some of its usage has no price, and no correction has resolved it.
func (a *Row) Unresolved() bool {
	return a.Outcome != OutcomeOpen && !a.Resolved() && a.IsUncertain()
}

// IsUncertain reports whether the cost or the charge was not known at the settlement.
func (s *Settlement) IsUncertain() bool {
	return s.AtMost > 0 || s.MarginUncertain != 0 || s.Provenance == Unknown
}

// Seen reports whether the end of the attempt was observed.
func (s *Settlement) Seen() bool { return s.Provenance != Estimated && s.Provenance != Unknown }

// Unseen reports whether the attempt is unresolved because its end was not observed. Rules resolve only these attempts.
// Usage that the provider reported for other attempts stays.
func (a *Row) Unseen() bool {
	return !a.Seen() && a.Unresolved()
}

// ResolveQuery selects the attempts that ResolveOlder resolves.
type ResolveQuery struct {
	Account string    // account id; empty for all
	Before  time.Time // only attempts opened before this time
	Rule    Rule
	DryRun  bool // write nothing
}

// Resolution sums up attempts that were resolved together.
type Resolution struct {
	Attempts int64
	Cost     llm.Money // sum of their best estimates
	AtMost   llm.Money // sum of their upper bounds
	Decided  llm.Money // sum of their final costs
}

// Add counts an attempt and the correction that resolves it.
func (r *Resolution) Add(a *Row, c *Correction) {
	_, cost := a.Corrected()
	r.Attempts++
	r.Cost += cost
	r.AtMost += cost + a.Uncertain()
	r.Decided += cost + c.Cost
}
