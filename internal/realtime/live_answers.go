package realtime

import (
	"cmp"
	"slices"

	"weir/internal/dialect"
)

// answers holds the open attempts of a session.
type answers struct {
	waiting []*answer // not begun, in order
	running *answer   // begun
	ended   *answer   // ended, but its usage may follow
	unasked int       // answers so far that the provider began without an attempt

	owed     int64 // answers that may begin to sound which was sent ahead, after the attempt for it has ended
	parallel bool  // a function may run beside the answer that calls it, which goes on
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

// busy reports whether an answer or its usage is awaited, or may come because of sound that was sent ahead.
func (a *answers) busy() bool { return a.owed > 0 || a.ended != nil || a.awaited() }

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
	switch {
	case len(a.waiting) > 0:
		a.running, a.waiting = a.waiting[0], a.waiting[1:]
	case ended != nil && (ended.called || ended.broken && ended.coversMore()):
		a.running, ended = ended, nil // the model goes on beside a function, or answers the turn that interrupted it
		a.running.called, a.running.broken, a.running.over, a.running.final = false, false, false, false
	default:
		a.owed = max(0, a.owed-1)
		return ended
	}
	a.running.begun++
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
	case e.Complete || e.Interrupted || e.Calls && !a.parallel:
		a.ended, a.running = r, nil
		r.broken, r.called = e.Interrupted, e.Calls
	}
	r := a.ended
	if r == nil {
		return nil
	}
	r.final = r.final || r.broken && e.Usage != nil
	if r.over = r.over || e.Complete; !r.over || r.reports == 0 {
		return nil // an interrupted answer is followed by its end, and an end perhaps by the usage
	}
	a.ended = nil
	if r.broken && len(a.waiting) == 0 && r.coversMore() {
		// The turn that interrupted it may be one that was sent before it began.
		r.cut, r.closed, r.text, r.sound = true, true, 0, 0
		r.asked, r.broken, r.over, r.final = false, false, false, false
		a.waiting = []*answer{r}
		return nil
	}
	a.owed = max(0, r.covers-max(r.begun, r.reports)-(detectedAnswers-1))
	return r
}

// isFresh reports whether nothing has come of the attempt, so that a larger one may replace it.
func (r *answer) isFresh() bool { return r.begun == 0 && r.reports == 0 && !r.cut && !r.wrong }

// coversMore reports whether the attempt covers another answer beside those that have begun.
func (r *answer) coversMore() bool { return max(r.begun, r.reports) < r.covers }

// interrupt follows the end of an answer of which nothing came. Its attempt waits for the next answer, unless that has
// one of its own.
func (a *answers) interrupt(e *dialect.LiveEvent) {
	first := a.waiting[0]
	first.cut = first.cut || e.Interrupted
	switch {
	case !first.cut || !e.Complete:
	case len(a.waiting) > 1 || !first.coversMore():
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
