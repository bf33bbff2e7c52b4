package gateway

import (
	"context"
	"errors"
	"fmt"
	"mime"
	"strings"
	"time"

	"weir/internal/dialect"
	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/provider"
	"weir/internal/route"
)

// forward asks the targets, as the plan orders them, until one has answered.
// Before the client has seen any of an answer a failure is followed as the
// rules say; after that, an answer that broke off may be continued elsewhere.
func (c *call) forward() error {
	upstream := c.upstreamContext()
	defer func() { upstream.end() }()
	defer func() { c.out.close() }()
	c.plan = c.table.Plan(c.principal.Account().ID, c.targets, c.server.now())
	defer c.plan.Release()
	c.words.on = c.rescues()
	body, err := c.prepareAny()
	if err != nil {
		return err
	}
	c.priced = true
	if err := c.open(); err != nil {
		return err
	}
	for {
		c.dropTree() // an answer may take long
		c.endArrival()
		err := c.attempt(upstream.ctx, body)
		if err == nil {
			return nil
		}
		failure := c.target().Provider.Judge(err)
		settlement := c.settlementOf(failure)
		c.settling = &settlement
		if c.detachLate(failure, settlement, &upstream) {
			upstream = c.upstreamContext()
		}
		wentOn := c.resumed != nil && c.resumed.prefill
		if body = c.next(upstream.ctx, failure); body != nil && c.openNext(settlement) == nil {
			c.readLate(false)
			c.keepUsage(&settlement.Usage, wentOn)
			continue
		}
		return c.settleFailed(settlement, failure)
	}
}

// next decides what follows a failure, and makes the body for it; nil where
// nothing is left to try.
func (c *call) next(ctx context.Context, f *provider.Failure) []byte {
	now := c.server.now()
	if !c.diverged(f) {
		c.plan.Failed(f, now)
	}
	if c.clientGone() {
		return nil
	}
	if c.out.committed() { // headers and comments alone are no answer
		return c.resumeElsewhere(f)
	}
	pause, ok := c.plan.After(f, now)
	if !ok || !c.pause(ctx, pause) {
		return nil
	}
	body, err := c.prepareAny()
	if err != nil {
		return nil
	}
	return body
}

// pause waits, unless somebody gives up.
func (c *call) pause(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return !c.clientGone()
	case <-ctx.Done():
	case <-c.server.stopping.Done():
	}
	return false
}

// prepareAny makes the body for the current target, or for the next one whose
// wire format can carry the request and that the caller's budgets afford. The
// error is that of the first.
func (c *call) prepareAny() ([]byte, error) {
	var first error
	for {
		body, err := c.ask(c.target())
		if err == nil {
			return body, nil
		}
		if first == nil {
			first = err
		}
		if !c.plan.Onward(c.server.now()) {
			return nil, first
		}
	}
}

// clientGone says whether the client has left: its connection broke, or it takes
// nothing any more.
func (c *call) clientGone() bool { return c.clientWriteFailed.Load() || c.r.Context().Err() != nil }

// target is the one of the attempt under way.
func (c *call) target() *route.Target { return c.plan.Target() }

// newAttempt is the record of the next attempt.
func (c *call) newAttempt() ledger.Attempt {
	t := c.target()
	now := c.server.ledger.Now().UTC().Truncate(time.Microsecond)
	a := ledger.Attempt{
		ID:      ledger.AttemptID{Request: c.id, N: uint16(len(c.tried) + 1)},
		Account: c.principal.Account().ID, Key: c.principal.Key().ID,
		Requested: c.head.Model, Provider: t.Provider.Name(), Model: t.Model,
		Opened: now, Arrived: c.started, Stream: c.head.Stream, Price: c.price(t),
		BillByProvider: t.Provider.BillsItself(),
	}
	if c.reservation == nil {
		a.Bound = c.boundBooks(t)
	} else {
		a.Price, a.Bound = c.wanted.price, c.wanted.granted(c.cap)
		a.Reservation, c.reservation = c.reservation, nil
	}
	a.Hold = min(ledger.MaxCost, a.Price.BoundAsked(&a.Bound, c.head.Asked))
	return a
}

// maxUnknown is the most output tokens, of one choice, that a client is
// believed to get from a model whose size nobody knows.
const maxUnknown = 1 << 20

// maxOutput is the most output tokens that one choice can have: the client's
// cap or the model's, whichever is less.
func (c *call) maxOutput(t *route.Target) int64 {
	if c.head.MaxOutput == 0 {
		most, _ := c.table.MaxOutput(t)
		return most
	}
	return c.capped(t, c.head.MaxOutput)
}

// capped is the most output tokens that a choice can have under the client's cap.
func (c *call) capped(t *route.Target, limit int64) int64 {
	if most, known := c.table.MaxOutput(t); known {
		return min(limit, most)
	}
	return min(limit, maxUnknown)
}

// open opens an attempt that follows none, or one that is read on.
func (c *call) open() error {
	a := c.newAttempt()
	hold, err := c.server.ledger.Open(a)
	if err != nil {
		return err
	}
	c.hold = hold
	c.tried = append(c.tried, a.FullModel())
	return nil
}

// openNext settles the attempt that failed and opens the next one.
func (c *call) openNext(s ledger.Settlement) error {
	if c.hold == nil {
		return c.open()
	}
	a := c.newAttempt()
	next, cost, err := c.hold.Next(s, a)
	if err != nil {
		return err
	}
	c.count(&s, cost)
	c.charge(cost)
	c.used += s.Usage.TotalTokens()
	c.hold = next
	c.tried = append(c.tried, a.FullModel())
	return nil
}

// attempt asks the current target and relays its answer. An error means that
// the client has not got a whole one.
func (c *call) attempt(ctx context.Context, body []byte) error {
	t := c.target()
	c.sum = &tally{choices: c.head.Choices}
	if c.head.Stream {
		c.beginStream()
	}
	c.bills.Store(t.Provider.BillsAfterDisconnect())
	if client := c.r.Context(); client.Err() != nil {
		ctx = client // it has left before anything was sent
	}
	c.own.asked(c.server.now())
	resp, err := t.Provider.Do(ctx, provider.Call{
		Dialect: c.speaking(t), Op: c.op.Op, Model: t.Model, Stream: c.head.Stream, Body: body,
		AttemptID: c.hold.Attempt().ID.String(), ContentType: c.formType(), Header: c.passed(t), Key: t.Key,
		Hold:      c.hold,
		Abandoned: &c.draining, KeepLate: c.keepsLate(),
	})
	if err != nil {
		return err
	}
	defer resp.Body.Close() //nolint:errcheck // nothing is left to be lost
	c.arrives = arriving{ReadCloser: resp.Body, call: c, copies: arrivalCopies}
	resp.Body = &c.arrives
	if c.head.Stream && resp.Streamed {
		c.arrives.copies = eventCopies
		return c.relayStream(resp)
	}
	return c.relayWhole(resp)
}

// passed are the client's headers that go along to the target.
func (c *call) passed(t *route.Target) []dialect.Header {
	if c.speaking(t) != c.dialect {
		return nil
	}
	return c.ownHeaders()
}

// formType is the content type of a request that is a form; empty for JSON. It
// says the boundary alone, and in one way: a charset, or a boundary that is
// encoded, would have the provider read another form than was read here.
func (c *call) formType() string {
	if !c.op.Multipart {
		return ""
	}
	media, params, _ := mime.ParseMediaType(c.r.Header.Get("Content-Type"))
	return mime.FormatMediaType(media, map[string]string{"boundary": params["boundary"]})
}

// ownHeaders are the client's headers that are for a provider which speaks as
// it does.
func (c *call) ownHeaders() (passed []dialect.Header) {
	for _, name := range c.dialect.Passed {
		value := strings.Join(c.r.Header.Values(name), ",")
		if value != "" && !strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r > '~' }) {
			passed = append(passed, dialect.Header{Name: name, Value: value})
		}
	}
	return passed
}

// ask reserves an amount for an attempt at the target, and makes the body for it.
func (c *call) ask(t *route.Target) ([]byte, error) {
	if err := c.afford(t); err != nil {
		return nil, err
	}
	var body []byte
	err := c.inTurn(func() (err error) {
		body, err = c.prepare(t)
		return err
	})
	return body, err
}

// prepare is the one branch between forwarding bytes and translating a tree.
func (c *call) prepare(t *route.Target) ([]byte, error) {
	to := c.spoken(t)
	c.dropped, c.apart = nil, c.countApart(t)
	switch {
	case to == c.op:
		s := llm.Splice{Model: t.Model, Stream: c.head.Stream, MaxOutput: c.cap}
		return to.Splice(nil, c.body, &c.head, s, c.quirks(t)), nil
	case !c.offers(t):
		return nil, llm.Invalid("model",
			fmt.Sprintf("The provider %q does not offer %s. GET /v1/models lists what there is.", t.Provider.Name(),
				c.op.Op))
	}
	tree, err := c.tree()
	if err != nil {
		return nil, err
	}
	if err := c.left(); err != nil {
		return nil, err
	}
	request := *tree
	return c.encode(t, &request)
}

// encode translates a request for a target, with the cap that is put in where
// the client gave none. An output cap of 0, which fills
// Anthropic's prompt cache and asks for no answer, means nothing elsewhere.
func (c *call) encode(t *route.Target, request *llm.Request) ([]byte, error) {
	if request.MaxOutput != nil && *request.MaxOutput == 0 && c.speaking(t) != c.dialect {
		return nil, llm.Invalid("max_tokens",
			"The max_tokens must be at least 1 for this model: 0 is understood by Anthropic alone.")
	}
	if request.MaxOutput == nil && c.cap > 0 {
		request.MaxOutput = &c.cap
	}
	request.Model, request.Stream = t.Model, c.head.Stream
	body, dropped, err := c.spoken(t).EncodeRequest(request, c.quirks(t))
	c.dropped = dropped
	return body, err
}

// settleFailed ends a request that no target answered. The error is for the
// client.
func (c *call) settleFailed(s ledger.Settlement, f *provider.Failure) error {
	if c.hold != nil {
		c.settle(s)
	}
	if c.broke != nil {
		f = c.broke // what came of the attempts to mend it is for the log
	}
	if c.clientGone() {
		return &llm.Error{Code: llm.CodeInternal, Message: "The client left.", Err: errors.Join(errGone, f)}
	}
	if c.out != nil && len(c.out.pending) > 0 {
		c.out.write(c.out.pending) // nothing better will come
	}
	return c.told(f)
}

// told is the failure as the client is told of it. Where the circuit is open
// anyway, no connection means that the provider is out of service.
func (c *call) told(f *provider.Failure) error {
	if route.FaultOf(f) != route.FaultUnreachable || !c.plan.Unavailable(c.server.now()) {
		return f
	}
	e := *f.Err
	e.Code = llm.CodeProviderUnavailable
	return &e
}
