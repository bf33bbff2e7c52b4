package account

import (
	"slices"

	"weir/internal/budget"
	"weir/internal/llm"
)

// maxPer is the maximum number of Pers of an account or a key.
const maxPer = 8

// Per holds the limits and the budget of each end user of an account or a key or, with a tag, of each value of the tag.
// It does not limit requests without an end user, or without the tag.
type Per struct {
	Tag    string // empty for end users
	Limits Limits
	Budget Budget // counts the requests of the period that arrive after it was set
}

// checkPer returns an error for a list that no account or key can have.
func checkPer(list []Per) error {
	if len(list) > maxPer {
		return llm.Invalidf("per_tag", "An account or a key can have at most %d limits per end user and tag, not %d.",
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
			return llm.Invalidf(param, "The entry limits nothing. Set a limit or a budget, or remove %s.", param)
		}
		if slices.ContainsFunc(list[:i], func(o Per) bool { return o.Tag == p.Tag }) {
			return llm.Invalidf(param, "The tag %q is listed twice. List each tag once.", p.Tag)
		}
	}
	if err := llm.CheckTags(names); err != nil && len(names) > 0 {
		return llm.Invalidf("per_tag", "The names of tags are invalid: %s. Use names of up to 64 printable "+
			"characters.", err)
	}
	return nil
}

// checkPartBudget also refuses a budget for all time, because the spending of each end user is not stored for that
// long.
func checkPartBudget(b Budget) error {
	if b.Period == budget.PeriodTotal {
		return llm.Invalidf("budget.period", "The period of a budget per end user or tag value must be %q or %q.",
			budget.PeriodDay, budget.PeriodMonth)
	}
	return checkBudget(b)
}

// loosenedPer is the part of Loosened for the limits of each end user and each value of a tag.
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

// param returns the name of the list's field in a request body.
func (p *Per) param() string {
	if p.Tag == "" {
		return "per_user"
	}
	return "per_tag." + p.Tag
}

// name returns a name for one of the parts that it limits.
func (p *Per) name() string {
	if p.Tag == "" {
		return "end user"
	}
	return "value of the tag " + p.Tag
}

// part is a part of an account or a key that a request counts against, with its limits.
type part struct {
	owner, scope string
	per          *Per
	ofKey        bool // false for a part of the account
}

// name returns the part's name, for people.
func (p *part) name() string {
	if p.ofKey {
		return p.per.name() + " with this API key"
	}
	return p.per.name()
}

// parts returns the parts of the caller that a request counts against.
func (p *Principal) parts(a *llm.Attribution) (all []part) {
	if !p.hasParts() {
		return nil
	}
	for owner, list := range [...][]Per{budget.AccountPart: p.account.Per, budget.KeyPart: p.key.Per} {
		id := [...]string{budget.AccountPart: p.account.ID, budget.KeyPart: p.key.ID}[owner]
		for i := range list {
			per := &list[i]
			if value, ok := a.Tag(per.Tag); ok && per.Tag != "" {
				scope := budget.TagScope(id, llm.Tag{Name: per.Tag, Value: value})
				all = append(all, part{id, scope, per, owner == budget.KeyPart})
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

// LimitsEach reports whether each value of the tag, or each end user for an empty tag, has limits or a budget.
func (p *Principal) LimitsEach(tag string) bool {
	of := func(per Per) bool { return per.Tag == tag }
	return p.hasParts() && (slices.ContainsFunc(p.account.Per, of) || slices.ContainsFunc(p.key.Per, of))
}

// Parts returns the parts of the caller's account and key whose budgets a request counts against.
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

// PartLimits holds the limits of a part of an account or a key.
type PartLimits struct {
	Owner, Scope string // id of the account or key, and its part
	Limits       Limits
	part         part
}

// Name returns the part's name, for people.
func (p *PartLimits) Name() string { return p.part.name() }

// Of returns "user" or "tag".
func (p *PartLimits) Of() string {
	if p.part.per.Tag == "" {
		return "user"
	}
	return "tag"
}

// PartLimits returns the limits of the parts that a request counts against; empty without limits.
func (p *Principal) PartLimits(a *llm.Attribution) (all []PartLimits) {
	for _, part := range p.parts(a) {
		if part.per.Limits != (Limits{}) {
			all = append(all, PartLimits{part.owner, part.scope, part.per.Limits, part})
		}
	}
	return all
}

// PerOf returns the limits of each value of a tag in a list, or of each end user for an empty tag; the zero value if
// there are none.
func PerOf(list []Per, tag string) Per {
	if i := slices.IndexFunc(list, func(p Per) bool { return p.Tag == tag }); i >= 0 {
		return list[i]
	}
	return Per{Tag: tag}
}

// WithPer returns the list with p in place of the entry for its tag, or without that entry if p limits nothing.
func WithPer(list []Per, p Per) []Per {
	list = slices.DeleteFunc(slices.Clone(list), func(o Per) bool { return o.Tag == p.Tag })
	if p.Limits == (Limits{}) && p.Budget == (Budget{}) {
		return list
	}
	return append(list, p)
}

// PartBudget returns the budget of a part in its owner's list; the zero Budget for none.
func PartBudget(list []Per, p budget.Part) Budget {
	return PerOf(list, p.Tag).Budget
}

// isAnother reports whether a budget changes its period, and not only its limit.
func isAnother(before, after Budget) bool {
	return before.Limit > 0 && after.Limit > 0 && before.Period != after.Period
}

// AnotherPeriod reports whether a budget of an account or a key, or of its parts, changes its period.
func AnotherPeriod(before, after Budget, partsBefore, partsAfter []Per) bool {
	for i := range partsBefore {
		was := &partsBefore[i]
		if isAnother(was.Budget, PartBudget(partsAfter, budget.Part{Tag: was.Tag})) {
			return true
		}
	}
	return isAnother(before, after)
}
