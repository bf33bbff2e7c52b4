package ratelimit_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"weir/internal/llm"
	"weir/internal/ratelimit"
	"weir/internal/worktest"
)

const minute = time.Minute

// event is something that was admitted, as the oracle remembers it.
type event struct {
	at               time.Time
	requests, tokens int64
}

// oracle is a level of limits as one would write it who has all the time in the
// world: a list of times.
type oracle struct {
	limits   ratelimit.Limits
	events   []*event
	inFlight int64
}

// within counts the admissions younger than age.
func (o *oracle) within(now time.Time, age time.Duration) (requests, tokens int64) {
	for _, e := range o.events {
		if now.Sub(e.at) < age {
			requests += e.requests
			tokens += e.tokens
		}
	}
	return requests, tokens
}

// wants returns the amount that a request takes from a level.
func (o *oracle) wants(tokens int64) int64 {
	if o.limits.TPM > 0 {
		return min(tokens, o.limits.TPM)
	}
	return tokens
}

// fits reports whether a request fits next to the admissions younger than age.
func (o *oracle) fits(now time.Time, age time.Duration, tokens int64) bool {
	n, t := o.within(now, age)
	return (o.limits.RPM == 0 || n+1 <= o.limits.RPM) && (o.limits.TPM == 0 || t+o.wants(tokens) <= o.limits.TPM)
}

func (o *oracle) full() bool { return o.limits.Concurrency > 0 && o.inFlight >= o.limits.Concurrency }

// running is a request that has been admitted.
type running struct {
	reservation ratelimit.Reservation
	levels      []*oracle
	events      []*event
}

// play is a random history of one limiter and its oracle.
type play struct {
	rig
	t       *rapid.T
	callers []ratelimit.Caller
	levels  [][]*oracle // by caller
	running []*running
}

func drawLimits(t *rapid.T, name string) ratelimit.Limits {
	return ratelimit.Limits{
		RPM:         rapid.SampledFrom([]int64{0, 1, 2, 5, 12}).Draw(t, name+" rpm"),
		TPM:         rapid.SampledFrom([]int64{0, 1, 30, 100}).Draw(t, name+" tpm"),
		Concurrency: rapid.SampledFrom([]int64{0, 0, 1, 4}).Draw(t, name+" concurrency"),
	}
}

// history plays a random history and returns its first fault.
func history(t *rapid.T, make maker) error {
	whole, shared := &oracle{limits: drawLimits(t, "installation")}, &oracle{limits: drawLimits(t, "account")}
	p := play{rig: make(ratelimit.Policy{Installation: whole.limits}), t: t}
	for i := range 2 {
		key := &oracle{limits: drawLimits(t, "key")}
		p.callers = append(p.callers, ratelimit.Caller{Key: fmt.Sprint("k", i), Account: "a", KeyLimits: key.limits, AccountLimits: shared.limits})
		p.levels = append(p.levels, []*oracle{key, shared, whole})
	}
	for range rapid.IntRange(1, 40).Draw(t, "steps") {
		var err error
		switch rapid.IntRange(0, 5).Draw(t, "step") {
		case 0:
			p.clock.advance(time.Duration(rapid.IntRange(0, 70_000).Draw(t, "ms")) * time.Millisecond)
		case 1:
			p.clock.advance(time.Duration(rapid.IntRange(0, 1500).Draw(t, "ms")) * time.Millisecond)
		case 2:
			p.settle()
		default:
			err = p.ask()
		}
		if err != nil {
			return err
		}
	}
	return p.limiter.Degraded() // or it was another who decided
}

// ask asks for any caller, and, if that is refused, again just before and at the announced time.
func (p *play) ask() error {
	who := rapid.IntRange(0, len(p.callers)-1).Draw(p.t, "who")
	tokens := rapid.Int64Range(0, 120).Draw(p.t, "tokens")
	err := p.try(who, tokens)
	wait, err := p.judge(who, tokens, err)
	if err != nil || wait == 0 || p.full(who) {
		return err
	}
	p.clock.advance(wait - time.Microsecond)
	if p.try(who, tokens) == nil {
		return fmt.Errorf("admitted a moment before %v were over", wait)
	}
	p.clock.advance(time.Microsecond)
	if err := p.try(who, tokens); err != nil {
		return fmt.Errorf("after the promised %v: %w", wait, err)
	}
	return nil
}

func (p *play) full(who int) bool {
	for _, o := range p.levels[who] {
		if o.full() {
			return true
		}
	}
	return false
}

// try asks, and records an admission.
func (p *play) try(who int, tokens int64) error {
	r := &running{levels: p.levels[who]}
	if err := p.Reserve(context.Background(), &r.reservation, p.callers[who], tokens); err != nil {
		return err
	}
	for _, o := range r.levels {
		e := &event{p.clock.Now(), 1, o.wants(tokens)}
		o.events, r.events = append(o.events, e), append(r.events, e)
		o.inFlight++
	}
	p.running = append(p.running, r)
	return nil
}

// judge checks an answer. Its admission is already in the lists. A request may be refused because of one that is up to
// a second older than a minute, since requests are counted by the second.
func (p *play) judge(who int, tokens int64, refused error) (time.Duration, error) {
	now, justified := p.clock.Now(), false
	for i, o := range p.levels[who] {
		n, t := o.within(now, minute)
		switch {
		case refused != nil:
			justified = justified || o.full() || !o.fits(now, minute+time.Second, tokens)
		case o.limits.RPM > 0 && n > o.limits.RPM:
			return 0, fmt.Errorf("level %d: %d requests in a minute, limit %d", i, n, o.limits.RPM)
		case o.limits.TPM > 0 && t > o.limits.TPM:
			return 0, fmt.Errorf("level %d: %d tokens in a minute, limit %d", i, t, o.limits.TPM)
		case o.limits.Concurrency > 0 && o.inFlight > o.limits.Concurrency:
			return 0, fmt.Errorf("level %d: %d at a time, limit %d", i, o.inFlight, o.limits.Concurrency)
		}
	}
	if refused == nil {
		return 0, nil
	}
	if !justified {
		return 0, fmt.Errorf("refused though there is room at every level: %w", refused)
	}
	return llm.AsError(refused).RetryAfter, nil
}

// settle ends any request that runs.
func (p *play) settle() {
	if len(p.running) == 0 {
		return
	}
	i := rapid.IntRange(0, len(p.running)-1).Draw(p.t, "which")
	used := rapid.Int64Range(0, 150).Draw(p.t, "used")
	r := p.running[i]
	p.running = append(p.running[:i], p.running[i+1:]...)
	r.reservation.Settle(used)
	p.limiter.Tell()
	for i, o := range r.levels {
		o.inFlight--
		if reserved := r.events[i].tokens; used > reserved {
			o.events = append(o.events, &event{p.clock.Now(), 0, used - reserved})
		} else {
			r.events[i].tokens = used
		}
	}
}

func TestHistoriesMatchModel(t *testing.T) {
	worktest.NotRaced(t)
	t.Parallel()
	for name, make := range makers(t) {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) {
				if err := history(rt, make); err != nil {
					rt.Fatal(err)
				}
			})
		})
	}
}

// late is a limiter that promises more than the true wait.
type late struct{ asker }

func (l late) Reserve(ctx context.Context, r *ratelimit.Reservation, c ratelimit.Caller, tokens int64) error {
	err := l.asker.Reserve(ctx, r, c, tokens)
	if err == nil {
		return nil
	}
	e := *llm.AsError(err)
	e.RetryAfter += time.Second
	return &e
}

// TestBrokenLimiters checks that the histories find the faults of deliberately broken limiters.
func TestBrokenLimiters(t *testing.T) {
	t.Parallel()
	sound := inMemory(t)
	for name, make := range map[string]maker{
		"forgets early": func(p ratelimit.Policy) rig {
			c := newClock()
			l := newLimiter(t, ratelimit.Options{Policy: p, Now: func() time.Time { return c.now.Add(c.now.Sub(newClock().now) / 20) }})
			return rig{l, l, c}
		},
		"one too few": func(p ratelimit.Policy) rig {
			p.Installation.RPM = max(0, p.Installation.RPM-1)
			return sound(p)
		},
		"one too many": func(p ratelimit.Policy) rig {
			if p.Installation.RPM > 0 {
				p.Installation.RPM++
			}
			return sound(p)
		},
		"script that forgets early":  onValkey(t, "SPAN, SLOT, SKEW = 61", "SPAN, SLOT, SKEW = 59"),
		"script that looks, no more": onValkey(t, "if w then add(w, 1, l.tokens) end", ""),
		"promises too late": func(p ratelimit.Policy) rig {
			r := sound(p)
			r.asker = late{r.asker}
			return r
		},
	} {
		found := 0
		for seed := 0; seed < 300 && found == 0; seed++ {
			if rapid.Custom(func(rt *rapid.T) error { return history(rt, make) }).Example(seed) != nil {
				found++
			}
		}
		if found == 0 {
			t.Errorf("%s: no history found it", name)
		}
	}
}
