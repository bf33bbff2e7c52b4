package simulator

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"weir/internal/dialect"
	"weir/internal/llm"
)

// call is one request in progress.
type call struct {
	s      *Server
	d      *dialect.Dialect
	o      *dialect.Operation // the requested operation
	w      wire
	r      *http.Request
	key    string // fingerprint
	body   []byte
	head   llm.Head
	req    *llm.Request
	spec   *spec
	fault  *fault // the fault of this request, or nil
	hash   uint64 // of the request
	asked  uint64 // of the request and its path; the key of remembered answers
	answer *answer
	asks   *asked // of the prompt cache; nil for none
	// content is the length in tokens of the stored content that the request names.
	content int64
	entry   *entry
	old     *memorized // the earlier answer to the same request, or nil

	form  form
	timer *time.Timer
	changes
}

// changes holds a fault's changes to an answer.
type changes struct {
	stream   bool                                // answer as a stream
	noEnd    bool                                // omits the end marker
	compress bool                                // sends gzip
	mute     bool                                // the reported usage does not arrive
	place    int64                               // pieces before the answer breaks off; unset for never
	limit    int64                               // bytes before the answer breaks off; unset for never
	edit     func(data []byte) []byte            // changes the JSON of every event, or of the whole reply
	spoil    func(events []byte) []byte          // damages the events of one piece
	drip     time.Duration                       // waits after every write
	padding  int64                               // bytes before the answer
	lie      func(length int64) (declared int64) // changes the Content-Length; nil for the true one
}

// refusal is an error in place of an answer.
type refusal struct {
	err        *llm.Error
	status     int    // 0: the dialect's own for the error
	code       string // the vendor's code in the error; empty: the dialect's own
	retryAfter string // the header's value; empty: none
}

// errPlace reports that the answer has reached the place where its fault breaks it off.
var errPlace = errors.New("the answer breaks off here")

// errGone reports that the client disconnected, or that the simulator closes.
var errGone = errors.New("the client is gone")

// serve answers one request of a dialect.
func (s *Server) serve(d *dialect.Dialect, o *dialect.Operation, f form, w http.ResponseWriter, r *http.Request) {
	c := &call{s: s, d: d, o: o, form: f, r: r, key: fingerprint(keyOf(r)), changes: changes{
		place: unset,
		limit: unset,
	}, hash: s.seed}
	if m, ok := w.(*memory); ok {
		c.w = m
	} else {
		c.w = &socket{ResponseWriter: w}
	}
	c.entry = s.ledger.open(Record{
		Attempt: clip(r.Header.Get("X-Client-Request-Id")), Dialect: d.Name, Key: c.key, Received: s.clock(),
	})
	buf := s.buffer()
	defer func() {
		c.w.finish()
		s.release(buf)
		c.log()
	}()
	if err := c.read(buf); err != nil {
		c.refuse(refusal{err: llm.AsError(err)})
		return
	}
	if c.old != nil {
		c.repeat()
		return
	}
	(&player{call: c, out: c.w}).run()
}

// clip bounds a foreign text that stays in the ledger.
func clip(s string) string {
	const most = 128
	if len(s) > most {
		return string([]byte(s[:most])) // a copy, so that the rest can be freed
	}
	return s
}

// read authenticates the request, reads it into buf and decodes it.
func (c *call) read(buf *[]byte) error {
	if c.s.keys != nil && !c.s.keys[c.key] {
		return llm.Errorf(llm.CodeAuthentication, "The API key is missing, or is not one that this simulator was "+
			"started with.")
	}
	if err := c.readBody(buf); err != nil {
		return err
	}
	c.hash = hash(c.s.seed, c.body)
	c.asked = hashText(hashText(c.hash, c.r.URL.Path), c.r.URL.RawQuery)
	if c.s.cache == nil {
		c.old = c.s.memo.find(c)
	}
	if c.old != nil {
		return nil
	}
	var err error
	if c.head, err = c.o.Scan(c.body, c.r); err != nil {
		return err
	}
	c.stream = c.head.Stream
	c.entry.ask(clip(c.head.Model), c.stream)
	if c.spec, err = c.s.specs.get(c.head.Model); err != nil {
		return err
	}
	c.entry.ask(c.spec.name, c.stream)
	c.hash = c.hashOf(c.body)
	c.entry.name(mix(c.hash))
	if c.stream {
		if err := c.spec.suits(c.form); err != nil {
			return err
		}
	}
	if c.req, err = c.o.DecodeRequest(c.body); err != nil {
		return err
	}
	if c.spec.signed {
		if err := checkThinking(c.req); err != nil {
			return err
		}
	}
	if err := c.askCache(); err != nil {
		return err
	}
	c.meet()
	return c.obey()
}

// hashOf returns the hash of the request with that body, and of the model if the body does not name it.
func (c *call) hashOf(body []byte) uint64 {
	h := hash(c.seed(), body)
	if !c.head.ModelSpan.Present() {
		h = hashText(h, c.head.Model)
	}
	return h
}

func (c *call) seed() uint64 {
	if c.spec.seed != unset {
		return uint64(c.spec.seed)
	}
	return c.s.seed
}

func (c *call) readBody(buf *[]byte) error {
	b := bytes.NewBuffer((*buf)[:0])
	_, err := b.ReadFrom(io.LimitReader(c.r.Body, c.s.maxBody+1))
	*buf = b.Bytes()
	c.body = *buf
	if err != nil {
		return &llm.Error{Code: llm.CodeInvalidRequest, Message: "The request could not be read to its end.", Err: err}
	}
	if int64(len(c.body)) > c.s.maxBody {
		return llm.Errorf(llm.CodeRequestTooLarge, "The request is longer than %d bytes.", c.s.maxBody)
	}
	return nil
}

// meet decides whether the fault of the model name applies to this request.
func (c *call) meet() {
	c.fault = c.spec.fault
	if c.fault == nil || !c.spec.counted() {
		return
	}
	if !c.spec.meets(c.s.visits.next(c.key+" "+c.spec.name), c.s.seed) {
		c.fault = nil
	}
}

// spare removes the fault from a request that it cannot affect.
func (c *call) spare() {
	c.fault = nil
	c.entry.meet("")
}

// prepare applies the fault's changes to the way of answering.
func (c *call) prepare() {
	if c.fault.prepare != nil {
		c.fault.prepare(c)
	}
	switch {
	case c.fault.breaks == nil:
	case c.spec.bytes != unset:
		c.limit = c.spec.bytes
	default:
		c.place = c.spec.at
	}
}

// breakOff records an answer that breaks off; at is the time, zero while it is unknown.
func (c *call) breakOff(o Outcome, at time.Time) {
	c.entry.end(o, at)
	c.goOn()
}

// goOn charges for the whole of an answer that broke off, if the model name says so.
func (c *call) goOn() {
	if c.spec.after == afterBill && !c.o.Free {
		c.entry.consumeAll(c.answer)
		c.entry.charge(c.spec)
	}
}

// refuse answers with an error.
func (c *call) refuse(f refusal) {
	status := f.status
	if status == 0 {
		status = c.d.Status(f.err.Code)
	}
	body := replaceCode(c.d.EncodeError(nil, f.err, c.requestID()), f.code)
	c.entry.begin(status)
	c.entry.end(Rejected, c.s.clock())
	if f.retryAfter != "" {
		c.w.Header().Set("Retry-After", f.retryAfter)
	}
	c.respond(status, "application/json", body)
}

// respond writes a whole body that is not the answer.
func (c *call) respond(status int, contentType string, body []byte) {
	h := c.w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	h.Set("X-Request-Id", c.requestID())
	c.w.WriteHeader(status)
	if len(body) > 0 {
		_, _ = c.w.Write(body) // the client may be gone
	}
}

// gone ends an answer if the client disconnected or the simulator closes.
func (c *call) gone() {
	select {
	case <-c.s.closed:
		c.breakOff(Cut, c.s.clock())
	default:
		c.entry.cancel(c.s.clock())
		c.goOn()
	}
	c.w.hang(hangClose, c.s.closed)
}

// silent waits without sending until the client disconnects.
func (c *call) silent() {
	c.breakOff(Silent, time.Time{})
	select {
	case <-c.r.Context().Done():
	case <-c.s.closed:
	}
	c.gone()
}

// wait waits, and reports whether the client is still connected.
func (c *call) wait(d time.Duration) bool {
	if d <= 0 {
		return true
	}
	if c.timer == nil {
		c.timer = time.NewTimer(d)
	} else {
		c.timer.Reset(d)
	}
	select {
	case <-c.timer.C:
		return true
	case <-c.r.Context().Done():
	case <-c.s.closed:
	}
	c.timer.Stop()
	return false
}

// requestID returns the id in the header of every answer.
func (c *call) requestID() string { return "req_" + hex16(c.hash) }

// replyID returns the id in the body of an answer.
func (c *call) replyID() string { return replyID(mix(c.hash)) }

func replyID(n uint64) string { return "sim-" + hex16(n) }

func hex16(h uint64) string {
	var b [16]byte
	for i := range b {
		b[len(b)-1-i] = "0123456789abcdef"[h&0xf]
		h >>= 4
	}
	return string(b[:])
}

func (c *call) log() {
	ctx := c.r.Context()
	if !c.s.log.Enabled(ctx, slog.LevelDebug) {
		return
	}
	r := c.entry.record()
	c.s.log.LogAttrs(ctx, slog.LevelDebug, "simulated", slog.Int64("seq", r.Seq), slog.String("attempt", r.Attempt),
		slog.String("model", r.Model), slog.String("outcome", string(r.Outcome)), slog.Int("status", r.Status),
		slog.Int64("pieces", r.Pieces))
}
