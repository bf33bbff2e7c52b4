package realtime

import (
	"context"
	"errors"
	"time"

	"weir/internal/dialect"
	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/ratelimit"
)

const (
	// leastListening is how many seconds of sound an attempt covers at least, beside the conversation.
	leastListening = 60
	// detectedAnswers is how many answers may begin by detected turns before the gateway sees the first of them: one
	// that the person interrupts, and the next one.
	detectedAnswers = 2
	// shortestTurn is the shortest turn of a person in milliseconds that the gateway expects the provider to detect,
	// unless the setup has a shorter silence at its end.
	shortestTurn = 500
)

// answer is one attempt of a Live session: for the next answer of the model, or the one that it writes.
type answer struct {
	hold    *ledger.Hold
	limited ratelimit.Reservation
	reads   int64         // the most tokens of input of an answer
	now     int64         // the most tokens that the conversation had when it was opened
	covers  int64         // answers
	begun   int64         // answers that have begun, as far as something came of them
	added   int64         // value of input.added when it was opened, or the first that it replaces
	asked   bool          // a message was sent that the model answers without detection of a turn
	first   time.Duration // from opening to the first output
	text    int64         // bytes of text so far
	sound   int64         // bytes of sound so far, in base64

	last    counts // the last report of usage
	before  counts // the reports of the answers before that one
	reports int64  // of different answers
	closed  bool   // the answer of the last report has ended, and the attempt covers the next one
	wrong   bool   // a report was not valid
	late    bool   // the provider began it by itself
	over    bool   // it has ended, and only its usage is awaited
	cut     bool   // an answer of it was interrupted: it waits for the next one
	broken  bool   // the answer that has ended was interrupted
	called  bool   // the answer that has ended has called a function
	final   bool   // its usage was reported after its interruption
}

// begins returns how many answers an attempt covers. With turn detection, sound that is sent ahead of its time may have
// several turns, and each gets an answer.
func (s *live) begins() int64 {
	if !s.detects {
		return 1
	}
	return detectedAnswers + s.pace.ahead/s.shortest
}

// pace follows how far the client's sound is ahead of the time that it lasts.
type pace struct {
	ahead int64 // milliseconds
	at    time.Time
}

// sound adds that much sound, in milliseconds, which is sent now.
func (p *pace) sound(millis int64, now time.Time) {
	p.ahead = max(0, p.ahead-now.Sub(p.at).Milliseconds()) + millis
	p.at = now
}

// answer returns an attempt for n answers that read at most that many tokens each. Those beyond detectedAnswers begin
// at once, so that they read what the conversation has now.
func (s *live) answer(reads, now, n int64) *opening {
	more := max(0, n-detectedAnswers)
	return s.turn((n-more)*reads+more*min(reads, now), n*s.most, n*s.most)
}

// note adds a client's message to the input.
func (s *live) note(m *dialect.LiveMessage) {
	s.input.hidden = s.input.hidden || m.Unbounded
	if m.Listens {
		s.listens = true
		s.pace.sound(m.Millis, s.server.o.Clock())
		s.input.added += m.Millis*s.form.Tokens/1000 + 1 + m.Words
		return
	}
	s.input.added += int64(len(m.Body))
}

// cover opens an attempt, unless one waits that covers the message, too. An attempt whose bound the sound has exceeded
// is replaced by a larger one.
func (s *live) cover(ctx context.Context, m *dialect.LiveMessage) error {
	asks := m.Asks
	s.mu.Lock()
	added := s.input.added
	s.note(m)
	last, reads, finishing := s.answers.last(), s.input.bound(), s.finishing
	covers := s.begins()
	small := last != nil && (reads > last.reads || covers > last.covers)
	if !asks && !s.listens || last != nil && !small && last.isFresh() && (!asks || !last.asked) {
		if last != nil {
			last.asked = last.asked || asks
		}
		s.mu.Unlock()
		return nil
	}
	open, listens, now := len(s.answers.waiting), s.listens, reads
	s.mu.Unlock()
	switch {
	case finishing != nil:
		return finishing
	case open >= maxOpen:
		return llm.Errorf(llm.CodeRateLimited, "%d answers of this session are awaited. Wait for the end of one.", open)
	}
	if listens {
		reads = min(s.input.window, 2*reads+leastListening*s.form.Tokens)
		if small { // more may follow
			covers += covers - min(covers, detectedAnswers)
		}
	}
	r := &answer{reads: reads, now: now, covers: covers, added: added, asked: asks}
	if err := s.openAnswer(ctx, r); err != nil {
		return err
	}
	s.mu.Lock()
	old := last
	if small && last.isFresh() && (!asks || !last.asked) {
		// The answer may have read no more than was sent when the first attempt was opened.
		r.asked, r.added = asks || last.asked, last.added
		if s.answers.replace(last, r) {
			s.mu.Unlock()
			s.drop(old)
			return nil
		}
	}
	s.answers.waiting = append(s.answers.waiting, r)
	s.mu.Unlock()
	return nil
}

// openAnswer reserves an answer in the limits and budgets and opens its attempt.
func (s *live) openAnswer(ctx context.Context, r *answer) (err error) {
	if err := s.limit(ctx, &r.limited, ratelimit.Estimate(0, s.most, 1)); err != nil {
		return err
	}
	if r.hold, _, err = s.open(ctx, s.answer(r.reads, r.now, r.covers)); err == nil {
		err = r.hold.Use()
	}
	if err != nil {
		r.limited.Settle(0)
	}
	return err
}

// drop settles an attempt that a larger one has replaced.
func (s *live) drop(r *answer) {
	r.limited.Settle(0)
	s.settle(r.hold, ledger.Settlement{Outcome: ledger.OutcomeRefused, Provenance: ledger.Exact})
}

// openLate opens the attempt of an answer that the provider began by itself; nil if it could not be recorded.
func (s *live) openLate() *answer {
	s.mu.Lock()
	s.answers.unasked++
	many := s.answers.unasked >= mostUnasked
	r := &answer{reads: s.input.bound(), covers: s.begins(), begun: 1, added: s.input.added, late: true}
	s.mu.Unlock()
	if r.hold = s.sides.openLate(&s.meter, s.answer(r.reads, r.reads, r.covers), many, "answers"); r.hold == nil {
		return nil
	}
	return r
}

// report adds a report of usage. A report with the same prompt as the last one is a newer state of the same answer,
// unless that has ended; with another prompt it is that of a further answer.
func (r *answer) report(used, most llm.Usage, ok bool) {
	if !ok || !r.hold.Attempt().Believes(&used) {
		r.wrong = true
		return
	}
	if r.reports == 0 || r.closed || used.InputTokens() != r.last.usage.InputTokens() {
		r.reports, r.closed = r.reports+1, false
		r.before.usage.Add(&r.last.usage)
		r.before.most.Add(&r.last.most)
	}
	r.last = counts{usage: used, most: most}
}

// settled returns the settlement of an answer that has ended, by the provider's reports.
func (r *answer) settled() ledger.Settlement {
	if r.reports == 0 || r.wrong {
		return r.unseen(ledger.OutcomeOK)
	}
	st := ledger.Settlement{
		Outcome: ledger.OutcomeOK, Provenance: ledger.Exact, Counts: true, FirstToken: r.first, Finish: llm.FinishStop,
	}
	st.Usage = r.before.usage
	st.Usage.Add(&r.last.usage)
	most, price := r.before.most, &r.hold.Attempt().Price
	most.Add(&r.last.most)
	if at := price.Cost(&most, ""); r.reports > 1 || r.late || at > price.Cost(&st.Usage, "") {
		st.Provenance, st.AtMost = ledger.Estimated, at
	}
	st.Usage[llm.Requests] = 1
	return st
}

// unseen returns the settlement of an answer whose end or usage was not seen: an estimate, and at most its hold.
func (r *answer) unseen(outcome ledger.Outcome) ledger.Settlement {
	st := ledger.Settlement{
		Outcome: outcome, Provenance: ledger.Estimated, AtMost: r.hold.Attempt().Hold, Counts: true,
		FirstToken: r.first, Usage: r.before.usage,
	}
	st.Usage.Add(&r.last.usage)
	if r.reports == 0 && r.text+r.sound > 0 {
		st.Usage = llm.Usage{
			llm.Input: r.reads, llm.Output: r.text / 4,
			llm.AudioOut: r.sound * 3 / 4 * 32 / pcmBytes,
		}
	}
	if !st.Usage.IsZero() {
		st.Usage[llm.Requests] = 1
	}
	return st
}

// settleAnswer settles an attempt, and bounds what the next answer reads by its usage.
func (s *live) settleAnswer(r *answer, st ledger.Settlement) {
	s.settle(r.hold, st)
	r.limited.Settle(st.Usage.TotalTokens())
	s.meter.mu.Lock()
	s.settled++
	s.meter.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.reports > 0 && !r.wrong {
		s.input.read(r.last.tokens(), r.added)
	} else {
		s.input.added += s.most
	}
}

// settleRest settles all that is open when the session has ended. The end of these answers was not seen.
func (s *live) settleRest(cause error) {
	s.mu.Lock()
	rest := s.answers.waiting
	for _, r := range []*answer{s.answers.running, s.answers.ended} {
		if r != nil {
			rest = append(rest, r)
		}
	}
	s.answers = answers{}
	s.mu.Unlock()
	outcome := ledger.OutcomeCut
	if errors.Is(cause, errLeft) {
		outcome = ledger.OutcomeClientGone
	}
	s.lost = errors.Is(cause, errProvider)
	for _, r := range rest {
		s.settleAnswer(r, s.rest(r, outcome))
	}
}

// rest returns the settlement of an attempt that is open when the session has ended.
func (s *live) rest(r *answer, outcome ledger.Outcome) ledger.Settlement {
	if r.over || r.final || r.called && r.reports > 0 {
		return r.settled()
	}
	st := r.unseen(outcome)
	if r.begun == 0 && r.reports == 0 { // its answer can have read only what was sent
		a := r.hold.Attempt()
		most := a.Bound
		most[llm.Input] = min(most[llm.Input], r.covers*(s.input.bound()+s.most))
		st.AtMost = min(a.Hold, a.Price.BoundAsked(&most, ""))
	}
	return st
}
