package realtime

import (
	"errors"

	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/rawjson"
)

// observeBegun assigns the attempt of the oldest response.create to the response that has begun. A response that the
// gateway did not begin gets an attempt now, and ends the session if it cannot be paid.
func (s *session) observeBegun(r []byte) {
	s.mu.Lock()
	begun := s.responses.next()
	s.mu.Unlock()
	if begun == nil {
		begun = s.openLate()
	}
	if begun == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.responses.run(rawjson.Text(rawjson.Get(r, "id")), begun)
}

// observePiece counts a piece of a response, for an estimate if its usage never comes.
func (s *session) observePiece(frame []byte) {
	id := rawjson.Get(frame, "response_id")
	if id == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.responses.running[rawjson.Text(id)]; r != nil {
		r.piece(frame, s.server.now())
	}
}

// observeDone settles a response by the usage that the provider reports.
func (s *session) observeDone(done []byte) {
	s.mu.Lock()
	r, again := s.responses.end(rawjson.Text(rawjson.Get(done, "id")))
	s.mu.Unlock()
	if r == nil && !again {
		if r = s.openLate(); r != nil {
			r.unseenBegin = true
		}
	}
	if r == nil {
		return
	}
	status := rawjson.Text(rawjson.Get(done, "status"))
	whole := r.whole && (status == "completed" || status == "incomplete") // a cancelled one may have read less
	used, reported := responseUsage(rawjson.Get(done, "usage"))
	if reported && !r.hold.Attempt().Believes(&used.usage) {
		reported = false
	}
	s.settleResponse(r, r.ended(done, used, reported))
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case r.apart:
	case reported && whole:
		s.input.read(used.tokens(), r.added)
	case reported:
		s.input.added += used.usage.OutputTokens() // it is in the conversation
	default:
		s.input.added += r.output
	}
	if s.turns.waits && !s.responses.answers() {
		s.wantResponse()
	}
	if s.finishing && s.responses.open() == 0 {
		s.end(errBudget())
	}
}

// settleResponse settles the attempt of a response.
func (s *session) settleResponse(r *response, st ledger.Settlement) {
	s.settle(r.hold, st)
	r.limited.Settle(st.Usage.TotalTokens())
	s.meter.mu.Lock()
	defer s.meter.mu.Unlock()
	s.settled++
}

// observeError follows the error of an event that the provider refused, and returns it with the client's id of the
// event. A refused response.create costs nothing. Without the gateway's own settings the provider would begin responses
// by itself: the session ends.
func (s *session) observeError(frame []byte) []byte {
	event := rawjson.Text(rawjson.Get(frame, "error", "event_id"))
	s.mu.Lock()
	refused := s.responses.refuse(event)
	u, isUpdate := s.updates.remove(event)
	if isUpdate {
		s.updates.apply(&s.input, &s.hearing)
	}
	s.mu.Unlock()
	switch {
	case refused != nil:
		refused.limited.Settle(0)
		s.settle(refused.hold, ledger.Settlement{
			Outcome: ledger.OutcomeRejected, Provenance: ledger.Exact, Code: llm.CodeInvalidRequest,
		})
		return renamed(frame, refused.asked)
	case u.own:
		s.end(llm.Errorf(llm.CodeProviderError, "The provider has refused the settings of the session: %.300s",
			rawjson.Text(rawjson.Get(frame, "error", "message"))))
	case !isUpdate:
		return frame
	}
	return renamed(frame, u.asked)
}

// renamed returns an error event with the client's id of the event that caused it; empty for none.
func renamed(frame []byte, asked string) []byte {
	cause := []byte("null")
	if asked != "" {
		cause = quoted(asked)
	}
	return set(frame, cause, "error", "event_id")
}

// settleRest settles all that is open when the session has ended. The end of these responses was not seen.
func (s *session) settleRest(cause error) {
	s.mu.Lock()
	rest := s.responses.rest()
	s.mu.Unlock()
	outcome := ledger.OutcomeCut
	if errors.Is(cause, errLeft) {
		outcome = ledger.OutcomeClientGone
	}
	s.lost = errors.Is(cause, errProvider)
	for _, r := range rest {
		s.settleResponse(r, r.unseen(ledger.Settlement{Outcome: outcome, Counts: true, FirstToken: r.first}))
	}
	s.hearing.settleAll(outcome)
	s.clock.stop(outcome)
}
