package gateway

import (
	"fmt"
	"sync/atomic"

	"weir/internal/account"
	"weir/internal/ledger"
	"weir/internal/provider"
	"weir/internal/quote"
)

// lateAttempts are the attempts of a request whose providers did not begin their whole answers
// in time, and work on. The request goes on without them.
type lateAttempts struct {
	last    *late         // that is to be read on beside the request; nil for none
	shared  *shared       // with all of them; nil where there were none
	answers []*lateAnswer // of all of them, until they are offered to repeats of the request
}

// late is one of them. Its answer is read for its usage.
type late struct {
	attempt  *attempt
	held     capacity
	answer   *provider.Late
	upstream *upstreamContext
	id       string            // of the request
	unseen   ledger.Settlement // how the attempt ends where its usage does not come
	shared   *shared
	told     *lateAnswer // for repeats of the request
	reply    *lateReply  // their reply; without a body where no answer came
}

// shared is what a request and its late attempts hold together: a place in the gateway
// and among the requests at a time of its caller. The last one gives it back.
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

// keepsLate says whether the answer of the attempt under way is read on where it is late.
func (c *call) keepsLate() bool {
	return !c.Head.Stream && !c.Op.Free && c.principal.Account().OnDisconnect != account.DisconnectCancel
}

// detachLate takes an attempt that failed out of the request where its answer is late
// and is read on: from here on it is not the request's to settle. There are so many
// drains at most; one beyond them is given up.
func (c *call) detachLate(a *attempt, f *provider.Failure, unseen ledger.Settlement, upstream *upstreamContext) bool {
	if f.Late == nil {
		return false
	}
	if !c.server.takeDrain() {
		f.Late.Close()
		return false
	}
	upstream.client.Cut()
	c.server.drainFor(c.server.timing.DrainAnswer, &upstream.Lifetime, upstream.End, upstream.End)
	if c.late.shared == nil {
		c.late.shared = &shared{}
		c.late.shared.holders.Store(1)
	}
	c.late.shared.holders.Add(1)
	own := &attempt{Quote: a.Quote, hold: a.hold, tally: quote.Tally{Choices: c.Head.Choices}}
	target := *a.Target
	own.Target, own.Request = &target, &quote.Request{Dialect: c.Dialect, Op: c.Op, Head: c.Head}
	c.late.last = &late{
		attempt: own, held: capacity{server: c.server, client: &client{r: c.r}, account: c.held.account},
		answer: f.Late, upstream: upstream, id: c.id.text, unseen: unseen, shared: c.late.shared,
		told: &lateAnswer{read: make(chan struct{})}, reply: a.lateReply(),
	}
	c.late.answers = append(c.late.answers, c.late.last.told)
	a.hold, a.settling = nil, nil // what it holds of budgets it holds on
	c.spent.priced = false        // until it has ended
	return true
}

// readLate reads the late answer beside the request, if there is one. It counts for its
// request where no other attempt does.
func (c *call) readLate(counts bool) {
	l, s := c.late.last, c.server
	if l == nil {
		return
	}
	c.late.last = nil
	go func() {
		used := int64(0)
		defer func() { l.shared.leave(used) }()
		defer s.drains.Add(-1)
		defer l.held.endAnswer()
		settlement := l.settlement(s)
		settlement.Counts = counts
		s.settle(l.attempt.hold, &settlement)
		used = settlement.Usage.TotalTokens()
		l.tell(s, &settlement)
	}()
}

// tell gives the answer to those that repeat its request, once it is settled. What it cost is known where it is the
// request's one attempt.
func (l *late) tell(s *Server, settlement *ledger.Settlement) {
	reply, room := l.reply, capacity{server: s, account: l.held.account}
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

// settlement waits for the answer. What is wrong with it is as if it had never come.
func (l *late) settlement(server *Server) (s ledger.Settlement) {
	defer func() {
		if p := recover(); p != nil {
			server.log.Error("a late answer could not be read", "request", l.id, "err", fmt.Sprint("panic: ", p))
			s = l.unseen
		}
	}()
	defer l.upstream.End()
	a := l.attempt
	resp, body, err := l.answer.ReadAll()
	if err == nil {
		_, err = a.tallyWhole(&l.held, resp, body)
	}
	if err == nil {
		l.reply.read(a, resp, body)
	}
	came := quote.Answer{Quote: &a.Quote, Tally: &a.tally, Attempt: a.hold.Attempt(), Ended: server.ledger.Now()}
	if err != nil {
		f := a.Target.Provider.Judge(err)
		switch {
		case f.Kind == provider.KindAborted: // it counts as it was told
		case f.Refusal() && !a.tally.Begun && !a.BillsRefusal(f):
			return came.Rejected(f)
		default:
			return l.unseen
		}
	}
	if !came.LastWord() {
		return l.unseen
	}
	s = came.Succeeded()
	s.Outcome, s.Code, s.Finish = l.unseen.Outcome, l.unseen.Code, ""
	return s
}
