package simulator

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"

	"weir/internal/llm"
	"weir/internal/rawjson"
	"weir/internal/sse"
	"weir/internal/websocket"
)

// messages is a WebSocket of the Responses API. It has one request in flight.
type messages struct {
	server *Server
	conn   *websocket.Conn
	header http.Header
	path   string
	busy   sync.Mutex
}

// serveMessages serves a WebSocket: each message is a request, which is answered as one over HTTP with the same header.
func serveMessages(s *Server, w http.ResponseWriter, r *http.Request) {
	if s.keys != nil && !s.keys[fingerprint(keyOf(r))] {
		http.Error(w, `{"error":{"message":"The API key is not one of this simulator's."}}`, http.StatusUnauthorized)
		return
	}
	conn, err := websocket.Accept(w, r, websocket.Bounds{Message: s.maxBody, Read: time.Minute, Write: time.Minute})
	if err != nil {
		websocket.AskUpgrade(w.Header())
		http.Error(w, `{"error":{"message":"This address needs a WebSocket."}}`, http.StatusUpgradeRequired)
		return
	}
	m := &messages{server: s, conn: conn, header: r.Header.Clone(), path: r.URL.Path}
	for _, name := range []string{"Upgrade", "Connection", "Sec-Websocket-Key", "Sec-Websocket-Version"} {
		m.header.Del(name)
	}
	defer conn.Abort()
	ctx, cancel := context.WithCancel(r.Context())
	var work sync.WaitGroup
	defer work.Wait()
	defer cancel()
	for {
		_, text, err := conn.Receive(nil)
		if err != nil {
			return
		}
		m.busy.Lock() // further requests wait for the answer
		work.Go(func() {
			defer m.busy.Unlock()
			m.serve(ctx, text)
		})
	}
}

// serve answers one message.
func (m *messages) serve(ctx context.Context, text []byte) {
	if rawjson.Text(rawjson.Get(text, "type")) != "response.create" || rawjson.Get(text, "stream") != nil {
		m.fail(http.StatusBadRequest, []byte(`{"message":"Send a response.create without stream."}`), nil)
		return
	}
	body := []byte(`{"stream":true`)
	for member := range rawjson.Members(text) {
		if !member.Is("type") {
			body = rawjson.AppendMember(body, member.Name(), member.Value)
		}
	}
	from := bytes.NewReader(append(body, '}'))
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://simulator"+m.path, from)
	if err != nil {
		m.conn.Abort()
		return
	}
	r.Header = m.header
	res, err := m.server.RoundTripper().RoundTrip(r)
	if err != nil {
		m.conn.Abort()
		return
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode == http.StatusOK && res.Header.Get("Content-Type") == "text/event-stream" {
		err = m.stream(res.Body)
	} else {
		err = m.whole(res)
	}
	if err != nil {
		m.conn.Abort() // as the connection would be
	}
}

// stream sends the data of each event as a message. It returns the error of an answer that breaks off.
func (m *messages) stream(from io.Reader) error {
	events := sse.NewReader(from, int(m.server.maxBody))
	for {
		ev, err := events.Next()
		switch {
		case err == io.EOF: //nolint:errorlint // not the error of a part
			return nil
		case err != nil:
			return err
		case bytes.Equal(ev.Data, []byte("[DONE]")):
			continue
		}
		if err := m.conn.Send(websocket.Text, ev.Data); err != nil {
			return err
		}
	}
}

// whole sends an answer that is no stream: an error.
func (m *messages) whole(res *http.Response) error {
	text, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode < http.StatusBadRequest {
		return llm.Errorf(llm.CodeInternal, "An answer that no message can have.")
	}
	m.fail(res.StatusCode, rawjson.Get(text, "error"), res.Header)
	return nil
}

// fail sends an error.
func (m *messages) fail(status int, err []byte, h http.Header) {
	if err == nil {
		err = []byte("{}")
	}
	out := strconv.AppendInt([]byte(`{"type":"error","status":`), int64(status), 10)
	out = rawjson.AppendMember(out, "error", err)
	if after := h.Get("Retry-After"); after != "" {
		out = append(rawjson.AppendString(append(out, `,"headers":{"retry-after":`...), after), '}')
	}
	_ = m.conn.Send(websocket.Text, append(out, '}'))
}
