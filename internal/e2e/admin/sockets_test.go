package admin_test

import (
	"context"
	"net"
	"net/http"
	"strings"
	"testing"

	"weir/internal/e2e/harness"
	"weir/internal/must"
	"weir/internal/websocket"
)

// openSocket opens a WebSocket at a path and returns it with its id.
func openSocket(t testing.TB, h *harness.Gateway, path string) (*websocket.Conn, string) {
	t.Helper()
	conn := must.Get(net.Dial("tcp", strings.TrimPrefix(h.URL, "http://")))(t)
	ctx, cancel := context.WithTimeout(t.Context(), harness.Patience)
	defer cancel()
	c, res, err := websocket.Dial(ctx, conn, h.URL+path, http.Header{"Authorization": {"Bearer " + h.Key}}, websocket.Bounds{
		Message: 64 << 20, Read: harness.Patience, Write: harness.Patience,
	})
	must.Do(t, err)
	t.Cleanup(c.Abort)
	return c, res.Header.Get("X-Request-Id")
}

// askOnSocket sends a response.create and waits for the end of its answer.
func askOnSocket(t testing.TB, c *websocket.Conn) {
	t.Helper()
	must.Do(t, c.Send(websocket.Text, []byte(`{"type":"response.create","model":"house/chat","input":"x"}`)))
	for {
		_, text, err := c.Receive(nil)
		must.Do(t, err)
		switch {
		case strings.Contains(string(text), `"type":"response.completed"`):
			return
		case strings.Contains(string(text), `"type":"error"`):
			t.Fatalf("got %s", text)
		}
	}
}

// codeAtEnd returns the code with which the gateway closes a WebSocket.
func codeAtEnd(c *websocket.Conn) websocket.Code {
	for {
		if _, _, err := c.Receive(nil); err != nil {
			return websocket.CodeOf(err)
		}
	}
}

// runSockets lists open WebSockets, finds the requests of one and ends it.
func (o *office) runSockets() {
	t := o.T
	c, id := openSocket(t, o.Gateway, "/v1/responses")
	askOnSocket(t, c)
	askOnSocket(t, c)
	other, _ := openSocket(t, o.Gateway, "/v1/responses")
	askOnSocket(t, other)
	const one = "/accounts/{account}/sockets/{socket}"
	harness.Await(t, "the WebSocket with its requests", func() bool {
		list := o.call(200, "GET /sockets", "")
		return at(list, "data", "0", "id") == id && at(list, "data", "0", "requests") == "2" && at(list, "data", "1", "requests") == "1"
	})
	own := o.call(200, "GET /accounts/{account}/sockets?limit=1", "", "default")
	if at(own, "data", "0", "id") != id || at(own, "data", "0", "model") != "house/chat" || own["next_cursor"] == nil {
		t.Errorf("the first WebSocket: got %v", own)
	}
	list := o.call(200, "GET /accounts/{account}/requests?socket="+id, "", "default")
	shown := o.call(200, "GET "+one, "", "default", id)
	if all, _ := list["data"].([]any); len(all) != 2 {
		t.Errorf("the requests of the WebSocket: got %v, want 2", list)
	}
	if at(shown, "charge_usd") == "0" || at(shown, "running") != "0" || at(shown, "account") != "default" {
		t.Errorf("the WebSocket: got %v, want a charge", shown)
	}
	if got := at(o.call(400, "GET /accounts/{account}/requests?socket=x", "", "default"), "param"); got != "socket" {
		t.Errorf("another id: got the parameter %s", got)
	}
	o.call(204, "DELETE "+one, "", "default", id)
	if code := codeAtEnd(c); code != websocket.Refused {
		t.Errorf("the ended WebSocket: got the code %d, want 1008", code)
	}
	harness.Await(t, "that it is not listed any more", func() bool {
		return at(o.call(200, "GET /accounts/{account}/sockets", "", "default"), "data", "1", "id") == "nothing"
	})
	o.call(404, "GET "+one, "", "default", id)
	other.Close(websocket.Normal, "")
}

// TestWebSocketIsEndedThroughAnotherNode checks that a node lists the WebSockets of another one, and ends them.
func TestWebSocketIsEndedThroughAnotherNode(t *testing.T) {
	t.Parallel()
	c := openControl(t)
	conn, id := openSocket(t, c.nodes[0], "/v1/responses")
	const path = "/accounts/default/sockets"
	harness.Await(t, "the WebSocket at the other node", func() bool { return at(c.call(1, "GET", path, ""), "data", "0", "id") == id })
	r := c.nodes[1].Do(harness.Ask{Method: "DELETE", Path: "/admin/v1" + path + "/" + id, Key: c.admin})
	if r.Status != http.StatusNoContent {
		t.Fatalf("end: got %d %s", r.Status, r.Body)
	}
	if code := codeAtEnd(conn); code != websocket.Refused {
		t.Errorf("got the code %d, want 1008", code)
	}
	harness.Await(t, "no WebSocket at any node", func() bool { return at(c.call(1, "GET", path, ""), "data", "0", "id") == "nothing" })
}
