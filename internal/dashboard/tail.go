package dashboard

import (
	"bytes"
	"context"
	"net/http"
	"reflect"
	"sync"
	"time"

	"github.com/google/uuid"

	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/people"
	"weir/internal/report"
	"weir/internal/sse"
)

// Bounds of the live tail.
const (
	maxTails    = 32               // on this node
	maxTailsOf  = 8                // of them, per person
	tailsKept   = 8                // of them, reserved for operators
	maxTailsIn  = 16               // per account, without operators
	tailFor     = 10 * time.Minute // lasts at most, and waits for a request to end
	tailEvery   = time.Second      // interval of reading new requests
	tailAlive   = 5 * time.Second  // interval of keep-alives and checks of the right to read
	tailLate    = 15 * time.Second // records of other nodes may arrive this long after their id's time
	tailWait    = 10 * time.Second // maximum time in which a browser accepts a piece
	mostInPiece = report.MaxRequests
)

// tails holds the shared state of a node's live tails.
type tails struct {
	slots   *slots
	shares  *slots // by account, without operators
	once    sync.Once
	stopped chan struct{}
	alive   time.Duration // tailAlive, except in tests
}

func newTails() *tails {
	return &tails{stopped: make(chan struct{}), alive: tailAlive, slots: &slots{
		most: maxTails, mostOf: maxTailsOf, code: llm.CodeOverloaded, wait: time.Minute,
		full: "Too many people follow requests live. Try again in a minute.",
		own:  "You already follow requests live in too many windows. Close one of them.",
	}, shares: &slots{
		most: maxTails - tailsKept, mostOf: maxTailsIn, code: llm.CodeOverloaded, wait: time.Minute,
		full: "Too many people follow requests live. Try again in a minute.",
		own:  "Too many people of this account follow requests live. Try again in a minute.",
	}}
}

// take takes a place for following requests, until leave: from the account's share, except for operators.
func (t *tails) take(v *people.Visit) (leave func(), err error) {
	who, account := v.By.ID, v.Account.ID
	if err := t.slots.take(who); err != nil {
		return nil, err
	}
	if v.Operator() {
		return func() { t.slots.leave(who) }, nil
	}
	if err := t.shares.take(account); err != nil {
		t.slots.leave(who)
		return nil, err
	}
	return func() { t.shares.leave(account); t.slots.leave(who) }, nil
}

// follow sends the account's new requests as server-sent events: a row of the list for each, and again when it has
// changed.
func (h *requestHandlers) follow(w http.ResponseWriter, r *http.Request, v *people.Visit) error {
	f := &form{values: r.URL.Query()}
	q := requestQuery(f, v.Account.ID)
	if f.bad() {
		return llm.Invalid("", f.problems()[0].Text)
	}
	leave, err := h.tails.take(v)
	if err != nil {
		return err
	}
	defer leave()
	keys, err := h.admin.Accounts.Keys(r.Context(), v.Account.ID)
	if err != nil {
		return err
	}
	t := &tail{
		handlers: h, to: w, control: http.NewResponseController(w), since: h.admin.Reports.RequestsSince, query: q,
		base: accountPath(v.Account.Name) + "/requests", labels: labelsOf(keys), sent: map[uuid.UUID]report.Request{},
	}
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	w.Header().Set("X-Accel-Buffering", "no") // otherwise proxies such as nginx buffer events
	if r.Method == http.MethodHead {
		return nil
	}
	ctx, cancel := context.WithTimeout(r.Context(), tailFor)
	defer cancel()
	if err := t.run(ctx, func() error { return h.maySee(ctx, r, v) }); err != nil && ctx.Err() == nil {
		h.site.log.InfoContext(ctx, "a live tail ended", "account", v.Account.ID, "err", err)
	}
	return nil
}

// maySee reports whether the visitor still has the right to read, because sessions and roles end.
func (h *requestHandlers) maySee(ctx context.Context, r *http.Request, v *people.Visit) error {
	secret := h.site.cookies.session(r)
	if secret == "" {
		return nil // admitted without a session, for this request only
	}
	now, err := h.admin.SignIn.Sessions.Visitor(ctx, secret, v.Origin)
	if err != nil {
		return err
	}
	return now.May(people.Read, v.Account.ID)
}

// tail sends events to one client.
type tail struct {
	handlers *requestHandlers
	to       http.ResponseWriter
	control  *http.ResponseController
	since    func(ctx context.Context, account string, after report.Cursor, most int) ([]report.Request, error)
	query    report.RequestsQuery
	base     string
	labels   map[string]string
	sent     map[uuid.UUID]report.Request // the newest requests, as last sent
}

// run follows the requests until the context ends, the server stops, or the visitor loses the right. The browser
// reconnects by itself, except after the event "end".
func (t *tail) run(ctx context.Context, may func() error) error {
	defer func() { _ = t.control.SetWriteDeadline(time.Time{}) }() // the connection's next answer has its own deadline
	if err := t.send(sse.AppendComment(nil, "following")); err != nil {
		return err
	}
	look, alive := time.NewTicker(tailEvery), time.NewTicker(t.handlers.tails.alive)
	defer look.Stop()
	defer alive.Stop()
	for {
		var err error
		select {
		case <-ctx.Done():
			return t.send(sse.Append(nil, "end", []byte("time")))
		case <-t.handlers.tails.stopped:
			return nil
		case <-look.C:
			err = t.look(ctx)
		case <-alive.C:
			if err = may(); err == nil {
				err = t.send(sse.AppendComment(nil, "alive"))
			}
		}
		if err != nil && ctx.Err() == nil {
			return err
		}
	}
}

// look sends new and changed requests, oldest first.
func (t *tail) look(ctx context.Context) error {
	list, err := t.since(ctx, t.query.Account, report.CursorAt(t.from()), mostInPiece)
	if err != nil {
		return err
	}
	var events []byte
	before := t.sent
	// Requests that are no longer among the newest do not return.
	t.sent = make(map[uuid.UUID]report.Request, len(list))
	for i := len(list) - 1; i >= 0; i-- {
		x := &list[i]
		had, again := before[x.ID]
		t.sent[x.ID] = *x
		if again && reflect.DeepEqual(had, *x) || !t.wants(x) {
			continue
		}
		row, err := t.row(ctx, x)
		if err != nil {
			return err
		}
		events = sse.Append(events, "request", row)
	}
	if len(events) == 0 {
		return nil
	}
	return t.send(events)
}

// from returns the time since when requests may be new or changed: a little before now, and before the first running
// one.
func (t *tail) from() time.Time {
	now := t.handlers.site.now()
	from := now.Add(-tailLate)
	for _, x := range t.sent {
		if x.Outcome == ledger.OutcomeOpen && x.Arrived.Before(from) {
			from = x.Arrived
		}
	}
	if oldest := now.Add(-tailFor); from.Before(oldest) {
		from = oldest
	}
	return from
}

// wants reports whether a request matches the filters of the list.
func (t *tail) wants(x *report.Request) bool {
	return t.query.Has(x)
}

// row returns a row of the list. It reads the keys again for an unknown key.
func (t *tail) row(ctx context.Context, x *report.Request) ([]byte, error) {
	if _, known := t.labels[x.Key]; !known {
		keys, err := t.handlers.admin.Accounts.Keys(ctx, t.query.Account)
		if err != nil {
			return nil, err
		}
		t.labels = labelsOf(keys)
		if _, known := t.labels[x.Key]; !known {
			t.labels[x.Key] = "" // do not read again
		}
	}
	row, err := t.handlers.site.execute("requests", "request-row", requestRowOf(t.base, x, t.labels))
	// a name may contain a carriage return, which would end a line of the event
	return bytes.ReplaceAll(row, []byte{'\r'}, []byte{' '}), err
}

func (t *tail) send(events []byte) error {
	_ = t.control.SetWriteDeadline(time.Now().Add(tailWait)) // a writer without deadlines ends with the request
	if _, err := t.to.Write(events); err != nil {
		return err
	}
	return t.control.Flush()
}
