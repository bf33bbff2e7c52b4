package realtime

import (
	"errors"
	"io"
	"net/http"

	"weir/internal/capacity"
	"weir/internal/llm"
	"weir/internal/websocket"
)

// keptBuffer is the largest buffer for events, in bytes, that a session holds while it is idle.
const keptBuffer = 16 << 10

// reader reads the events of one side. The memory of a large event counts as that of a request's body.
type reader struct {
	conn *websocket.Conn
	held capacity.Held
	buf  []byte
}

func newReader(s *meter, r *http.Request, c *websocket.Conn) *reader {
	by := &capacity.Client{Request: r}
	return &reader{conn: c, held: s.server.o.Capacity.Hold(by, s.principal().Account().ID)}
}

// next returns the next event, which is valid until the next call. The error is an *llm.Error if the event is too large
// for the bound or for the memory of the node.
func (r *reader) next() (websocket.Kind, []byte, error) {
	r.close()
	kind, from, err := r.conn.Next()
	if err != nil {
		return 0, nil, err
	}
	for {
		if len(r.buf) == cap(r.buf) {
			if err := r.grow(); err != nil {
				return 0, nil, err
			}
		}
		n, err := from.Read(r.buf[len(r.buf):cap(r.buf)])
		r.buf = r.buf[:len(r.buf)+n]
		switch {
		case errors.Is(err, io.EOF):
			return kind, r.buf, nil
		case errors.Is(err, websocket.ErrTooLarge):
			return 0, nil, llm.Errorf(llm.CodeRequestTooLarge,
				"The event exceeds %d bytes. Send sound in shorter pieces.", maxEvent)
		case err != nil:
			return 0, nil, err
		}
	}
}

// grow doubles the buffer, within the memory of the account's share.
func (r *reader) grow() error {
	size := max(1<<10, 2*cap(r.buf))
	if size > keptBuffer {
		if err := r.held.Reserve(int64(size)); err != nil {
			return err
		}
	}
	r.buf = append(make([]byte, 0, size), r.buf...)
	return nil
}

// close releases the memory of a large event.
func (r *reader) close() {
	if r.buf = r.buf[:0]; cap(r.buf) > keptBuffer {
		r.buf = nil
	}
	r.held.ReleaseAll()
}
