package realtime_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"weir/internal/account"
	"weir/internal/audit"
	"weir/internal/budget"
	"weir/internal/e2e/harness"
	"weir/internal/llm"
	"weir/internal/report"
	"weir/internal/websocket"
)

// total returns the sum of all rows in budgets, and the sum of the simulator's account costs.
func total(h *harness.Gateway, up *harness.Upstream) (counted, cost llm.Money) {
	h.EachEntry(func(e *report.Exported) { counted += e.Charged() })
	for r := range up.Ledger().Records(0) {
		cost += costOf(&r.Usage)
	}
	return counted, cost
}

// TestSessionsEndWithinBudget has sessions spend a budget at once: the provider's account never exceeds it, and
// each session ends with the vendor's error. The control has no budget and exceeds the amount.
func TestSessionsEndWithinBudget(t *testing.T) {
	t.Parallel()
	const limit = 30 * llm.USD / 100
	for _, held := range []bool{true, false} {
		t.Run(fmt.Sprintf("held=%v", held), func(t *testing.T) {
			t.Parallel()
			up := harness.NewUpstream(t)
			h := harness.Open(t, harness.Setup{YAML: priced(up)})
			if held {
				h.SetBudget(limit, budget.PeriodTotal)
			}
			var clients sync.WaitGroup
			for i := range 6 {
				clients.Go(func() { spend(t, h, fmt.Sprintf("?model=house/echo:sound=40s,pace=1ms,seed=%d", i), held) })
			}
			clients.Wait()
			harness.Await(t, "the end of all attempts", func() bool { return h.InFlight() == 0 })
			counted, cost := total(h, up)
			if held && (cost > limit || counted > limit || counted < cost || cost < limit/4) {
				t.Errorf("the provider served %v, and budgets count %v, of %v", cost, counted, limit)
			}
			if !held && cost <= limit {
				t.Errorf("without a budget the provider served %v, want more than %v", cost, limit)
			}
		})
	}
}

// spend wants responses until the session ends, or six of them.
func spend(t *testing.T, h *harness.Gateway, query string, held bool) {
	s, res, err := dial(t, h, query, nil)
	if err != nil {
		if held && res != nil && res.StatusCode == http.StatusTooManyRequests {
			return
		}
		t.Errorf("%v %+v", err, res)
		return
	}
	for range 6 {
		s.conn.Send(websocket.Text, []byte(`{"type":"response.create"}`))
		if _, err := s.next("response.done"); err == nil {
			continue
		}
		if got := s.types(); !strings.Contains(got, "insufficient_quota") {
			t.Errorf("the session ended with %s", got)
		}
		return
	}
}

// TestCapIsLoweredToBudget checks that a budget for a part of a response sets its output cap.
func TestCapIsLoweredToBudget(t *testing.T) {
	t.Parallel()
	up := harness.NewUpstream(t)
	h := harness.Open(t, harness.Setup{YAML: priced(up)})
	h.SetBudget(12*llm.USD/100, budget.PeriodTotal)
	s := open(t, h, "?model=house/echo:tokens=900", nil)
	s.await("session.created")
	s.say("Hello")
	done := s.await("response.done")["response"].(map[string]any)
	if done["status"] != "incomplete" {
		t.Errorf("the response is %v, want incomplete", done["status"])
	}
}

// TestRevokedKeyEndsSession checks that a session ends with its key.
func TestRevokedKeyEndsSession(t *testing.T) {
	t.Parallel()
	up := harness.NewUpstream(t)
	h := harness.Open(t, harness.Setup{YAML: priced(up)})
	s := open(t, h, "?model=house/echo:tokens=3", nil)
	s.await("session.created")
	h.Administer(func(ctx context.Context, a *account.Service) error {
		_, err := a.Suspend(ctx, audit.Gateway(), account.DefaultName)
		return err
	})
	_, err := s.next("response.done")
	if code := websocket.CodeOf(err); code != websocket.Refused {
		t.Errorf("the session ended with %v (%d), want %d", err, code, websocket.Refused)
	}
}

// TestRefusedHandshakes checks the statuses of requests for sessions that cannot begin.
func TestRefusedHandshakes(t *testing.T) {
	t.Parallel()
	up := harness.NewUpstream(t)
	h := harness.Open(t, harness.Setup{YAML: priced(up)})
	bearer := http.Header{"Authorization": {"Bearer " + h.Key}}
	for query, want := range map[string]struct {
		header http.Header
		status int
	}{
		"?model=house/echo": {http.Header{"Authorization": {"Bearer wrong"}}, 401},
		"?call_id=rtc_1":    {bearer, 400},
		"":                  {bearer, 400},
		"?model=house/echo:tokens=1": {
			http.Header{"Authorization": bearer["Authorization"], "Origin": {"https://stranger.example"}}, 403,
		},
		"?model=nobody/echo":            {bearer, 404},
		"?model=house/echo:status=503":  {bearer, 503},
		"?model=house/echo&model=other": {bearer, 400},
	} {
		s, res, err := dial(t, h, query, want.header)
		if err == nil {
			s.conn.Abort()
			t.Errorf("%s: a session began", query)
		} else if res == nil || res.StatusCode != want.status {
			t.Errorf("%s: %v %+v, want %d", query, err, res, want.status)
		}
	}
	if r := h.Do(harness.Ask{Path: "/v1/realtime?model=house/echo"}); r.Status != http.StatusUpgradeRequired ||
		r.Header.Get("Sec-Websocket-Version") != "13" {
		t.Errorf("without an upgrade: %d %v, want 426", r.Status, r.Header)
	}
}

// TestProviderSeesNoAutomaticResponses checks that the client sees its own settings of turn detection, and that a
// response.create without a budget reaches the provider once.
func TestProviderSeesNoAutomaticResponses(t *testing.T) {
	t.Parallel()
	up := harness.NewUpstream(t)
	h := harness.Open(t, harness.Setup{YAML: priced(up)})
	s := open(t, h, "?model=house/echo:tokens=3", nil)
	s.await("session.created")
	s.send(`{"type":"session.update","event_id":"mine","session":{"type":"realtime","model":"house/echo:tokens=3",` +
		`"audio":{"input":{"turn_detection":{"type":"server_vad","idle_timeout_ms":5000}}}}}`)
	settings := s.await("session.updated")["session"].(map[string]any)
	found := settings["audio"].(map[string]any)["input"].(map[string]any)["turn_detection"].(map[string]any)
	if found["create_response"] != true || settings["model"] != "echo:tokens=3" || found["idle_timeout_ms"] != nil {
		t.Errorf("the client sees %v", settings)
	}
	s.speak(700, 600)
	s.await("response.done")
	s.send(`{"type":"session.update","session":{"type":"realtime","audio":{"input":{"turn_detection":null}}}}`)
	s.await("session.updated")
	s.speak(700, 600)
	s.send(`{"type":"input_audio_buffer.commit"}`)
	s.await("input_audio_buffer.committed")
	s.send(`{"type":"response.create","event_id":"two"}`)
	s.await("response.done")
	s.conn.Abort()
	h.SettledSession(s.id, 2)
	if n := len(served(up, s.id)); n != 2 {
		t.Errorf("the provider served %d responses, want 2", n)
	}
}
