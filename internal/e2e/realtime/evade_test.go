package realtime_test

import (
	"encoding/base64"
	"net/http"
	"slices"
	"strings"
	"testing"

	"weir/internal/account"
	"weir/internal/e2e/harness"
	"weir/internal/ledger"
	"weir/internal/llm"
)

// sound returns base64 of that many milliseconds of sound.
func sound(millis int) string {
	return base64.StdEncoding.EncodeToString([]byte(strings.Repeat("\x07", millis*48)))
}

// manually has the client commit its sound itself.
func (s *talk) manually() {
	s.t.Helper()
	s.await("session.created")
	s.send(`{"type":"session.update","session":{"type":"realtime","audio":{"input":{"turn_detection":null}}}}`)
	s.await("session.updated")
}

// TestHoldCoversWholeConversation checks that the amount held for a response covers what it reads, after a response
// that read less than the conversation.
func TestHoldCoversWholeConversation(t *testing.T) {
	t.Parallel()
	up := harness.NewUpstream(t)
	h := harness.Open(t, harness.Setup{YAML: strings.Replace(priced(up), "context: 4000", "context: 400000", 1)})
	long := strings.Repeat("word ", 20_000)
	for name, events := range map[string][]string{
		"sound that was not committed": {
			`{"type":"input_audio_buffer.append","audio":"` + sound(240_000) + `"}`,
			`{"type":"response.create"}`,
			`{"type":"input_audio_buffer.commit"}`,
		},
		"an input of its own": {
			`{"type":"conversation.item.create","item":{"type":"message","role":"user","content":[{"type":"input_text",` +
				`"text":"` + long + `"}]}}`,
			`{"type":"response.create","response":{"input":[]}}`,
		},
		"instructions of its own": {
			`{"type":"session.update","session":{"type":"realtime","instructions":"` + long + `"}}`,
			`{"type":"response.create","response":{"instructions":"Hi"}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t, h, "?model=house/echo:tokens=3", nil)
			s.manually()
			for _, event := range append(events, `{"type":"response.create"}`) {
				s.send(event)
				if strings.Contains(event, "response.create") {
					s.await("response.done")
				}
			}
			s.conn.Abort()
			for _, row := range h.SettledSession(s.id, 2) {
				if read, bound := row.Usage.InputTokens(), row.Bound.InputTokens(); read > bound {
					t.Errorf("a response read %d tokens, of which %d were held", read, bound)
				}
			}
		})
	}
}

// TestTranscriptsAreAllCharged checks clients that change the settings of transcripts around their sound.
func TestTranscriptsAreAllCharged(t *testing.T) {
	t.Parallel()
	up := harness.NewUpstream(t)
	h := harness.Open(t, harness.Setup{YAML: priced(up)})
	const (
		model = "gpt-4o-transcribe"
		on    = `{"type":"session.update","session":{"type":"realtime","audio":{"input":{"transcription":{"model":"` +
			model + `"}}}}}`
		off = `{"type":"session.update","session":{"type":"realtime","audio":{"input":{"transcription":null}}}}`
		bad = `{"type":"session.update","session":{"type":"realtime","max_output_tokens":"many","audio":{"input":` +
			`{"transcription":null}}}}`
		commit = `{"type":"input_audio_buffer.commit"}`
	)
	speech := `{"type":"input_audio_buffer.append","audio":"` + sound(3000) + `"}`
	for name, events := range map[string][]string{
		"on before the sound": {on, speech, commit},
		"on after the sound":  {speech, on, commit},
		"off at once":         {on, speech, commit, off},
		"off by an error":     {on, bad, speech, commit},
		"tiny pieces": slices.Concat([]string{on}, slices.Repeat([]string{
			`{"type":"input_audio_buffer.append","audio":"BwcHBwcHBwcHBwcHBwcHBw=="}`,
		}, 100), []string{commit}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t, h, "?model=house/echo:tokens=3", nil)
			s.manually()
			for _, event := range events {
				s.send(event)
			}
			s.await("conversation.item.input_audio_transcription.completed")
			s.conn.Abort()
			rows := h.SettledSession(s.id, 1)
			var want llm.Usage
			for _, r := range served(up, s.id) {
				want.Add(&r.Usage)
			}
			want[llm.Requests] = 1
			if len(rows) != 1 || rows[0].Model != model || rows[0].Usage != want {
				t.Errorf("the rows are %+v, want one with %v", rows, want)
			}
		})
	}
}

// TestTranscriptsTakeNoPlaceOfResponses checks that a key with one concurrent request gets responses and transcripts.
func TestTranscriptsTakeNoPlaceOfResponses(t *testing.T) {
	t.Parallel()
	up := harness.NewUpstream(t)
	h := harness.Open(t, harness.Setup{YAML: priced(up)})
	key := h.NewKey(account.KeyOptions{Account: account.DefaultName, Limits: account.Limits{Concurrency: 1}})
	s := open(t, h, "?model=house/echo:tokens=3", http.Header{"Authorization": {"Bearer " + key}})
	s.manually()
	s.send(`{"type":"session.update","session":{"type":"realtime","audio":{"input":{"transcription":{"model":` +
		`"gpt-4o-transcribe"}}}}}`)
	s.send(`{"type":"input_audio_buffer.append","audio":"` + sound(1000) + `"}`)
	s.send(`{"type":"input_audio_buffer.commit"}`)
	s.send(`{"type":"response.create"}`)
	s.await("response.done")
	s.send(`{"type":"response.create"}`)
	s.await("response.done")
	s.conn.Abort()
	h.SettledSession(s.id, 3)
}

// TestErrorOfAnotherEventSettlesNoResponse checks that a client cannot settle a response by the errors of other events.
func TestErrorOfAnotherEventSettlesNoResponse(t *testing.T) {
	t.Parallel()
	up := harness.NewUpstream(t)
	h := harness.Open(t, harness.Setup{YAML: priced(up)})
	s := open(t, h, "?model=house/echo:tokens=3", nil)
	s.manually()
	for range 300 {
		s.send(`{"type":"input_audio_buffer.commit","event_id":"same"}`) // refused: there is no sound
	}
	s.send(`{"type":"response.create","event_id":"same"}`)
	s.await("response.done")
	s.conn.Abort()
	if row := h.SettledSession(s.id, 1)[0]; row.Outcome != ledger.OutcomeOK {
		t.Errorf("the response is %s, want ok", row.Outcome)
	}
}

// TestErrorNamesEventOfClient checks that the error of a refused response names the client's event.
func TestErrorNamesEventOfClient(t *testing.T) {
	t.Parallel()
	up := harness.NewUpstream(t)
	h := harness.Open(t, harness.Setup{YAML: priced(up)})
	s := open(t, h, "?model=house/echo:sound=20s,pace=20ms", nil)
	s.manually()
	s.send(`{"type":"response.create"}`)
	s.await("response.created")
	s.send(`{"type":"response.create","event_id":"second"}`)
	if got := s.await("error")["error"].(map[string]any)["event_id"]; got != "second" {
		t.Errorf("the error names the event %v, want second", got)
	}
	s.send(`{"type":"response.create"}`)
	if got := s.await("error")["error"].(map[string]any)["event_id"]; got != nil {
		t.Errorf("the error names the event %v, want none", got)
	}
	s.conn.Abort()
	h.SettledSession(s.id, 3)
}
