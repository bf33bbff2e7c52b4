//go:build unix

package crashtest_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"time"

	"weir/internal/websocket"
)

// voice is a client's session of an API with sound.
type voice interface {
	// turn wants an answer and waits for its end. It reports whether the budget had no room for it.
	turn(rng *rand.Rand) (refused bool, err error)
	// leave ends the session, although answers may still run.
	leave()
}

// liveProvider has Google's Live API, and minuteProvider charges Realtime sessions by their duration.
const (
	liveProvider   = "sky"
	minuteProvider = "clock"
)

// openVoice opens a session in the API of the model's provider; it fails if the gateway does not answer, or refuses.
func openVoice(ctx context.Context, base, token, model string) (v voice, refused bool, err error) {
	live := strings.HasPrefix(model, liveProvider+"/")
	path, header := "/v1/realtime?model="+model, http.Header{"Authorization": {"Bearer " + token}}
	if live {
		path = "/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent"
		header = http.Header{"X-Goog-Api-Key": {token}}
	}
	c, err := new(net.Dialer).DialContext(ctx, "tcp", base)
	if err != nil {
		return nil, false, err
	}
	conn, res, err := websocket.Dial(ctx, c, "http://"+base+path, header,
		websocket.Bounds{Message: 1 << 20, Read: patience, Write: patience})
	if err != nil {
		status := 0
		if res != nil {
			status = res.StatusCode
		}
		return nil, status == http.StatusTooManyRequests, fmt.Errorf("%d: %w", status, err)
	}
	if live {
		v, err = beginLive(conn, model)
		return v, isBudget(err), err
	}
	return &session{conn, strings.HasPrefix(model, minuteProvider+"/")}, false, nil
}

// receive returns the next message.
func receive(conn *websocket.Conn) ([]byte, error) {
	defer time.AfterFunc(patience, conn.Abort).Stop()
	_, frame, err := conn.Receive(nil)
	return frame, err
}

// sound is speech and silence that end a turn, in base64, with that many bytes of a millisecond.
func sound(perMilli, speech int) string {
	b := append(bytes.Repeat([]byte{7}, perMilli*speech), make([]byte, perMilli*600)...)
	return base64.StdEncoding.EncodeToString(b)
}

// session is a client's Realtime session.
type session struct {
	conn  *websocket.Conn
	texts bool // it also sends texts, which are charged
}

func (s *session) leave() { s.conn.Abort() }

// turn wants a response, by an event or by speech.
func (s *session) turn(rng *rand.Rand) (refused bool, err error) {
	if s.texts && rng.IntN(2) == 0 {
		_ = s.conn.Send(websocket.Text, []byte(`{"type":"conversation.item.create","item":{"type":"message",`+
			`"role":"user","content":[{"type":"input_text","text":"Hi"}]}}`))
	}
	event := `{"type":"response.create"}`
	if rng.IntN(2) == 0 {
		event = `{"type":"input_audio_buffer.append","audio":"` + sound(48, 300) + `"}`
	}
	if err := s.conn.Send(websocket.Text, []byte(event)); err != nil {
		return false, err
	}
	for {
		frame, err := receive(s.conn)
		if err != nil {
			return refused, err
		}
		var e struct {
			Type  string
			Error struct{ Code string }
		}
		if err := json.Unmarshal(frame, &e); err != nil {
			return refused, err
		}
		switch e.Type {
		case "response.done":
			return refused, nil
		case "error":
			refused = refused || e.Error.Code == "insufficient_quota"
		}
	}
}

// liveSession is a client's session of Google's Live API.
type liveSession struct{ conn *websocket.Conn }

// beginLive sends the setup, with a function, and awaits its end.
func beginLive(conn *websocket.Conn, model string) (voice, error) {
	setup := fmt.Appendf(nil, `{"setup":{"model":"models/%s","tools":[{"functionDeclarations":[{"name":"look"}]}]}}`, model)
	err := conn.Send(websocket.Text, setup)
	if err == nil {
		_, err = receive(conn)
	}
	if err != nil {
		conn.Abort()
		return nil, err
	}
	return &liveSession{conn}, nil
}

// isBudget reports whether a Live session has ended for a budget.
func isBudget(err error) bool {
	return websocket.CodeOf(err) == websocket.Refused && strings.Contains(websocket.ReasonOf(err), "budget")
}

func (s *liveSession) leave() { s.conn.Abort() }

// turn wants an answer by a text, or by speech, which may interrupt itself. It sends the results of functions.
func (s *liveSession) turn(rng *rand.Rand) (refused bool, err error) {
	speech := func() string {
		return `{"realtimeInput":{"audio":{"mimeType":"audio/pcm;rate=16000","data":"` + sound(32, 200) + `"}}}`
	}
	messages := []string{`{"clientContent":{"turns":[{"role":"user","parts":[{"text":"Hi"}]}],"turnComplete":true}}`}
	switch rng.IntN(3) {
	case 1:
		messages = []string{speech()}
	case 2:
		messages = []string{speech(), speech()}
	}
	for _, m := range messages {
		if err := s.conn.Send(websocket.Text, []byte(m)); err != nil {
			return false, err
		}
	}
	for {
		frame, err := receive(s.conn)
		if err != nil {
			return isBudget(err), err
		}
		var m struct {
			ToolCall      *struct{}
			ServerContent struct{ TurnComplete bool }
		}
		if err := json.Unmarshal(frame, &m); err != nil {
			return false, err
		}
		if m.ServerContent.TurnComplete {
			return false, nil
		}
		if m.ToolCall != nil {
			_ = s.conn.Send(websocket.Text, []byte(`{"toolResponse":{"functionResponses":[{"id":"call_1","name":"look",`+
				`"response":{}}]}}`))
		}
	}
}
