package realtime

import (
	"cmp"
	"context"
	"errors"
	"slices"
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
)

// answer is one attempt of a Live session: for the next answer of the model, or the one that it writes.
type answer struct {
	hold    *ledger.Hold
	limited ratelimit.Reservation
	reads   int64         // the most tokens of input
	added   int64         // value of input.added when it was opened, or the first that it replaces
	asked   bool          // a message was sent that the model answers without detection of a turn
	first   time.Duration // from opening to the first output
	text    int64         // bytes of text so far
	sound   int64         // bytes of sound so far, in base64

	last    counts // the last report of usage
	before  counts // the reports of the answers before that one
	reports int    // of different answers
	closed  bool   // the answer of the last report has ended, and the attempt covers the next one
	wrong   bool   // a report was not valid
	late    bool   // the provider began it by itself
	over    bool   // it has ended, and only its usage is awaited
	cut     bool   // its first answer was interrupted before anything came of it: it waits for the next one
}

// answers holds the open attempts of a session.
type answers struct {
	waiting []*answer // not begun, in order
	running *answer   // begun
	ended   *answer   // ended, but its usage may follow
	unasked int       // answers so far that the provider began without an attempt
}

// open returns the number of open attempts.
func (a *answers) open() (n int64) {
	n = int64(len(a.waiting))
	for _, one := range []*answer{a.running, a.ended} {
		if one != nil {
			n++
		}
	}
	return n
}

// busy reports whether an answer or its usage is awaited.
func (a *answers) busy() bool { return a.ended != nil || a.awaited() }

// awaited reports whether an answer is awaited. Attempts for turns that may never be detected do not count.
func (a *answers) awaited() bool {
	return a.running != nil || slices.ContainsFunc(a.waiting, func(one *answer) bool { return one.asked })
}

// last returns the newest attempt that has not begun; nil for none.
func (a *answers) last() *answer {
	if len(a.waiting) == 0 {
		return nil
	}
	return a.waiting[len(a.waiting)-1]
}

// replace puts an attempt in the place of another one, and reports false if that has begun.
func (a *answers) replace(old, with *answer) bool {
	i := slices.Index(a.waiting, old)
	if i < 0 {
		return false
	}
	a.waiting[i] = with
	return true
}

// begin makes the oldest attempt the running one, nil if there is none, and returns an ended one, whose usage does not
// come any more.
func (a *answers) begin() (ended *answer) {
	ended, a.ended = a.ended, nil
	if len(a.waiting) > 0 {
		a.running, a.waiting = a.waiting[0], a.waiting[1:]
	}
	return ended
}

// follow moves the running attempt by a message of the provider. It returns one whose end and usage have come; nil if
// there is none.
func (a *answers) follow(e *dialect.LiveEvent) (done *answer) {
	switch r := a.running; {
	case r == nil && a.ended == nil && len(a.waiting) > 0:
		a.interrupt(e)
	case r == nil:
	case e.Interrupted && r.text+r.sound == 0:
		r.cut = true
		a.waiting, a.running = slices.Insert(a.waiting, 0, r), nil
		a.interrupt(e)
	case e.Complete || e.Interrupted || e.Calls:
		a.ended, a.running = r, nil
	}
	r := a.ended
	if r == nil {
		return nil
	}
	if r.over = r.over || e.Complete || e.Calls; !r.over || r.reports == 0 {
		return nil // an interrupted answer is followed by its end, and an end perhaps by the usage
	}
	a.ended = nil
	return r
}

// interrupt follows the end of an answer of which nothing came. Its attempt waits for the next answer, unless that has
// one of its own.
func (a *answers) interrupt(e *dialect.LiveEvent) {
	first := a.waiting[0]
	first.cut = first.cut || e.Interrupted
	switch {
	case !first.cut || !e.Complete:
	case len(a.waiting) > 1:
		a.ended, a.waiting = first, a.waiting[1:]
	default:
		first.closed = true
	}
}

// usageOf returns the attempt that a report of usage belongs to; nil if it has none.
func (a *answers) usageOf(e *dialect.LiveEvent) *answer {
	if of := cmp.Or(a.running, a.ended); of != nil {
		return of
	}
	if len(a.waiting) == 0 || !a.waiting[0].cut && !e.Interrupted {
		return nil
	}
	return a.waiting[0]
}

// begins returns how many answers an attempt covers.
func (s *live) begins() int64 {
	if s.detects {
		return detectedAnswers
	}
	return 1
}

// answer returns an attempt that reads at most that many tokens.
func (s *live) answer(reads int64) *opening {
	n := s.begins()
	return s.turn(n*reads, n*s.most, n*s.most)
}

// note adds a client's message to the input.
func (s *live) note(m *dialect.LiveMessage) {
	s.input.hidden = s.input.hidden || m.Unbounded
	if m.Listens {
		s.listens = true
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
	small := last != nil && reads > last.reads
	if !asks && !s.listens || last != nil && !small && (!asks || !last.asked) {
		if last != nil {
			last.asked = last.asked || asks
		}
		s.mu.Unlock()
		return nil
	}
	open, listens := len(s.answers.waiting), s.listens
	s.mu.Unlock()
	switch {
	case finishing != nil:
		return finishing
	case open >= maxOpen:
		return llm.Errorf(llm.CodeRateLimited, "%d answers of this session are awaited. Wait for the end of one.", open)
	}
	if listens {
		reads = min(s.input.window, 2*reads+leastListening*s.form.Tokens)
	}
	r := &answer{reads: reads, added: added, asked: asks}
	if err := s.openAnswer(ctx, r); err != nil {
		return err
	}
	s.mu.Lock()
	old := last
	if small && (!asks || !last.asked) {
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
	if r.hold, _, err = s.open(ctx, s.answer(r.reads)); err == nil {
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
	r := &answer{reads: s.input.bound(), added: s.input.added, late: true}
	s.mu.Unlock()
	if r.hold = s.sides.openLate(&s.meter, s.answer(r.reads), many, "answers"); r.hold == nil {
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
		st := r.unseen(outcome)
		if r.over {
			st = r.settled()
		}
		s.settleAnswer(r, st)
	}
}
