package realtime_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"weir/internal/budget"
	"weir/internal/dialect/registry/registrytest"
	"weir/internal/e2e/harness"
	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/report"
	"weir/internal/simulator"
)

// A minute of a session and a text at the test's prices.
const (
	minutePrice = 8 * llm.USD / 100
	textPrice   = 4 * llm.USD / 1000
)

// hands is a clock that moves only when a test moves it.
type hands struct{ nano atomic.Int64 }

func (c *hands) now() time.Time        { return time.Unix(0, c.nano.Load()) }
func (c *hands) move(by time.Duration) { c.nano.Add(int64(by)) }

// byMinutes starts a provider that charges sessions by their duration, and a gateway, with one clock.
func byMinutes(t *testing.T) (*harness.Gateway, *harness.Upstream, *hands) {
	t.Helper()
	c := new(hands)
	c.nano.Store(time.Now().Truncate(time.Hour).UnixNano())
	s := simulator.New(simulator.Options{Dialects: registrytest.All(), Seed: 1, Strict: true, Clock: c.now})
	ts := httptest.NewServer(s)
	t.Cleanup(func() {
		s.Close()
		ts.CloseClientConnections()
		ts.Close()
	})
	yaml := "providers:" + harness.ProviderYAML("house", ts.URL) +
		"prices:\n  house/*: {second: \"0.001333333333\", request: \"0.004\"}\n"
	return harness.Open(t, harness.Setup{YAML: yaml, Now: c.now}), &harness.Upstream{Server: s, URL: ts.URL}, c
}

// timedCost returns the cost of the provider's account of all sessions by the seconds, and by begun minutes.
func timedCost(up *harness.Upstream) (seconds, minutes llm.Money) {
	for r := range up.Ledger().Records(0) {
		texts := llm.Money(r.Usage[llm.Requests]) * textPrice
		seconds += llm.Money(r.Usage[llm.Milliseconds])*minutePrice/60_000 + texts
		minutes += llm.Money((r.Usage[llm.Milliseconds]+59_999)/60_000)*minutePrice + texts
	}
	return seconds, minutes
}

// awaitAccount waits until the provider has ended all sessions.
func awaitAccount(t *testing.T, up *harness.Upstream) {
	t.Helper()
	harness.Await(t, "the provider's account", func() bool {
		for r := range up.Ledger().Records(0) {
			if r.Outcome == simulator.Open {
				return false
			}
		}
		return true
	})
}

// TestMinutesOfSessionAreRows checks a session that the provider charges by its duration: a row for each minute, exact
// if the minute is whole, one for each text, and one without a cost for each response.
func TestMinutesOfSessionAreRows(t *testing.T) {
	t.Parallel()
	h, up, clock := byMinutes(t)
	s := open(t, h, "?model=house/echo:minutes,sound=1s", nil)
	s.await("session.created")
	s.say("Hello")
	s.await("response.done")
	s.speak(1000, 600)
	s.await("response.done")
	clock.move(75 * time.Second)
	harness.Await(t, "the end of the first minute", func() bool {
		return strings.Contains(strings.Join(outcomes(h, s.id), " "), "60000:exact")
	})
	s.conn.Abort()
	rows := h.SettledSession(s.id, 5)
	awaitAccount(t, up)
	got := strings.Join(outcomes(h, s.id), " ")
	want := "60000:exact:$0.08 15000:estimated:$0.02 texts=1:exact:$0.004 response:exact:$0 response:exact:$0"
	for _, row := range strings.Split(want, " ") {
		if !strings.Contains(got, row) {
			t.Errorf("no row %s in %s", row, got)
		}
	}
	h.Verify(t)
	total, most := llm.Money(0), llm.Money(0)
	for i := range rows {
		total += rows[i].Cost
		most += max(rows[i].Cost, rows[i].AtMost)
	}
	seconds, minutes := timedCost(up)
	if total != seconds || most != minutes || seconds != minutePrice*75/60+textPrice {
		t.Errorf("the rows cost %v to %v, and the provider's account %v to %v", total, most, seconds, minutes)
	}
}

// outcomes describes the rows of a session.
func outcomes(h *harness.Gateway, session string) (all []string) {
	for _, e := range h.SessionRows(session) {
		kind := "response"
		if e.Bound[llm.Milliseconds] > 0 {
			kind = fmt.Sprint(e.Usage[llm.Milliseconds])
		} else if e.Usage[llm.Requests] > 0 {
			kind = fmt.Sprintf("texts=%d", e.Usage[llm.Requests])
		}
		all = append(all, fmt.Sprintf("%s:%s:$%s", kind, e.Provenance, e.Cost))
	}
	return all
}

// follower is a session that a test reads until its end.
type follower struct {
	*talk
	ended chan struct{}
	last  string // event, valid when ended is closed
}

// follow opens a session; nil if a budget refuses it.
func follow(t *testing.T, h *harness.Gateway) *follower {
	t.Helper()
	s, res, err := dial(t, h, "?model=house/echo:minutes", nil)
	if err != nil {
		if res == nil || res.StatusCode != http.StatusTooManyRequests {
			t.Fatalf("%v, %+v", err, res)
		}
		return nil
	}
	f := &follower{talk: s, ended: make(chan struct{})}
	s.await("session.created")
	return f
}

// read reads the session in the background. Nothing may be awaited any more.
func (f *follower) read() {
	go func() {
		defer close(f.ended)
		for { // the session may last longer than harness.Patience
			_, frame, err := f.conn.Receive(nil)
			if err != nil {
				return
			}
			f.last = string(frame)
		}
	}()
}

// settled returns how many minutes of a session are settled, and whether the last one is.
func (f *follower) settled(h *harness.Gateway) (n int, all bool) {
	for _, e := range h.SessionRows(f.id) {
		if e.Bound[llm.Milliseconds] > 0 && e.Usage[llm.Milliseconds] > 0 {
			n++
			all = all || e.Provenance == ledger.Estimated
		}
	}
	return n, all
}

// TestMinutesStayWithinBudget has several sessions spend a budget by the minute: the provider's account never
// exceeds it, even if each begun minute counts whole, and sessions end before minutes that the budget does not cover.
// The control has no budget, goes on, and exceeds the amount.
func TestMinutesStayWithinBudget(t *testing.T) {
	t.Parallel()
	for seed := range uint64(6) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(seed, 9))
			limit := minutePrice + llm.Money(random.Int64N(int64(5*minutePrice)))
			h, up, clock := byMinutes(t)
			if seed > 0 {
				h.SetBudget(limit, budget.PeriodTotal)
			}
			var all []*follower
			for range 1 + max(random.IntN(4), int(3-3*min(seed, 1))) {
				if f := follow(t, h); f != nil {
					all = append(all, f)
				}
			}
			for _, f := range all {
				if random.IntN(2) == 0 {
					f.say("Hello")
					_, _ = f.next("response.done") // the budget may have no room for the text
				}
				f.read()
			}
			for minutes := 0; minutes < 7 && passMinute(t, h, clock, all); minutes++ {
			}
			checkMinutes(t, h, up, all, limit, seed > 0)
		})
	}
}

// passMinute moves the clock into the last seconds of a minute, and into the next one when all sessions have opened that
// or have ended. It reports whether a session goes on.
func passMinute(t *testing.T, h *harness.Gateway, clock *hands, all []*follower) (goesOn bool) {
	t.Helper()
	clock.move(56 * time.Second)
	settled, live := make([]int, len(all)), []*follower(nil)
	harness.Await(t, "the next minute of all sessions", func() bool {
		live = live[:0]
		for i, f := range all {
			n, over := f.settled(h)
			if settled[i] = n; !over {
				live = append(live, f)
			}
		}
		return h.InFlight() == 2*int64(len(live))
	})
	clock.move(4 * time.Second)
	harness.Await(t, "the end of the minute", func() bool {
		for i, f := range all {
			if n, over := f.settled(h); n == settled[i] && !over {
				return false
			}
		}
		return true
	})
	return len(live) > 0
}

// checkMinutes compares the provider's account of the sessions with that of the budget.
func checkMinutes(t *testing.T, h *harness.Gateway, up *harness.Upstream, all []*follower, limit llm.Money, held bool) {
	t.Helper()
	for _, f := range all {
		if !held {
			f.conn.Abort()
		}
		if <-f.ended; held && !strings.Contains(f.types()+f.last, "insufficient_quota") {
			t.Errorf("a session ended with %s and %s", f.types(), f.last)
		}
	}
	awaitAccount(t, up)
	harness.Await(t, "the end of all attempts", func() bool { return h.InFlight() == 0 })
	counted := llm.Money(0)
	h.EachEntry(func(e *report.Exported) { counted += e.Charged() })
	_, cost := timedCost(up)
	if held && (cost > limit || counted > limit || counted < cost || cost <= limit-minutePrice-textPrice) {
		t.Errorf("the provider served %v, and budgets count %v, of %v", cost, counted, limit)
	}
	if !held && cost <= limit {
		t.Errorf("without a budget the provider served %v, want more than %v", cost, limit)
	}
}

// TestMinutesRefuseOtherCharges checks that a session by the minute refuses settings that cost more than its minutes.
func TestMinutesRefuseOtherCharges(t *testing.T) {
	t.Parallel()
	h, _, _ := byMinutes(t)
	s := open(t, h, "?model=house/echo:minutes,tokens=2", nil)
	s.await("session.created")
	for _, event := range []string{
		`{"type":"session.update","session":{"turn_detection":null}}`,
		`{"type":"session.update","session":{"turn_detection":{"type":null}}}`,
		`{"type":"session.update","session":{"audio":{"input":{"turn_detection":null}}}}`,
		`{"type":"session.update","session":{"tools":[{"type":"web_search"}]}}`,
		`{"type":"session.update","session":{"Tools":[{"type":"web_search"}]}}`,
		`{"type":"session.update","session":{"tools":[{"type":"function","Type":"web_search"}]}}`,
		`{"type":"response.create","response":{"tools":[{"type":"x_search"}]}}`,
	} {
		s.send(event)
		if e := s.await("error")["error"].(map[string]any); e["type"] != "invalid_request_error" {
			t.Errorf("%s: %v", event, e)
		}
	}
	s.send(`{"type":"session.update","session":{"turn_detection":{"type":"server_vad","threshold":0.4},` +
		`"tools":[{"type":"function","name":"look"}]}}`)
	s.await("session.updated")
	s.send(`{"type":"response.create"}`)
	s.await("response.done")
}

// TestClientThatDoesNotReadDoesNotLengthenSession checks that a session, which ends because the budget has no room for
// another minute, costs nothing for the time that its client takes to answer the close frame.
func TestClientThatDoesNotReadDoesNotLengthenSession(t *testing.T) {
	t.Parallel()
	h, up, clock := byMinutes(t)
	h.SetBudget(minutePrice+minutePrice/2, budget.PeriodTotal)
	s := open(t, h, "?model=house/echo:minutes", nil)
	s.await("session.created")
	clock.move(56 * time.Second)
	awaitAccount(t, up)
	clock.move(5 * time.Second) // the client has not answered the close frame yet
	rows := h.SettledSession(s.id, 1)
	harness.Await(t, "the end of all attempts", func() bool { return h.InFlight() == 0 })
	if got, want := strings.Join(outcomes(h, s.id), " "), "56000:estimated:$0.074666667"; got != want || len(rows) != 1 {
		t.Errorf("got %s, want %s", got, want)
	}
}
