package realtime_test

import (
	"slices"
	"strings"
	"testing"

	"weir/internal/e2e/harness"
	"weir/internal/ledger"
	"weir/internal/llm"
)

// TestFaultsCostNoLessThanProvider checks a session with each fault of the simulator: the row's bound is never below the
// simulator's account, and an end that was not seen is not exact.
func TestFaultsCostNoLessThanProvider(t *testing.T) {
	t.Parallel()
	up := harness.NewUpstream(t)
	h := harness.Open(t, harness.Setup{YAML: priced(up)})
	for model, want := range map[string]struct {
		outcome    ledger.Outcome
		provenance ledger.Provenance
		leaves     bool // the client leaves, because the session does not end
	}{
		"echo:sound=2s,fault=cut,at=5":                {ledger.OutcomeCut, ledger.Estimated, false},
		"echo:sound=2s,fault=half-frame,at=5":         {ledger.OutcomeCut, ledger.Estimated, false},
		"echo:sound=2s,fault=stall,at=5":              {ledger.OutcomeClientGone, ledger.Estimated, true},
		"echo:fault=silence":                          {ledger.OutcomeClientGone, ledger.Estimated, true},
		"echo:sound=1s,usage=none":                    {ledger.OutcomeOK, ledger.Estimated, false},
		"echo:sound=1s":                               {ledger.OutcomeOK, ledger.Exact, false}, // the control
		"echo:sound=30s,pace=50ms,fault=cut,at=9":     {ledger.OutcomeCut, ledger.Estimated, false},
		"echo:sound=3s,tokens=40,usage=none,cached=1": {ledger.OutcomeOK, ledger.Estimated, false},
	} {
		t.Run(model, func(t *testing.T) {
			t.Parallel()
			s := open(t, h, "?model=house/"+model, nil)
			s.await("session.created")
			s.say("Hello")
			s.await("response.created")
			switch {
			case want.leaves:
				s.conn.Abort()
			case want.outcome == ledger.OutcomeOK:
				s.await("response.done")
				s.conn.Abort()
			default:
				if _, err := s.next("response.done"); err == nil {
					t.Fatal("a response that was cut off is done")
				}
			}
			row, truth := h.SettledSession(s.id, 1)[0], served(up, s.id)
			cost := costOf(&truth[0].Usage)
			if want.leaves && row.Outcome == ledger.OutcomeCut && row.Provenance == ledger.Exact {
				want.outcome, want.provenance = row.Outcome, row.Provenance // it was cancelled before the fault came
			}
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

// TestResponseThatProviderBeginsIsRecorded checks a provider that answers turns by itself, against its session.
func TestResponseThatProviderBeginsIsRecorded(t *testing.T) {
	t.Parallel()
	up := harness.NewUpstream(t)
	h := harness.Open(t, harness.Setup{YAML: priced(up)})
	s := open(t, h, "?model=house/echo:unasked,tokens=3", nil)
	s.await("session.created")
	s.speak(1000, 600)
	s.await("response.done")
	harness.Await(t, "the provider's responses", func() bool { return len(served(up, s.id)) > 0 })
	s.conn.Abort()
	var cost, most llm.Money
	harness.Await(t, "the rows", func() bool {
		cost, most = 0, 0
		rows, truth := h.SessionRows(s.id), served(up, s.id)
		for i := range truth {
			cost += costOf(&truth[i].Usage)
		}
		for i := range rows {
			most += rows[i].MostCost()
		}
		open := slices.ContainsFunc(rows, func(e ledger.Entry) bool { return e.Outcome == ledger.OutcomeOpen })
		return len(rows) >= len(truth) && !open
	})
	if most < cost {
		t.Errorf("the rows cost at most %v, below the provider's %v", most, cost)
	}
}

// TestProviderThatBeginsManyResponsesEndsSession checks that a provider which answers turns against the session's
// settings gets a bounded number of rows.
func TestProviderThatBeginsManyResponsesEndsSession(t *testing.T) {
	t.Parallel()
	up := harness.NewUpstream(t)
	h := harness.Open(t, harness.Setup{YAML: priced(up)})
	s := open(t, h, "?model=house/echo:unasked,tokens=1", nil)
	s.await("session.created")
	s.send(`{"type":"session.update","session":{"type":"realtime","audio":{"input":{"turn_detection":{"type":` +
		`"server_vad","create_response":false}}}}}`)
	s.await("session.updated")
	turns := 0
	for ; turns < 40; turns++ {
		s.speak(100, 600)
		if _, err := s.next("response.done"); err != nil {
			break
		}
	}
	rows, truth := h.SettledSession(s.id, 16), served(up, s.id)
	if turns > 16 || len(truth) > len(rows) {
		t.Errorf("the session ended after %d turns with %d rows, the provider counts %d", turns, len(rows), len(truth))
	}
}

// TestResponseWithoutBeginningIsRecorded checks that a response has a row although the provider did not report its
// beginning, also one that nobody asked for, and that the row is never exact.
func TestResponseWithoutBeginningIsRecorded(t *testing.T) {
	t.Parallel()
	up := harness.NewUpstream(t)
	h := harness.Open(t, harness.Setup{YAML: priced(up)})
	for options, settings := range map[string]string{
		"unbegun": "", "unbegun,unasked": `,"create_response":false`,
	} {
		s := open(t, h, "?model=house/echo:tokens=3,"+options, nil)
		s.await("session.created")
		s.send(`{"type":"session.update","session":{"type":"realtime","audio":{"input":{"turn_detection":{"type":` +
			`"server_vad"` + settings + `}}}}}`)
		s.await("session.updated")
		s.speak(1000, 600)
		s.await("response.done")
		s.conn.Abort()
		row, truth := h.SettledSession(s.id, 1)[0], served(up, s.id)
		cost := costOf(&truth[0].Usage)
		if row.Provenance != ledger.Estimated || row.MostCost() < cost || row.Usage.TotalTokens() != truth[0].Usage.TotalTokens() {
			t.Errorf("%s: %s, %v, at most %v; want an estimate of %v, not below %v", options, row.Provenance, row.Usage,
				row.MostCost(), truth[0].Usage, cost)
		}
	}
}

// TestInterruptedResponseCostsItsPart checks that speech cancels a response, whose part is charged exactly, and that
// the next response begins after it.
func TestInterruptedResponseCostsItsPart(t *testing.T) {
	t.Parallel()
	up := harness.NewUpstream(t)
	h := harness.Open(t, harness.Setup{YAML: priced(up)})
	s := open(t, h, "?model=house/echo:sound=20s,pace=20ms", nil)
	s.await("session.created")
	s.say("Hello")
	s.await("response.output_audio.delta")
	s.speak(1000, 600)
	if got := s.await("response.done")["response"].(map[string]any)["status"]; got != "cancelled" {
		t.Errorf("the interrupted response is %v, want cancelled", got)
	}
	s.await("response.created")
	s.conn.Abort()
	rows, truth := h.SettledSession(s.id, 2), served(up, s.id)
	for i := range truth {
		if got, want := rows[i].MostCost(), costOf(&truth[i].Usage); got < want || i == 0 && got != want {
			t.Errorf("response %d costs %v, the provider's account has %v", i, got, want)
		}
	}
}

// TestKeyInSubprotocolIsNotLogged checks a browser's session, whose key is a subprotocol.
func TestKeyInSubprotocolIsNotLogged(t *testing.T) {
	t.Parallel()
	up := harness.NewUpstream(t)
	h := harness.Open(t, harness.Setup{YAML: priced(up)})
	s := open(t, h, "?model=house/echo:tokens=3", map[string][]string{}, "realtime",
		"openai-insecure-api-key."+h.Key)
	if got := s.conn.Protocol(); got != "realtime" {
		t.Errorf("the subprotocol is %q, want realtime", got)
	}
	s.await("session.created")
	s.say("Hello")
	s.await("response.done")
	s.conn.Abort()
	h.SettledSession(s.id, 1)
	if strings.Contains(h.Log.String(), h.Key[3:30]) {
		t.Error("the log has the key")
	}
}

// TestTranscriptsAreChargedSeparately checks transcripts by tokens and by seconds, at the price of their model.
func TestTranscriptsAreChargedSeparately(t *testing.T) {
	t.Parallel()
	up := harness.NewUpstream(t)
	h := harness.Open(t, harness.Setup{YAML: priced(up)})
	for _, model := range []string{"gpt-4o-transcribe", "whisper-1"} {
		s := open(t, h, "?model=house/echo:tokens=3", nil)
		s.await("session.created")
		s.send(`{"type":"session.update","session":{"type":"realtime","audio":{"input":{"transcription":{"model":"` +
			model + `"}}}}}`)
		s.await("session.updated")
		s.speak(3000, 600)
		s.await("response.done")
		s.speak(2000, 600)
		s.await("response.done")
		for s.count("conversation.item.input_audio_transcription.completed") < 2 {
			s.await("conversation.item.input_audio_transcription.completed")
		}
		s.conn.Abort()
		var got, want llm.Usage
		rows := h.SettledSession(s.id, 3)
		for i := range rows {
			if rows[i].Model == model {
				got.Add(&rows[i].Usage)
			}
		}
		for _, r := range served(up, s.id) {
			if r.Model == model {
				want.Add(&r.Usage)
				want[llm.Requests]++
			}
		}
		if got != want || got.IsZero() {
			t.Errorf("%s: %v, want %v", model, got, want)
		}
	}
}
