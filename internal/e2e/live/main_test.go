// Package live_test checks sessions of Google's Live API against the simulator's account of them.
package live_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
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

func TestMain(m *testing.M) { harness.Main(m) }

const path = "/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent"

// priced returns a configuration with the simulator as the provider house, with a different price for each class.
func priced(up *harness.Upstream) string {
	house := strings.NewReplacer("dialect: openai", "dialect: gemini", "/v1\n", "/v1beta\n").
		Replace(harness.ProviderYAML("house", up.URL))
	return "providers:" + house + harness.ProviderYAML("other", up.URL) + `prices:
  house/*: {input: "3", output: "11", audio_in: "37", audio_out: "83"}
models:
  house/*: {context: 30000, max_output: 1000}
`
}

// costOf returns the cost of a usage at the prices.
func costOf(u *llm.Usage) (cost llm.Money) {
	nano := llm.Usage{llm.Input: 3000, llm.Output: 11000, llm.Reasoning: 11000, llm.AudioIn: 37000, llm.AudioOut: 83000}
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
}

// message holds the members of a message of the server.
type message struct {
	SetupComplete *struct{}
	ToolCall      *struct{}
	ServerContent struct {
		ModelTurn                                     *struct{}
		Interrupted, TurnComplete, GenerationComplete bool
	}
	UsageMetadata *struct{ ResponseTokenCount int64 }
}

func dial(t testing.TB, h *harness.Gateway, header http.Header) (*talk, *http.Response, error) {
	t.Helper()
	return dialAt(t, h, path, header)
}

func dialAt(t testing.TB, h *harness.Gateway, path string, header http.Header) (*talk, *http.Response, error) {
	t.Helper()
	c := must.Get(new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(h.URL, "http://")))(t)
	ctx, cancel := context.WithTimeout(t.Context(), harness.Patience)
	defer cancel()
	conn, res, err := websocket.Dial(ctx, c, h.URL+path, header, websocket.Bounds{
		Message: 32 << 20, Read: harness.Patience, Write: harness.Patience,
	})
	if err != nil {
		return nil, res, err
	}
	t.Cleanup(conn.Abort)
	return &talk{t: t, conn: conn, id: res.Header.Get("X-Request-Id")}, res, nil
}

// open begins a session with a model and more members of its setup.
func open(t testing.TB, h *harness.Gateway, model, more string) *talk {
	t.Helper()
	s, res, err := dial(t, h, http.Header{"X-Goog-Api-Key": {h.Key}})
	if err != nil {
		t.Fatalf("session: %v, %+v", err, res)
	}
	s.send(`{"setup":{"model":"models/` + model + `"` + more + `}}`)
	return s
}

// begun begins a session and awaits the end of its setup.
func begun(t testing.TB, h *harness.Gateway, model, more string) *talk {
	t.Helper()
	s := open(t, h, model, more)
	s.await("setupComplete", func(m *message) bool { return m.SetupComplete != nil })
	return s
}

func (s *talk) send(m string) {
	s.t.Helper()
	if err := s.conn.Send(websocket.Text, []byte(m)); err != nil {
		s.t.Fatalf("send %.200s: %v", m, err)
	}
}

// next returns the next message for which is is true.
func (s *talk) next(is func(*message) bool) (*message, error) {
	for {
		timer := time.AfterFunc(harness.Patience, s.conn.Abort)
		_, frame, err := s.conn.Receive(nil)
		timer.Stop()
		if err != nil {
			return nil, err
		}
		var m message
		must.Do(s.t, json.Unmarshal(frame, &m))
		if is(&m) {
			return &m, nil
		}
	}
}

func (s *talk) await(what string, is func(*message) bool) *message {
	s.t.Helper()
	m, err := s.next(is)
	if err != nil {
		s.t.Fatalf("no %s: %v", what, err)
	}
	return m
}

func isComplete(m *message) bool { return m.ServerContent.TurnComplete }

func hasContent(m *message) bool { return m.ServerContent.ModelTurn != nil }

// say asks by a text.
func (s *talk) say(text string) {
	s.t.Helper()
	s.send(`{"clientContent":{"turns":[{"role":"user","parts":[{"text":"` + text + `"}]}],"turnComplete":true}}`)
}

// speech returns a message with speech and then silence, both in milliseconds.
func speech(spoken, silent int) string {
	sound := make([]byte, (spoken+silent)*32)
	for i := range spoken * 32 {
		sound[i] = 7
	}
	return `{"realtimeInput":{"audio":{"mimeType":"audio/pcm;rate=16000","data":"` +
		base64.StdEncoding.EncodeToString(sound) + `"}}}`
}

// served returns the simulator's records of a session.
func served(up *harness.Upstream, session string) []simulator.Record {
	return up.Ledger().Attempt(session)
}
