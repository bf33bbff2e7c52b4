//go:build unix

package crashtest_test

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"weir/internal/ledger"
	"weir/internal/llm"
)

// fault names one way in which the books can disagree.
type fault string

const (
	lost          fault = "lost: the provider was asked, the ledger has no row"
	doubled       fault = "doubled: an attempt with more than one row"
	resent        fault = "resent: the provider got one attempt more than once"
	phantom       fault = "phantom: a row of an attempt that the provider never saw"
	unexplained   fault = "unknown, and not open at a kill"
	belowTruth    fault = "charged below what the provider charges"
	inexact       fault = "exact, but not what the provider reported"
	mispriced     fault = "cost that is not usage times price"
	emptyEstimate fault = "estimated at nothing"
	overEstimate  fault = "estimated above what was served"
	underEstimate fault = "estimated below what the client got"
	misattributed fault = "row under the wrong account, key or model"
	untrue        fault = "client was told otherwise than the row says"
	miscounted    fault = "request counted wrongly"
	rereplied     fault = "replay that is not the first answer, or none allowed"
	unsummed      fault = "/v1/uses is not the sum of the rows"
	unverified    fault = "weir ledger verify: difference, gap or open attempt"
	complained    fault = "error in the gateway's own log"
)

// faults returns all of them, in the order of the report.
func faults() []fault {
	return []fault{
		lost, doubled, resent, phantom, unexplained, belowTruth, inexact, mispriced, emptyEstimate, overEstimate,
		underEstimate, misattributed, untrue, miscounted, rereplied, unsummed, unverified, complained,
	}
}

// slack returns the permitted excess of estimated output tokens: 5 % for a tokenizer that is not the provider's own, or
// one token for each of up to four answers, whose last word may be cut in two.
func slack(truth int64) int64 { return max(4, truth/20) }

// attempt holds the records of one attempt in both ledgers.
type attempt struct {
	rows   []*row
	served []*served
}

// verdict holds the result of judging the books.
type verdict struct {
	books    *books
	attempts map[ledger.AttemptID]*attempt
	requests map[uuid.UUID][]*row // in the order of the attempts
	found    map[fault][]string
	reached  int     // requests with an attempt that the provider saw
	unseen   int     // requests of which the provider may have seen no attempt, because a kill came first
	streams  []int64 // of each estimate of a stream's output, in tokens: estimate less truth
	wholes   []int64 // the same for answers that were not streams, which cannot be counted before they are whole
	inputs   []int64 // of each estimate of input, in percent of the truth
}

// judge joins the books by attempt and checks all invariants.
func judge(b *books) *verdict {
	v := newVerdict(b)
	v.join()
	for _, id := range slices.SortedFunc(maps.Keys(v.attempts), compareIDs) {
		v.attempt(id, v.attempts[id])
	}
	for _, rows := range v.requests {
		v.counted(rows)
	}
	for i := range b.receipts {
		v.receipt(&b.receipts[i])
	}
	v.replays()
	v.uses()
	v.totals()
	v.rest()
	return v
}

func newVerdict(b *books) *verdict {
	return &verdict{
		books: b, found: map[fault][]string{},
		attempts: map[ledger.AttemptID]*attempt{}, requests: map[uuid.UUID][]*row{},
	}
}

func compareIDs(a, b ledger.AttemptID) int {
	return cmp.Or(slices.Compare(a.Request[:], b.Request[:]), cmp.Compare(a.N, b.N))
}

func (v *verdict) add(f fault, format string, args ...any) {
	v.found[f] = append(v.found[f], fmt.Sprintf(format, args...))
}

func (v *verdict) count(f fault) int { return len(v.found[f]) }

func (v *verdict) join() {
	of := func(id ledger.AttemptID) *attempt {
		if v.attempts[id] == nil {
			v.attempts[id] = &attempt{}
		}
		return v.attempts[id]
	}
	for i := range v.books.rows {
		r := &v.books.rows[i]
		of(r.id).rows = append(of(r.id).rows, r)
		v.requests[r.id.Request] = append(v.requests[r.id.Request], r)
	}
	for _, rows := range v.requests {
		slices.SortFunc(rows, func(a, b *row) int { return compareIDs(a.id, b.id) })
	}
	for i := range v.books.served {
		s := &v.books.served[i]
		id, err := ledger.ParseAttemptID(s.Attempt)
		if err != nil {
			v.add(lost, "%+v: %v", s, err)
			continue
		}
		of(id).served = append(of(id).served, s)
	}
}

func (v *verdict) attempt(id ledger.AttemptID, a *attempt) {
	if len(a.served) > 1 {
		v.add(resent, "%s: %d times", id, len(a.served))
	}
	if len(a.rows) > 1 {
		v.add(doubled, "%s: %d rows", id, len(a.rows))
	}
	if len(a.rows) == 0 {
		v.add(lost, "%s: %+v", id, *a.served[0])
		return
	}
	r, s := a.rows[0], &served{}
	if len(a.served) > 0 {
		s = a.served[0]
	} else if r.outcome != ledger.OutcomeUnknown && r.outcome != ledger.OutcomeRefused && !v.unseenInOutage(r) {
		v.add(phantom, "%s", r)
	}
	v.priced(r)
	truth := llm.Usage(s.Usage)
	v.charged(r, s)
	switch r.provenance {
	case ledger.Exact:
		v.exact(r, s, &truth)
	case ledger.Assumed: // of the harness's prices only if the provider says that it charges more
		if v.exact(r, s, &truth); s.Cost <= r.cost {
			v.add(inexact, "%s: the provider says no more than the price: %+v", r, *s)
		}
	case ledger.Estimated:
		v.estimated(r, s, &truth)
	case ledger.Unknown:
		v.unknown(r, &truth)
	default:
		v.add(inexact, "%s: no such provenance", r)
	}
	if len(a.served) > 0 && (r.model != clientAPIs()[s.Dialect].provider+"/"+s.Model || r.stream != s.Stream) {
		v.add(misattributed, "%s: the provider was asked for %q, stream %t", r, s.Model, s.Stream)
	}
}

// unseenInOutage reports whether the gateway sent the attempt in an outage of the provider, which
// may not have seen it.
func (v *verdict) unseenInOutage(r *row) bool {
	return r.outcome != ledger.OutcomeRefused && slices.ContainsFunc(v.books.outages, func(i interval) bool {
		return r.opened.Before(i.to) && r.opened.Add(r.duration+time.Millisecond).After(i.from)
	})
}

// priced recomputes the cost. An unknown outcome costs its bound.
func (v *verdict) priced(r *row) {
	p, ok := v.books.prices[r.model]
	want := p.Cost(&r.usage, "")
	if r.provenance == ledger.Unknown {
		want = p.Bound(&r.usage)
	}
	if ok != (r.price != "") || r.cost != want {
		v.add(mispriced, "%s: got $%s by price %q, want $%s", r, r.cost, r.price, want)
	}
}

// charged checks that budgets count at least the provider's charge, for any end of the attempt.
func (v *verdict) charged(r *row, s *served) {
	p := v.books.prices[r.model]
	if truth := s.truth(&p); max(r.cost, r.atMost) < truth {
		v.add(belowTruth, "%s, at most $%s: the provider charges $%s for %v", r, r.atMost, truth, s.Usage)
	}
}

// exact compares the row with the provider's true usage, which equals its report if there was one.
func (v *verdict) exact(r *row, s *served, truth *llm.Usage) {
	got := r.usage
	got[llm.Requests] = 0
	told := s.Reported != nil && llm.Usage(*s.Reported) == got
	if s.Reported == nil { // without usage: an error, or a client that left at the end
		told = r.outcome != ledger.OutcomeOK || s.Canceled
	}
	if r.outcome == ledger.OutcomeUnknown || got != *truth || !told {
		v.add(inexact, "%s: the provider says %+v", r, *s)
	}
}

func (v *verdict) estimated(r *row, s *served, truth *llm.Usage) {
	if s.Reported != nil && r.outcome == ledger.OutcomeOK {
		v.add(inexact, "%s: the provider says %+v, and nobody took it", r, *s)
	}
	if r.usage.InputTokens() <= 0 && !slices.Contains(counting(), r.model) {
		v.add(emptyEstimate, "%s", r)
	}
	got, want := r.usage.OutputTokens(), truth.OutputTokens()
	if r.stream {
		v.streams = append(v.streams, got-want)
	} else {
		v.wholes = append(v.wholes, got-want)
	}
	if in := truth.InputTokens(); in > 0 {
		v.inputs = append(v.inputs, 100*(r.usage.InputTokens()-in)/in)
	}
	if got > want+slack(want) {
		v.add(overEstimate, "%s: %d tokens of output, the provider gave %d", r, got, want)
	}
}

// unknown checks that the process that opened the attempt was killed, and that the next start settled it.
func (v *verdict) unknown(r *row, truth *llm.Usage) {
	if why := unexplainedBy(v.books.lives, r); why != "" {
		v.add(unexplained, "%s: %s", r, why)
	}
	if r.usage.InputTokens() < truth.InputTokens() || r.usage.OutputTokens() < truth.OutputTokens() {
		v.add(belowTruth, "%s: the provider gave %v", r, *truth)
	}
}

// unexplainedBy returns the reason why no kill explains the unknown row; empty if one does. The row's duration ends at
// the start that found it open, cut to milliseconds.
func unexplainedBy(lives []life, r *row) string {
	at := lifeOf(lives, r)
	if at < 0 {
		return "no process was alive when it was opened"
	}
	if !lives[at].killed {
		return fmt.Sprintf("process %d, which opened it, was not killed", at)
	}
	found := r.opened.Add(r.duration)
	for i := at + 1; i < len(lives); i++ {
		l := &lives[i]
		if l.node != r.node {
			continue
		}
		until := l.ready
		if until.IsZero() {
			until = l.ended // another start may have to do it
		}
		if !found.Before(l.began.Add(-time.Millisecond)) && !found.After(until) {
			return ""
		}
		if !l.ready.IsZero() {
			break // all open attempts must have been found by now
		}
	}
	return fmt.Sprintf("the start after process %d did not settle it", at)
}

// lifeOf returns the life in which the row was opened; -1 for none. Those of a node are in their order.
func lifeOf(lives []life, r *row) int {
	return slices.IndexFunc(lives, func(l life) bool {
		return l.node == r.node && !r.opened.Before(l.began) && !r.opened.After(l.ended)
	})
}

// counted checks that one row of a request counts: the last one, if the provider saw any attempt of the request or may
// have seen one.
func (v *verdict) counted(rows []*row) {
	got, want, last := 0, 0, rows[len(rows)-1]
	reached := false
	for i, r := range rows {
		if r.counts {
			got++
		}
		reached = reached || len(v.attempts[r.id].served) > 0 || v.unseenInOutage(r)
		if int(r.id.N) != i+1 {
			v.add(lost, "%s: it is number %d of the request's rows", r, i+1)
		}
	}
	switch {
	case reached:
		v.reached, want = v.reached+1, 1
	case last.outcome == ledger.OutcomeUnknown:
		v.unseen, want = v.unseen+1, 1
	}
	if got != want || got == 1 && !last.counts {
		v.add(miscounted, "%s: the last of %d rows: %d count, want %d", last, len(rows), got, want)
	}
}

// String formats the row for findings.
func (r *row) String() string {
	return fmt.Sprintf("%s %s %s/%s opened %s for %s, %d in %d out $%s",
		r.id, r.model, r.outcome, r.provenance, clock(r.opened), r.duration,
		r.usage.InputTokens(), r.usage.OutputTokens(), r.cost)
}
