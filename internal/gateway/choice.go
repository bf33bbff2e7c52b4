package gateway

import (
	"bytes"
	"context"
	"time"

	"weir/internal/ledger"
	"weir/internal/provider"
	"weir/internal/quote"
	"weir/internal/route"
)

// choice chooses the targets of a request's attempts and prepares the attempts.
type choice struct {
	in       *intake
	plan     route.Plan
	prepared *attempt           // the last one; it has a reservation until it is opened
	first    attempt            // buffer for the attempts before the first one is opened
	room     []byte             // memory for the body of that attempt
	current  *attempt           // the last one that was opened; nil before the first
	failed   *ledger.Settlement // the coming settlement of current; nil before it failed, or if it was detached
	mayCount bool               // a provider may be asked to count the request's tokens
	counted  time.Time          // when it was; zero if it was not
}

// begin orders the targets of a request.
func (c *choice) begin(in *intake, now time.Time) {
	c.in, c.mayCount = in, true
	c.plan = in.table.Plan(route.Caller{
		Account: in.principal.Account().ID, Conversation: in.conversation,
	}, in.targets, now)
}

// newAttempt returns an attempt at the current target. The attempt before it that was only prepared is not made.
func (c *choice) newAttempt() *attempt {
	c.prepared.drop()
	a := &c.first
	if c.current != nil {
		a = new(attempt)
	}
	target := c.plan.Target()
	*a = attempt{}
	a.in, a.by, a.plan, a.mayCount = c.in, c.in.principal, &c.plan, c.mayCount
	a.follows, a.settles = c.current.opened(), c.failed
	quote.Begin(&a.Quote, &c.in.Request, c.in.table, target, c.in.started)
	a.ids.request, a.ids.provider = c.in.id.UUID, target.Provider.Name()
	a.Terms = c.in.principal.Terms(target.Provider.Name(), target.Model, c.in.started)
	if a.room = &c.room; c.current != nil {
		a.called, a.room = c.current.called, new([]byte)
	}
	c.prepared = a
	return a
}

// prepare prepares an attempt at the first remaining target with a wire format that can express the request and a price
// that the caller's budgets can pay. It returns the error of the first target if there is none.
//
// Stage 8: prepare.
func (c *choice) prepare() (*attempt, error) {
	var first error
	for {
		a := c.newAttempt()
		err := a.ask()
		if c.mayCount = a.mayCount; !a.counted.IsZero() {
			c.counted = a.counted
		}
		if err == nil {
			return a, nil
		}
		if first == nil {
			first = err
		}
		if !c.plan.Onward(c.in.server.now()) {
			return nil, first
		}
	}
}

// opened makes a prepared attempt, which was opened, the current one.
func (c *choice) opened(a *attempt) { c.current, c.failed, c.mayCount = a, nil, false }

// again prepares an attempt after the current one has failed and before the client has received a part of an answer;
// nil if no target is left.
func (c *choice) again(ctx context.Context, f *provider.Failure) *attempt {
	pause, ok := c.plan.After(f, c.in.server.now())
	if !ok || !c.in.server.pause(ctx, pause) || c.in.client.Gone() {
		return nil
	}
	c.in.trace.Paused(pause)
	next, err := c.prepare()
	if err != nil || next.Target.Margin > 0 && bytes.Equal(next.body, c.current.body) {
		return nil // the client itself set the highest price, which stays
	}
	return next
}

// pause waits for d. It returns false if the server stops or ctx ends first.
func (s *Server) pause(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
	case <-s.stopping.Done():
	}
	return false
}

// elsewhere prepares an attempt at the next target to continue the answer that f interrupted, with the text so far; nil
// if there is none.
func (c *choice) elsewhere(f *provider.Failure, sent *words) *attempt {
	switch {
	case refusedPrefill(c.current, f):
		if a := c.beginAnew(sent); a != nil {
			return a
		}
	case !sent.on || sent.other || !isDiverged(f) && !c.plan.Continues(f):
		return nil
	}
	for c.plan.Onward(c.in.server.now()) {
		if a := c.goOn(sent); a != nil {
			return a
		}
		if a := c.beginAnew(sent); a != nil {
			return a
		}
	}
	return nil
}

// goOn returns an attempt at the current target that continues behind the text so far; nil if that is not possible.
func (c *choice) goOn(sent *words) *attempt {
	a := c.newAttempt()
	request := a.behind(sent.text)
	if request == nil || a.afford() != nil || a.encode(request) != nil {
		return nil
	}
	return a
}

// beginAnew returns an attempt at the current target that answers anew. With tools or log probabilities, equal text
// does not prove that the answer is the same.
func (c *choice) beginAnew(sent *words) *attempt {
	tree, err := c.in.Tree()
	if err != nil || tree.HasTools() || tree.Logprobs != nil {
		return nil
	}
	a := c.newAttempt()
	a.resumes = &resume{left: sent.text}
	if a.ask() != nil {
		return nil
	}
	return a
}
