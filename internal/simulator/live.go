package simulator

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"time"

	"weir/internal/llm"
	"weir/internal/websocket"
)

// liveDialect is the wire format of the ledger's records of live sessions.
const liveDialect = "live"

// Google counts 32 tokens for a second of the client's sound, 25 for one of the model's
// (https://ai.google.dev/gemini-api/docs/live-guide, copy of 2026-11-30). The sound has 16 kHz, and 24 kHz.
const (
	heardTokens  = 32
	livePerMilli = 32
	liveSpoken   = 40 // milliseconds of a token
)

// liveTalk is a session of Google's Live API.
type liveTalk struct {
	s       *Server
	conn    *websocket.Conn
	spec    *spec
	key     string
	attempt string
	ctx     context.Context
	work    sync.WaitGroup

	mu      sync.Mutex
	most    int64 // output tokens of an answer; unset for no cap
	detects bool
	tool    string    // the function to call; empty for none
	called  bool      // the last answer called it
	goesOn  bool      // it runs beside the answer that calls it
	said    llm.Usage // the conversation, in classes of input
	heard   voice
	current *liveReply // the answer that runs; nil for none
}

// serveLive serves a live session.
func (s *Server) serveLive(w http.ResponseWriter, r *http.Request) {
	key := r.URL.Query().Get("key")
	if key == "" {
		key = r.Header.Get("X-Goog-Api-Key")
	}
	conn, err := websocket.Accept(w, r, websocket.Bounds{Message: maxTalkEvent, Read: time.Minute, Write: time.Minute})
	if err != nil {
		http.Error(w, `{"error":{"message":"This address needs a WebSocket."}}`, http.StatusBadRequest)
		return
	}
	defer conn.Abort()
	t := &liveTalk{
		s: s, conn: conn, key: fingerprint(key), attempt: clip(r.Header.Get("X-Client-Request-Id")), most: unset,
	}
	if s.keys != nil && !s.keys[t.key] {
		conn.Close(websocket.Refused, "API key not valid. Please pass a valid API key.")
		return
	}
	ctx, cancel := context.WithCancel(r.Context())
	t.ctx = ctx
	t.run()
	cancel()
	t.work.Wait()
}

// run serves the client's messages until it leaves.
func (t *liveTalk) run() {
	var buf []byte
	for {
		_, frame, err := t.conn.Receive(buf[:0])
		if buf = frame; err != nil {
			return
		}
		var m map[string]any
		if err := json.Unmarshal(frame, &m); err != nil {
			t.conn.Close(websocket.BadContent, "Request contains an invalid argument.")
			return
		}
		t.mu.Lock()
		problem := t.take(m)
		t.mu.Unlock()
		if problem != "" {
			t.conn.Close(websocket.BadContent, problem)
			return
		}
	}
}

// field returns a member in either of its spellings.
func field(v any, camel, snake string) any {
	m, _ := v.(map[string]any)
	if found, ok := m[camel]; ok {
		return found
	}
	return m[snake]
}

// take serves one message of the client, and returns its mistake.
func (t *liveTalk) take(m map[string]any) (problem string) {
	if setup, ok := m["setup"].(map[string]any); ok {
		return t.begin(setup)
	}
	if t.spec == nil {
		return "The first message must be a setup."
	}
	if content := field(m, "clientContent", "client_content"); content != nil {
		t.said[llm.Input] += textTokens(field(content, "turns", "turns"))
		if field(content, "turnComplete", "turn_complete") == true {
			t.respond()
		}
	}
	if results := field(m, "toolResponse", "tool_response"); results != nil {
		t.said[llm.Input] += 4
		t.respond()
	}
	if input := field(m, "realtimeInput", "realtime_input"); input != nil {
		return t.hear(input)
	}
	return ""
}

// begin serves the setup.
func (t *liveTalk) begin(setup map[string]any) (problem string) {
	model, _ := setup["model"].(string)
	var err error
	if t.spec, err = t.s.specs.get(strings.TrimPrefix(model, "models/")); err != nil {
		return "The model is not found: " + model
	}
	config := field(setup, "generationConfig", "generation_config")
	if n, ok := field(config, "maxOutputTokens", "max_output_tokens").(float64); ok {
		t.most = int64(n)
	}
	input := field(setup, "realtimeInputConfig", "realtime_input_config")
	detection := field(input, "automaticActivityDetection", "automatic_activity_detection")
	t.detects = field(detection, "disabled", "disabled") != true
	tools, _ := setup["tools"].([]any)
	for _, tool := range tools {
		declared, _ := field(tool, "functionDeclarations", "function_declarations").([]any)
		for _, d := range declared {
			t.tool, _ = field(d, "name", "name").(string)
			t.goesOn = field(d, "behavior", "behavior") == "NON_BLOCKING"
		}
	}
	t.said[llm.Input] += textTokens(field(setup, "systemInstruction", "system_instruction"))
	t.tell(map[string]any{"setupComplete": map[string]any{}})
	return ""
}

// hear serves sound and text as they arise.
func (t *liveTalk) hear(input any) (problem string) {
	if text, ok := field(input, "text", "text").(string); ok {
		t.said[llm.Input] += (int64(len(text)) + charsPerToken - 1) / charsPerToken
		t.respond()
	}
	data, _ := field(field(input, "audio", "audio"), "data", "data").(string)
	sound, err := base64.StdEncoding.DecodeString(data)
	if err != nil {
		return "The audio is not base64."
	}
	for piece := 20 * livePerMilli; len(sound) > 0; sound = sound[min(piece, len(sound)):] {
		t.detect(sound[:min(piece, len(sound))])
	}
	if field(input, "activityEnd", "activity_end") != nil {
		t.commit()
	}
	return ""
}

// detect follows the speech in the sound: zero bytes are silence.
func (t *liveTalk) detect(sound []byte) {
	v, millis := &t.heard, int64(len(sound))/livePerMilli
	v.millis += millis
	switch silent := isSilent(sound); {
	case !t.detects:
	case !silent && !v.speaking:
		v.speaking, v.silent = true, 0
		if t.current != nil {
			t.current.cancel()
		}
	case !silent:
		v.silent = 0
	case v.speaking:
		if v.silent += millis; v.silent >= 500 {
			t.commit()
		}
	default: // silence before speech is not kept
		v.millis = 0
	}
}

// commit makes the sound a part of the conversation, and answers it.
func (t *liveTalk) commit() {
	t.said[llm.AudioIn] += (t.heard.millis*heardTokens + 999) / 1000
	t.heard = voice{}
	t.respond()
}

// tell sends a message in a binary frame, as Google does. The caller holds mu.
func (t *liveTalk) tell(m map[string]any) {
	b, _ := json.Marshal(m)
	_ = t.conn.Send(websocket.Binary, b)
}
