package realtime_test

import (
	"bytes"
	"strings"
	"testing"

	"weir/internal/e2e/harness"
	"weir/internal/must"
	"weir/internal/websocket"
)

// TestWrongEventsAreNotSent checks events that two parsers may read differently, and messages that are none: the client
// gets an error, the provider nothing, and the session continues.
func TestWrongEventsAreNotSent(t *testing.T) {
	t.Parallel()
	up := harness.NewUpstream(t)
	h := harness.Open(t, harness.Setup{YAML: priced(up)})
	s := open(t, h, "?model=house/echo:tokens=3", nil)
	s.await("session.created")
	for _, event := range []string{
		`{"type":"input_audio_buffer.clear","type":"response.create"}`,
		`{"Type":"response.create","type":"input_audio_buffer.clear"}`,
		`{"type":"response.create","response":{"max_output_tokens":1,"max_output_tokens":4000}}`,
		`{"type":"response.create"} {"type":"response.create"}`,
		`not JSON`,
		`[{"type":"response.create"}]`,
		strings.Repeat(`{"type":`, 200),
	} {
		s.send(event)
		s.await("error")
	}
	must.Do(t, s.conn.Send(websocket.Binary, []byte(`{"type":"response.create"}`)))
	s.await("error")
	if n := len(served(up, s.id)); n != 0 {
		t.Errorf("the provider served %d responses of wrong events", n)
	}
	s.say("Hello") // the control
	s.await("response.done")
	s.conn.Abort()
	h.SettledSession(s.id, 1)
}

// TestGiantEventEndsOneSession checks that an event beyond the bound ends its session alone.
func TestGiantEventEndsOneSession(t *testing.T) {
	t.Parallel()
	up := harness.NewUpstream(t)
	h := harness.Open(t, harness.Setup{YAML: priced(up)})
	giant, other := open(t, h, "?model=house/echo:tokens=3", nil), open(t, h, "?model=house/echo:tokens=3", nil)
	giant.await("session.created")
	other.await("session.created")
	event := append([]byte(`{"type":"input_audio_buffer.append","audio":"`), bytes.Repeat([]byte("A"), 22<<20)...)
	_ = giant.conn.Send(websocket.Text, append(event, `"}`...)) // the gateway may close while it is sent
	if e, err := giant.next("response.done"); err == nil {
		t.Errorf("the session continued with %v", e)
	}
	other.say("Hello")
	other.await("response.done")
	other.conn.Abort()
	h.SettledSession(other.id, 1)
}

// TestStoppedGatewayTellsClientsToComeAgain checks the close code of sessions when their gateway stops.
func TestStoppedGatewayTellsClientsToComeAgain(t *testing.T) {
	t.Parallel()
	up := harness.NewUpstream(t)
	h := harness.Open(t, harness.Setup{YAML: priced(up)})
	s := open(t, h, "?model=house/echo:sound=60s,pace=50ms", nil)
	s.await("session.created")
	s.say("Hello")
	s.await("response.output_audio.delta")
	stopped := make(chan error, 1)
	go func() { stopped <- h.Stop() }()
	if _, err := s.next("response.done"); err == nil { // the provider's account of the cancelled response
		_, err = s.next("none")
		if code := websocket.CodeOf(err); code != websocket.GoingAway {
			t.Errorf("the session ended with %v, want %d", err, websocket.GoingAway)
		}
	} else if code := websocket.CodeOf(err); code != websocket.GoingAway {
		t.Errorf("the session ended with %v, want %d", err, websocket.GoingAway)
	}
	must.Do(t, <-stopped)
}
