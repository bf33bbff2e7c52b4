package ratelimit

import (
	"time"

	"weir/internal/account"
	"weir/internal/llm"
)

// Limits are what may be asked for in any 60 seconds, and at a time; 0 for no
// limit.
type Limits struct {
	RPM         int64 // requests a minute
	TPM         int64 // tokens a minute, of input and output
	Concurrency int64 // requests at a time
}

// or is the limits, with those of the defaults where there are none.
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

// some says whether there is any.
func (l *Limits) some() bool { return l.RPM|l.TPM|l.Concurrency != 0 }

// share is what one of so many nodes may give of the limits: at least 1.
func (l Limits) share(nodes int64) Limits {
	return Limits{share(l.RPM, nodes), share(l.TPM, nodes), share(l.Concurrency, nodes)}
}

func share(limit, nodes int64) int64 {
	if limit == 0 {
		return 0
	}
	return max(1, limit/nodes)
}

// Policy is what holds for everybody. Its zero value limits nothing.
type Policy struct {
	Installation Limits // of all requests together
	PerKey       Limits // of each key, where it has none of its own
	PerAccount   Limits // of each account, likewise
	Rejected     Rejections
}

// Caller is who asks, with limits of their own.
type Caller struct {
	Key, Account             string // ids
	KeyLimits, AccountLimits Limits
	Parts                    []account.PartLimits // such as its end user; none where nothing limits these
}

// CallerOf is a caller whose key was found good; nobody for nil.
func CallerOf(p *account.Principal) Caller {
	key, acc := p.Key(), p.Account()
	if key == nil || acc == nil {
		return Caller{}
	}
	return Caller{Key: key.ID, Account: acc.ID, KeyLimits: Limits(key.Limits), AccountLimits: Limits(acc.Limits)}
}

// rank is a level of limits, in the order in which their windows are locked. Parts are of the key's rank, and come before it.
type rank int

const (
	ofKey rank = iota
	ofAccount
	ofInstallation
	numRanks
)

// limits are those of each rank that hold for the caller, and whether there are
// any.
func (p *Policy) limits(c *Caller) (all [numRanks]Limits, some bool) {
	all = [numRanks]Limits{c.KeyLimits.or(p.PerKey), c.AccountLimits.or(p.PerAccount), p.Installation}
	return all, all[ofKey].some() || all[ofAccount].some() || all[ofInstallation].some() || len(c.Parts) > 0
}

// id names the caller's window at a rank.
func (c *Caller) id(r rank) string {
	switch r {
	case ofKey:
		return c.Key
	case ofAccount:
		return c.Account
	}
	return ""
}

// usage is how much of its limits a level has given, and when all of that is
// there again, in nanoseconds from when it was looked at.
type usage struct {
	requests, tokens           int64
	resetRequests, resetTokens int64
}

// statusOf is the least of what the levels have left.
func statusOf(levels *[numRanks]level) (s llm.RateLimitStatus) {
	for i := range levels {
		l := &levels[i]
		tighten(&s.Requests, l.limits.RPM, l.used.requests, l.used.resetRequests)
		tighten(&s.Tokens, l.limits.TPM, l.used.tokens, l.used.resetTokens)
	}
	return s
}

// tighten makes the allowance that of a level, if that has less left.
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
