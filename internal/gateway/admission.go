package gateway

import (
	"math"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"weir/internal/llm"
	"weir/internal/telemetry"
)

const (
	// queueWait is the longest that a request waits for a place. A refusal is
	// worth something only while the client can still go elsewhere.
	queueWait = 12 * time.Millisecond
	// queueShare of the limit may wait, and minQueue at least: about as many as
	// come free within queueWait where answers take tenths of a second.
	queueShare = 8
	minQueue   = 8
	// expectShare is how much of what is seen goes into what is expected with
	// each look: the last two seconds count most.
	expectShare = 0.05
	// interactiveRetry and batchRetry are when a refused client is told to try
	// again.
	interactiveRetry = time.Second
	batchRetry       = 5 * time.Second
)

// priorityOf is the priority that the client gives its request. Only "batch" is
// another than interactive: a word that nobody knows is a hint that is not
// understood, and as such no reason to fail the request (RFC 9218 section 4).
func priorityOf(h http.Header) telemetry.Priority {
	if values := h["X-Weir-Priority"]; len(values) > 0 && strings.EqualFold(strings.TrimSpace(values[0]), "batch") {
		return telemetry.Batch
	}
	return telemetry.Interactive
}

// admission decides who comes into the pipeline: never more than the limit at a
// time, batch requests not into its last part, and fewer while the machine
// cannot keep up. It decides before anything is read or looked up, for what a
// refusal costs is taken from the others.
type admission struct {
	limit  int64 // in flight
	alone  int64 // of one account, while no other has any
	batch  int64 // in flight, beyond which no batch request comes in
	places int   // in the queue

	mu       sync.Mutex
	inFlight int64
	batches  int64     // of them
	expected float64   // how many places the interactive requests are likely to want
	queue    []*waiter // the first has waited longest
	strain   strain
	owed     [telemetry.Priorities]float64 // refusals, in parts of one
	memory   memoryLevel
}

// waiter is an interactive request that waits for a place. Batch requests do
// not wait: those who send them have time to come again.
type waiter struct {
	in chan struct{} // closed when it has its place
}

// newAdmission makes an admission. Batch requests fill no more than what is alone, so that
// they leave room for interactive requests of the same account. The floor is how many
// requests in flight are never too many for the machine.
func newAdmission(limit, alone, floor int64) *admission {
	return &admission{
		limit: limit, alone: alone, batch: alone - reserve(alone),
		places: int(max(limit/queueShare, minQueue)), strain: strain{floor: floor},
	}
}

// reserve is how much of a limit is kept from batch requests: its square root,
// which is how far the number of interactive ones usually is from its mean when
// they come at random. More would lie idle, less would let them find no place.
func reserve(limit int64) int64 {
	if limit == 1 {
		return 0 // or no batch request would ever come in
	}
	return int64(math.Sqrt(float64(limit)))
}

// enter lets a request in, perhaps after a short wait, or says why not. Who was
// let in has to leave.
func (a *admission) enter(p telemetry.Priority) telemetry.Reason {
	a.mu.Lock()
	if reason := a.strained(p); reason != telemetry.NotShed {
		a.mu.Unlock()
		return reason
	}
	switch free := a.hasCapacity(p); {
	case free:
		a.inFlight++
		if p == telemetry.Batch {
			a.batches++
		}
		a.mu.Unlock()
		return telemetry.NotShed
	case p == telemetry.Batch:
		a.mu.Unlock()
		return telemetry.Concurrency
	case len(a.queue) >= a.places:
		a.missed()
		a.mu.Unlock()
		return telemetry.Concurrency
	}
	w := &waiter{in: make(chan struct{})}
	a.queue = append(a.queue, w)
	a.mu.Unlock()
	return a.await(w)
}

// hasCapacity is whether there is a place at once. Batch requests take those that the
// others leave, but not those that the others are likely to want in a moment:
// answers that began together end together, and whoever asks most often would
// get all their places.
func (a *admission) hasCapacity(p telemetry.Priority) bool {
	if p == telemetry.Batch {
		return a.inFlight < a.batch && float64(a.batches) < float64(a.alone)-a.expected
	}
	return a.inFlight < a.limit
}

// missed takes note of an interactive request that found no place.
func (a *admission) missed() { a.expected = min(a.expected+1, float64(a.limit)) }

// strained is why the machine takes no such request now.
func (a *admission) strained(p telemetry.Priority) telemetry.Reason {
	if a.memory == memoryFull || a.memory == memoryTight && p == telemetry.Batch {
		return telemetry.Memory
	}
	if p == telemetry.Batch && a.pays(p) {
		return telemetry.CPU
	}
	return telemetry.NotShed
}

// pays is whether this one is among those that are refused because the process
// cannot keep up.
func (a *admission) pays(p telemetry.Priority) bool {
	share := a.strain.share(p)
	if share == 0 || a.inFlight < a.strain.floor {
		return false
	}
	if a.owed[p] += share; a.owed[p] < 1 {
		return false
	}
	a.owed[p]--
	return true
}

// await waits for a place that somebody leaves.
func (a *admission) await(w *waiter) telemetry.Reason {
	timer := time.NewTimer(queueWait)
	defer timer.Stop()
	select {
	case <-w.in:
		return telemetry.NotShed
	case <-timer.C:
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if i := slices.Index(a.queue, w); i >= 0 {
		a.queue = slices.Delete(a.queue, i, i+1)
		a.missed()
		return telemetry.Concurrency
	}
	return telemetry.NotShed // the place came at the same moment
}

// leave gives a place back: to the one who has waited longest, if there is one.
func (a *admission) leave(p telemetry.Priority) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if p == telemetry.Batch {
		a.batches--
	}
	if len(a.queue) == 0 {
		a.inFlight--
		return
	}
	close(a.queue[0].in)
	a.queue = slices.Delete(a.queue, 0, 1)
}

// adjust takes note of how the machine fares.
func (a *admission) adjust(m condition) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.strain.adjust(m.late)
	a.memory = levelOf(m.memory)
	a.expected += expectShare * (float64(a.inFlight-a.batches) - a.expected)
}

// holding is how many are in, and how many wait.
func (a *admission) holding() (inFlight, waiting int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.inFlight, int64(len(a.queue))
}

// takesStream is asked once more for an answer that comes in pieces: it keeps
// what it holds for long, and its pieces are far more work than a refusal. That
// of a whole answer is so little that to refuse an interactive one, for the sake
// of the processor, would cost about half of what it saves. Nor does a request pay
// for the others whose account holds few of them.
func (a *admission) takesStream(p telemetry.Priority, few bool) telemetry.Reason {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.memory != memoryAmple:
		return telemetry.Memory
	case p == telemetry.Interactive && !few && a.pays(p):
		return telemetry.CPU
	}
	return telemetry.NotShed
}

// refusal is what a refused client is told.
func refusal(reason telemetry.Reason, p telemetry.Priority) *llm.Error {
	e := &llm.Error{
		Code: llm.CodeOverloaded, Err: errShed, RetryAfter: interactiveRetry,
		Message: "The gateway is at its limit of requests in flight. Try again shortly.",
	}
	if p == telemetry.Batch {
		e.RetryAfter = batchRetry
		e.Message = "The gateway is busy and takes no batch requests now. Try again later, or without " +
			"X-Weir-Priority: batch."
	}
	switch {
	case reason == telemetry.AccountConcurrency:
		e.Message = "This account has more than its share of the requests in flight. Try again when some of them " +
			"have ended."
	case reason == telemetry.AccountBodies:
		e.Message = "This account has more than its share of the request bodies in flight. Try again when some of " +
			"its requests have ended."
	case reason == telemetry.Bodies:
		e.Message = "The gateway is at its limit of request bodies in flight. Try again shortly."
	case p == telemetry.Batch:
	case reason == telemetry.CPU:
		e.Message = "The gateway gets more requests than it can work on. Try again shortly."
	case reason == telemetry.Memory:
		e.Message = "The gateway is short of memory. Try again shortly."
	}
	return e
}
