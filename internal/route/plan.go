package route

import (
	"math/rand/v2"
	"slices"
	"time"

	"weir/internal/provider"
)

const (
	// firstPause bounds the pause before the first retry; the bound doubles with each further one.
	firstPause = 500 * time.Millisecond
	// longestPause is the longest wait for a provider that reports when to retry. If the time is longer, the client
	// gets the error.
	longestPause = 10 * time.Second
	// A key rests for this long when it is refused, or gets 429 without a time; doubled each time.
	refusedRest = 30 * time.Second
	limitedRest = time.Second
)

// Plan chooses the targets of one request: the first one, and the next one after a failure. It belongs to one
// goroutine.
type Plan struct {
	table   *Table
	caller  Caller
	targets []Target
	asked   uint64 // bit set of the targets that were tried
	current int
	target  *circuit // of the current target
	own     *circuit // of the current target for this account; nil without failures
	key     *circuit
	retries int
	probe   bool // the current attempt probes a target
	open    bool // a target was tried although its circuit is open
}

// maxPlan is the largest number of targets in a plan: the number of bits in asked.
const maxPlan = 64

// Plan orders the targets of a caller's request and chooses the first. It keeps and changes the slice.
func (t *Table) Plan(caller Caller, targets []Target, now time.Time) Plan {
	orderTargets(targets, t.health, caller.Conversation)
	p := Plan{table: t, caller: caller, targets: targets[:min(len(targets), maxPlan)], current: -1}
	if !p.advance(now, nil) {
		p.choose(0, now)
	}
	return p
}

// Follow returns a plan that records the answers and failures of a session with its target. The session keeps its
// connection, so the plan chooses nothing.
func Follow(t *Table, accountID string, target *Target, now time.Time) Plan {
	return Plan{
		table: t, caller: Caller{Account: accountID}, targets: []Target{*target},
		target: t.circuitOf(target, now), own: t.health.own(accountID, target),
		key: t.entryOf(target).keys[target.Key],
	}
}

// Target returns the current target.
func (p *Plan) Target() *Target { return &p.targets[p.current] }

// choose makes a target the current one, with the conversation's key or the next one in turn.
func (p *Plan) choose(i int, now time.Time) {
	p.current = i
	p.asked |= 1 << i
	target := &p.targets[i]
	p.target, p.own = p.table.circuitOf(target, now), p.table.health.own(p.caller.Account, target)
	p.useKey(now, -1)
	p.table.entryOf(target).budget.request(now)
}

// useKey selects the first key of the current target other than not that is usable: by its rank for the conversation,
// else in turn. It reports whether there is one. If all keys rest, it selects the one with the shortest rest.
func (p *Plan) useKey(now time.Time, not int) bool {
	e, target := p.table.entryOf(p.Target()), p.Target()
	c, turn := p.caller.Conversation.of(target), 0
	if c == 0 {
		turn = int(e.turn.Add(1) - 1)
	}
	found, top, rested := -1, uint64(0), -1
	for k := range e.keys {
		if k == not {
			continue
		}
		if rank := e.rank(k, c, turn); (found < 0 || rank > top) && e.keys[k].usable(now) {
			found, top = k, rank
		}
		if rested < 0 || e.keys[k].ends().Before(e.keys[rested].ends()) {
			rested = k
		}
	}
	switch {
	case found >= 0:
		target.Key, p.key = found, e.keys[found]
	case rested >= 0 && not < 0:
		target.Key, p.key = rested, e.keys[rested]
	}
	return found >= 0
}

// rank returns the rank of a key for a conversation; without one, the ranks follow the turn.
func (e *entry) rank(k int, c Conversation, turn int) uint64 {
	if c != 0 {
		return uint64(c.mix(e.seeds[k]))
	}
	n := len(e.keys)
	return uint64(n - (k-turn%n+n)%n)
}

// advance goes on to the next usable target. It tries a target with an open circuit or only resting keys if no other is
// left, and only once a request.
func (p *Plan) advance(now time.Time, suits func(*Target) bool) bool {
	p.Release() // another request may probe the target instead
	last := -1
	for i := range p.targets {
		if p.asked&(1<<i) != 0 || suits != nil && !suits(&p.targets[i]) {
			continue
		}
		if p.ready(i, now) {
			p.choose(i, now)
			return true
		}
		if last < 0 {
			last = i
		}
	}
	if last < 0 || p.open {
		return false
	}
	p.open = true
	p.choose(last, now)
	return true
}

func (p *Plan) ready(i int, now time.Time) bool {
	target := &p.targets[i]
	rested := false
	for _, k := range p.table.entryOf(target).keys {
		rested = rested || k.usable(now)
	}
	if !rested || len(p.targets) == 1 {
		return rested
	}
	c, own := p.table.circuitOf(target, now), p.table.health.own(p.caller.Account, target)
	ok, probe := c.admit(now)
	if !ok || own == nil {
		p.probe = probe
		return ok
	}
	ok, ownProbe := own.admit(now)
	if !ok && probe {
		c.undecided()
	}
	p.probe = ok && (probe || ownProbe)
	return ok
}

// Release lets another request probe the current target, because this one will show no result or the target has begun
// to answer.
func (p *Plan) Release() {
	if !p.probe {
		return
	}
	p.probe = false
	p.target.undecided()
	if p.own != nil {
		p.own.undecided()
	}
}

// Succeeded records an answer of the current target. FirstToken is the time to its first token; 0 if unknown.
func (p *Plan) Succeeded(now time.Time, firstToken time.Duration) {
	p.table.entryOf(p.Target()).traffic.note(now, false, firstToken)
	p.key.succeeded(now, 0)
	p.probe = false
	if p.own != nil && p.own.succeeded(now, 0) {
		p.table.health.notify(Event{Target: p.Target().FullName(), Account: p.caller.Account, Available: true, At: now})
	}
	if p.target.succeeded(now, firstToken) {
		p.table.health.notify(Event{Target: p.Target().FullName(), Available: true, At: now})
	}
}

// Failed records a failure of the current target.
func (p *Plan) Failed(f *provider.Failure, now time.Time) {
	r := p.rule(f)
	p.table.entryOf(p.Target()).traffic.note(now, r.Counts != ForNobody, 0)
	if r.RestsKey {
		p.restKey(r, f, now)
	}
	p.Release() // the first failure after the circuit's time decides, probe or not
	count := 0
	switch r.Counts {
	case ForNobody:
		if r.Fault == FaultUnnamed {
			p.table.health.drop(p.Target(), p.target) // a name that a client made up is not worth storing
		} else {
			p.target.answered()
		}
	case ForAccount:
		p.own = p.table.health.makeOwn(p.caller.Account, p.Target(), now)
		p.fail(p.own, p.caller.Account, f, now, 1)
		count = p.target.meets(p.caller.Account, r.Fault, now)
	case ForAll:
		count = 1
	}
	if count > 0 {
		p.fail(p.target, "", f, now, count)
	}
}

// rule returns the rule for a failure of the current target. A 404 for a model that only the request names may be a
// client's typing error.
func (p *Plan) rule(f *provider.Failure) *Rule {
	r, target := p.table.rules.of(f), p.Target()
	if r.Fault == FaultModel && !p.table.configured[targetID{target.Provider.Name(), target.Model}] {
		return &p.table.rules[FaultUnnamed]
	}
	return r
}

// Mistaken reports whether a failure of the current target is the client's mistake.
func (p *Plan) Mistaken(f *provider.Failure) bool { return p.rule(f).Fault.isCallers() }

// Rejected reports whether a failure of the current target is caused by the request: a mistake, a price limit that is
// too low, or a forbidden model that only the request names.
func (p *Plan) Rejected(f *provider.Failure) bool {
	r, target := p.rule(f), p.Target()
	return r.Fault.isCallers() || r.Fault == FaultDear ||
		r.Fault == FaultForbidden && !p.table.configured[targetID{target.Provider.Name(), target.Model}]
}

// fail counts failures of the current target in one of its circuits.
func (p *Plan) fail(c *circuit, account string, f *provider.Failure, now time.Time, count int) {
	if c.failed(now, f.Reason(), count) {
		p.table.health.notify(Event{
			Target: p.Target().FullName(), Account: account, Reason: f.Reason(), Brief: f.Brief(), At: now,
		})
	}
}

// restKey lets the key rest, so that another key is preferred.
func (p *Plan) restKey(r *Rule, f *provider.Failure, now time.Time) {
	first := refusedRest
	if r.Fault == FaultLimited {
		first = limitedRest
	}
	p.key.rest(now, f.RetryAfter, first)
}

// After chooses the next step after a failure, before the client has received a part of an answer. Failed must have
// recorded the failure. After the pause, the caller must try the current target, which may have changed. It returns
// false if no target is left.
func (p *Plan) After(f *provider.Failure, now time.Time) (pause time.Duration, ok bool) {
	r := p.rule(f)
	if r.OtherKey && p.mayRetry() && p.useKey(now, p.Target().Key) && p.retry(now) {
		return 0, true
	}
	if r.OnwardFirst && p.onward(r, now) {
		return 0, true
	}
	if r.Again && p.mayRetry() {
		if pause := p.pause(f); pause <= longestPause && p.retry(now) {
			return pause, true
		}
	}
	return 0, p.onward(r, now) || r.Dearer && p.raise(now)
}

// Continues reports whether an answer that was interrupted by f may be continued by another target.
func (p *Plan) Continues(f *provider.Failure) bool {
	r := p.rule(f)
	return p.fallsBack(r) && !r.Larger
}

// fallsBack reports whether the next target may be tried after a failure of the current one: by the causes of its
// alias, else by the rules.
func (p *Plan) fallsBack(r *Rule) bool {
	if a := p.Target().alias; a != nil && a.on != nil {
		return slices.Contains(a.on, r.Cause)
	}
	return r.Onward
}

func (p *Plan) onward(r *Rule, now time.Time) bool {
	if !p.fallsBack(r) {
		return false
	}
	if !r.Larger {
		return p.advance(now, nil)
	}
	window := p.table.Context(p.Target())
	return p.advance(now, func(t *Target) bool {
		other := p.table.Context(t)
		return window == 0 || other == 0 || other > window
	})
}

// Onward goes on to the next target, regardless of the failure.
func (p *Plan) Onward(now time.Time) bool { return p.advance(now, nil) }

func (p *Plan) mayRetry() bool { return p.retries < p.Target().Provider.Retries() }

// retry takes a retry from the provider's retry budget.
func (p *Plan) retry(now time.Time) bool {
	if !p.table.entryOf(p.Target()).budget.retry(now) {
		return false
	}
	p.retries++
	return true
}

// pause returns the wait before a retry: the time that the provider reported, or a random time below a bound that
// doubles ("full jitter").
func (p *Plan) pause(f *provider.Failure) time.Duration {
	jitter := rand.N(firstPause << p.retries)
	if f.RetryAfter > 0 {
		return f.RetryAfter + jitter/10 // so that requests do not all retry at once
	}
	return jitter
}

// Rests reports whether the current target is tried only because no other is left, and is down: its circuit is open or
// its keys rest after tripRow consecutive failures.
func (p *Plan) Rests(now time.Time) bool {
	return p.target.isDown(now) || p.own != nil && p.own.isDown(now) || p.key.isDown(now)
}

// Unavailable reports whether the circuit of the current target is open, for all accounts or for this one.
func (p *Plan) Unavailable(now time.Time) bool {
	return now.Before(p.target.ends()) || p.own != nil && now.Before(p.own.ends())
}
