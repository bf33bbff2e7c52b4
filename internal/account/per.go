package account

import (
	"slices"

	"weir/internal/budget"
	"weir/internal/llm"
)

// maxPer is how many Pers an account or a key has at most.
const maxPer = 8

// Per is what each end user of an account or a key may use of it; or, with a tag, what may be used for each value of the
// tag. What requests without an end user, or without the tag, use is not limited by it.
type Per struct {
	Tag    string // empty for end users
	Limits Limits
	Budget Budget // counts what requests use that come after it was set, in the period
}

// checkPer refuses a list that no account and no key can have.
func checkPer(list []Per) error {
	if len(list) > maxPer {
		return llm.Invalidf("per_tag", "An account or a key has at most %d limits per end user and tag; these are %d.",
			maxPer, len(list))
	}
	names := make([]llm.Tag, 0, len(list))
	for i := range list {
		p := &list[i]
		param := p.param()
		if p.Tag != "" {
			names = append(names, llm.Tag{Name: p.Tag, Value: "x"})
		}
		if err := firstOf(checkLimits(p.Limits), checkPartBudget(p.Budget)); err != nil {
			e := llm.AsError(err)
			e.Param = param + "." + e.Param
			return e
		}
		if p.Limits == (Limits{}) && p.Budget == (Budget{}) {
			return llm.Invalidf(param, "Nothing is limited. Give a limit or a budget, or leave %s out.", param)
		}
		if slices.ContainsFunc(list[:i], func(o Per) bool { return o.Tag == p.Tag }) {
			return llm.Invalidf(param, "Two limits are of the same tag %q. Give each tag once.", p.Tag)
		}
	}
	if err := llm.CheckTags(names); err != nil && len(names) > 0 {
		return llm.Invalidf("per_tag", "The names of tags are at fault: %s. Use names of up to 64 printable "+
			"characters.", err)
	}
	return nil
}

// checkPartBudget refuses a budget for all time too: what each end user has spent is not kept for so long.
func checkPartBudget(b Budget) error {
	if b.Period == budget.PeriodTotal {
		return llm.Invalidf("budget.period", "A budget of each end user, or of each value of a tag, is for a %q or a %q.",
			budget.PeriodDay, budget.PeriodMonth)
	}
	return checkBudget(b)
}

// loosenedPer is what Loosened says of what each end user, and each value of a tag, may use.
func loosenedPer(before, after []Per) error {
	for i := range before {
		was := &before[i]
		n := slices.IndexFunc(after, func(p Per) bool { return p.Tag == was.Tag })
		if n < 0 || loosenedUse(&was.Limits, &after[n].Limits, was.Budget, after[n].Budget) != nil {
			return loosened(was.param(), "lower what each %s may use", was.name())
		}
	}
	return nil
}

// param is where it stands in a body.
func (p *Per) param() string {
	if p.Tag == "" {
		return "per_user"
	}
	return "per_tag." + p.Tag
}

// name is what one of those that it limits is called.
func (p *Per) name() string {
	if p.Tag == "" {
		return "end user"
	}
	return "value of the tag " + p.Tag
}

// part is a part of an account or a key that a request counts against, with what it may use.
type part struct {
	owner, scope string
	per          *Per
	ofKey        bool // and not of the account
}

// name is what it is called, for people.
func (p *part) name() string {
	if p.ofKey {
		return p.per.name() + " with this API key"
	}
	return p.per.name()
}

// parts are those of the caller that a request is of.
func (p *Principal) parts(a *llm.Attribution) (all []part) {
	if !p.hasParts() {
		return nil
	}
	for owner, list := range [...][]Per{budget.AccountPart: p.account.Per, budget.KeyPart: p.key.Per} {
		id := [...]string{budget.AccountPart: p.account.ID, budget.KeyPart: p.key.ID}[owner]
		for i := range list {
			per := &list[i]
			if value, ok := a.Tag(per.Tag); ok && per.Tag != "" {
				all = append(all, part{id, budget.TagScope(id, llm.Tag{Name: per.Tag, Value: value}), per, owner == budget.KeyPart})
			} else if per.Tag == "" && a.User != "" {
				all = append(all, part{id, budget.UserScope(id, a.User), per, owner == budget.KeyPart})
			}
		}
	}
	return all
}

// hasParts reports whether any end user or tag is limited.
func (p *Principal) hasParts() bool {
	return p != nil && p.account != nil && p.key != nil && len(p.account.Per)+len(p.key.Per) > 0
}

// LimitsEach reports whether each value of the tag, or each end user with an empty tag, has limits or a budget.
func (p *Principal) LimitsEach(tag string) bool {
	of := func(per Per) bool { return per.Tag == tag }
	return p.hasParts() && (slices.ContainsFunc(p.account.Per, of) || slices.ContainsFunc(p.key.Per, of))
}

// Parts are the parts of the caller's account and key whose budgets a request counts against.
func (p *Principal) Parts(a *llm.Attribution) (all budget.Parts) {
	if !p.hasParts() {
		return 0
	}
	for owner, list := range [...][]Per{budget.AccountPart: p.account.Per, budget.KeyPart: p.key.Per} {
		for i := range list {
			per := &list[i]
			place := slices.IndexFunc(a.Tags, func(t llm.Tag) bool { return t.Name == per.Tag })
			switch {
			case per.Budget.Limit == 0:
			case per.Tag != "" && place >= 0:
				all = all.Tag(owner, place)
			case per.Tag == "" && a.User != "":
				all = all.User(owner)
			}
		}
	}
	return all
}

// PartLimits are the limits of a part of an account or a key.
type PartLimits struct {
	Owner, Scope string // the id of the account or key, and the part of it
	Limits       Limits
	part         part
}

// Name is what the part is called, for people.
func (p *PartLimits) Name() string { return p.part.name() }

// Of is "user" or "tag".
func (p *PartLimits) Of() string {
	if p.part.per.Tag == "" {
		return "user"
	}
	return "tag"
}

// PartLimits are the limits of the parts that a request is of; none for no limit.
func (p *Principal) PartLimits(a *llm.Attribution) (all []PartLimits) {
	for _, part := range p.parts(a) {
		if part.per.Limits != (Limits{}) {
			all = append(all, PartLimits{part.owner, part.scope, part.per.Limits, part})
		}
	}
	return all
}

// PerOf is what each value of a tag may use by a list, or each end user with an empty tag; zero where nothing is limited.
func PerOf(list []Per, tag string) Per {
	if i := slices.IndexFunc(list, func(p Per) bool { return p.Tag == tag }); i >= 0 {
		return list[i]
	}
	return Per{Tag: tag}
}

// WithPer is the list with one in the place of that for its tag, or without it where it limits nothing.
func WithPer(list []Per, p Per) []Per {
	list = slices.DeleteFunc(slices.Clone(list), func(o Per) bool { return o.Tag == p.Tag })
	if p.Limits == (Limits{}) && p.Budget == (Budget{}) {
		return list
	}
	return append(list, p)
}

// PartBudget is what a part of an owner may spend by its list; none for the zero Budget.
func PartBudget(list []Per, p budget.Part) Budget {
	return PerOf(list, p.Tag).Budget
}

// isAnother reports whether a budget is for another period than the one that was there, and not only another limit.
func isAnother(before, after Budget) bool {
	return before.Limit > 0 && after.Limit > 0 && before.Period != after.Period
}

// AnotherPeriod reports whether a budget has another period than it had: of an account or a key, or of its parts.
func AnotherPeriod(before, after Budget, partsBefore, partsAfter []Per) bool {
	for i := range partsBefore {
		was := &partsBefore[i]
		if isAnother(was.Budget, PartBudget(partsAfter, budget.Part{Tag: was.Tag})) {
			return true
		}
	}
	return isAnother(before, after)
}
