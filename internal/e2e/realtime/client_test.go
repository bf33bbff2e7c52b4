package realtime_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"weir/internal/e2e/harness"
	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/simulator"
	"weir/internal/websocket"
)

// rates has a different price for each class, so that a token in the wrong class changes the cost.
const rates = `{input: "3", cache_read: "0.7", output: "11", audio_in: "37", audio_out: "83"}`

// priced returns a configuration with the simulator as the provider house.
func priced(up *harness.Upstream) string {
	return "providers:" + harness.ProviderYAML("house", up.URL) + "prices:\n  house/*: " + rates +
		"\n  house/whisper-1: {second: \"0.001\"}\nmodels:\n  house/*: {context: 4000, max_output: 1000}\n"
}

// costOf returns the cost of a usage at the rates.
func costOf(u *llm.Usage) (cost llm.Money) {
	nano := llm.Usage{llm.Input: 3000, llm.CacheRead: 700, llm.Output: 11000, llm.AudioIn: 37000, llm.AudioOut: 83000}
	nano[llm.Milliseconds] = 1000
	for c, n := range u {
		cost += llm.Money(n * nano[c])
	}
	return cost
}

// talk is a client's session.
type talk struct {
	t    testing.TB
	conn *websocket.Conn
	id   string
	got  []map[string]any
}

// open begins a session at the path and query, or at the query of the usual path; header are those of the handshake.
func open(t testing.TB, h *harness.Gateway, query string, header http.Header, protocols ...string) *talk {
	t.Helper()
	s, res, err := dial(t, h, query, header, protocols...)
	if err != nil {
		t.Fatalf("session %s: %v, %+v", query, err, res)
	}
	return s
}

func dial(t testing.TB, h *harness.Gateway, query string, header http.Header, protocols ...string) (
	*talk, *http.Response, error,
) {
	t.Helper()
	address := strings.TrimPrefix(h.URL, "http://")
	c := must.Get(new(net.Dialer).DialContext(t.Context(), "tcp", address))(t)
	if header == nil {
		header = http.Header{"Authorization": {"Bearer " + h.Key}}
	}
	ctx, cancel := context.WithTimeout(t.Context(), harness.Patience)
	defer cancel()
	if !strings.HasPrefix(query, "/") {
		query = "/v1/realtime" + query
	}
	conn, res, err := websocket.Dial(ctx, c, h.URL+query, header, websocket.Bounds{
		Message: 32 << 20, Read: harness.Patience, Write: harness.Patience,
	}, protocols...)
	if err != nil {
		return nil, res, err
	}
	t.Cleanup(conn.Abort)
	return &talk{t: t, conn: conn, id: res.Header.Get("X-Request-Id")}, res, nil
}

// send sends an event.
func (s *talk) send(event string) {
	s.t.Helper()
	if err := s.conn.Send(websocket.Text, []byte(event)); err != nil {
		s.t.Fatalf("send %s: %v", event, err)
	}
}

// await returns the next event of a type, and fails if the session ends before.
func (s *talk) await(kind string) map[string]any {
	s.t.Helper()
	e, err := s.next(kind)
	if err != nil {
		s.t.Fatalf("no %s: %v; got %s", kind, err, s.types())
	}
	return e
}

// next returns the next event of a type.
func (s *talk) next(kind string) (map[string]any, error) {
	for {
		timer := time.AfterFunc(harness.Patience, s.conn.Abort)
		_, frame, err := s.conn.Receive(nil)
		timer.Stop()
		if err != nil {
			return nil, err
		}
		var e map[string]any
		must.Do(s.t, json.Unmarshal(frame, &e))
		s.got = append(s.got, e)
		if e["type"] == kind {
			return e, nil
		}
	}
}

// types returns the types of all events so far.
func (s *talk) types() string {
	var names []string
	for _, e := range s.got {
		name := fmt.Sprint(e["type"])
		if name == "error" {
			name = fmt.Sprint(e["error"])
		}
		names = append(names, name)
	}
	return strings.Join(names, " ")
}

// count returns how many events of a type came.
func (s *talk) count(kind string) (n int) {
	for _, e := range s.got {
		if e["type"] == kind {
			n++
		}
	}
	return n
}

// speak sends speech and then silence, both in milliseconds.
func (s *talk) speak(speech, silence int) {
	s.t.Helper()
	sound := make([]byte, (speech+silence)*48)
	for i := range speech * 48 {
		sound[i] = 7
	}
	s.send(`{"type":"input_audio_buffer.append","audio":"` + base64.StdEncoding.EncodeToString(sound) + `"}`)
}

// say adds a text to the conversation and wants a response.
func (s *talk) say(text string) {
	s.t.Helper()
	s.send(`{"type":"conversation.item.create","item":{"type":"message","role":"user","content":[{"type":` +
		`"input_text","text":"` + text + `"}]}}`)
	s.send(`{"type":"response.create"}`)
}

// served returns the simulator's records of a session.
func served(up *harness.Upstream, session string) (all []simulator.Record) {
	return up.Ledger().Attempt(session)
}
