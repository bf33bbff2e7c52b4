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

// The kinds of correction. An attempt can have one that resolves it, and up to
// MaxCorrections by an amount.
const (
	CorrectionResolved = "resolved" // what the attempt cost in the end, nobody having seen it
	CorrectionAmount   = "amount"   // what is added to the cost, such as a credit note
)

const (
	// MaxCorrections is how many corrections by an amount an attempt can have.
	MaxCorrections = 100
	maxReason      = 500 // characters
)

// Why an attempt cannot be corrected.
var (
	ErrNoAttempt = errors.New("there is no such attempt, or it is older than request rows are kept")
	ErrOpen      = errors.New("the attempt is under way: correct it when it has ended")
	ErrResolved  = errors.New("the attempt is resolved already: correct it by an amount")
	ErrKnown     = errors.New("no bound is held for what the attempt cost: it is known, or has no price. Correct it by an amount")
	// ErrAmount says that the amount is 0 where something is known of the cost, or brings the cost below 0 or above llm.MaxCost.
	ErrAmount      = errors.New("not an amount to correct by")
	ErrReason      = fmt.Errorf("the reason is 1 to %d printable characters", maxReason)
	ErrCorrections = fmt.Errorf("the attempt has %d corrections by an amount, the most there can be", MaxCorrections)
)

// Row is an attempt in the database.
type Row struct {
	Entry       // as it was settled, or opened
	Corrections []Correction
}

// Correction is what was decided later about an attempt.
type Correction struct {
	Kind  string    // CorrectionResolved or CorrectionAmount
	Seq   int       // among those of its kind, from 1
	Usage llm.Usage // what it adds; may be negative
	Cost  llm.Money // what it adds; may be negative
	// Uncertain is what it adds to what the attempt may have cost beyond its cost; positive
	// only where its provider says that it charges more than anybody knew.
	Uncertain llm.Money
	// Margin and MarginUncertain are what it adds to those of the settlement.
	Margin, MarginUncertain llm.Money
	// Priced says that somebody has decided what the attempt cost, and with it what is charged, of usage without a price.
	Priced bool
	Reason string    // empty where none was given; of a resolution by rule, the rule
	By     string    // who decided
	At     time.Time // UTC
}

// Corrected is what the attempt used and cost, corrections included.
func (a *Row) Corrected() (usage llm.Usage, cost llm.Money) {
	usage, cost = a.Usage, a.Cost
	for i := range a.Corrections {
		usage.Add(&a.Corrections[i].Usage)
		cost += a.Corrections[i].Cost
	}
	return usage, cost
}

// Uncertain is what the attempt may have cost beyond its cost, until it is resolved.
func (a *Row) Uncertain() llm.Money {
	left := a.MostCost() - a.Cost
	for i := range a.Corrections {
		left += a.Corrections[i].Uncertain
	}
	return left
}

// LeftUnpriced are the classes that the cost and the charge are without, until somebody decides what they came to.
func (a *Row) LeftUnpriced() (ofCost, ofCharge llm.Classes) {
	for i := range a.Corrections {
		if a.Corrections[i].Priced {
			return 0, 0
		}
	}
	return a.Unpriced, a.UnpricedCharge()
}

// Correct asks for a correction by an amount, which decides what usage without a price cost.
type Correct struct {
	ID      AttemptID
	Account string    // id of the account that the attempt has to be of; empty for any
	Amount  llm.Money // what it adds to the cost; less than 0 for a credit note, 0 for usage without a price that was free
	Reason  string    // 1 to 500 printable characters
}

// Correction is the correction by that amount; ErrOpen, ErrReason, ErrCorrections or
// ErrAmount where the attempt cannot have it.
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
			fmt.Errorf("%w: the attempt costs $%s, and has to cost $0 to $%s with the correction, which is not $0",
				ErrAmount, cost, llm.MaxCost)
	}
	r := Correction{Kind: CorrectionAmount, Seq: n + 1, Cost: c.Amount, Priced: ofCost|ofCharge != 0, Reason: c.Reason}
	if a.isDecidedBy(&r) {
		r.Uncertain = -a.Uncertain()
	}
	return a.charged(r), nil
}

// Rule says what attempts cost that are resolved together.
type Rule string

// The rules.
const (
	RuleAtMost   Rule = "at_most"  // their upper bounds
	RuleEstimate Rule = "estimate" // their best estimates
	RuleRelease  Rule = "release"  // nothing: their providers served nothing
)

// Resolve resolves an attempt by the rule. It is one of which Unseen is true. Estimates and bounds decide nothing about
// usage without a price.
func (r Rule) Resolve(a *Row) (c Correction) {
	_, cost := a.Corrected()
	switch r {
	case RuleRelease:
		return a.Release()
	case RuleAtMost:
		margin, uncertain := a.Margin()
		most := cost + a.Uncertain()
		if c = a.ResolveAt(most); a.Terms.Own() { // its charge may have a bound where the cost has none
			c = a.chargedAt(c, most+margin+uncertain, 0)
		}
	default:
		c = a.ResolveAt(cost)
	}
	c.Priced = false
	return c
}

// ResolveAt is the correction by which the attempt cost that much in the end, other
// corrections included. Its usage stays.
func (a *Row) ResolveAt(cost llm.Money) Correction {
	_, now := a.Corrected()
	return a.charged(Correction{Kind: CorrectionResolved, Seq: 1, Cost: cost - now, Uncertain: -a.Uncertain(), Priced: true})
}

// Release is the correction by which the attempt used and cost nothing.
func (a *Row) Release() Correction {
	usage, cost := a.Corrected()
	c := Correction{Kind: CorrectionResolved, Seq: 1, Cost: -cost, Uncertain: -a.Uncertain(), Priced: true}
	for class, n := range usage {
		c.Usage[class] = -n
	}
	return a.charged(c)
}

// ReasonAsked is the reason of a correction that follows from what a provider said.
const ReasonAsked = "asked the provider"

// Tell is the correction by which the attempt used and cost what its provider says of the
// reply in the end: by the attempt's price, which has to be filled in, or the provider's own
// figure where attempts cost that. Where that figure is above the price, or the counts or the tier may
// come to more, that is the bound from then on, as in Hold.price, and the attempt stays unresolved. It reports false where that decides
// nothing: some of the usage has no price or one that depends on what nobody tells, the numbers
// cannot be true, or somebody has corrected the attempt.
func (a *Row) Tell(r *llm.Reply, billByProvider bool) (Correction, bool) {
	used, tier, p := r.Usage, cmp.Or(r.Tier, a.Tier), &a.Price
	used[llm.Requests] = a.Usage[llm.Requests]
	// charged for apart from tokens, which no record tells
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
		written := used // OpenRouter does not tell what was written to a cache
		written[llm.CacheWrite], written[llm.Input] = used[llm.Input], 0
		if p.Cost(&written, tier) > cost {
			cost = *told
		}
	}
	cost = min(cost, llm.MaxCost)
	c := Correction{
		Kind: CorrectionResolved, Seq: 1, Cost: cost - a.Cost, Uncertain: -a.Uncertain(), Priced: true, Reason: ReasonAsked,
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

// toldAtMost is what a reply can have cost whose provider says so much of it, but not what it charges: its counts may
// contradict one another, and where neither names a service tier, the dearest may have been asked for.
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

// Resolved reports whether somebody has decided what the attempt cost.
func (a *Row) Resolved() bool {
	for i := range a.Corrections {
		if c := &a.Corrections[i]; c.Kind == CorrectionResolved || a.isDecidedBy(c) {
			return true
		}
	}
	return false
}

// isDecidedBy reports whether a correction decides all that was not known of the attempt: its usage was told, and a price for
// it was missing.
func (a *Row) isDecidedBy(c *Correction) bool {
	return c.Priced && (a.Provenance == Exact || a.Provenance == Assumed)
}

// Unresolved reports whether nobody knows what the ended attempt cost, or is charged, and nobody has
// resolved it: its end was not seen, or some of its usage has no price.
func (a *Row) Unresolved() bool {
	return a.Outcome != OutcomeOpen && !a.Resolved() &&
		(a.AtMost > 0 || a.MarginUncertain != 0 || a.Provenance == Unknown)
}

// Unseen reports whether the attempt is unresolved since nobody saw its end. Rules resolve
// these alone: what the provider has told of the others stays.
func (a *Row) Unseen() bool {
	return (a.Provenance == Estimated || a.Provenance == Unknown) && a.Unresolved()
}

// ResolveQuery selects the attempts that ResolveOlder resolves.
type ResolveQuery struct {
	Account string    // account id; empty for all
	Before  time.Time // opened before
	Rule    Rule
	DryRun  bool // nothing is written
}

// Resolution is what attempts came to that were resolved together.
type Resolution struct {
	Attempts int64
	Cost     llm.Money // the sum of their best estimates
	AtMost   llm.Money // the sum of their upper bounds
	Decided  llm.Money // the sum of what they cost in the end
}

// Add counts an attempt with the correction that resolves it.
func (r *Resolution) Add(a *Row, c *Correction) {
	_, cost := a.Corrected()
	r.Attempts++
	r.Cost += cost
	r.AtMost += cost + a.Uncertain()
	r.Decided += cost + c.Cost
}
