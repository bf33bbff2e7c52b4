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
	r := s.responses.end(rawjson.Text(rawjson.Get(done, "id")))
	s.mu.Unlock()
	if r == nil {
		return
	}
	used, reported := responseUsage(rawjson.Get(done, "usage"))
	if reported && !r.hold.Attempt().Believes(&used.usage) {
		reported = false
	}
	s.settleResponse(r, r.ended(done, used, reported))
	s.mu.Lock()
	defer s.mu.Unlock()
	if reported && !r.apart {
		s.input.read(used.tokens(), r.added)
	} else if !r.apart {
		s.input.added += r.output // it is in the conversation
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

// observeError settles the attempt of a response.create that the provider refused, which costs nothing.
func (s *session) observeError(e []byte) {
	s.mu.Lock()
	refused := s.responses.refuse(rawjson.Text(rawjson.Get(e, "event_id")))
	s.mu.Unlock()
	if refused == nil {
		return
	}
	refused.limited.Settle(0)
	s.settle(refused.hold, ledger.Settlement{
		Outcome: ledger.OutcomeRejected, Provenance: ledger.Exact, Code: llm.CodeInvalidRequest,
	})
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
	for _, r := range rest {
		s.settleResponse(r, r.unseen(ledger.Settlement{Outcome: outcome, Counts: true, FirstToken: r.first}))
	}
	s.hearing.settleAll(outcome)
}
