package stdio

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"weir/internal/mcp"
	"weir/internal/rawjson"
	"weir/internal/sse"
)

const (
	// maxNote bounds a notification in bytes, and maxNotes those that wait for one client. Others are dropped: nobody
	// waits for a client that reads slowly.
	maxNote  = 32 << 10
	maxNotes = 16

	methodProgress = "notifications/progress"
	progressToken  = "progressToken"
	// maxToken bounds the token of a client for its progress in bytes: each notification repeats it.
	maxToken = 1 << 10
)

// waiting is what waits for lines of the process: a request for its notifications and its response, or a stream for
// notifications outside of requests.
type waiting struct {
	id     string // JSON; of no request for a stream
	method string // empty for a stream
	owner  string // whose call it is; empty for a request of the gateway
	token  []byte // by which the client knows the progress, as JSON; nil for none
	lines  chan line
}

// line is a message of the process.
type line struct {
	text []byte // nil for one that was too long
	last bool   // it is the response
}

// begin sends a request of an owner.
func (p *process) begin(ctx context.Context, m *mcp.Message, owner string) (*waiting, error) {
	w := &waiting{
		id: string(m.ID), method: m.Method, owner: owner, lines: make(chan line, maxNotes+1),
		token: rawjson.Get(m.Params, "_meta", progressToken),
	}
	if !rawjson.Present(w.token) || len(w.token) > maxToken {
		w.token = nil
	}
	if err := p.expect(w); err != nil {
		return nil, err
	}
	text, err := oneLine(mcp.AppendMessage(nil, m.ID, m.Method, w.own(m.Params)))
	if err == nil {
		err = p.send(ctx, text)
	}
	if err != nil {
		p.forget(w)
		return nil, err
	}
	sent(ctx)
	return w, nil
}

// own returns params in which the id of the request is the only token for its progress: clients may have chosen the
// same, or the id of another request in a second member, or in one of another case.
func (w *waiting) own(params []byte) []byte {
	meta := rawjson.Get(params, "_meta")
	if rawjson.KindOf(meta) != rawjson.Object {
		return params
	}
	meta = rawjson.Rewrite(meta, func(name string) string {
		if strings.EqualFold(name, progressToken) {
			return ""
		}
		return name
	})
	if w.token != nil {
		meta = rawjson.Splice(nil, meta, rawjson.Set(meta, progressToken, []byte(w.id)))
	}
	return rawjson.Splice(nil, params, rawjson.Set(params, "_meta", meta))
}

// expect makes room for the lines.
func (p *process) expect(w *waiting) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.calls == nil:
		return errUnsent
	case w.method == methodListen: // the client bounds them
		p.listeners[w.id] = w
		return nil
	case len(p.calls) >= maxCalls:
		return errFull
	}
	p.calls[w.id] = w
	if w.owner != "" {
		p.shared = p.shared || p.owner != "" && p.owner != w.owner
		p.owner = w.owner
	}
	return nil
}

// stream opens a stream for notifications outside of requests.
func (p *process) stream() (*waiting, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.listeners == nil {
		return nil, errUnsent
	}
	p.streams++
	w := &waiting{id: "stream " + strconv.Itoa(p.streams), lines: make(chan line, maxNotes+1)}
	p.listeners[w.id] = w
	return w, nil
}

func (p *process) forget(w *waiting) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, all := range []map[string]*waiting{p.calls, p.listeners} {
		if all[w.id] == w {
			delete(all, w.id)
		}
	}
}

// next returns the next line, and whether it is the response. If ctx ends, the request is cancelled.
func (p *process) next(ctx context.Context, w *waiting) (text []byte, last bool, err error) {
	select {
	case l, ok := <-w.lines:
		switch {
		case !ok:
			return nil, false, fmt.Errorf("the process has ended: %w", io.ErrUnexpectedEOF)
		case l.text == nil:
			return nil, false, mcp.ErrLong
		}
		return l.text, l.last, nil
	case <-ctx.Done():
		p.cancel(w)
		return nil, false, ctx.Err()
	}
}

// put passes a line on, or drops a notification if too many wait. The caller holds the lock of the process.
func (w *waiting) put(text []byte, last bool) {
	if last || len(w.lines) < maxNotes {
		w.lines <- line{text, last}
	}
}

// note passes a notification on: to the request that it names, or to the streams if it is about lists and resources. A
// notification that names nobody, such as a log message, may be about any call of the process. It is for the only call
// in flight, and only if the process has never had calls of another owner.
func (p *process) note(m *mcp.Message, text []byte) {
	if len(text) > maxNote {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	subscription := rawjson.Get(m.Params, "_meta", mcp.MetaSubscription)
	switch {
	case m.Method == methodProgress:
		if w := p.calls[string(rawjson.Get(m.Params, progressToken))]; w != nil && w.token != nil {
			params := rawjson.Splice(nil, m.Params, rawjson.Set(m.Params, progressToken, w.token))
			w.put(mcp.AppendMessage(nil, nil, m.Method, params), false)
		}
	case rawjson.Present(subscription):
		if w := p.listeners[string(subscription)]; w != nil {
			w.put(text, false)
		}
	case m.Method == mcp.NoteTools, m.Method == mcp.NotePrompts, m.Method == mcp.NoteResources,
		m.Method == mcp.NoteUpdated:
		for _, w := range p.listeners {
			if w.method == "" {
				w.put(text, false)
			}
		}
	case !p.shared:
		if only := p.onlyCall(); only != nil {
			only.put(text, false)
		}
	}
}

// onlyCall returns the only call in flight; nil if there is none, or another one. The caller holds the lock.
func (p *process) onlyCall() (only *waiting) {
	for _, w := range p.calls {
		if w.owner == "" {
			continue
		}
		if only != nil {
			return nil
		}
		only = w
	}
	return only
}

// answered passes a response to its request. It reports whether somebody has waited.
func (p *process) answered(m *mcp.Message, text []byte) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	id := string(m.ID)
	for _, all := range []map[string]*waiting{p.calls, p.listeners} {
		if w := all[id]; w != nil && w.method != "" {
			delete(all, id)
			w.put(text, true)
			return true
		}
	}
	return false
}

// events is the body of an answer in events: notifications, and then the response.
type events struct {
	p    *process
	w    *waiting
	next func() (text []byte, last bool, err error)
	rest []byte // of the event that is being read
	over bool
}

// Read implements io.Reader.
func (e *events) Read(to []byte) (int, error) {
	if len(e.rest) == 0 {
		if e.over {
			return 0, io.EOF
		}
		text, last, err := e.next()
		if err != nil {
			e.over = true
			return 0, err
		}
		e.rest, e.over = sse.Append(nil, "message", text), last
	}
	n := copy(to, e.rest)
	e.rest = e.rest[n:]
	return n, nil
}

// Close cancels a request without a response.
func (e *events) Close() error {
	e.p.forget(e.w)
	if !e.over {
		e.p.cancel(e.w)
	}
	return nil
}

// answer returns the answer to a request: its response, or a stream if notifications come before that.
func (p *process) answer(r *http.Request, w *waiting) (*http.Response, error) {
	text, last, err := p.next(r.Context(), w)
	if last || err != nil {
		p.forget(w)
		if err != nil {
			return nil, err
		}
		return respond(r, http.StatusOK, text, p.life), nil
	}
	body := p.events(r, w)
	body.rest = sse.Append(nil, "message", text)
	return streamed(r, body, p.life), nil
}

func (p *process) events(r *http.Request, w *waiting) *events {
	return &events{p: p, w: w, next: func() ([]byte, bool, error) { return p.next(r.Context(), w) }}
}

// streamed returns a response with a stream of events.
func streamed(r *http.Request, body io.ReadCloser, life int) *http.Response {
	response := respond(r, http.StatusOK, nil, life)
	response.Header.Set("Content-Type", "text/event-stream")
	response.Body, response.ContentLength = body, -1
	return response
}
