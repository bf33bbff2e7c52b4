package gateway

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"mime"

	"weir/internal/budget"
	"weir/internal/capacity"
	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/quote"
	"weir/internal/rawjson"
)

// ask reserves an amount for an attempt and builds its body.
func (a *attempt) ask() error {
	if name := a.Head.NoCap; name != "" && !a.Quirks.NoCap {
		return llm.Invalid(name, fmt.Sprintf(
			"The %s must be an integer from 1 for this model. Leave it out for no limit.", name))
	}
	if err := a.afford(); err != nil {
		return err
	}
	return a.build()
}

// build builds the attempt's body in the request's turn.
func (a *attempt) build() error {
	turn, err := a.Capacity.Turn(a.work())
	if err != nil {
		return err
	}
	defer turn.End()
	return a.makeBody()
}

// work returns the most work that building the attempt's body can take, in bytes. A body that is passed through is
// decoded if the provider charges separately for documents or sound.
func (a *attempt) work() int {
	if a.Spoken == a.Op && !a.Quirks.ParsesDocuments && !a.Quirks.SoundApart && !a.MayBreakOwn() {
		return len(a.Body)
	}
	return capacity.TreeWork(a.Body)
}

// makeBody builds the attempt's body. It is the only function that chooses between passing bytes through and
// translating.
func (a *attempt) makeBody() error {
	to := a.Spoken
	a.SeparateFees() // during the request's turn
	a.UnreportedTools()
	switch {
	case to == a.Op && !a.BreaksOwn():
		a.dropped = passedWithout(a.Body, a.Quirks)
		s := llm.Splice{Model: a.Target.Model, Stream: a.Head.Stream, MaxOutput: a.cap}
		*a.room = to.Splice((*a.room)[:0], a.Body, &a.Head, s, a.Quirks)
		a.limit(a.withFallbacks(quote.WithCacheKey(&a.Quote, *a.room)))
		return nil
	case !offers(a.Request, a.Target):
		return llm.Invalid("model",
			fmt.Sprintf("The provider %q does not offer %s. %s", a.Target.Provider.Name(), a.Op.Op,
				cmp.Or(a.Op.Instead, "GET /v1/models lists the available models.")))
	}
	tree, err := a.Tree()
	if err != nil {
		return err
	}
	if err := a.in.client.Left(len(a.Body)); err != nil {
		return err
	}
	if a.Dialect.InputFirst && a.Head.Stream {
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
	if tree.MaxOutput != nil && *tree.MaxOutput == 0 && a.Speaks != a.Dialect {
		return llm.Invalid("max_tokens",
			"max_tokens must be at least 1 for this model: only Anthropic's models accept 0.")
	}
	if e := tree.Elsewhere; e != nil {
		a.called = e.Called
	}
	if a.Speaks != a.Dialect {
		a.called.Documents = llm.DocumentsOf(tree.Messages)
	}
	fitted, err := a.Fitted(tree)
	request := fitted.Request
	if err != nil {
		return placed(err, request.Messages, a.Dialect)
	}
	a.ids.before, a.ids.names = fitted.IDs, fitted.Names
	a.ids.recast = a.Speaks == a.Dialect && tree.Elsewhere != nil && request.Elsewhere == nil
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
	return placed(err, request.Messages, a.Dialect)
}

// limit sets the attempt's body, with the caps that keep its cost within the reserved amount: a cap on calls of the
// provider's own tools, and one on a reseller's price.
func (a *attempt) limit(body []byte) {
	if a.body = body; a.reservation != nil {
		a.body = a.CapCalls(a.CapPrice(body), a.calls)
	}
}

// afford checks whether the target's price may be assumed, and reserves an amount for an attempt. A mistake in the body
// comes before a refusal by a budget, because that may be due to the mistake.
func (a *attempt) afford() error {
	if err := a.RefusedAssumed(); err != nil {
		return err
	}
	err := a.affordBody()
	if err == nil || errors.Is(err, capacity.ErrGone) {
		return err
	}
	if code := llm.AsError(err).Code; code == llm.CodeForbidden || code == llm.CodeBudgetExceeded {
		if mistake := a.in.decode(); mistake != nil && llm.AsError(mistake).Code == llm.CodeInvalidRequest {
			return mistake
		}
	}
	return err
}

// affordBody reserves an amount in the caller's budgets for an attempt and sets the output cap if the client sent none.
// If the coarse bound is refused it tries the fine bound, and then the provider's own count. Without a budget it
// reserves nothing.
func (a *attempt) affordBody() error {
	budgets := a.in.principal.Budgets(&a.in.own.attribution)
	if len(budgets) == 0 || a.Op.Free {
		return nil
	}
	var inputs quote.Inputs
	err := a.inputsInTurn(&inputs)
	if err != nil {
		return err
	}
	err = a.affordAs(budgets, &inputs, quote.Coarse)
	if isBeyondBudget(err) && (a.Price.Known() || a.Terms.Own()) {
		if err = a.affordAs(budgets, &inputs, quote.Fine); isBeyondBudget(err) {
			err = a.affordCounted(budgets, &inputs, err)
		}
		if err != nil {
			return explained(err, a.ToolsNeed(&inputs))
		}
	}
	return err
}

// explained adds advice to the error of an exhausted budget, if the provider's own tools need the amount.
func explained(err error, need string) error {
	e, ok := errors.AsType[*llm.Error](err)
	if _, full := errors.AsType[*budget.Exceeded](err); !ok || !full {
		return err
	}
	told := *e
	told.Message += need
	return &told
}

// isBeyondBudget reports whether a budget has no room for the request, or the request uses something of unknown price.
func isBeyondBudget(err error) bool {
	e, ok := errors.AsType[*llm.Error](err)
	return ok && (e.Code == llm.CodeBudgetExceeded || errors.Is(err, quote.ErrUnpriced))
}

// inputsInTurn reads the request's inputs for the attempt's target. They are large: copies would need a large stack.
func (a *attempt) inputsInTurn(r *quote.Inputs) error {
	work := capacity.TreeWork(a.Body)
	if quote.HasDocument(a.Body) {
		work += capacity.LargeBody
	}
	turn, err := a.Capacity.Turn(work)
	if err != nil {
		return err
	}
	defer turn.End()
	return a.inputs(r)
}

// inputs reads the request's inputs for the attempt's target, from the bytes alone if possible.
func (a *attempt) inputs(r *quote.Inputs) (err error) {
	if !a.IsDecoded() {
		var plain bool
		if *r, plain = a.PlainText(); plain {
			return nil
		}
		if !a.Op.Multipart { // measure before decoding; forms are not JSON
			if _, err := a.Bounds.Measure(a.Body); err != nil {
				return err
			}
		}
	}
	*r, err = a.Inputs()
	return err
}

func (a *attempt) affordAs(budgets []budget.Budget, inputs *quote.Inputs, how quote.Precision) error {
	if err := a.demandInTurn(inputs, how); err != nil {
		return err
	}
	in := a.in
	need := ledger.Need{
		Need: budget.Need{
			Account: in.principal.Account().ID, Key: in.principal.Key().ID, Budgets: budgets, At: in.started,
		},
		Follows: a.follows, Settles: a.settles,
	}
	need.Least, need.Most = a.demand.Amounts()
	reservation, err := in.server.ledger.Reserve(in.r.Context(), need)
	switch {
	case err != nil && in.r.Context().Err() != nil:
		return capacity.ErrGone
	case err != nil:
		return err
	}
	a.reservation = reservation
	a.cap, _ = a.demand.CapFor(reservation.Amount())
	a.calls = a.demand.CallsFor(reservation.Amount())
	return nil
}

// demandInTurn sets the amount to reserve, and returns the error if it cannot be bounded.
func (a *attempt) demandInTurn(inputs *quote.Inputs, how quote.Precision) error {
	work := capacity.TreeWork(a.Body)
	if how == quote.Fine {
		work = quote.CountingWork * len(a.Body)
	}
	turn, err := a.Capacity.Turn(work)
	if err != nil {
		return err
	}
	defer turn.End()
	a.demand = a.Demand(inputs, how)
	return a.demand.Refusal(a.Target.FullName())
}

// formType returns the content type of a form; empty for JSON. It has only the boundary, in one spelling: a charset or
// an encoded boundary might make the provider read another form than Weir has read.
func (in *intake) formType() string {
	if !in.Op.Multipart {
		return ""
	}
	media, params, _ := mime.ParseMediaType(in.r.Header.Get("Content-Type"))
	return mime.FormatMediaType(media, map[string]string{"boundary": params["boundary"]})
}
