package realtime

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"

	"weir/internal/dialect"
	"weir/internal/llm"
	"weir/internal/provider"
	"weir/internal/route"
	"weir/internal/websocket"
)

// finishWithin bounds the wait for the answers of a session that is to end after them.
const finishWithin = 5 * time.Minute

// live is one session of Google's Live API: a WebSocket of a client and one of a provider. The provider begins an
// answer by itself, after a message or a turn that it detects. So an attempt is open before anything is sent that the
// model may answer.
type live struct {
	meter
	sides
	form     *dialect.Live
	most     int64 // tokens of an answer, which the setup has
	detects  bool  // the provider detects turns
	shortest int64 // milliseconds of a turn that it may detect

	sends sync.Mutex // orders the messages to the provider, with the attempts that they need

	mu        sync.Mutex // guards all below
	input     input
	listens   bool // the client has sent sound
	pace      pace
	answers   answers
	finishing *llm.Error // why no answer may begin any more
}

// ServeLive serves a session of Google's Live API (https://ai.google.dev/api/live, copy of 2026-11-30). The first
// message of the client names the model, so that the client's WebSocket is accepted before a provider is known.
func (s *Server) ServeLive(w http.ResponseWriter, r *http.Request) {
	n := s.newcomer(s.o.Live, w, r)
	defer n.leave()
	id := s.o.Ledger.NewID()
	w.Header().Set("X-Request-Id", id.String())
	x := &live{meter: meter{server: s, id: id, began: s.now()}, sides: sides{request: r}, form: s.o.Live.Live}
	var err error
	// npm @google/genai 3.3.0 has the key in the query alone.
	if key := r.URL.Query().Get("key"); key != "" && r.Header.Get("X-Goog-Api-Key") == "" {
		r.Header.Set("X-Goog-Api-Key", key)
	}
	if _, err = n.enter(&x.meter); err == nil {
		x.client, err = websocket.Accept(w, r, bounds())
	}
	if err != nil {
		n.fail(&x.meter, err)
		return
	}
	x.ctx, x.end = context.WithCancelCause(r.Context())
	defer x.end(nil)
	if err := x.begin(n); err != nil {
		e := llm.AsError(err)
		s.note(&x.meter, e)
		x.closeClient(e)
		return
	}
	watched := websocket.Watched{ID: id, Conn: x.client, State: x.describe, Valid: x.check, End: x.endFor}
	s.o.Sockets.Add(&watched)
	defer s.o.Sockets.Remove(&watched)
	x.run()
}

// begin reads the client's setup and opens the WebSocket to a provider.
func (s *live) begin(n *newcomer) error {
	from := newReader(&s.meter, s.request, s.client)
	defer from.close()
	late := time.AfterFunc(openedWithin, s.client.Abort)
	_, frame, err := from.next()
	late.Stop()
	if err != nil {
		return err
	}
	setup, err := n.dialect.Live.Read(frame)
	switch {
	case err != nil:
		return err
	case setup.Setup == nil:
		return llm.Invalid("setup", "The first message is no setup. Send one with the model.")
	}
	if s.asked = setup.Setup.Model; s.asked == "" || len(s.asked) > 256 {
		return llm.Invalid("setup.model", "The setup has no model. Send its name, in at most 256 bytes.")
	}
	targets, err := n.resolve(&s.meter)
	if err != nil {
		return err
	}
	return n.connect(&s.meter, targets, func(t *route.Target) error { return s.connectTo(n, t, &setup) })
}

// connectTo opens the WebSocket to a target and sends the setup, with the output cap that the budgets afford.
func (s *live) connectTo(n *newcomer, target *route.Target, setup *dialect.LiveMessage) (err error) {
	p := target.Provider
	if p.Speaking(n.dialect, target.Model).Name != n.dialect.Name {
		return llm.Invalidf("setup.model", "The provider %q has no Live API in Google's form. Choose a model of "+
			"another provider.", p.Name())
	}
	s.aim(target)
	s.input = newInput(s.table.Context(target))
	s.detects, s.answers.parallel = setup.Setup.Detects, setup.Setup.Parallel
	s.shortest = shortestTurn
	if silence := setup.Setup.Silence; silence > 0 {
		s.shortest = min(s.shortest, silence)
	}
	s.note(setup)
	s.input.hidden = s.input.hidden || setup.Setup.Resumes
	limit, err := s.afford(n.r.Context(), setup.Setup.Cap)
	if err != nil {
		return err
	}
	s.peer, err = p.Connect(n.r.Context(), &provider.Connecting{
		Dialect: n.dialect, Op: llm.OpChat, Model: target.Model, Target: s.form.Target, AttemptID: s.id.String(),
		Key: target.Key, Bounds: bounds(), Hold: connected{},
	})
	if err != nil {
		return err
	}
	return s.peer.Send(websocket.Text, s.form.Setup(setup, target.Model, limit))
}

// afford returns the output cap to set in the setup, 0 for none, and an error if the limits or budgets have no room for
// the shortest answer.
func (s *live) afford(ctx context.Context, wanted int64) (limit int64, err error) {
	if s.most = s.mostOutput(); wanted > 0 {
		s.most = min(s.most, wanted)
	}
	budgets := s.who.Budgets(&s.about)
	if len(budgets) == 0 {
		return 0, nil
	}
	reads := s.input.bound() + aroundTurn // and its question
	o := s.answer(reads, reads, s.begins())
	o.Least = min(o.Least, leastOutput*s.begins())
	demand := o.Demand()
	reservation, err := s.reserve(ctx, &demand, s.target.Model, budgets, s.began)
	if err != nil {
		return 0, err
	}
	defer reservation.Release()
	most, _ := demand.CapFor(reservation.Amount())
	if most = most / s.begins(); most > 0 {
		s.most = min(s.most, most)
	}
	return s.most, nil
}

// run relays until one side ends the session, and settles all that is open.
func (s *live) run() {
	var tasks sync.WaitGroup
	tasks.Go(func() { s.end(s.fromClient(s.ctx)) })
	received := make(chan struct{})
	tasks.Go(func() {
		defer close(received)
		s.end(s.fromProvider())
	})
	cause := s.awaitEnd()
	tasks.Go(func() { s.closeClient(cause) })
	s.finish(cause, received)
	tasks.Wait()
	s.settleRest(cause)
}

// finish ends the provider's side, after it has read the usage of the answer that runs.
func (s *live) finish(cause error, received <-chan struct{}) {
	s.mu.Lock()
	if s.finishing == nil {
		s.finishing = errBudget()
	}
	s.mu.Unlock()
	if !errors.Is(cause, errProvider) {
		awaitUsage(received, s.isBusy)
	}
	s.peer.Abort()
}

// isBusy reports whether an answer or its usage is awaited.
func (s *live) isBusy() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.answers.busy()
}

// closeClient closes the client's WebSocket. The API has no message for errors: the reason of the close frame has it.
func (s *live) closeClient(cause error) {
	defer s.client.Abort()
	e, ok := errors.AsType[*llm.Error](cause)
	switch {
	case ok:
		s.client.Close(liveCode(e), clipped(e.Message))
	case errors.Is(cause, errProvider):
		s.client.Close(peerCode(cause), clipped(websocket.ReasonOf(cause)))
	case !errors.Is(cause, errLeft):
		s.client.Close(websocket.GoingAway, "")
	}
}

// liveCode returns the code of the close frame for an error: as Google, 1007 for mistakes of the client.
func liveCode(e *llm.Error) websocket.Code {
	if e.Code == llm.CodeInvalidRequest && e.Word == "" {
		return websocket.BadContent
	}
	return codeOf(e)
}

// maxReason bounds the reason of a close frame in bytes (RFC 6455, section 5.5).
const maxReason = 123

// clipped returns a message as the reason of a close frame.
func clipped(message string) string {
	if len(message) <= maxReason {
		return message
	}
	return strings.ToValidUTF8(message[:maxReason-3], "") + "..."
}

// peerCode returns the code for the client after the provider has ended the session: the provider's, if it may be sent.
func peerCode(cause error) websocket.Code {
	switch code := websocket.CodeOf(cause); code {
	case websocket.Normal, websocket.GoingAway, websocket.BadContent, websocket.Refused, websocket.Failed:
		return code
	}
	return websocket.Failed
}

// endFor is the End of websocket.Watched.
func (s *live) endFor(why websocket.Reason, err error) { s.end(causeOf(why, err)) }

// describe is the State of websocket.Watched.
func (s *live) describe() websocket.State {
	s.mu.Lock()
	running := s.answers.open()
	s.mu.Unlock()
	return s.state("live", running)
}

// refuse ends the session for an error as soon as no answer is awaited. Until then nothing is sent to the provider.
func (s *live) refuse(err error) {
	e := llm.AsError(err)
	s.server.note(&s.meter, e)
	s.mu.Lock()
	s.finishing = e
	awaited := s.answers.awaited()
	s.mu.Unlock()
	if !awaited || e.Code == llm.CodeInvalidRequest {
		s.end(e)
		return
	}
	time.AfterFunc(finishWithin, func() { s.end(e) }) // the answer may never come
}
