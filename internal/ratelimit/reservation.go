package ratelimit

import (
	"slices"
	"strings"
	"time"

	"weir/internal/account"
	"weir/internal/llm"
)

// Reservation holds the amounts that one request has taken from its limits. Its zero value holds nothing. It belongs
// to one goroutine.
type Reservation struct {
	limiter *Limiter // nil if nothing limits the request
	parts   []level  // those of its parts, in the order of their scopes
	levels  [numRanks]level
	taken   bool // and not settled

	at     int64  // second of Valkey's clock when it counted the request; 0 if it did not
	member string // name of the request's slots on Valkey; empty for none
}

// level is one set of limits of a request, such as those of its key or its end user.
type level struct {
	subject subject
	part    *account.PartLimits // nil for a level of the caller
	own     Limits              // limits for all nodes together
	window  *window
	limits  Limits // limits in force: a node's share, if it decides alone
	second  int64  // of the bucket
	tokens  int64  // taken from it
	asked   int64  // tokens requested from Valkey
	used    usage  // of all requests, including this one
}

// prepare sets the limits of a caller in the levels. Parts are sorted, so that all requests lock them in one order.
func (r *Reservation) prepare(c *Caller, own *[numRanks]Limits) {
	for i := range r.levels {
		r.levels[i] = level{subject: subject{rank(i), c.id(rank(i))}, own: own[i]}
	}
	if len(c.Parts) == 0 {
		return
	}
	r.parts = make([]level, len(c.Parts))
	for i := range c.Parts {
		p := &c.Parts[i]
		r.parts[i] = level{subject: subject{ofKey, p.Scope}, part: p, own: Limits(p.Limits)}
	}
	slices.SortFunc(r.parts, func(a, b level) int { return strings.Compare(a.subject.id, b.subject.id) })
}

// len returns the number of levels. level returns one of them; they have the lock order of their windows.
func (r *Reservation) len() int { return len(r.parts) + len(r.levels) }

func (r *Reservation) level(i int) *level {
	if i < len(r.parts) {
		return &r.parts[i]
	}
	return &r.levels[i-len(r.parts)]
}

// limited reports whether the level has any limits.
func (l *level) limited() bool { return l.limits.some() }

// Asked reports whether the request had limits, and they were checked.
func (r *Reservation) Asked() bool { return r.limiter != nil }

// Status returns the remaining limits of the caller, without its parts, when the request was admitted or refused,
// adjusted by its settlement. It is zero if nothing is limited.
func (r *Reservation) Status() llm.RateLimitStatus { return statusOf(&r.levels) }

// enforce sets the limits for the request, and the tokens that it takes from each: at most the whole limit, so that a
// large request can be admitted too.
func (r *Reservation) enforce(nodes int64, tokens int64) {
	for i := range r.len() {
		l := r.level(i)
		l.limits = l.own.share(nodes)
		l.asked = tokens
		if l.limits.TPM > 0 {
			l.asked = min(tokens, l.limits.TPM)
		}
		if !r.taken {
			l.tokens = l.asked
		}
	}
}

// lock locks the windows of all limited levels, always in the same order.
func (r *Reservation) lock(m *memory, now time.Duration) {
	for i := range r.len() {
		if l := r.level(i); l.limited() {
			l.window = m.lock(l.subject, now)
		}
	}
}

func (r *Reservation) unlock() {
	for i := range r.len() {
		if l := r.level(i); l.limited() {
			l.window.mu.Unlock()
		}
	}
}

// reserve takes the request from the windows of this node, or nothing.
func (r *Reservation) reserve(m *memory, now time.Duration) (no refusal) {
	r.lock(m, now)
	defer r.unlock()
	for i := range r.len() {
		l := r.level(i)
		if !l.limited() {
			continue
		}
		l.used = l.window.usage(now)
		l.judge(now, &no)
	}
	if no.wait == 0 {
		r.take(now)
	}
	return no
}

// judge adds the level's refusals to no, which keeps the longest wait.
func (l *level) judge(now time.Duration, no *refusal) {
	w := l.window
	if l.limits.RPM > 0 {
		no.note(l, theRequests, w.wait(now, w.requests+1-l.limits.RPM, theRequests))
	}
	if l.limits.TPM > 0 {
		no.note(l, theTokens, w.wait(now, plus(w.tokens, l.tokens)-l.limits.TPM, theTokens))
	}
	if l.limits.Concurrency > 0 && w.inFlight >= l.limits.Concurrency {
		no.note(l, theSlots, busyRetry)
	}
}

// look checks the request by this node's data: by its own windows if it decides alone, else by Valkey's last answers.
func (r *Reservation) look(m *memory, now time.Duration, alone bool) (no refusal) {
	for i := range r.len() {
		l := r.level(i)
		if !l.limited() {
			continue
		}
		if l.window = m.find(l.subject); l.window == nil {
			continue
		}
		l.window.mu.Lock()
		if alone {
			l.window.advance(now)
			l.judge(now, &no)
		} else if w := l.window; w.fullOf == l.limits.RPM {
			no.note(l, theRequests, w.full-now)
		}
		l.window.mu.Unlock()
	}
	return no
}

// take counts the request in its windows, which must be locked.
func (r *Reservation) take(now time.Duration) {
	for i := range r.len() {
		l := r.level(i)
		if !l.limited() {
			continue
		}
		l.second = l.window.add(now, 1, l.tokens)
		l.window.inFlight++
		if r.at == 0 {
			l.used = l.window.usage(now)
		}
	}
	r.taken = true
}

// record counts a request that Valkey admitted in this node's windows, and stores Valkey's answer, also for a
// refusal.
func (r *Reservation) record(m *memory, now time.Duration, no refusal) {
	r.lock(m, now)
	defer r.unlock()
	for i := range r.len() {
		if l := r.level(i); l.limited() {
			l.window.shared, l.window.told = l.used, now
		}
	}
	if no.wait > 0 && no.what == theRequests {
		no.of.window.full, no.of.window.fullOf = now+no.wait, no.of.limits.RPM
	}
	if no.wait == 0 && !r.taken {
		r.take(now)
	}
}

// giveBack undoes a reservation.
func (r *Reservation) giveBack() {
	for i := range r.len() {
		l := r.level(i)
		if !l.limited() {
			continue
		}
		l.window.mu.Lock()
		l.window.takeBack(l.second, 1, l.tokens)
		l.window.inFlight--
		l.window.mu.Unlock()
	}
	r.taken = false
}

// Settle ends the reservation at its first call: the used tokens replace the taken ones. Additional tokens count from
// now on. The slot is released.
func (r *Reservation) Settle(tokens int64) {
	if !r.taken {
		return
	}
	r.taken = false
	tokens = min(maxTokens, max(0, tokens))
	now := r.limiter.elapsed()
	for i := range r.len() {
		l := r.level(i)
		if !l.limited() {
			continue
		}
		refund, excess := max(0, l.tokens-tokens), max(0, tokens-l.tokens)
		l.window.mu.Lock()
		l.window.advance(now)
		l.window.takeBack(l.second, 0, refund)
		if excess > 0 {
			l.window.add(now, 0, excess)
		}
		l.window.inFlight--
		l.window.mu.Unlock()
		l.used.tokens = max(0, l.used.tokens+tokens-l.asked)
	}
	if r.limiter.remote != nil {
		r.limiter.remote.settle(r, tokens)
	}
}

// Estimate returns how many tokens are taken for a request before its usage is known: a quarter of its bytes, plus
// its maximum output for each of its choices. It is at least 1.
func Estimate(bytes, output, choices int64) int64 {
	output, choices = min(maxTokens, max(0, output)), min(maxChoices, max(1, choices))
	return min(maxTokens, max(1, bytes/bytesPerToken+output*choices))
}

const (
	bytesPerToken = 4 // a common ratio
	// maxTokens bounds the tokens that one request can count for, so that all sums are exact.
	maxTokens  = 1 << 40
	maxChoices = 1 << 10
)
