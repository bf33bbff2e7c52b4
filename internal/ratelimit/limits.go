package ratelimit

import (
	"time"

	"weir/internal/account"
	"weir/internal/llm"
)

// Limits bounds requests and tokens in any 60 seconds, and concurrent requests; 0 means no limit.
type Limits struct {
	RPM         int64 // requests a minute
	TPM         int64 // tokens a minute, of input and output
	Concurrency int64 // concurrent requests
}

// or returns the limits, with the defaults for missing ones.
func (l Limits) or(defaults Limits) Limits {
	if l.RPM == 0 {
		l.RPM = defaults.RPM
	}
	if l.TPM == 0 {
		l.TPM = defaults.TPM
	}
	if l.Concurrency == 0 {
		l.Concurrency = defaults.Concurrency
	}
	return l
}

// some reports whether there is any limit.
func (l *Limits) some() bool { return l.RPM|l.TPM|l.Concurrency != 0 }

// share returns one node's share of the limits: at least 1.
func (l Limits) share(nodes int64) Limits {
	return Limits{share(l.RPM, nodes), share(l.TPM, nodes), share(l.Concurrency, nodes)}
}

func share(limit, nodes int64) int64 {
	if limit == 0 {
		return 0
	}
	return max(1, limit/nodes)
}

// Policy holds the limits of the configuration. Its zero value limits nothing.
type Policy struct {
	Installation Limits // of all requests together
	PerKey       Limits // of each key without limits of its own
	PerAccount   Limits // of each account without limits of its own
	Rejected     Rejections
}

// Caller identifies the client, with its own limits.
type Caller struct {
	Key, Account             string // ids
	KeyLimits, AccountLimits Limits
	Parts                    []account.PartLimits // such as its end user; only parts with a limit
}

// CallerOf returns the caller of an authenticated key; the zero Caller for nil.
func CallerOf(p *account.Principal) Caller {
	key, acc := p.Key(), p.Account()
	if key == nil || acc == nil {
		return Caller{}
	}
	return Caller{Key: key.ID, Account: acc.ID, KeyLimits: Limits(key.Limits), AccountLimits: Limits(acc.Limits)}
}

// rank is a level of limits. Windows are locked in the order of ranks. Parts have the rank of the key and come before
// it.
type rank int

const (
	ofKey rank = iota
	ofAccount
	ofInstallation
	numRanks
)

// limits returns the caller's limits by rank, and whether there are any.
func (p *Policy) limits(c *Caller) (all [numRanks]Limits, some bool) {
	all = [numRanks]Limits{c.KeyLimits.or(p.PerKey), c.AccountLimits.or(p.PerAccount), p.Installation}
	return all, all[ofKey].some() || all[ofAccount].some() || all[ofInstallation].some() || len(c.Parts) > 0
}

// id returns the id of the caller's window at a rank.
func (c *Caller) id(r rank) string {
	switch r {
	case ofKey:
		return c.Key
	case ofAccount:
		return c.Account
	}
	return ""
}

// usage is the used part of a level's limits, and the time until all of it is available again, in nanoseconds.
type usage struct {
	requests, tokens           int64
	resetRequests, resetTokens int64
}

// statusOf returns the least that any level has left.
func statusOf(levels *[numRanks]level) (s llm.RateLimitStatus) {
	for i := range levels {
		l := &levels[i]
		tighten(&s.Requests, l.limits.RPM, l.used.requests, l.used.resetRequests)
		tighten(&s.Tokens, l.limits.TPM, l.used.tokens, l.used.resetTokens)
	}
	return s
}

// tighten sets the allowance to that of a level, if the level has less left.
func tighten(a *llm.Allowance, limit, used, reset int64) {
	if limit == 0 {
		return
	}
	left := max(0, limit-used)
	if a.Limit != 0 && a.Remaining <= left {
		return
	}
	*a = llm.Allowance{Limit: limit, Remaining: left}
	if used > 0 {
		a.Reset = max(0, time.Duration(reset))
	}
}
