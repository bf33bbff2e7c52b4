package simulator

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"weir/internal/llm"
	"weir/internal/websocket"
)

// talk is a session of OpenAI's Realtime API, in the form of npm openai 7.59.0 and openai-openapi 2.3.0.
type talk struct {
	s       *Server
	conn    *websocket.Conn
	spec    *spec
	fault   *fault
	key     string // fingerprint
	attempt string
	ctx     context.Context
	work    sync.WaitGroup // responses and transcripts

	mu       sync.Mutex
	settings map[string]any
	made     int                           // ids
	said     llm.Usage                     // the conversation, in classes of input
	heard    voice                         // the sound that was not committed
	came     int64                         // milliseconds of sound so far
	running  map[string]context.CancelFunc // responses by id
	active   string                        // the response of the conversation; empty for none
	called   bool                          // the last response called a function
}

const maxTalkEvent = 24 << 20

// serveTalk serves a Realtime session.
func (s *Server) serveTalk(w http.ResponseWriter, r *http.Request) {
	key := fingerprint(talkKey(r))
	spec, err := s.talkSpec(r)
	if s.keys != nil && !s.keys[key] {
		err = llm.Errorf(llm.CodeAuthentication, "The API key is missing, or is not one of this simulator's.")
	}
	if err == nil && websocket.Check(r) != nil {
		err = llm.Invalid("", "This address needs a WebSocket.")
	}
	if err != nil || spec.status != 0 {
		status := http.StatusBadRequest
		if err == nil {
			status = spec.status
		}
		http.Error(w, fmt.Sprintf(`{"error":{"message":"refused: %v"}}`, err), status)
		return
	}
	conn, err := websocket.Accept(w, r, websocket.Bounds{
		Message: maxTalkEvent, Read: time.Minute, Write: time.Minute,
	}, "realtime")
	if err != nil {
		return
	}
	t := &talk{
		s: s, conn: conn, spec: spec, fault: spec.fault, key: key, attempt: clip(r.Header.Get("X-Client-Request-Id")),
		running: map[string]context.CancelFunc{},
	}
	ctx, cancel := context.WithCancel(r.Context())
	t.ctx = ctx
	t.settings = firstSettings(spec.name, r)
	if spec.begins.timed {
		t.settings = timedSettings(spec.name)
		defer t.time()()
	}
	t.run()
	cancel()
	t.work.Wait()
	conn.Abort()
}

// talkKey returns the key of a request, which browsers send as a subprotocol.
func talkKey(r *http.Request) string {
	for _, name := range strings.Split(r.Header.Get("Sec-WebSocket-Protocol"), ",") {
		if key, ok := strings.CutPrefix(strings.TrimSpace(name), "openai-insecure-api-key."); ok {
			return key
		}
	}
	return keyOf(r)
}

// talkSpec reads the model of a session.
func (s *Server) talkSpec(r *http.Request) (*spec, error) {
	q := r.URL.Query()
	if q.Get("intent") == "transcription" {
		return s.specs.get(baseEcho)
	}
	return s.specs.get(cmp.Or(q.Get("model"), q.Get("deployment")))
}

// firstSettings returns the settings of a new session: the provider answers each detected turn.
func firstSettings(model string, r *http.Request) map[string]any {
	detection := map[string]any{
		"type": "server_vad", "threshold": 0.5, "prefix_padding_ms": 300, "silence_duration_ms": 500,
		"create_response": true, "interrupt_response": true, "idle_timeout_ms": nil,
	}
	format := map[string]any{"type": "audio/pcm", "rate": 24000}
	if r.Header.Get("OpenAI-Beta") == "realtime=v1" || r.URL.Query().Has("api-version") {
		return map[string]any{
			"object": "realtime.session", "model": model, "instructions": "Answer.", "turn_detection": detection,
			"input_audio_format": "pcm16", "modalities": []any{"audio", "text"}, "tools": []any{},
			"max_response_output_tokens": "inf", "input_audio_transcription": nil,
		}
	}
	if r.URL.Query().Get("intent") == "transcription" {
		delete(detection, "create_response")
		delete(detection, "interrupt_response")
		return map[string]any{
			"object": "realtime.transcription_session", "type": "transcription",
			"audio": map[string]any{"input": map[string]any{"format": format, "turn_detection": detection}},
		}
	}
	return map[string]any{
		"object": "realtime.session", "type": "realtime", "model": model, "instructions": "Answer.",
		"output_modalities": []any{"audio"}, "tools": []any{}, "max_output_tokens": "inf",
		"audio": map[string]any{
			"input":  map[string]any{"format": format, "turn_detection": detection, "transcription": nil},
			"output": map[string]any{"format": format, "voice": "alloy"},
		},
	}
}

// run serves the client's events until it leaves.
func (t *talk) run() {
	t.mu.Lock()
	t.tell("session.created", map[string]any{"session": t.settings})
	t.mu.Unlock()
	var buf []byte
	for {
		_, frame, err := t.conn.Receive(buf[:0])
		if buf = frame; err != nil {
			return
		}
		var e map[string]any
		if err := json.Unmarshal(frame, &e); err != nil {
			t.mu.Lock()
			t.refuse(nil, "invalid_request_error", "The event is not JSON.")
			t.mu.Unlock()
			continue
		}
		t.mu.Lock()
		t.take(e)
		t.mu.Unlock()
	}
}

// take serves one event of the client.
func (t *talk) take(e map[string]any) {
	switch kind, _ := e["type"].(string); kind {
	case "session.update":
		update, _ := e["session"].(map[string]any)
		if most, text := update["max_output_tokens"].(string); text && most != "inf" {
			t.refuse(e, "invalid_value", "The max_output_tokens are not valid.")
			return
		}
		merge(t.settings, update)
		t.tell("session.updated", map[string]any{"session": t.settings})
	case "input_audio_buffer.append":
		text, _ := e["audio"].(string)
		sound, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			t.refuse(e, "invalid_value", "The audio is not base64.")
			return
		}
		t.listen(sound)
	case "input_audio_buffer.commit":
		if t.heard.millis == 0 {
			t.refuse(e, "input_audio_buffer_commit_empty", "The buffer is empty.")
			return
		}
		t.commit(t.id("item"))
	case "input_audio_buffer.clear":
		t.heard = voice{}
		t.tell("input_audio_buffer.cleared", nil)
	case "conversation.item.create":
		item, _ := e["item"].(map[string]any)
		t.say(item)
	case "response.create":
		t.respond(e)
	case "response.cancel":
		t.cancel(e)
	case "conversation.item.truncate", "conversation.item.delete", "conversation.item.retrieve":
		t.tell(kind+"d", map[string]any{"item_id": e["item_id"]})
	default:
		t.refuse(e, "invalid_value", "There is no such event: "+kind)
	}
}

// merge sets the members of an update in the settings.
func merge(settings, update map[string]any) {
	for name, value := range update {
		inner, ok := value.(map[string]any)
		before, had := settings[name].(map[string]any)
		if ok && had {
			merge(before, inner)
		} else {
			settings[name] = value
		}
	}
}

// at returns a setting by its path in a session, or else by its name in the beta; nil for none.
func (t *talk) at(beta string, path ...string) any {
	v := any(t.settings)
	for _, name := range path {
		m, _ := v.(map[string]any)
		v = m[name]
	}
	if v == nil {
		v = t.settings[beta]
	}
	return v
}

// id returns an id for something new.
func (t *talk) id(kind string) string {
	t.made++
	return fmt.Sprintf("%s_%s%d", kind, hex16(mix(hashText(t.s.seed, t.attempt))), t.made)
}

// tell sends an event. The caller holds mu.
func (t *talk) tell(kind string, e map[string]any) {
	if e == nil {
		e = map[string]any{}
	}
	e["type"], e["event_id"] = kind, t.id("event")
	b, _ := json.Marshal(e)
	_ = t.conn.Send(websocket.Text, b)
}

// refuse reports a mistake in an event of the client.
func (t *talk) refuse(e map[string]any, code, message string) {
	t.tell("error", map[string]any{"error": map[string]any{
		"type": "invalid_request_error", "code": code, "message": message, "param": nil, "event_id": e["event_id"],
	}})
}
