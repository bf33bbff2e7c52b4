package contentlog

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"weir/internal/redaction"
)

const (
	// mostRoom bounds the memory of all captures, running and waiting, in bytes.
	mostRoom = 64 << 20
	// batchMost and batchBytes bound a transaction; gatherTime is how long it waits for others.
	batchMost  = 64
	batchBytes = 4 << 20
	gatherTime = 100 * time.Millisecond
	// writeFor bounds a write, retryAfter is the pause before the second one, and finishFor bounds the rest at a stop.
	writeFor   = 5 * time.Second
	retryAfter = time.Second
	finishFor  = 3 * time.Second
	// waitMost bounds the wait of a reader.
	waitMost = 2 * time.Second
	// lineEvery is the time between two log lines about content that is not logged.
	lineEvery = time.Second
)

// Reason says why content is not logged.
type Reason string

// Reasons.
const (
	NoRoom   Reason = "queue"    // too much content runs or waits
	NoWrite  Reason = "database" // it could not be written
	Stopping Reason = "stop"     // the gateway stopped before it was written
	Invalid  Reason = "content"  // it could not be redacted
)

// Reasons returns all reasons.
func Reasons() []Reason { return []Reason{NoRoom, NoWrite, Stopping, Invalid} }

// Options configures a Recorder. All are required.
type Options struct {
	Keys *Keys
	// Write stores records. They are ordered by account.
	Write func(context.Context, []Record) error
	// Dropped is called for each request whose content is not logged. It must not block.
	Dropped func(Reason)
	Most    int // bytes of a request, and of an answer
	Now     func() time.Time
	Log     *slog.Logger
}

// Recorder writes the content of requests while Run runs. A nil Recorder logs nothing. Its methods may be called
// concurrently.
type Recorder struct {
	Options
	most    int
	queue   *queue
	readers chan chan struct{}

	mu   sync.Mutex // guards the log lines
	next time.Time
	lost int64 // since the last line
}

// NewRecorder returns a Recorder.
func NewRecorder(o Options) *Recorder {
	return &Recorder{Options: o, most: o.Most, queue: newQueue(), readers: make(chan chan struct{})}
}

// Begin begins to collect the content of a request. The body is copied, up to the bound; form says that it is a form
// with files, which is not logged. It returns nil if there is no room.
func (r *Recorder) Begin(of Request, body []byte, form bool) *Capture {
	if r == nil {
		return nil
	}
	c := &Capture{recorder: r, share: r.queue.enter(of.Account), of: of, at: r.Now()}
	if form {
		body = []byte(`"a form of ` + strconv.Itoa(len(body)) + ` bytes, which is not logged"`)
	}
	if !c.take(min(len(body), r.most) + ofCapture) {
		r.dropped(c, NoRoom, nil)
		r.release(c)
		return nil
	}
	c.request, c.requestCut = shortened(body, r.most)
	return c
}

// release returns the memory of a capture, and overwrites its content.
func (r *Recorder) release(c *Capture) {
	clear(c.request)
	r.queue.leave(c.share, c.room)
	*c = Capture{}
}

// dropped counts and names a request whose content is not logged.
func (r *Recorder) dropped(c *Capture, why Reason, err error) {
	r.Dropped(why)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lost++
	now := r.Now()
	if now.Before(r.next) {
		return
	}
	about := []any{"reason", string(why), "count", r.lost, "request", c.of.ID.String(), "account", c.of.Account}
	if err != nil {
		about = append(about, "err", err)
	}
	r.Log.Warn("the content of requests is not logged", about...)
	r.lost, r.next = 0, now.Add(lineEvery)
}

// Queued returns the bytes of memory that running and waiting captures hold.
func (r *Recorder) Queued() int64 { return r.queue.room.Load() }

// Run writes content until ctx ends, and then the rest within a few seconds.
func (r *Recorder) Run(ctx context.Context) {
	w := &writer{Recorder: r}
	for {
		select {
		case <-ctx.Done():
			w.finish(context.WithoutCancel(ctx))
			return
		case <-r.queue.added:
			if w.writeSome(ctx) {
				r.queue.wake() // readers come between two batches
			}
		case reader := <-r.readers:
			for ctx.Err() == nil && w.writeSome(ctx) {
			}
			close(reader)
		}
	}
}

// Await waits until the content of requests that have ended is written, but at most two seconds.
func (r *Recorder) Await(ctx context.Context) {
	if r == nil || r.Queued() == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, waitMost)
	defer cancel()
	written := make(chan struct{})
	select {
	case r.readers <- written:
	case <-ctx.Done():
		return
	}
	select {
	case <-written:
	case <-ctx.Done():
	}
}

// writer redacts, encrypts and writes content.
type writer struct {
	*Recorder
	redactor *redaction.Redactor // nil until it is needed
}

// writeSome writes a batch, and reports whether there was one.
func (w *writer) writeSome(ctx context.Context) bool {
	first := w.queue.next()
	if first == nil {
		return false
	}
	w.write(ctx, w.gather(ctx, first))
	return true
}

// gather returns captures that are written together.
func (w *writer) gather(ctx context.Context, first *Capture) []*Capture {
	list, size := []*Capture{first}, first.room
	enough := time.NewTimer(gatherTime)
	defer enough.Stop()
	for len(list) < batchMost && size < batchBytes {
		if c := w.queue.next(); c != nil {
			list, size = append(list, c), size+c.room
			continue
		}
		select {
		case <-w.queue.added:
		case <-enough.C:
			return list
		case <-ctx.Done():
			return list
		}
	}
	return list
}

// entry is a capture with its redacted content.
type entry struct {
	capture *Capture
	text    []byte
}

// write writes captures. If the database does not take them, it tries once more.
func (w *writer) write(ctx context.Context, list []*Capture) {
	var entries []entry
	for _, c := range list {
		text, err := w.redacted(c)
		if err != nil {
			w.dropped(c, Invalid, err)
			continue
		}
		entries = append(entries, entry{c, text})
	}
	if err := w.try(ctx, entries); err != nil {
		for _, e := range entries {
			w.dropped(e.capture, NoWrite, err)
		}
	}
	for _, c := range list {
		w.release(c)
	}
}

// try encrypts and writes entries, a second time if the first one fails.
func (w *writer) try(ctx context.Context, entries []entry) (err error) {
	if len(entries) == 0 {
		return nil
	}
	for n := range 2 {
		within, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeFor) // a stop does not abort it
		var records []Record
		if records, err = w.records(within, entries); err == nil {
			err = w.Write(within, records)
		}
		cancel()
		if err == nil || n > 0 {
			break
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(retryAfter):
		}
	}
	return err
}

// records encrypts entries.
func (w *writer) records(ctx context.Context, entries []entry) (list []Record, err error) {
	for _, e := range entries {
		of := &e.capture.of
		r := Record{Account: of.Account, Key: of.Key, Request: of.ID, Created: e.capture.at}
		if r.Sealed, err = w.Keys.sealed(ctx, &r, e.text); err != nil {
			return nil, err
		}
		list = append(list, r)
	}
	return list, nil
}

// redacted returns the redacted content of a capture as JSON. A panic is an error, because the content of one request
// must not stop the others.
func (w *writer) redacted(c *Capture) (text []byte, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("contentlog: panic: %T", p) // without the content
		}
	}()
	if w.redactor == nil {
		if w.redactor, err = redaction.New(); err != nil {
			return nil, err
		}
	}
	return json.Marshal(w.content(c))
}

// content returns the redacted content of a capture.
func (w *writer) content(c *Capture) *Content {
	request, n := w.redactor.JSON(c.request)
	out := Content{Request: request, RequestTruncated: c.requestCut, AnswerTruncated: c.cut, Redacted: n}
	if !json.Valid(request) {
		out.Request, _ = json.Marshal(string(bytes.ToValidUTF8(request, []byte("�")))) // text has no error
	}
	if answer := c.answer(); answer != nil {
		out.Answer, n = w.redactor.JSON(answer)
		out.Redacted += n
	}
	out.Redacted += w.failures(c, &out)
	if out.Answer != nil && !json.Valid(out.Answer) { // it was cut off
		out.Answer, _ = json.Marshal(string(out.Answer))
	}
	return &out
}

// failures adds the redacted failures of a capture to its content, and returns the number of marks in them.
func (w *writer) failures(c *Capture, to *Content) (marks int) {
	text, err := json.Marshal(c.failures)
	if err != nil || len(c.failures) == 0 {
		return 0
	}
	text, marks = w.redactor.JSON(text)
	if json.Unmarshal(text, &to.Failures) != nil { // the redactor cut it off
		to.Failures = nil
	}
	return marks
}

// finish writes what waits, within a few seconds.
func (w *writer) finish(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, finishFor)
	defer cancel()
	for ctx.Err() == nil && w.writeSome(ctx) {
	}
	for c := w.queue.next(); c != nil; c = w.queue.next() {
		w.dropped(c, Stopping, ctx.Err())
		w.release(c)
	}
}
