package realtime

import (
	"context"
	"strconv"
	"time"

	"github.com/google/uuid"

	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/ratelimit"
	"weir/internal/rawjson"
)

// response is one response of a session, from its opening in the ledger to its settlement.
type response struct {
	hold    *ledger.Hold
	limited ratelimit.Reservation
	event   string        // id of its response.create at the provider
	asked   string        // id that the client gave it; empty for none
	apart   bool          // it is not part of the conversation
	whole   bool          // it reads the whole conversation, with the settings of the session
	added   int64         // value of input.begun when it began
	first   time.Duration // from opening to the first output
	text    int64         // bytes of text so far
	sound   int64         // bytes of sound so far, in base64
	output  int64         // the most output tokens

	unseenBegin bool // the provider did not report its beginning
}

const (
	// leastOutput is the shortest useful response, in tokens, under a budget that cannot afford more.
	leastOutput = 256
	// mostOutput is OpenAI's largest max_output_tokens of a response (openai-openapi 2.3.0).
	mostOutput = 4096
)

// soundClasses are the classes that a response may have in addition to text.
func soundClasses() llm.Classes {
	return llm.Classes(0).With(llm.AudioIn).With(llm.AudioOut)
}

// begin opens the attempt of a response, with its amount reserved in the budgets, and sends the client's event.
func (s *session) begin(ctx context.Context, e event) error {
	wanted := rawjson.Get(e.frame, "response")
	if err := s.clock.permits(wanted); err != nil {
		return err
	}
	r := &response{
		event: "weir_" + uuid.NewString(), asked: e.id, whole: readsWhole(wanted),
		apart: rawjson.Text(rawjson.Get(wanted, "conversation")) == "none",
	}
	s.mu.Lock()
	hidden := s.input.hidden
	s.input.text(e.frame)
	r.added = s.input.begun()
	reads, open, finishing := s.input.bound(), s.responses.open(), s.finishing
	beta := s.kind == ""
	if r.apart { // what only it reads stays out of the conversation
		s.input.hidden = hidden
	}
	s.mu.Unlock()
	switch {
	case finishing:
		return errBudget()
	case open >= maxOpen:
		return llm.Errorf(llm.CodeRateLimited, "%d responses of this session run already. Wait for the end of one.",
			open)
	}
	limit, err := s.afford(ctx, r, reads, capped(wanted, s.mostOutput()))
	if err != nil {
		return err
	}
	// An id that nobody can guess: the error of another event must not settle the response.
	frame := limited(set(e.frame, quoted(r.event), "event_id"), limit, beta)
	s.mu.Lock()
	s.responses.waiting = append(s.responses.waiting, r)
	s.mu.Unlock()
	if err := r.hold.Use(); err != nil {
		return err
	}
	return s.send(frame)
}

// limited returns a response.create with an output cap, unless it is 0: by the name of the session's form, and by the
// other one if the client used it.
func limited(frame []byte, limit int64, beta bool) []byte {
	if limit == 0 {
		return frame
	}
	for i, name := range createNames[:2] {
		if beta == (i == 1) || rawjson.Get(frame, "response", name) != nil {
			frame = set(frame, strconv.AppendInt(nil, limit, 10), "response", name)
		}
	}
	return frame
}

// readsWhole reports whether a response reads the whole conversation with the settings of the session, so that its
// usage bounds what the next one reads.
func readsWhole(response []byte) bool {
	for m := range rawjson.Members(response) {
		switch m.Name() {
		case "conversation", "max_output_tokens", "max_response_output_tokens", "metadata", "output_modalities",
			"modalities", "audio", "voice", "output_audio_format", "temperature":
		default:
			return false
		}
	}
	return true
}

// errBudget returns the error for the end of a session whose budget is used up.
func errBudget() *llm.Error {
	return llm.Errorf(llm.CodeBudgetExceeded, "The session ends, because a budget is used up.")
}

// capped returns the client's output cap of a response, and at most the model's.
func capped(response []byte, most int64) int64 {
	for _, name := range createNames[:2] {
		if n, ok := rawjson.AsInt(rawjson.Get(response, name)); ok && n > 0 {
			most = min(most, n)
		}
	}
	return most
}

// afford reserves a response in the limits and budgets and opens its attempt. It returns the output cap to set; 0 for
// none.
func (s *session) afford(ctx context.Context, r *response, reads, output int64) (limit int64, err error) {
	if err := s.limit(ctx, &r.limited, ratelimit.Estimate(0, output, 1)); err != nil {
		return 0, err
	}
	r.hold, limit, err = s.open(ctx, s.clock.part(s.turn(reads, leastOutput, output)))
	if err != nil {
		r.limited.Settle(0)
		return 0, err
	}
	if r.output = output; limit > 0 {
		r.output = limit
	}
	return limit, nil
}

// openLate opens the attempt of a response that the provider began by itself; nil if it could not be recorded.
func (s *session) openLate() *response {
	s.mu.Lock()
	s.responses.unasked++
	many := s.responses.unasked >= mostUnasked && !s.clock.on // by the clock they cost nothing
	r := &response{added: s.input.begun(), output: s.mostOutput()}
	turn := s.clock.part(s.turn(s.input.bound(), r.output, r.output))
	s.mu.Unlock()
	if r.hold = s.sides.openLate(&s.meter, turn, many, "responses"); r.hold == nil {
		return nil
	}
	return r
}

// piece counts a piece of the response, for an estimate if its usage never comes.
func (r *response) piece(frame []byte, now time.Time) {
	piece := rawjson.Get(frame, "delta")
	if piece == nil {
		return
	}
	if r.first == 0 {
		r.first = max(1, now.Sub(r.hold.Attempt().Opened))
	}
	switch rawjson.Text(rawjson.Get(frame, "type")) {
	case "response.output_audio.delta", "response.audio.delta":
		r.sound += int64(len(piece))
	default:
		r.text += int64(len(piece))
	}
}

// ended returns the settlement of a response that has ended.
func (r *response) ended(done []byte, used counts, reported bool) ledger.Settlement {
	st := ledger.Settlement{
		Outcome: ledger.OutcomeOK, Provenance: ledger.Exact, Counts: true, Usage: used.usage, FirstToken: r.first,
		ReplyID: rawjson.Text(rawjson.Get(done, "id")), Finish: llm.FinishStop,
	}
	switch rawjson.Text(rawjson.Get(done, "status")) {
	case "failed":
		st.Outcome, st.Code, st.Finish = ledger.OutcomeFailed, llm.CodeProviderError, ""
	case "cancelled":
		st.Outcome, st.Finish = ledger.OutcomeCut, ""
	case "incomplete":
		st.Finish = llm.FinishLength
		if rawjson.Text(rawjson.Get(done, "status_details", "reason")) == "content_filter" {
			st.Finish = llm.FinishContentFilter
		}
	}
	if !reported {
		return r.unseen(st)
	}
	price := &r.hold.Attempt().Price
	if r.unseenBegin {
		st.Provenance, st.AtMost = ledger.Estimated, max(r.hold.Attempt().Hold, price.Cost(&used.most, ""))
	} else if most := price.Cost(&used.most, ""); !used.certain() && most > price.Cost(&used.usage, "") {
		st.Provenance, st.AtMost = ledger.Estimated, most
	}
	st.Usage[llm.Requests] = r.hold.Attempt().Bound[llm.Requests]
	return st
}

// unseen completes the settlement of a response without reported usage: an estimate, and at most its hold.
func (r *response) unseen(st ledger.Settlement) ledger.Settlement {
	a := r.hold.Attempt()
	st.Provenance, st.AtMost = ledger.Estimated, a.Hold
	st.Usage = llm.Usage{llm.Input: a.Bound[llm.Input], llm.Requests: a.Bound[llm.Requests]}
	st.Usage[llm.Output] = min(r.output, r.text/4)
	st.Usage[llm.AudioOut] = min(r.output, r.sound*3/4/(pcmBytes/tokensPerSecond))
	return st
}
