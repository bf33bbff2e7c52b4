package gateway

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"mime"

	"weir/internal/budget"
	"weir/internal/capacity"
	"weir/internal/dialect"
	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/quote"
	"weir/internal/rawjson"
)

// attempt is one call of one provider.
type attempt struct {
	call        *call
	quote.Quote              // the quote of the request at the target
	body        []byte       // as sent to the target
	dropped     []string     // names that the target's wire format cannot express
	input       int64        // estimated input tokens, if a stream must report them first; else 0
	cap         int64        // output cap of each answer, set if the client sent none; 0 for none
	calls       int64        // cap on calls of the provider's own tools; 0 for none
	demand      quote.Demand // the amount to reserve; zero without a budget

	hold     *ledger.Hold // nil before it is opened, and after its late answer is detached
	tally    quote.Tally
	answer   capacity.Arriving
	ids      callIDs
	back     []dialect.Header   // headers of the answer for the client
	resumes  *resume            // how it continues an interrupted answer; nil if it does not
	settling *ledger.Settlement // the settlement of a failed attempt
}

// newAttempt returns an attempt at the current target.
func (c *call) newAttempt() *attempt {
	a := &c.first
	if c.attempt != nil {
		a = new(attempt)
	}
	*a = attempt{call: c, Quote: quote.New(&c.Request, c.table, c.plan.Target(), c.started)}
	a.Terms = c.principal.Terms(a.Target.Provider.Name(), a.Target.Model, c.started)
	return a
}

// prepare prepares an attempt at the first remaining target with a wire format that can express the request and a price
// that the caller's budgets can pay. It returns the error of the first target if there is none.
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

// ask reserves an amount for an attempt and builds its body.
func (a *attempt) ask() error {
	c := a.call
	if name := c.Head.NoCap; name != "" && !a.Quirks.NoCap {
		return llm.Invalid(name, fmt.Sprintf(
			"The %s must be an integer from 1 for this model. Leave it out for no limit.", name))
	}
	if err := a.afford(); err != nil {
		return err
	}
	return c.held.InTurn(a.work(), func() error { return a.makeBody() })
}

// work returns the most work that building the attempt's body can take, in bytes. A body that is passed through is
// decoded if the provider charges separately for documents or sound.
func (a *attempt) work() int {
	if a.Spoken == a.Op && !a.Quirks.ParsesDocuments && !a.Quirks.SoundApart && !a.MayBreakOwn() {
		return len(a.call.Body)
	}
	return capacity.TreeWork(a.call.Body)
}

// makeBody builds the attempt's body. It is the only function that chooses between passing bytes through and
// translating.
func (a *attempt) makeBody() error {
	c := a.call
	to := a.Spoken
	a.Apart() // during the request's turn
	a.Untold()
	switch {
	case to == c.Op && !a.BreaksOwn():
		a.dropped = passedWithout(c.Body, a.Quirks)
		s := llm.Splice{Model: a.Target.Model, Stream: c.Head.Stream, MaxOutput: a.cap}
		a.limit(a.withFallbacks(to.Splice(nil, c.Body, &c.Head, s, a.Quirks)))
		return nil
	case !c.offers(a.Target):
		return llm.Invalid("model",
			fmt.Sprintf("The provider %q does not offer %s. %s", a.Target.Provider.Name(), c.Op.Op,
				cmp.Or(c.Op.Instead, "GET /v1/models lists the available models.")))
	}
	tree, err := c.Tree()
	if err != nil {
		return err
	}
	if err := c.client.Left(len(c.Body)); err != nil {
		return err
	}
	if c.Dialect.InputFirst && c.Head.Stream {
		a.input = quote.RoughInput(tree)
	}
	return a.encode(tree)
}

// passedWithout returns the fields that the provider refuses and that a passed-through body has, which are removed. It
// parses the body only if the name of such a field appears in it.
func passedWithout(body []byte, q *llm.Quirks) (names []string) {
	for _, name := range q.Drop {
		if bytes.Contains(body, []byte(name)) && rawjson.Present(rawjson.Get(body, name)) {
			names = append(names, name)
		}
	}
	return names
}

// encode translates a request for the attempt's target, with an output cap if the client sent none. It refuses an
// output cap of 0, which fills Anthropic's prompt cache without an answer, for other wire formats.
func (a *attempt) encode(tree *llm.Request) error {
	c := a.call
	if tree.MaxOutput != nil && *tree.MaxOutput == 0 && a.Speaks != c.Dialect {
		return llm.Invalid("max_tokens",
			"max_tokens must be at least 1 for this model: only Anthropic's models accept 0.")
	}
	if e := tree.Elsewhere; e != nil {
		c.tree.called = e.Called
	}
	if a.Speaks != c.Dialect {
		c.tree.called.Documents = llm.DocumentsOf(tree.Messages)
	}
	fitted, err := a.Fitted(tree)
	request := fitted.Request
	if err != nil {
		return placed(err, request.Messages, c.Dialect)
	}
	a.ids.before, a.ids.names = fitted.IDs, fitted.Names
	a.ids.recast = a.Speaks == c.Dialect && tree.Elsewhere != nil && request.Elsewhere == nil
	if request.MaxOutput == nil && a.cap > 0 {
		request = new(*request)
		request.MaxOutput = &a.cap
	}
	body, dropped, err := a.Spoken.EncodeRequest(request, a.Quirks)
	if a.dropped = dropped; err == nil {
		a.limit(a.withFallbacks(body))
		return nil
	}
	if e := request.Essential; e != nil && e.Param == llm.AsError(err).Param {
		return err // the error already names the client's field
	}
	return placed(err, request.Messages, c.Dialect)
}

// limit sets the attempt's body, with the caps that keep its cost within the reserved amount: a cap on calls of the
// provider's own tools, and one on a reseller's price.
func (a *attempt) limit(body []byte) {
	if a.body = body; a.call.reservation != nil {
		a.body = a.CapCalls(a.CapPrice(body), a.calls)
	}
}

// afford checks whether the target's price may be assumed, and reserves an amount for an attempt. A mistake in the body
// comes before a refusal by a budget, because that may be due to the mistake.
func (a *attempt) afford() error {
	a.call.releaseReservation()
	if err := a.RefusedAssumed(); err != nil {
		return err
	}
	err := a.affordBody()
	if err == nil || errors.Is(err, capacity.ErrGone) {
		return err
	}
	if code := llm.AsError(err).Code; code == llm.CodeForbidden || code == llm.CodeBudgetExceeded {
		return cmp.Or(a.mistake(), err)
	}
	return err
}

// mistake returns the client's mistake in a body that Weir cannot decode; nil if there is none.
func (a *attempt) mistake() error {
	c := a.call
	err := c.held.InTurn(capacity.TreeWork(c.Body), func() error {
		_, err := c.Tree()
		return err
	})
	if err == nil || llm.AsError(err).Code != llm.CodeInvalidRequest {
		return nil
	}
	return err
}

// affordBody reserves an amount in the caller's budgets for an attempt and sets the output cap if the client sent none.
// If the coarse bound is refused it tries the fine bound, and then the provider's own count. Without a budget it
// reserves nothing.
func (a *attempt) affordBody() error {
	c := a.call
	budgets := c.principal.Budgets(&c.own.attribution)
	if len(budgets) == 0 || c.Op.Free {
		return nil
	}
	var inputs quote.Inputs
	work := capacity.TreeWork(c.Body)
	if quote.HasDocument(c.Body) {
		work += capacity.LargeBody
	}
	err := c.held.InTurn(work, func() (err error) {
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

// explained adds advice to the error of an exhausted budget, if the provider's own tools need the amount.
func (a *attempt) explained(err error, inputs *quote.Inputs) error {
	e, ok := errors.AsType[*llm.Error](err)
	if _, full := errors.AsType[*budget.Exceeded](err); !ok || !full {
		return err
	}
	told := *e
	told.Message += a.ToolsNeed(inputs)
	return &told
}

// isBeyondBudget reports whether a budget has no room for the request, or the request uses something of unknown price.
func isBeyondBudget(err error) bool {
	e, ok := errors.AsType[*llm.Error](err)
	return ok && (e.Code == llm.CodeBudgetExceeded || errors.Is(err, quote.ErrUnpriced))
}

// inputs returns the request's inputs for the attempt's target, from the bytes alone if possible.
func (a *attempt) inputs() (quote.Inputs, error) {
	c := a.call
	if c.tree.request == nil {
		if inputs, plain := a.PlainText(); plain {
			return inputs, nil
		}
		if !c.Op.Multipart { // measure before decoding; forms are not JSON
			if _, err := c.server.bounds.Measure(c.Body); err != nil {
				return quote.Inputs{}, err
			}
		}
	}
	return a.Inputs()
}

func (a *attempt) affordAs(budgets []budget.Budget, inputs *quote.Inputs, how quote.Precision) error {
	c := a.call
	work := capacity.TreeWork(c.Body)
	if how == quote.Fine {
		work = quote.CountingWork * len(c.Body)
	}
	err := c.held.InTurn(work, func() error {
		a.demand = a.Demand(inputs, how)
		return a.demand.Refusal(a.Target.FullName())
	})
	if err != nil {
		return err
	}
	need := ledger.Need{Need: budget.Need{
		Account: c.principal.Account().ID, Key: c.principal.Key().ID, Budgets: budgets, At: c.started,
	}}
	need.Least, need.Most = a.demand.Amounts()
	if c.attempt != nil {
		need.Follows, need.Settles = c.attempt.hold, c.attempt.settling
	}
	reservation, err := c.server.ledger.Reserve(c.r.Context(), need)
	switch {
	case err != nil && c.r.Context().Err() != nil:
		return capacity.ErrGone
	case err != nil:
		return err
	}
	c.reservation = reservation
	a.cap, _ = a.demand.CapFor(reservation.Amount())
	a.calls = a.demand.CallsFor(reservation.Amount())
	return nil
}

// releaseReservation releases the reservation of an attempt that is not made.
func (c *call) releaseReservation() {
	c.reservation.Release()
	c.reservation = nil
}

// formType returns the content type of a form; empty for JSON. It has only the boundary, in one spelling: a charset or
// an encoded boundary might make the provider read another form than Weir has read.
func (c *call) formType() string {
	if !c.Op.Multipart {
		return ""
	}
	media, params, _ := mime.ParseMediaType(c.r.Header.Get("Content-Type"))
	return mime.FormatMediaType(media, map[string]string{"boundary": params["boundary"]})
}
