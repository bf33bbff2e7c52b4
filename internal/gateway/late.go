package gateway

import (
	"bytes"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"weir/internal/account"
	"weir/internal/capacity"
	"weir/internal/ledger"
	"weir/internal/provider"
	"weir/internal/quote"
)

// lateAttempts are attempts at providers that did not begin their whole answers in time, but may still answer and
// charge. The request continues without them.
type lateAttempts struct {
	last    *late         // to be read in the background; nil for none
	shared  *shared       // shared with all late attempts; nil if there are none
	answers []*lateAnswer // answers of all late attempts, until they are offered to repeats of the request
}

// late is one late attempt. Its answer is read for its usage.
type late struct {
	attempt  *attempt
	held     capacity.Held
	answer   *provider.Late
	upstream *upstreamContext
	id       string            // of the request
	unseen   ledger.Settlement // settlement if no usage arrives
	shared   *shared
	told     *lateAnswer // for repeats of the request
	reply    *lateReply  // reply to repeats; without a body if no answer arrived
}

// shared is the capacity that a request and its late attempts hold together: a pipeline slot and a place in the
// caller's concurrency limit. The last one to leave frees it.
type shared struct {
	holders atomic.Int64
	used    atomic.Int64 // tokens
	end     func(used int64)
}

func (s *shared) leave(used int64) {
	s.used.Add(used)
	if s.holders.Add(-1) == 0 {
		s.end(s.used.Load())
	}
}

// keepsLate reports whether the answer of the current attempt is still read if it is late.
func (in *intake) keepsLate() bool {
	return !in.Head.Stream && !in.Op.Free && in.principal.Account().OnDisconnect != account.DisconnectCancel
}

// detachLate separates a failed attempt from the request, to read its late answer; the request no longer settles it. If
// the maximum of such reads is reached, it closes the answer and returns false.
func (x *exchange) detachLate(a *attempt, answer *provider.Late, unseen ledger.Settlement, upstream *upstreamContext,
) bool {
	in := x.in
	if !in.server.takeDrain() {
		answer.Close()
		return false
	}
	unseen.Duration = 0 // the attempt ends with its late answer
	upstream.cut()
	in.server.drainFor(in.server.timing.DrainAnswer, &upstream.Lifetime, upstream.End, upstream.End)
	if x.late.shared == nil {
		x.late.shared = &shared{}
		x.late.shared.holders.Store(1)
	}
	x.late.shared.holders.Add(1)
	held := in.server.capacity.Hold(lateClient(in.r), in.held.Account())
	own := lateCopy(a, &held)
	x.late.last = &late{
		attempt: own, held: held,
		answer: answer, upstream: upstream, id: in.id.text, unseen: unseen, shared: x.late.shared,
		told: &lateAnswer{read: make(chan struct{})}, reply: a.lateReply(&x.called, x.spent.models),
	}
	x.late.answers = append(x.late.answers, x.late.last.told)
	a.hold, x.choice.failed = nil, nil // the late attempt keeps its hold on budgets
	x.spent.priced = false             // until the late attempt has been settled
	return true
}

// lateClient returns a client with a copy of its request, which is valid after the request has ended.
func lateClient(r *http.Request) *capacity.Client {
	return &capacity.Client{Request: r.Clone(r.Context())}
}

// lateCopy returns a copy of the attempt for its late answer, without the parts that belong to its request. It has a
// copy of the request's body, which bounds the cost of an answer that says too little, if held has memory for it.
func lateCopy(a *attempt, held *capacity.Held) *attempt {
	own := &attempt{
		by: a.by, Quote: a.Quote, hold: a.hold, trace: a.trace, tally: quote.Tally{Choices: a.Head.Choices},
	}
	target := *a.Target
	own.Target, own.Request = &target, &quote.Request{Dialect: a.Dialect, Op: a.Op, Head: a.Head, Bounds: a.Bounds}
	if held.KeepText(len(a.Body)) > 0 {
		own.Body = bytes.Clone(a.Body)
	}
	return own
}

// read reads the last late answer in the background, if there is one. The attempt counts as the request if no other
// attempt does.
func (a *lateAttempts) read(s *Server, counts bool) {
	l := a.last
	if l == nil {
		return
	}
	a.last = nil
	go func() {
		used := int64(0)
		defer func() { l.shared.leave(used) }()
		defer s.drains.Add(-1)
		defer l.held.EndAnswer()
		settlement := l.settlement(s)
		settlement.Counts = counts
		s.settle(l.attempt, &settlement)
		used = settlement.Usage.TotalTokens()
		l.tell(s, &settlement)
	}()
}

// offer makes the late answers of a failed request available to its repeats, before the client receives the error. It
// reports whether there are any. The first attempt was sent at asked.
func (a *lateAttempts) offer(in *intake, asked time.Time) bool {
	if len(a.answers) == 0 || in.token == "" {
		return false
	}
	all := a.answers
	a.answers = nil
	return in.server.late.offer(in.principal.Key().ID, in.repeat(), in.server.now().Sub(asked), all)
}

// tell passes the settled answer to repeats of its request. The cost of the answer is known if the attempt was the only
// one of its request.
func (l *late) tell(s *Server, settlement *ledger.Settlement) {
	reply, room := l.reply, s.capacity.Hold(nil, l.held.Account())
	if reply.body == nil {
		s.late.came(l.told, nil, room)
		return
	}
	reply.usage = settlement.Usage
	if cost := l.attempt.hold.Charge(); cost != nil && len(reply.spent.models) == 1 {
		reply.spent.money, reply.spent.priced = *cost, true
	}
	s.late.came(l.told, reply, room)
}

// settlement waits for the answer and returns its settlement. An invalid answer is settled as if none had arrived.
func (l *late) settlement(server *Server) (s ledger.Settlement) {
	defer func() {
		if p := recover(); p != nil {
			server.log.Error("failed to read a late answer", "request", l.id, "err", fmt.Sprint("panic: ", p))
			s = l.unseen
		}
	}()
	defer l.upstream.End()
	a := l.attempt
	resp, body, err := l.answer.ReadAll()
	if err == nil {
		w := wholeReply{attempt: a, body: body}
		err = w.read(server.bounds, &l.held, resp)
	}
	came := quote.AsServed(quote.Answer{
		Quote: &a.Quote, Tally: &a.tally, Attempt: a.hold.Attempt(), Ended: server.ledger.Now(),
	})
	if err == nil && quote.RefusedModel(came) == "" {
		l.reply.read(a, resp, body)
	}
	if err != nil {
		f := a.Target.Provider.Judge(err)
		switch {
		case f.Kind == provider.KindAborted: // it counts with the usage that it reported
		case f.Refusal() && !a.tally.Begun && !a.BillsRefusal(f):
			return came.Rejected(f)
		default:
			return l.unseen
		}
	}
	if !came.LastWord() || len(a.Body) == 0 {
		return l.unseen
	}
	s = came.Succeeded()
	s.Outcome, s.Code, s.Finish = l.unseen.Outcome, l.unseen.Code, ""
	return s
}
