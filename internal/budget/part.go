package budget

import (
	"slices"
	"strings"

	"weir/internal/llm"
)

// A part of an account or a key is one of its end users, or one value of a tag. Its scope is the id of its owner,
// which is the account or the key, a slash, and the part: "user=VALUE" or "tag:NAME=VALUE". A NAME has no equals
// sign.
const (
	partOf   = "/"
	userPart = "user="
	tagPart  = "tag:"
)

// UserScope returns the scope of an end user of the owner.
func UserScope(owner, user string) string { return owner + partOf + userPart + user }

// TagScope returns the scope of a value of a tag of the owner.
func TagScope(owner string, t llm.Tag) string {
	return owner + partOf + tagPart + t.Name + "=" + t.Value
}

// Part identifies a part of an account or a key.
type Part struct {
	Tag   string // name of the tag; empty for an end user
	Value string // the end user, or the value of the tag
}

// PartOf returns the owner of a scope, an account or a key, and the part of it. It returns false if the scope is the
// whole owner.
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

// ownerOf returns the account or key that the scope, or the part, belongs to.
func ownerOf(scope string) string {
	owner, _, _ := strings.Cut(scope, partOf)
	return owner
}

// Parts is the set of parts of an account and a key that an attempt counts against. Bit 0 is the end user of the
// account and bit 1 that of the key; bits 2n+2 and 2n+3 are tag n of its attribution, for the account and the key.
type Parts uint64

// Owners of a part.
const (
	AccountPart = 0
	KeyPart     = 1
)

// User adds the end user of an owner.
func (p Parts) User(owner int) Parts { return p | 1<<owner }

// Tag adds the tag with that index in the attribution, for an owner.
func (p Parts) Tag(owner, place int) Parts { return p | 1<<(2*place+2+owner) }

// Scopes returns the scopes of the parts.
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

// maxScopes bounds the accounts, keys and parts with leases on a node, for each account. A lease takes memory for a
// minute, and clients choose end users and tags. One key can use at most half of the remaining ones, so that some
// remain for other keys.
const maxScopes = 20_000

// isCrowded reports whether there is no room for the lease of a new part.
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
