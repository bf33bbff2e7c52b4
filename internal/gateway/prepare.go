package gateway

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"mime"

	"weir/internal/budget"
	"weir/internal/dialect"
	"weir/internal/dialect/compose"
	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/quote"
	"weir/internal/rawjson"
)

// attempt is one call of one provider.
type attempt struct {
	call        *call
	quote.Quote              // of the request at the target
	body        []byte       // as the target gets it
	dropped     []string     // what its wire format cannot carry
	input       int64        // tokens of the request by estimate, where a stream is to tell them first; else 0
	cap         int64        // output tokens of each answer, put in where the client gave no cap; 0 for nothing
	calls       int64        // of the provider's own tools, likewise
	demand      quote.Demand // what is reserved for it; zero without a budget

	hold     *ledger.Hold // nil before it was opened, and once its late answer is read elsewhere
	tally    quote.Tally
	answer   arriving
	ids      callIDs
	back     []dialect.Header   // of the answer, for the client
	resumes  *resume            // how it goes on with an answer that broke off; nil where it does not
	settling *ledger.Settlement // how it will be settled, once it has failed
}

// newAttempt is an attempt at the current target.
func (c *call) newAttempt() *attempt {
	a := &c.first
	if c.attempt != nil {
		a = new(attempt)
	}
	*a = attempt{call: c, Quote: quote.New(&c.Request, c.table, c.plan.Target(), c.started)}
	a.Terms = c.principal.Terms(a.Target.Provider.Name(), a.Target.Model, c.started)
	return a
}

// prepare makes an attempt at the current target, or at the next one whose wire format can
// carry the request and that the caller's budgets afford. The error is that of the first.
//
// Stage 8: prepare.
func (c *call) prepare() (*attempt, error) {
	var first error
	for {
		a := c.newAttempt()
		err := a.ask()
		if err == nil {
			return a, nil
		}
		if first == nil {
			first = err
		}
		if !c.plan.Onward(c.server.now()) {
			return nil, first
		}
	}
}

// ask reserves an amount for an attempt, and makes its body.
func (a *attempt) ask() error {
	c := a.call
	if name := c.Head.NoCap; name != "" && !a.Quirks.NoCap {
		return llm.Invalid(name, fmt.Sprintf("The %s must be an integer from 1 for this model. Leave it out for no limit.", name))
	}
	if err := a.afford(); err != nil {
		return err
	}
	return c.held.inTurn(a.work(), func() error { return a.makeBody() })
}

// work is how much work it is at most to make the attempt's body, in bytes. What goes as it came
// is decoded for a provider that has fees for documents or sound.
func (a *attempt) work() int {
	if a.Spoken == a.Op && !a.Quirks.ParsesDocuments && !a.Quirks.SoundApart && !a.mayBreakOwn() {
		return len(a.call.Body)
	}
	return treeWork(a.call.Body)
}

// mayBreakOwn reports whether what goes as it came is to be decoded, since it may break a rule of the target's vendor.
func (a *attempt) mayBreakOwn() bool {
	return a.Op.Op == llm.OpChat && a.Rules().MayBreakOwn(a.Target.Model, a.call.Body)
}

// breaksOwn reports whether a request in the target's own wire format breaks a rule of its vendor, so that it cannot go
// as it came. What nobody here understands goes.
func (a *attempt) breaksOwn() bool {
	if !a.mayBreakOwn() {
		return false
	}
	tree, err := a.call.Tree()
	return err == nil && a.Rules().BreaksOwn(a.Target.Model, tree, a.call.Body)
}

// makeBody is the one branch between forwarding bytes and translating a tree.
func (a *attempt) makeBody() error {
	c := a.call
	to := a.Spoken
	a.Apart() // while it is the request's turn
	a.Untold()
	switch {
	case to == c.Op && !a.breaksOwn():
		a.dropped = passedWithout(c.Body, a.Quirks)
		s := llm.Splice{Model: a.Target.Model, Stream: c.Head.Stream, MaxOutput: a.cap}
		a.limit(a.withFallbacks(to.Splice(nil, c.Body, &c.Head, s, a.Quirks)))
		return nil
	case !c.offers(a.Target):
		return llm.Invalid("model",
			fmt.Sprintf("The provider %q does not offer %s. %s", a.Target.Provider.Name(), c.Op.Op,
				cmp.Or(c.Op.Instead, "GET /v1/models lists what there is.")))
	}
	tree, err := c.Tree()
	if err != nil {
		return err
	}
	if err := c.client.left(len(c.Body)); err != nil {
		return err
	}
	if c.Dialect.InputFirst && c.Head.Stream {
		a.input = quote.RoughInput(tree)
	}
	request := *tree
	return a.encode(&request)
}

// passedWithout are the fields that a body goes without where it is forwarded: those that the provider refuses. A name
// that stands nowhere in it is found to do so before anything is read.
func passedWithout(body []byte, q *llm.Quirks) (names []string) {
	for _, name := range q.Drop {
		if bytes.Contains(body, []byte(name)) && rawjson.Present(rawjson.Get(body, name)) {
			names = append(names, name)
		}
	}
	return names
}

// encode translates a request for the attempt's target, with the cap that is put in where
// the client gave none. An output cap of 0, which fills
// Anthropic's prompt cache and asks for no answer, means nothing elsewhere.
func (a *attempt) encode(request *llm.Request) error {
	c := a.call
	if request.MaxOutput != nil && *request.MaxOutput == 0 && a.Speaks != c.Dialect {
		return llm.Invalid("max_tokens",
			"The max_tokens must be at least 1 for this model: 0 is understood by Anthropic alone.")
	}
	if request.MaxOutput == nil && a.cap > 0 {
		request.MaxOutput = &a.cap
	}
	if e := request.Elsewhere; e != nil {
		c.tree.called = e.Called
	}
	if a.Speaks != c.Dialect {
		c.tree.called.Documents = llm.DocumentsOf(request.Messages)
	}
	request = compose.Offered(a.Speaks.Name, request) // so that all calls and results have the ids that go out
	request.Model, request.Stream = a.Target.Model, c.Head.Stream
	request.Messages = a.history(request.Messages)
	fitted, names, err := a.Rules().Fit(request, a.Speaks == c.Dialect)
	if err != nil {
		return placed(err, fitted.Messages, c.Dialect)
	}
	request, a.ids.names = fitted, names
	body, dropped, err := a.Spoken.EncodeRequest(request, a.Quirks)
	if a.dropped = dropped; err == nil {
		a.limit(a.withFallbacks(body))
		return nil
	}
	if e := request.Essential; e != nil && e.Param == llm.AsError(err).Param {
		return err // it is in the client's words
	}
	return placed(err, request.Messages, c.Dialect)
}

// limit makes the body that of the attempt, with the caps that keep it within the amount that is reserved for it: on the
// calls of the provider's own tools, and on what a reseller may charge.
func (a *attempt) limit(body []byte) {
	if a.body = body; a.call.reservation != nil {
		a.body = a.CapCalls(a.CapPrice(body), a.calls)
	}
}

// afford reserves an amount in the caller's budgets for an attempt, and finds the cap that is
// to be put in where the client gave none. A closer look is taken where the first bound is
// refused, and the provider is asked for its count where that is refused, too. Without a budget all
// that is looked at is whether the target's price may be assumed.
func (a *attempt) afford() error {
	c := a.call
	c.releaseReservation()
	if err := a.RefusedAssumed(); err != nil {
		return err
	}
	budgets := c.principal.Budgets(&c.own.attribution)
	if len(budgets) == 0 || c.Op.Free {
		return nil
	}
	var inputs quote.Inputs
	work := treeWork(c.Body)
	if quote.HasDocument(c.Body) {
		work += largeBody
	}
	err := c.held.inTurn(work, func() (err error) {
		inputs, err = a.inputs()
		return err
	})
	if err != nil {
		return err
	}
	err = a.affordAs(budgets, &inputs, quote.Coarse)
	if isBeyondBudget(err) && (a.Price.Known() || a.Terms.Own()) {
		if err = a.affordAs(budgets, &inputs, quote.Fine); isBeyondBudget(err) {
			err = a.affordCounted(budgets, &inputs, err)
		}
		if err != nil {
			return a.explained(err, &inputs)
		}
	}
	return err
}

// explained is the error of a budget that has no room, with what there is to do where the provider's own tools need it.
func (a *attempt) explained(err error, inputs *quote.Inputs) error {
	e, ok := errors.AsType[*llm.Error](err)
	if _, full := errors.AsType[*budget.Exceeded](err); !ok || !full {
		return err
	}
	told := *e
	told.Message += a.ToolsNeed(inputs)
	return &told
}

// isBeyondBudget reports whether a budget has no room for what was counted, or for something of unknown price in it.
func isBeyondBudget(err error) bool {
	e, ok := errors.AsType[*llm.Error](err)
	return ok && (e.Code == llm.CodeBudgetExceeded || errors.Is(err, quote.ErrUnpriced))
}

// inputs is what the request is for the attempt's target, from its bytes where they suffice.
func (a *attempt) inputs() (quote.Inputs, error) {
	c := a.call
	if c.tree.request == nil {
		if inputs, plain := a.PlainText(); plain {
			return inputs, nil
		}
		if !c.Op.Multipart { // what is decoded was measured before
			if _, err := c.server.bounds.Measure(c.Body); err != nil {
				return quote.Inputs{}, err
			}
		}
	}
	return a.Inputs()
}

func (a *attempt) affordAs(budgets []budget.Budget, inputs *quote.Inputs, how quote.Precision) error {
	c := a.call
	work := treeWork(c.Body)
	if how == quote.Fine {
		work = quote.CountingWork * len(c.Body)
	}
	err := c.held.inTurn(work, func() error {
		a.demand = a.Demand(inputs, how)
		return a.demand.Refusal(a.Target.FullName())
	})
	if err != nil {
		return err
	}
	need := ledger.Need{Need: budget.Need{Account: c.principal.Account().ID, Key: c.principal.Key().ID, Budgets: budgets, At: c.started}}
	need.Least, need.Most = a.demand.Amounts()
	if c.attempt != nil {
		need.Follows, need.Settles = c.attempt.hold, c.attempt.settling
	}
	reservation, err := c.server.ledger.Reserve(c.r.Context(), need)
	switch {
	case err != nil && c.r.Context().Err() != nil:
		return errGone
	case err != nil:
		return err
	}
	c.reservation = reservation
	a.cap, _ = a.demand.CapFor(reservation.Amount())
	a.calls = a.demand.CallsFor(reservation.Amount())
	return nil
}

// releaseReservation releases what was reserved for an attempt that is not made.
func (c *call) releaseReservation() {
	c.reservation.Release()
	c.reservation = nil
}

// formType is the content type of a request that is a form; empty for JSON. It
// says the boundary alone, and in one way: a charset, or a boundary that is
// encoded, would have the provider read another form than was read here.
func (c *call) formType() string {
	if !c.Op.Multipart {
		return ""
	}
	media, params, _ := mime.ParseMediaType(c.r.Header.Get("Content-Type"))
	return mime.FormatMediaType(media, map[string]string{"boundary": params["boundary"]})
}
