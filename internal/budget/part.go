package budget

import (
	"slices"
	"strings"

	"weir/internal/llm"
)

// A part of an account or a key is what one end user of it does, or what is done with one value of a tag. Its scope is
// the id of its owner, the account or the key, a slash, and the part: "user=VALUE" or "tag:NAME=VALUE", where a NAME has
// no equals sign.
const (
	partOf   = "/"
	userPart = "user="
	tagPart  = "tag:"
)

// UserScope is the scope of an end user of the owner.
func UserScope(owner, user string) string { return owner + partOf + userPart + user }

// TagScope is the scope of a value of a tag of the owner.
func TagScope(owner string, t llm.Tag) string {
	return owner + partOf + tagPart + t.Name + "=" + t.Value
}

// Part is what a scope is of an account or a key.
type Part struct {
	Tag   string // name of the tag; empty for an end user
	Value string // the end user, or the value of the tag
}

// PartOf is the owner of a scope, an account or a key, and which part of it the scope is. It reports false where it is
// all of the owner.
func PartOf(scope string) (owner string, p Part, ok bool) {
	owner, part, ok := strings.Cut(scope, partOf)
	if !ok {
		return owner, p, false
	}
	if tag, isTag := strings.CutPrefix(part, tagPart); isTag {
		p.Tag, p.Value, _ = strings.Cut(tag, "=")
		return owner, p, true
	}
	p.Value = strings.TrimPrefix(part, userPart)
	return owner, p, true
}

// ownerOf is the account or key whose scope, or part, it is.
func ownerOf(scope string) string {
	owner, _, _ := strings.Cut(scope, partOf)
	return owner
}

// Parts are the parts of an account and a key that an attempt counts against. Bit 0 is the end user of the account and
// bit 1 that of the key; bits 2n+2 and 2n+3 are the same of tag n of its attribution.
type Parts uint64

// The owners of a part.
const (
	AccountPart = 0
	KeyPart     = 1
)

// User is the end user of an owner.
func (p Parts) User(owner int) Parts { return p | 1<<owner }

// Tag is the tag at that place of an attribution, of an owner.
func (p Parts) Tag(owner, place int) Parts { return p | 1<<(2*place+2+owner) }

// Scopes are the scopes of the parts.
func (p Parts) Scopes(account, key string, a *llm.Attribution) (all []string) {
	for owner, id := range [...]string{AccountPart: account, KeyPart: key} {
		if p&Parts(0).User(owner) != 0 {
			all = append(all, UserScope(id, a.User))
		}
		for i, t := range a.Tags {
			if p&Parts(0).Tag(owner, i) != 0 {
				all = append(all, TagScope(id, t))
			}
		}
	}
	return all
}

// maxScopes is of how many accounts, keys and parts of these a node has leases at a time, of one account. Each takes
// memory for a minute, and who names end users and tags is the client. One key has leases made for at most half of those
// that are left, so that it leaves some to the others.
const maxScopes = 20_000

// isCrowded reports whether there is no room for the lease of a part that the node has none of.
func (p *accountLeases) isCrowded(n *Need) bool {
	if p.made[n.Key] < maxScopes-len(p.scopes) {
		return false
	}
	return slices.ContainsFunc(n.Budgets, func(b Budget) bool {
		_, _, isPart := PartOf(b.Scope)
		return isPart && p.scopes[b.Scope] == nil
	})
}

func crowded() error {
	return &llm.Error{
		Code: llm.CodeRateLimited, RetryAfter: idleFor,
		Message: "This account has too many end users or values of tags with a budget at once. Try again in a minute.",
	}
}
