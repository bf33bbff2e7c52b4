package provider

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"

	"weir/internal/dialect"
	"weir/internal/h1"
	"weir/internal/rawjson"
	"weir/internal/websocket"
)

const (
	// mostMessage is the longest request that is sent as a message, in bytes, because it exists twice then.
	mostMessage = 1 << 20
	// headRoom is the memory before a message for the first lines of its event, whose name has at most mostName bytes.
	headRoom, mostName = 96, 64
	// mostHead is the longest beginning of a message without its type, and the longest error, in bytes. OpenAI's
	// messages begin with the type.
	mostHead = 256 << 10
	mostID   = 256 // bytes of an answer's id
)

var (
	errBinary  = errors.New("a message of the WebSocket is binary")
	errHead    = errors.New("a message of the WebSocket has no type in its first 256 KiB, or is a longer error")
	errOtherID = errors.New("an answer over a WebSocket began with another id")
	errTwice   = errors.New("an answer over a WebSocket is the end of the one before")
	// errTooOld means that the provider has not served a request because of the WebSocket's age.
	errTooOld = errors.New("the provider takes no more requests on this WebSocket")
)

// asMessage returns a request as the message that asks for its stream. It returns false for one that must be sent over
// HTTP.
func asMessage(body []byte, s *dialect.Socket) ([]byte, bool) {
	if len(body) > mostMessage || rawjson.KindOf(body) != rawjson.Object {
		return nil, false
	}
	message := append(make([]byte, 0, len(body)+len(s.Create)+len(`{"type":"",`)), `{"type":"`...)
	message = append(append(message, s.Create...), '"')
	for m := range rawjson.Members(body) {
		switch {
		case m.Is("type"):
			return nil, false
		case slices.Contains(s.Without, m.Name()):
		case slices.Contains(s.HTTPOnly, m.Name()) && rawjson.Present(m.Value) && string(m.Value) != "false":
			return nil, false
		default:
			message = rawjson.AppendMember(message, m.Name(), m.Value)
		}
	}
	return append(message, '}'), true
}

// socketAnswer is the answer to one request over a WebSocket, and its body: the messages as the events of a stream over
// HTTP. The beginning of a message is read into a buffer, until its type is known, and the rest by the caller of Read.
type socketAnswer struct {
	pool     *sockets
	exchange *exchange
	form     *dialect.Socket
	socket   *keptSocket

	mu      sync.Mutex // held during Read
	content io.Reader  // the rest of a message; nil between messages
	last    bool       // the message ends the answer
	buf     *[]byte    // memory of text; nil if there is none
	text    []byte     // what has been received and not been read
	id      string     // of the answer; empty before the provider has named it
	err     error      // error at the end of the body
	over    bool       // the request is not counted any more
}

// answer waits for the first message. An error in it becomes the answer with its status.
func (s *socketAnswer) answer() (answer, error) {
	name, message, err := s.begin()
	if err != nil {
		s.close()
		return answer{}, err
	}
	if name == s.form.Error {
		status, ok := rawjson.AsInt(rawjson.Get(message, "status"))
		if !ok {
			status, _ = rawjson.AsInt(rawjson.Get(message, "status_code")) // Codex reads both
		}
		switch {
		case slices.Contains(s.form.TooOld, rawjson.Text(rawjson.Get(message, "error", "code"))):
			s.close()
			return answer{}, errTooOld
		case status >= 400 && status < 600:
			defer s.close()
			return refused(int(status), message), nil
		}
	}
	return answer{status: http.StatusOK, header: localFields{http.Header{
		"Content-Type": {s.exchange.call.Dialect.For(s.exchange.call.Op).Framing.ContentType},
	}}, length: -1, body: s}, nil
}

// refused returns the answer over HTTP that an error says.
func refused(status int, message []byte) answer {
	header := http.Header{"Content-Type": {contentType}}
	for m := range rawjson.Members(rawjson.Get(message, "headers")) {
		v := rawjson.Text(m.Value)
		if rawjson.KindOf(m.Value) == rawjson.Number {
			v = string(m.Value)
		}
		if v != "" && isFieldValue(v) && h1.IsToken(m.Name()) {
			header.Set(m.Name(), v)
		}
	}
	body := append(bytes.Clone(rawjson.AppendMember([]byte("{"), "error", rawjson.Get(message, "error"))), '}')
	return answer{status, localFields{header}, int64(len(body)), io.NopCloser(bytes.NewReader(body))}
}

// begin waits for the next message of the answer, and sets text to the beginning of its event. It returns the message's
// type, and its beginning; the whole message if it is an error.
func (s *socketAnswer) begin() (name string, head []byte, err error) {
	if s.buf == nil {
		s.buf = s.pool.http1.buffer()
	}
	for {
		content, err := s.socket.next()
		if err != nil {
			return "", nil, err
		}
		name, whole, err := s.readHead(content)
		if err != nil {
			return "", nil, err
		}
		head = (*s.buf)[headRoom:]
		if slices.ContainsFunc(s.form.Ignored, func(kind string) bool { return strings.HasPrefix(name, kind) }) {
			if err := skip(content, head[:cap(head)]); err != nil {
				return "", nil, err
			}
			continue
		}
		if err := s.checkID(name, head); err != nil {
			return "", nil, err
		}
		s.last = name == s.form.Error || slices.Contains(s.form.Last, name)
		blankLines(head)
		if s.content = content; whole {
			*s.buf = append(*s.buf, endOfEvent...)
			s.end(name == s.form.Error)
		}
		s.text = eventOf(*s.buf, name)
		return name, (*s.buf)[headRoom:][:len(head)], nil
	}
}

// readHead reads the beginning of a message, until its type is known; an error is read whole. It looks for the type
// only when the text has doubled.
func (s *socketAnswer) readHead(content io.Reader) (name string, whole bool, err error) {
	buf := (*s.buf)[:headRoom]
	defer func() { *s.buf = buf }()
	for due := 0; ; {
		switch {
		case len(buf) > mostHead:
			return "", false, errHead
		case len(buf) == cap(buf):
			buf = slices.Grow(buf, len(buf))
		}
		n, err := content.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		if whole = errors.Is(err, io.EOF); err != nil && !whole {
			return "", false, lostSocket(err)
		}
		if len(buf) < due && !whole {
			continue
		}
		due = 2 * len(buf)
		if name = typeOf(buf[headRoom:], whole); whole || name != "" && name != s.form.Error {
			return name, whole, nil
		}
	}
}

// typeOf returns the type of a message from its beginning; empty if that has none.
func typeOf(head []byte, whole bool) string {
	for m := range rawjson.Members(head) {
		if m.Is("type") && (whole || m.Start+len(m.Value) < len(head)) {
			return rawjson.Text(m.Value)
		}
	}
	return ""
}

// checkID refuses an answer that begins with one id and ends with another, and the end of the one before, sent again.
func (s *socketAnswer) checkID(name string, head []byte) error {
	if name != s.form.First && !slices.Contains(s.form.Last, name) {
		return nil
	}
	v := rawjson.Get(head, s.form.ID...)
	if len(v) > mostID || !bytes.HasSuffix(v, []byte(`"`)) { // the head may end inside of it
		return nil
	}
	id := rawjson.Text(v)
	switch {
	case s.id != "" && s.id != id:
		return errOtherID
	case s.id == "" && id != "" && id == s.socket.served && name != s.form.First: // servers may give an id twice
		return errTwice
	}
	s.id = id
	return nil
}

// skip reads the rest of a message into memory that is overwritten.
func skip(content io.Reader, p []byte) error {
	for {
		_, err := content.Read(p)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return lostSocket(err)
		}
	}
}

// end ends a message. After the last one of an answer, the WebSocket is kept for another request.
func (s *socketAnswer) end(failed bool) {
	s.content = nil
	if !s.last {
		return
	}
	s.err = io.EOF
	if s.socket.served = s.id; !failed && s.exchange.detach() {
		s.socket.park(&s.pool.idle)
	} else {
		_ = s.socket.Close()
	}
	s.count()
}

const endOfEvent = "\n\n"

// eventOf writes the first lines of an event before its message, and returns the event.
func eventOf(buf []byte, name string) []byte {
	first := "data: "
	if name != "" && len(name) <= mostName && !strings.ContainsAny(name, "\r\n") {
		first = "event: " + name + "\ndata: "
	}
	from := headRoom - len(first)
	copy(buf[from:], first)
	return buf[from:]
}

// blankLines replaces line ends, which are white space in JSON, because they would end a line of the event.
func blankLines(message []byte) {
	for i, c := range message {
		if c == '\n' || c == '\r' {
			message[i] = ' '
		}
	}
}

// Read implements io.Reader.
func (s *socketAnswer) Read(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.text) == 0 && s.err == nil && len(p) > 0 {
		if s.content == nil {
			if _, _, err := s.begin(); err != nil {
				s.err = err
			}
			continue
		}
		n, err := s.content.Read(p)
		switch blankLines(p[:n]); {
		case errors.Is(err, io.EOF):
			s.text = []byte(endOfEvent)
			s.end(false)
		case err != nil:
			s.err = lostSocket(err)
		}
		if n > 0 {
			return n, nil
		}
	}
	n := copy(p, s.text)
	if s.text = s.text[n:]; len(s.text) > 0 {
		return n, nil
	}
	if s.drop(); n > 0 {
		return n, nil
	}
	return 0, s.err
}

// drop returns the buffer to the pool, so that an answer that waits for its next message has none.
func (s *socketAnswer) drop() {
	if s.buf != nil {
		s.pool.http1.release(s.buf)
	}
	s.buf, s.text = nil, nil
}

// Close aborts the unfinished answer: its WebSocket is closed. It may be called while Read waits.
func (s *socketAnswer) Close() error {
	s.exchange.abort(errGivenUp)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.err = errGivenUp
	}
	s.drop()
	s.count()
	return nil
}

// close closes the WebSocket of an answer without a body.
func (s *socketAnswer) close() {
	s.drop()
	s.count()
	_ = s.socket.Close()
}

// count ends the request's count among those in flight.
func (s *socketAnswer) count() {
	if !s.over {
		s.over = true
		s.pool.busy.Add(-1)
	}
}

// received is the next message of a WebSocket, of which the content has not been read, or the end of the WebSocket.
type received struct {
	kind    websocket.Kind
	content io.Reader
	err     error
}

// keptSocket is a WebSocket that serves one request after another.
type keptSocket struct {
	*conn
	ws      *websocket.Conn
	digest  [32]byte      // of the path and headers of its handshake
	served  string        // id of the last answer; empty for none
	arrived chan received // the message, or the end, that comes while it is idle; nil before
}

// park puts the WebSocket into the pool. A goroutine receives meanwhile, to answer the provider's pings.
func (k *keptSocket) park(idle *pool) {
	arrived := make(chan received, 1)
	k.arrived = arrived
	go func() {
		kind, content, err := k.ws.Next()
		arrived <- received{kind, content, err}
	}()
	idle.put(k.conn)
}

// next waits for the next message and returns its content.
func (k *keptSocket) next() (io.Reader, error) {
	var r received
	if k.arrived != nil {
		r = <-k.arrived
		k.arrived = nil
	} else {
		r.kind, r.content, r.err = k.ws.Next()
	}
	if r.err == nil && r.kind != websocket.Text {
		r.err = errBinary
	}
	return r.content, lostSocket(r.err)
}

// lostSocket returns the error of a WebSocket that ended before its answer, which is no end of the answer.
func lostSocket(err error) error {
	switch {
	case errors.Is(err, io.EOF):
		return io.ErrUnexpectedEOF
	case websocket.CodeOf(err) >= 0:
		return fmt.Errorf("%w: %w", io.ErrUnexpectedEOF, err)
	}
	return err
}
