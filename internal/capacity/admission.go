package capacity

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
	// queueWait is the longest time that a request waits for a slot. A refusal helps the client only while it can still
	// go elsewhere.
	queueWait = 12 * time.Millisecond
	// The queue holds 1/queueShare of the limit, and at least minQueue: about as many requests as slots become free
	// within queueWait when answers take tenths of a second.
	queueShare = 8
	minQueue   = 8
	// expectShare is the weight of each new observation in the expected demand: the last two seconds count most.
	expectShare = 0.05
	// interactiveRetry and batchRetry are the Retry-After of a refused client.
	interactiveRetry = time.Second
	batchRetry       = 5 * time.Second
)

// priorityOf returns the priority that the client requests. Every value except "batch" means interactive: an unknown
// value is a hint that is not understood, and no reason to fail the request (RFC 9218, section 4).
func priorityOf(h http.Header) telemetry.Priority {
	if values := h["X-Weir-Priority"]; len(values) > 0 && strings.EqualFold(strings.TrimSpace(values[0]), "batch") {
		return telemetry.Batch
	}
	return telemetry.Interactive
}

// admission decides which requests enter the pipeline. It never admits more than the limit at a time, reserves the last
// slots for interactive requests, and admits fewer while the machine is overloaded. It decides before anything is read
// or looked up, because the cost of a refusal is taken from the other requests.
type admission struct {
	limit  int64 // requests in flight
	alone  int64 // requests in flight of one account while no other account has any
	batch  int64 // no batch request is admitted at this number of requests in flight
	places int   // length of the queue

	mu       sync.Mutex
	inFlight int64
	batches  int64     // batch requests in flight
	expected float64   // slots that interactive requests are likely to need
	queue    []*waiter // oldest first
	strain   strain
	owed     [telemetry.Priorities]float64 // refusals, in fractions of one
	memory   memoryLevel
}

// waiter is an interactive request that waits for a slot. Batch requests do not wait, because their clients can retry
// later.
type waiter struct {
	in chan struct{} // closed when the request has its slot
}

// newAdmission returns an admission. Batch requests fill no more than alone, so that interactive requests of the same
// account have room. The machine is never overloaded by floor requests in flight or fewer.
func newAdmission(limit, alone, floor int64) *admission {
	return &admission{
		limit: limit, alone: alone, batch: alone - reserve(alone),
		places: int(max(limit/queueShare, minQueue)), strain: strain{floor: floor},
	}
}

// reserve returns how much of a limit is reserved for interactive requests: its square root, which is about how far the
// number of randomly arriving requests deviates from its mean. A larger reserve would stay idle; a smaller one would be
// exhausted.
func reserve(limit int64) int64 {
	if limit == 1 {
		return 0 // otherwise no batch request would ever be admitted
	}
	return int64(math.Sqrt(float64(limit)))
}

// enter admits a request, possibly after a short wait, or returns the reason of the refusal. The caller must call leave
// for each admitted request.
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

// hasCapacity reports whether a slot is free now. Batch requests get the slots that interactive requests leave free,
// except those that interactive requests are likely to need soon: answers that start together end together, and the
// client that retries most often would get all freed slots.
func (a *admission) hasCapacity(p telemetry.Priority) bool {
	if p == telemetry.Batch {
		return a.inFlight < a.batch && float64(a.batches) < float64(a.alone)-a.expected
	}
	return a.inFlight < a.limit
}

// missed records an interactive request that found no free slot.
func (a *admission) missed() { a.expected = min(a.expected+1, float64(a.limit)) }

// strained returns the reason why the machine accepts no request of the priority now.
func (a *admission) strained(p telemetry.Priority) telemetry.Reason {
	if a.memory == memoryFull || a.memory == memoryTight && p == telemetry.Batch {
		return telemetry.Memory
	}
	if p == telemetry.Batch && a.pays(p) {
		return telemetry.CPU
	}
	return telemetry.NotShed
}

// pays reports whether this request is refused as part of the overload's share.
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

// await waits until another request frees a slot.
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
	return telemetry.NotShed // the slot was freed at the same moment
}

// leave frees a slot, or passes it to the request that has waited longest.
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

// adjust updates the overload state from the machine's condition.
func (a *admission) adjust(m condition) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.strain.adjust(m.late)
	a.memory = levelOf(m.memory)
	a.expected += expectShare * (float64(a.inFlight-a.batches) - a.expected)
}

// holding returns how many requests are in flight and how many wait.
func (a *admission) holding() (inFlight, waiting int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.inFlight, int64(len(a.queue))
}

// takesStream decides a second time about a streamed answer, because a stream holds its slot for long and its pieces
// cost far more work than a refusal. A whole answer costs so little that refusing it to save processor time would cost
// about half of the saving. A request of an account with few requests in flight is not refused for lack of processor
// time.
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

// refusal returns the error that a refused client receives.
func refusal(reason telemetry.Reason, p telemetry.Priority) *llm.Error {
	e := &llm.Error{
		Code: llm.CodeOverloaded, Err: ErrRefused, RetryAfter: interactiveRetry,
		Message: "The gateway is at its limit of requests in flight. Try again shortly.",
	}
	if p == telemetry.Batch {
		e.RetryAfter = batchRetry
		e.Message = "The gateway is busy and accepts no batch requests now. Try again later, or without " +
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
		e.Message = "The gateway receives more requests than it can process. Try again shortly."
	case reason == telemetry.Memory:
		e.Message = "The gateway is short of memory. Try again shortly."
	}
	return e
}
