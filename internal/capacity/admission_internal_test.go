package capacity

import (
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"weir/internal/telemetry"
)

func TestPriorityOf(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]telemetry.Priority{
		"batch": telemetry.Batch, " Batch ": telemetry.Batch, "interactive": telemetry.Interactive,
		"": telemetry.Interactive, "bulk": telemetry.Interactive, "0": telemetry.Interactive,
	} {
		if got := priorityOf(http.Header{"X-Weir-Priority": {value}}); got != want {
			t.Errorf("X-Weir-Priority %q: got %s, want %s", value, got, want)
		}
	}
	if got := priorityOf(http.Header{}); got != telemetry.Interactive {
		t.Errorf("no X-Weir-Priority: got %s, want interactive", got)
	}
}

// fill admits interactive requests until n are in flight.
func fill(t *testing.T, a *admission, n int64) {
	t.Helper()
	for range n {
		if got := a.enter(telemetry.Interactive); got != telemetry.NotShed {
			t.Fatalf("filling: got %q, want all %d admitted", got, n)
		}
	}
}

// TestReserveForInteractiveRequests checks the number of admitted batch requests for each limit.
func TestReserveForInteractiveRequests(t *testing.T) {
	t.Parallel()
	for limit, want := range map[int64]int64{1: 1, 2: 1, 8: 6, 64: 56, 4096: 4032} {
		a := newAdmission(limit, limit, limit)
		got := int64(0)
		for a.enter(telemetry.Batch) == telemetry.NotShed {
			got++
		}
		if got != want {
			t.Errorf("limit %d: got %d batch requests in, want %d", limit, got, want)
		}
		fill(t, a, limit-want)
	}
}

// TestQueueIsInOrderAndBounded has requests wait: they get released slots in the order of arrival, or are refused in
// time; none waits behind a full queue.
func TestQueueIsInOrderAndBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newAdmission(2, 2, 2)
		fill(t, a, 2)
		order := make(chan int, a.places)
		var refused atomic.Int64
		var all sync.WaitGroup
		for i := range a.places {
			all.Go(func() {
				if a.enter(telemetry.Interactive) != telemetry.NotShed {
					refused.Add(1)
					return
				}
				order <- i
			})
			synctest.Wait()
		}
		began := time.Now()
		if got := a.enter(telemetry.Interactive); got != telemetry.Concurrency || time.Since(began) != 0 {
			t.Errorf("behind a full queue: got %q after %s, want concurrency at once", got, time.Since(began))
		}
		if got := a.enter(telemetry.Batch); got != telemetry.Concurrency || time.Since(began) != 0 {
			t.Errorf("batch: got %q after %s, want concurrency at once", got, time.Since(began))
		}
		for want := range 2 {
			a.leave(telemetry.Interactive)
			if got := <-order; got != want {
				t.Errorf("got the waiter %d admitted, want %d", got, want)
			}
		}
		all.Wait()
		if got := time.Since(began); got != queueWait {
			t.Errorf("the queue was empty after %s, want %s", got, queueWait)
		}
		if got, want := refused.Load(), int64(a.places-2); got != want {
			t.Errorf("got %d refused in the queue, want %d", got, want)
		}
		if inFlight, waiting := a.holding(); inFlight != 2 || waiting != 0 {
			t.Errorf("got %d in flight and %d waiting, want 2 and 0", inFlight, waiting)
		}
	})
}

// TestBatchLeavesExpectedSlots checks that batch requests do not take the slots that interactive ones will probably
// need in a moment, and get them back if these do not arrive.
func TestBatchLeavesExpectedSlots(t *testing.T) {
	t.Parallel()
	a := newAdmission(100, 100, 100)
	fill(t, a, 60)
	for range 100 {
		a.adjust(condition{})
	}
	for range 60 {
		a.leave(telemetry.Interactive)
	}
	got := 0
	for a.enter(telemetry.Batch) == telemetry.NotShed {
		got++
	}
	if got != 41 { // 59.6 are expected
		t.Errorf("after 60 interactive requests: got %d batch requests in, want 41", got)
	}
	for range 100 {
		a.adjust(condition{})
	}
	for a.enter(telemetry.Batch) == telemetry.NotShed {
		got++
	}
	if got != 90 {
		t.Errorf("ten seconds after them: got %d batch requests in, want 90", got)
	}
}

// step is an event of an admission: a request arrives, one leaves, or the machine is measured.
type step struct {
	kind     int // 0 and 1 a request arrives, 2 one leaves, 3 measures
	priority telemetry.Priority
	looks    int
	seen     condition
}

// story is a limit and its events.
type story struct {
	limit int64
	steps []step
}

func drawStory(rt *rapid.T) story {
	one := rapid.Custom(func(rt *rapid.T) step {
		return step{
			kind: rapid.IntRange(0, 3).Draw(rt, "kind"), priority: rapid.SampledFrom([]telemetry.Priority{telemetry.Interactive, telemetry.Batch}).Draw(rt, "priority"),
			looks: rapid.IntRange(1, 40).Draw(rt, "looks"),
			seen: condition{
				late:   time.Duration(rapid.Int64Range(0, int64(4*lateLimit)).Draw(rt, "late")),
				memory: rapid.SampledFrom([]float64{0, 0, 0, 0.5, 0.9, 0.99}).Draw(rt, "memory"),
			},
		}
	})
	return story{rapid.Int64Range(1, 12).Draw(rt, "limit"), rapid.SliceOfN(one, 20, 80).Draw(rt, "steps")}
}

// told returns the first fault of an admission during the story; empty for none. The sabotage is for the negative
// control.
func (s *story) told(sabotage func(a *admission)) (wrong string) {
	a := newAdmission(s.limit, s.limit, 0)
	in := int64(0)
	var who []telemetry.Priority // is in
	for _, step := range s.steps {
		switch level := a.strain.level; step.kind {
		case 2:
			if in > 0 {
				a.leave(who[0])
				in, who = in-1, who[1:]
			}
		case 3:
			for range step.looks {
				a.adjust(step.seen)
			}
		default:
			reason := a.enter(step.priority)
			if reason == telemetry.NotShed {
				in, who = in+1, append(who, step.priority)
			}
			switch {
			case in > s.limit:
				return "the limit was passed"
			case reason == telemetry.NotShed && step.priority == telemetry.Batch && s.limit > 1 && in == s.limit:
				return "a batch request took the last place"
			case reason == telemetry.NotShed && step.priority == telemetry.Batch && level >= 1:
				return "a batch request came in while interactive ones are refused"
			case reason == telemetry.CPU && step.priority == telemetry.Interactive:
				return "an interactive request was refused on arrival for the processor"
			case step.priority == telemetry.Interactive && level <= 1 && a.takesStream(step.priority, false) == telemetry.CPU:
				return "an interactive stream was refused while batch requests come in"
			}
		}
		if sabotage != nil {
			sabotage(a)
		}
		if inFlight, _ := a.holding(); inFlight != in {
			return "the number in flight is not that of those who are in"
		}
	}
	for _, p := range who {
		a.leave(p)
	}
	if inFlight, waiting := a.holding(); inFlight != 0 || waiting != 0 || a.batches != 0 {
		return "something was not given back"
	}
	return ""
}

// checkStories runs random stories and passes each fault to found.
func checkStories(t *testing.T, sabotage func(a *admission), found func(rt *rapid.T, wrong string)) {
	t.Helper()
	rapid.Check(t, func(rt *rapid.T) {
		s, wrong := drawStory(rt), ""
		synctest.Test(t, func(*testing.T) { wrong = s.told(sabotage) })
		found(rt, wrong)
	})
}

// TestAdmissionKeepsItsLimit checks that the limit is never exceeded, that batch requests are refused first, and that
// everything is released.
func TestAdmissionKeepsItsLimit(t *testing.T) {
	t.Parallel()
	checkStories(t, nil, func(rt *rapid.T, wrong string) {
		if wrong != "" {
			rt.Fatal(wrong)
		}
	})
}

// TestBrokenAdmissionsAreFound is the negative control: an admission that is broken in any of these ways is found.
func TestBrokenAdmissionsAreFound(t *testing.T) {
	t.Parallel()
	for name, sabotage := range map[string]func(a *admission){
		"more than the limit": func(a *admission) { a.limit, a.batch = 100, 99 },
		"no reserve":          func(a *admission) { a.batch = a.limit },
		"a place is lost":     func(a *admission) { a.inFlight = max(a.inFlight, 1) },
		"batch is let off":    func(a *admission) { a.owed[telemetry.Batch] = -100 },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found := 0
			checkStories(t, sabotage, func(_ *rapid.T, wrong string) {
				if wrong != "" {
					found++
				}
			})
			if found == 0 {
				t.Error("got nothing wrong in any story, want it found out")
			}
		})
	}
}

// TestManyAtOnce checks the same with real concurrency.
func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	const limit = 8
	a := newAdmission(limit, limit, limit)
	var in, most atomic.Int64
	var all sync.WaitGroup
	for i := range 64 {
		all.Go(func() {
			for range 50 {
				if a.enter(telemetry.Priority(i%2)) != telemetry.NotShed {
					continue
				}
				n := in.Add(1)
				for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
				}
				in.Add(-1)
				a.leave(telemetry.Priority(i % 2))
			}
		})
	}
	all.Wait()
	if inFlight, waiting := a.holding(); most.Load() > limit || inFlight != 0 || waiting != 0 {
		t.Errorf("at most %d at once, then %d in flight and %d waiting; want at most %d, 0 and 0", most.Load(), inFlight, waiting, limit)
	}
}

// BenchmarkAdmission measures an admission and its release.
func BenchmarkAdmission(b *testing.B) {
	a := newAdmission(4096, 4096, floor())
	header := http.Header{"Content-Type": {"application/json"}}
	b.ReportAllocs()
	for b.Loop() {
		if a.enter(priorityOf(header)) == telemetry.NotShed {
			a.leave(telemetry.Interactive)
		}
	}
}
