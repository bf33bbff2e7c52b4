package live_test

import (
	"net/http"
	"strings"
	"testing"

	"weir/internal/e2e/harness"
	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/websocket"
)

// TestEachAnswerIsRowByClass checks rows, one for each answer, against the simulator's account: by text, in both
// spellings of the members, and by turns that the provider detects.
func TestEachAnswerIsRowByClass(t *testing.T) {
	t.Parallel()
	up := harness.NewUpstream(t)
	h := harness.Open(t, harness.Setup{YAML: priced(up)})
	s := begun(t, h, "house/echo:sound=1s,reasoning=7", `,"systemInstruction":{"parts":[{"text":"Be brief."}]}`)
	s.say("Hello")
	s.await("end", isComplete)
	s.send(`{"client_content":{"turns":[{"role":"user","parts":[{"text":"Again"}]}],"turn_complete":true}}`)
	s.await("end", isComplete)
	s.send(`{"realtimeInput":{"text":"And again"}}`)
	s.await("end", isComplete)
	s.send(speech(1000, 600))
	if got := s.await("end", isComplete).UsageMetadata; got == nil || got.ResponseTokenCount != 25 {
		t.Errorf("the client got the usage %+v, want 25 tokens", got)
	}
	s.conn.Abort()
	rows, truth := h.SettledSession(s.id, 4), served(up, s.id)
	if len(truth) != 4 {
		t.Fatalf("the provider served %d answers, want 4", len(truth))
	}
	for i := range truth {
		want := truth[i].Usage
		want[llm.Requests] = 1
		if got := rows[i]; got.Usage != want || got.Cost != costOf(&truth[i].Usage) || got.Provenance != ledger.Exact ||
			!got.Counts || got.Model != "echo:sound=1s,reasoning=7" {
			t.Errorf("row %d: %v for %v as %s, want %v for %v", i, got.Usage, got.Cost, got.Provenance, want,
				costOf(&truth[i].Usage))
		}
	}
	h.Verify(t)
}

// TestTwentyToolCallsAreRows checks a loop of function calls, each of which is two answers.
func TestTwentyToolCallsAreRows(t *testing.T) {
	t.Parallel()
	up := harness.NewUpstream(t)
	h := harness.Open(t, harness.Setup{YAML: priced(up)})
	s := begun(t, h, "house/tools:sound=1s", `,"tools":[{"functionDeclarations":[{"name":"look"}]}]`)
	for range 20 {
		s.say("Look")
		s.await("call", func(m *message) bool { return m.ToolCall != nil })
		s.send(`{"toolResponse":{"functionResponses":[{"id":"call_1","name":"look","response":{"seen":1}}]}}`)
		s.await("end", isComplete)
	}
	s.conn.Abort()
	rows, truth := h.SettledSession(s.id, 40), served(up, s.id)
	for i := range truth {
		if got, want := rows[i], costOf(&truth[i].Usage); got.Cost != want || got.Provenance != ledger.Exact {
			t.Errorf("row %d costs %v as %s, want %v", i, got.Cost, got.Provenance, want)
		}
	}
}

// TestInterruptedAnswerCostsItsPart checks that speech ends an answer, whose part is charged exactly.
func TestInterruptedAnswerCostsItsPart(t *testing.T) {
	t.Parallel()
	up := harness.NewUpstream(t)
	h := harness.Open(t, harness.Setup{YAML: priced(up)})
	s := begun(t, h, "house/echo:sound=20s,pace=20ms", "")
	s.say("Hello")
	s.await("content", hasContent)
	s.send(speech(1000, 600))
	s.await("interruption", func(m *message) bool { return m.ServerContent.Interrupted })
	s.await("content", hasContent)
	s.conn.Abort()
	rows, truth := h.SettledSession(s.id, 2), served(up, s.id)
	for i := range truth {
		if got, want := rows[i].MostCost(), costOf(&truth[i].Usage); got < want || i == 0 && got != want {
			t.Errorf("answer %d costs %v, the provider's account has %v", i, got, want)
		}
	}
}

// TestSilentInterruptionsCostNoLess checks turns that interrupt an answer before anything came of it: the rows are not
// below the provider's account.
func TestSilentInterruptionsCostNoLess(t *testing.T) {
	t.Parallel()
	up := harness.NewUpstream(t)
	h := harness.Open(t, harness.Setup{YAML: priced(up)})
	for name, next := range map[string]string{
		"speech": speech(300, 600), "the same prompt": `{"clientContent":{"turnComplete":true}}`,
	} {
		s := begun(t, h, "house/echo:sound=1s,reasoning=3,ttft=200ms", "")
		s.send(speech(300, 600))
		s.send(next)
		s.await("content", hasContent)
		s.await("end", isComplete)
		s.conn.Abort()
		var most, cost llm.Money
		rows := h.SettledSession(s.id, 1)
		for i := range rows {
			most += rows[i].MostCost()
		}
		for _, r := range served(up, s.id) {
			cost += costOf(&r.Usage)
		}
		if n := len(served(up, s.id)); n != 2 || most < cost {
			t.Errorf("%s: %d answers for %v, the rows have at most %v", name, n, cost, most)
		}
	}
}

// TestFaultsCostNoLessThanProvider checks a session with each fault of the simulator.
func TestFaultsCostNoLessThanProvider(t *testing.T) {
	t.Parallel()
	up := harness.NewUpstream(t)
	h := harness.Open(t, harness.Setup{YAML: priced(up)})
	for model, want := range map[string]struct {
		outcome    ledger.Outcome
		provenance ledger.Provenance
	}{
		"echo:sound=2s,fault=cut,at=5":            {ledger.OutcomeCut, ledger.Estimated},
		"echo:sound=2s,fault=half-frame,at=5":     {ledger.OutcomeCut, ledger.Estimated},
		"echo:sound=2s,fault=stall,at=5":          {ledger.OutcomeClientGone, ledger.Estimated},
		"echo:fault=silence":                      {ledger.OutcomeClientGone, ledger.Estimated},
		"echo:sound=1s,usage=none":                {ledger.OutcomeOK, ledger.Estimated},
		"echo:sound=1s":                           {ledger.OutcomeOK, ledger.Exact}, // the control
		"echo:sound=30s,pace=20ms,fault=cut,at=9": {ledger.OutcomeCut, ledger.Estimated},
	} {
		t.Run(model, func(t *testing.T) {
			t.Parallel()
			s := begun(t, h, "house/"+model, "")
			s.say("Hello")
			switch want.outcome {
			case ledger.OutcomeOK:
				s.await("end", isComplete)
			case ledger.OutcomeClientGone:
				harness.Await(t, "the answer", func() bool { return len(served(up, s.id)) > 0 })
			default:
				if _, err := s.next(isComplete); err == nil {
					t.Fatal("an answer that was cut off is complete")
				}
			}
			s.conn.Abort()
			row := h.SettledSession(s.id, 1)[0]
			cost := costOf(&served(up, s.id)[0].Usage)
			if row.Outcome != want.outcome || row.Provenance != want.provenance || row.MostCost() < cost {
				t.Errorf("%s %s, at most %v; want %s %s, not below %v", row.Outcome, row.Provenance, row.MostCost(),
					want.outcome, want.provenance, cost)
			}
			if row.Provenance == ledger.Exact && row.MostCost() != cost {
				t.Errorf("an exact row costs %v, want %v", row.MostCost(), cost)
			}
		})
	}
}

// TestRefusedSessions checks requests and setups that begin no session.
func TestRefusedSessions(t *testing.T) {
	t.Parallel()
	up := harness.NewUpstream(t)
	h := harness.Open(t, harness.Setup{YAML: priced(up)})
	if _, res, err := dial(t, h, http.Header{"X-Goog-Api-Key": {"wrong"}}); err == nil || res.StatusCode != 401 {
		t.Errorf("a wrong key: %v %+v, want 401", err, res)
	}
	if r := h.Do(harness.Ask{Path: path}); r.Status != http.StatusUpgradeRequired {
		t.Errorf("without an upgrade: %d, want 426", r.Status)
	}
	for setup, code := range map[string]websocket.Code{
		`{"clientContent":{"turnComplete":true}}`: websocket.BadContent,
		`{"setup":{}}`: websocket.BadContent,
		`{"setup":{"model":"models/house/echo","tools":[{"googleSearch":{}}]}}`:                websocket.BadContent,
		`{"setup":{"model":"models/house/echo","generationConfig":{},"generation_config":{}}}`: websocket.BadContent,
		`{"setup":{"model":"models/house/echo","avatarConfig":{}}}`:                            websocket.BadContent,
		`{"setup":{"model":"models/house/echo"},"realtimeInput":{"text":"Hi"}}`:                websocket.BadContent,
		`{"setup":{"model":"models/other/echo"}}`:                                              websocket.BadContent,
		`{"setup":{"model":"models/nobody/echo"}}`:                                             websocket.Refused,
	} {
		s, _, err := dial(t, h, http.Header{"X-Goog-Api-Key": {h.Key}})
		if err != nil {
			t.Fatal(err)
		}
		s.send(setup)
		if _, err := s.next(func(*message) bool { return true }); websocket.CodeOf(err) != code ||
			websocket.ReasonOf(err) == "" {
			t.Errorf("%s: %v, want the code %d with a reason", setup, err, code)
		}
	}
	if n := up.Ledger().Totals().Requests; n != 0 {
		t.Errorf("the provider served %d answers", n)
	}
}

// TestWrongMessagesAreNotSent checks messages that end a session before they reach the provider.
func TestWrongMessagesAreNotSent(t *testing.T) {
	t.Parallel()
	up := harness.NewUpstream(t)
	h := harness.Open(t, harness.Setup{YAML: priced(up)})
	for _, m := range []string{
		`{"clientContent":{"turnComplete":false,"turnComplete":true}}`,
		`{"clientContent":{"turnComplete":false,"turn_complete":true}}`,
		`{"clientContent":{"TurnComplete":true}}`,
		`{"clientContent":{},"realtimeInput":{"text":"Hi"}}`,
		`{"setup":{"model":"models/house/echo"}}`,
		`{"begin":{}}`, `not JSON`, `[]`,
		strings.Repeat(`{"clientContent":`, 200),
	} {
		s := begun(t, h, "house/echo", "")
		s.send(m)
		if _, err := s.next(func(*message) bool { return true }); websocket.CodeOf(err) != websocket.BadContent {
			t.Errorf("%.60s: %v, want the code %d", m, err, websocket.BadContent)
		}
	}
	if n := up.Ledger().Totals().Requests; n != 0 {
		t.Errorf("the provider served %d answers", n)
	}
}

// TestAddressOfNodeSDKIsServed checks the address of Google's SDK for Node: with a second slash, and the key in the query,
// which is not logged.
func TestAddressOfNodeSDKIsServed(t *testing.T) {
	t.Parallel()
	up := harness.NewUpstream(t)
	h := harness.Open(t, harness.Setup{YAML: priced(up)})
	s, res, err := dialAt(t, h, "/"+path+"?key="+h.Key, nil)
	if err != nil {
		t.Fatalf("%v %+v", err, res)
	}
	s.send(`{"setup":{"model":"models/house/echo:tokens=3"}}`)
	s.say("Hello")
	s.await("end", isComplete)
	s.conn.Abort()
	h.SettledSession(s.id, 1)
	if strings.Contains(h.Log.String(), h.Key[3:30]) {
		t.Error("the log has the key")
	}
	if _, res, err := dialAt(t, h, "/"+path+"?key=wrong", nil); err == nil || res.StatusCode != http.StatusUnauthorized {
		t.Errorf("a wrong key: %v %+v, want 401", err, res)
	}
}

// TestFunctionBesideAnswerHasRowsOfItsOwn checks a function that runs beside the answer that calls it: the answer that
// goes on has the attempt that it began with, and the one to the function's result another one, so that none begins
// without an amount in the budgets.
func TestFunctionBesideAnswerHasRowsOfItsOwn(t *testing.T) {
	t.Parallel()
	up := harness.NewUpstream(t)
	h := harness.Open(t, harness.Setup{YAML: priced(up)})
	s := begun(t, h, "house/tools:tokens=4,pace=5ms",
		`,"tools":[{"functionDeclarations":[{"name":"look","behavior":"NON_BLOCKING"}]}]`)
	s.say("Hello")
	s.await("call", func(m *message) bool { return m.ToolCall != nil })
	s.await("the answer that goes on", hasContent)
	s.await("its end", isComplete)
	s.send(`{"toolResponse":{"functionResponses":[{"id":"call_1","name":"look","response":{}}]}}`)
	s.await("the next answer", isComplete)
	s.conn.Abort()
	truth := served(up, s.id)
	var cost, want llm.Money
	for i, row := range h.SettledSession(s.id, 2) {
		cost, want = cost+row.Cost, want+costOf(&truth[i].Usage)
		if row.Provenance != ledger.Exact {
			t.Errorf("a row is %s", row.Provenance)
		}
	}
	if cost != want {
		t.Errorf("the rows cost %v, want %v", cost, want)
	}
}
