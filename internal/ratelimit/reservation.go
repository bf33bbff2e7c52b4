package ratelimit

import (
	"slices"
	"strings"
	"time"

	"weir/internal/account"
	"weir/internal/llm"
)

// Reservation is what one request has taken of its limits. Its zero value has
// taken nothing. It belongs to one goroutine.
type Reservation struct {
	limiter *Limiter // nil where nothing limits the request
	parts   []level  // those of its parts, in the order of their scopes
	levels  [numRanks]level
	taken   bool // and not settled

	at     int64  // seconds of the server's clock at which it counted there; 0 where it did not
	member string // the name of the request's slots there; empty for none
}

// level is what limits a request for one reason: its key, or its end user.
type level struct {
	subject subject
	part    *account.PartLimits // nil for one of the caller
	own     Limits              // as they are for all nodes together
	window  *window
	limits  Limits // in force: a node's share, where it is alone
	second  int64  // of the bucket
	tokens  int64  // taken of it
	asked   int64  // tokens that Valkey is asked for
	used    usage  // of all, with this
}

// prepare puts the limits of a caller into the levels. Two requests have the parts that they have in common in one order.
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

// len is how many levels there are, and level is one of them, in the order in which their windows are locked.
func (r *Reservation) len() int { return len(r.parts) + len(r.levels) }

func (r *Reservation) level(i int) *level {
	if i < len(r.parts) {
		return &r.parts[i]
	}
	return &r.levels[i-len(r.parts)]
}

// limited says whether the level has any limits.
func (l *level) limited() bool { return l.limits.some() }

// Asked says whether some limit holds for the request, and was asked.
func (r *Reservation) Asked() bool { return r.limiter != nil }

// Status is what the caller, without its parts, had left when the request was admitted or
// refused, with what has been settled since. Nothing limited is all zeros.
func (r *Reservation) Status() llm.RateLimitStatus { return statusOf(&r.levels) }

// enforce sets the limits by which the request is judged, and what it takes of
// each: no more than there is at all, so that a large request has its turn too.
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

// reserve takes what the request needs from the windows of this node, or
// nothing.
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

// judge notes in no for what the request would have to wait longest.
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

// look judges the request by what this node knows: by its own windows where it decides
// alone, else by what it was told.
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

// take counts the request in its windows, which are locked.
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

// record counts in this node's windows what was admitted elsewhere, and what is
// known from there, a refusal too.
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

// giveBack undoes a reservation that came to nothing.
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

// Settle ends the reservation, the first time it is called: the tokens that
// were really used count in place of those that were taken, those beyond from
// now. The request is no longer one at a time.
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

// Estimate is how many tokens are taken for a request before anybody knows: a
// quarter of its bytes, and as many as it can get as an answer, of each of the
// choices that it asks for. It is at least 1.
func Estimate(bytes, output, choices int64) int64 {
	output, choices = min(maxTokens, max(0, output)), min(maxChoices, max(1, choices))
	return min(maxTokens, max(1, bytes/bytesPerToken+output*choices))
}

const (
	bytesPerToken = 4 // a common ratio
	// maxTokens is the most that is believed of one request; sums of it are
	// exact wherever they are counted.
	maxTokens  = 1 << 40
	maxChoices = 1 << 10
)
