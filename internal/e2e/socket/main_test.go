package socket_test

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"strings"
	"testing"

	"weir/internal/e2e/harness"
	"weir/internal/must"
	"weir/internal/websocket"
)

func TestMain(m *testing.M) { harness.Main(m) }

// client is a WebSocket of a client.
type client struct {
	t testing.TB
	*websocket.Conn
}

// event is an event of an answer, or an error.
type event struct {
	Type     string          `json:"type"`
	Sequence int             `json:"sequence_number"`
	Lane     string          `json:"stream_id"`
	Status   int             `json:"status"`
	Response json.RawMessage `json:"response"`
	Delta    string          `json:"delta"`
	Error    struct {
		Type, Code, Message, Param string
	} `json:"error"`
	text string // the whole message
}

// handshake requests a WebSocket with the key and further headers, and returns the refusal if there is one.
func handshake(t testing.TB, h *harness.Gateway, key string, header ...string) (*client, *http.Response) {
	t.Helper()
	address := strings.TrimPrefix(h.URL, "http://")
	conn := must.Get(net.Dial("tcp", address))(t)
	lines := http.Header{}
	if key != "" {
		lines.Set("Authorization", "Bearer "+key)
	}
	for i := 0; i+1 < len(header); i += 2 {
		lines.Set(header[i], header[i+1])
	}
	ctx, cancel := context.WithTimeout(t.Context(), harness.Patience)
	defer cancel()
	c, res, err := websocket.Dial(ctx, conn, h.URL+"/v1/responses", lines, websocket.Bounds{
		Message: 64 << 20, Read: harness.Patience, Write: harness.Patience,
	})
	if err != nil {
		return nil, res
	}
	t.Cleanup(c.Abort)
	return &client{t, c}, res
}

// dial opens a WebSocket.
func dial(t testing.TB, h *harness.Gateway, header ...string) *client {
	t.Helper()
	c, res := handshake(t, h, h.Key, header...)
	if c == nil {
		t.Fatalf("handshake: got %s, want a WebSocket", res.Status)
	}
	return c
}

// send sends a message.
func (c *client) send(text string) {
	c.t.Helper()
	must.Do(c.t, c.Send(websocket.Text, []byte(text)))
}

// create sends a response.create with these members.
func (c *client) create(members string) {
	c.t.Helper()
	c.send(`{"type":"response.create",` + members + `}`)
}

// next returns the next message.
func (c *client) next() event {
	c.t.Helper()
	_, text, err := c.Receive(nil)
	must.Do(c.t, err)
	e := event{text: string(text)}
	must.Do(c.t, json.Unmarshal(text, &e))
	return e
}

// answer returns the events of an answer up to its end.
func (c *client) answer() (events []event) {
	c.t.Helper()
	for {
		e := c.next()
		events = append(events, e)
		switch e.Type {
		case "response.completed", "response.incomplete", "response.failed", "error":
			return events
		}
	}
}

// completed returns the response of an answer, which must be whole.
func (c *client) completed() (object, id string) {
	c.t.Helper()
	events := c.answer()
	last := events[len(events)-1]
	var o struct{ ID string }
	if last.Type != "response.completed" || json.Unmarshal(last.Response, &o) != nil || o.ID == "" {
		c.t.Fatalf("got %s, want response.completed", last.text)
	}
	return string(last.Response), o.ID
}

// refused returns the error that comes next.
func (c *client) refused(status int, code string) event {
	c.t.Helper()
	e := c.next()
	if e.Type != "error" || e.Status != status || e.Error.Code != code || e.Error.Message == "" {
		c.t.Errorf("got %s, want an error with the status %d and the code %q", e.text, status, code)
	}
	return e
}

// ended returns the code with which the gateway closes the WebSocket, and the messages before.
func (c *client) ended() (code websocket.Code, before []string) {
	c.t.Helper()
	for {
		_, text, err := c.Receive(nil)
		if err != nil {
			return websocket.CodeOf(err), before
		}
		before = append(before, string(text))
	}
}
