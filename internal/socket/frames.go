package socket

import (
	"errors"
	"net/http"
	"strconv"
	"strings"

	"weir/internal/llm"
	"weir/internal/rawjson"
	"weir/internal/sse"
	"weir/internal/websocket"
)

// frames is the http.ResponseWriter of a request on a WebSocket. It sends each event of a streamed answer as a message,
// and any other answer as one message.
type frames struct {
	session  *session
	lane     string
	header   http.Header
	status   int // 0 before WriteHeader
	streamed bool
	events   sse.Splitter
	whole    []byte // an answer that is no stream
	out      []byte
	err      error
}

var errOver = errors.New("socket: the answer has ended")

// Header implements http.ResponseWriter.
func (w *frames) Header() http.Header { return w.header }

// WriteHeader implements http.ResponseWriter.
func (w *frames) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
		w.streamed = status == http.StatusOK && strings.HasPrefix(w.header.Get("Content-Type"), "text/event-stream")
	}
}

// Write implements io.Writer.
func (w *frames) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	switch {
	case w.err != nil:
		return 0, w.err
	case !w.streamed:
		w.whole = append(w.whole, p...) // as long as the pipeline's bounds for an answer permit
		return len(p), nil
	}
	w.events.Add(p)
	for ev, ok := w.events.Next(); ok && w.err == nil; ev, ok = w.events.Next() {
		if rawjson.KindOf(ev.Data) == rawjson.Object { // not the end marker
			w.send(ev.Data)
		}
	}
	if w.err != nil {
		return 0, w.err
	}
	return len(p), nil
}

// FlushError is for http.ResponseController. All is sent already.
func (w *frames) FlushError() error { return w.err }

// finish ends the answer.
func (w *frames) finish() {
	if w.err == nil && w.status > 0 && !w.streamed {
		if w.status == http.StatusOK {
			out := []byte(`{"type":"response.completed","sequence_number":0,"response":`)
			w.send(append(append(out, w.whole...), '}'))
		} else {
			w.send(failure(w.status, rawjson.Get(w.whole, "error"), w.header))
		}
	}
	w.err = errOver
}

// send sends an object in the lane.
func (w *frames) send(object []byte) {
	w.out = appendInLane(w.out[:0], object, w.lane)
	w.err = w.session.conn.Send(websocket.Text, w.out)
	if cap(w.out) > keepOut {
		w.out = nil
	}
}

const keepOut = 16 << 10 // bytes of the largest buffer that is kept for the next event

// appendInLane appends an object with its lane as the last member, if it has one.
func appendInLane(dst, object []byte, lane string) []byte {
	if lane == "" {
		return append(dst, object...)
	}
	end := len(object) - 1
	for end >= 0 && object[end] != '}' {
		end--
	}
	dst = append(dst, object[:end]...)
	return append(rawjson.AppendMember(dst, "stream_id", rawjson.AppendString(nil, lane)), '}')
}

// failure returns the message for an error, which is JSON, of a request or of a message that is none. Retry-After is
// passed on in the error's headers (npm openai 7.59.0), and in the message's, which Codex reads (codex-rs/codex-api,
// responses_websocket.rs, seen in copies of 2026).
func failure(status int, err []byte, h http.Header) []byte {
	headers := []byte(nil)
	if after := h.Get("Retry-After"); after != "" {
		headers = append(rawjson.AppendString([]byte(`{"retry-after":`), after), '}')
		err = rawjson.Splice(nil, err, rawjson.Set(err, "headers", headers))
	}
	out := strconv.AppendInt([]byte(`{"type":"error","status":`), int64(status), 10)
	out = append(append(out, `,"error":`...), err...)
	if headers != nil {
		out = append(append(out, `,"headers":`...), headers...)
	}
	return append(out, '}')
}

// fail sends an error that belongs to no request.
func (x *session) fail(lane string, err error) {
	d, e := x.server.requests.Dialect(), llm.AsError(err)
	body := d.EncodeError(nil, e, "")
	_ = x.conn.Send(websocket.Text, appendInLane(nil, failure(d.Status(e.Code), rawjson.Get(body, "error"), nil), lane))
}

// refuseSteering refuses to change a running response: its successor would be an attempt that no message announces. It
// returns the input, so that the client can send it in the next request.
func (x *session) refuseSteering(m *message) {
	out := []byte(`{"type":"response.steer.failed","sequence_number":0,"steer":{"previous_response_id":`)
	out = rawjson.AppendString(out, m.previous)
	if m.input != nil {
		out = append(append(out, `,"input":`...), m.input...)
	}
	out = append(out, `},"error":{"type":"invalid_request_error","code":"steering_not_supported","message":`...)
	out = rawjson.AppendString(out, "A running response cannot be steered here. Wait for its end, and send another "+
		"response.create with its id as previous_response_id.")
	_ = x.conn.Send(websocket.Text, append(out, "}}"...))
	m.held.ReleaseAll()
}
