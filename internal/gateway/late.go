package gateway

import (
	"fmt"
	"sync/atomic"

	"weir/internal/account"
	"weir/internal/ledger"
	"weir/internal/provider"
)

// late is an attempt whose provider did not begin its whole answer in time, and works on.
// The request goes on without it; the answer is read for its usage.
type late struct {
	call     *call // with what the settlement needs, and nothing else of the request
	answer   *provider.Late
	upstream upstreamContext
	unseen   ledger.Settlement // how the attempt ends where its usage does not come
	shared   *shared
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
	return !c.head.Stream && !c.op.Free && c.principal.Account().OnDisconnect != account.DisconnectCancel
}

// detachLate takes the attempt that failed out of the request where its answer is late
// and is read on: from here on it is not the request's to settle. There are so many
// drains at most; one beyond them is given up.
func (c *call) detachLate(f *provider.Failure, unseen ledger.Settlement, upstream *upstreamContext) bool {
	if f.Late == nil {
		return false
	}
	if !c.server.takeDrain() {
		f.Late.Close()
		return false
	}
	upstream.detach()
	c.server.drainFor(c.server.timing.DrainAnswer, upstream.ctx, upstream.cancel)
	if c.shared == nil {
		c.shared = &shared{}
		c.shared.holders.Store(1)
	}
	c.shared.holders.Add(1)
	own := &call{
		server: c.server, dialect: c.dialect, op: c.op, idText: c.idText, r: c.r, account: c.account,
		head: c.head, plan: c.plan.Alone(), hold: c.hold, sum: &tally{choices: c.head.Choices}, apart: c.apart,
	}
	c.late = &late{call: own, answer: f.Late, upstream: *upstream, unseen: unseen, shared: c.shared}
	c.hold, c.settling = nil, nil // what it holds of budgets it holds on
	c.priced = false              // until it has ended
	return true
}

// readLate reads the late answer beside the request, if there is one. It counts for its
// request where no other attempt does.
func (c *call) readLate(counts bool) {
	l := c.late
	if l == nil {
		return
	}
	c.late = nil
	go func() {
		defer func() { l.shared.leave(l.call.used) }()
		defer l.call.server.drains.Add(-1)
		defer l.call.endArrival()
		s := l.settlement()
		l.call.reached = counts
		l.call.settle(s)
	}()
}

// settlement waits for the answer. What is wrong with it is as if it had never come.
func (l *late) settlement() (s ledger.Settlement) {
	c := l.call
	defer func() {
		if p := recover(); p != nil {
			c.server.log.Error("a late answer was not read", "request", c.idText, "err", fmt.Sprint("panic: ", p))
			s = l.unseen
		}
	}()
	defer l.upstream.cancel()
	resp, body, err := l.answer.ReadAll()
	if err == nil {
		_, err = c.tallyWhole(resp, body)
	}
	if err != nil {
		if f := c.target().Provider.Judge(err); f.Refusal() && !c.sum.begun && !c.billsRefusal(f) {
			return c.rejection(f)
		}
		return l.unseen
	}
	if !c.lastWord(c.sum) {
		return l.unseen
	}
	s = c.settlementOfWhole(c.sum)
	s.Outcome, s.Code, s.Finish = l.unseen.Outcome, l.unseen.Code, ""
	return s
}
