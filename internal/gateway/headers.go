package gateway

import (
	"errors"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"weir/internal/account"
	"weir/internal/answercache"
	"weir/internal/capacity"
	"weir/internal/dialect"
	"weir/internal/dialect/stamp"
	"weir/internal/llm"
	"weir/internal/provider"
	"weir/internal/quote"
	"weir/internal/refusal"
	"weir/internal/route"
)

// noDeadline removes the deadline of a connection.
var noDeadline time.Time

// answered holds the values of an answer's headers, which describe its last attempt.
type answered struct {
	ID        string `json:"id"`
	Provider  string `json:"provider"`
	Model     string `json:"model"`
	Requested string `json:"requested,omitempty"` // if it differs from Model
	Attempts  int    `json:"attempts"`
	Cost      string `json:"cost,omitempty"`    // in dollars, if it is known before the body
	Type      string `json:"type,omitempty"`    // content type of the body; empty for JSON
	Dropped   string `json:"dropped,omitempty"` // names that the provider's wire format cannot express

	back []dialect.Header // the provider's headers for the client; a replay has none
}

// answered returns the values of an answer by this attempt, the last of spent.
func (a *attempt) answered(spent *spent) answered {
	told := answered{
		ID: a.in.id.text, Provider: a.Target.Provider.Name(), Model: spent.model(),
		Attempts: spent.attempts(), Dropped: droppedHeader(a.dropped), back: a.back,
	}
	if a.Head.Model != told.Model {
		told.Requested = a.Head.Model
	}
	return told
}

// maxDropped bounds X-Weir-Dropped, in bytes.
const maxDropped = 1 << 10

// droppedHeader joins the names, each valid in a header, up to the bound.
func droppedHeader(names []string) string {
	var out strings.Builder
	for _, name := range names {
		if out.Len()+len(", ")+len(name) > maxDropped {
			out.WriteString(", ...")
			break
		}
		if out.Len() > 0 {
			out.WriteString(", ")
		}
		out.WriteString(name)
	}
	return out.String()
}

// answerHeaders sets the headers of an answer by this attempt, or by an earlier one that is replayed, and returns them.
func (in *intake) answerHeaders(a *answered, contentType string) dialect.Fields {
	f := dialect.NewFields(in.w)
	in.commonHeaders(f, a.ID)
	f.Set("Content-Type", contentType)
	f.Set("X-Weir-Provider", a.Provider)
	f.Set("X-Weir-Model", a.Model)
	f.SetNumber("X-Weir-Attempts", int64(a.Attempts))
	for _, other := range [...]dialect.Header{
		{Name: "X-Weir-Requested-Model", Value: a.Requested},
		{Name: "X-Weir-Cost-USD", Value: a.Cost},
		{Name: "X-Weir-Dropped", Value: a.Dropped},
		{Name: answercache.Header, Value: in.cacheTold},
	} {
		if other.Value != "" {
			f.Set(other.Name, other.Value)
		}
	}
	for _, back := range a.back { // except those that the gateway has set, such as its own limits
		if !f.Has(back.Name) {
			f.Set(back.Name, back.Value)
		}
	}
	return f
}

// fail answers with an error if nothing was sent. It does not check whether the client is still connected, because a
// body that did not arrive in time looks the same.
func (q *request) fail(err error) {
	in, x := &q.in, &q.x
	e := llm.AsError(err)
	q.logFailure(err, e)
	in.trace.Failed(string(e.Code))
	if in.principal.Charged() {
		e = withoutAmounts(err, e)
	}
	if x.choice.current != nil {
		e = withWindow(e, in.table, x.choice.current.Target)
	}
	x.settleLimits() // the client may retry as soon as it has read this
	if in.principal != nil && (e.Code == llm.CodeRateLimited || e.Code == llm.CodeBudgetExceeded) {
		in.server.refused(in.principal, e)
	}
	q.countRefusal(err, e)
	if x.out.fail(e) {
		return
	}
	if x.measured.status = in.Dialect.Status(e.Code); errors.Is(err, capacity.ErrGone) {
		x.measured.status = statusGone
		return
	}
	q.sendError(withRetryAfter(e))
}

// sendError answers with an error.
func (q *request) sendError(e *llm.Error) {
	in, x := &q.in, &q.x
	in.commonHeaders(dialect.NewFields(in.w), in.id.text)
	h := in.w.Header()
	h["Content-Type"] = []string{"application/json"}
	if n := x.spent.attempts(); n > 0 {
		h["X-Weir-Attempts"] = []string{strconv.Itoa(n)}
	}
	dialect.ErrorHeaders(h, e)
	body := in.Dialect.EncodeError(nil, e, in.id.text)
	if !x.choice.current.isOpen() {
		x.releaseBody() // however long the client takes
	}
	h["Content-Length"] = []string{strconv.Itoa(len(body))}
	in.w.WriteHeader(in.Dialect.Status(e.Code))
	dialect.WriteBody(in.w, body, in.server.timing.Write)
}

// countRefusal counts the request as refused, unless the ledger has an attempt of it or its client has left.
func (q *request) countRefusal(err error, e *llm.Error) {
	in := &q.in
	if q.x.spent.attempts() > 0 || errors.Is(err, capacity.ErrGone) {
		return
	}
	x := refusal.Refusal{
		Request: in.id.UUID, At: in.started, Reason: e.Code, Status: in.Dialect.Status(e.Code),
		Message: e.Message, Param: e.Param,
	}
	if errors.Is(err, quote.ErrUnpriced) {
		x.Reason = refusal.CodePriceUnknown
	}
	if in.table != nil { // the model's name was checked
		x.Model = in.Head.Model
	}
	if in.principal != nil {
		a, k := in.principal.Account(), in.principal.Key()
		x.Account, x.Key, x.AccountName, x.KeyLabel = a.ID, k.ID, a.Name, k.Label
	} else if of, ok := errors.AsType[*account.Inactive](err); ok {
		x.Account, x.Key = of.Account, of.Key
	}
	in.server.refusals.Add(x)
}

// withoutAmounts returns the error as the client may see it: an account with a price list gets no explanation of the
// provider that names an amount of money.
func withoutAmounts(err error, e *llm.Error) *llm.Error {
	if _, theirs := errors.AsType[*provider.Failure](err); !theirs ||
		!stamp.TellsCost(strings.Join([]string{e.Message, e.Param, e.Word}, " ")) {
		return e
	}
	shown := *e
	shown.Param, shown.Word = "", ""
	shown.Message = "The provider refused the request. Its explanation names an amount of money and is not shown."
	return &shown
}

// withWindow adds the target's context window to an error, if the provider did not report it.
func withWindow(e *llm.Error, table *route.Table, target *route.Target) *llm.Error {
	if e.Misfit.Kind != llm.ContextOverflow || e.Misfit.Limit > 0 {
		return e
	}
	told := *e
	told.Misfit.Limit = table.Context(target)
	return &told
}

// defaultRetry is the Retry-After if no better value is known.
const defaultRetry = 5 * time.Second

// withRetryAfter adds a default Retry-After, if the error's status requires one and the provider sent none.
func withRetryAfter(e *llm.Error) *llm.Error {
	switch e.Code {
	case llm.CodeRateLimited, llm.CodeProviderUnavailable, llm.CodeOverloaded:
		if e.RetryAfter == 0 {
			told := *e
			if told.RetryAfter = defaultRetry; e.Code == llm.CodeRateLimited {
				// LangChain's Google class reads the time only from the message.
				told.Message += " " + llm.TryAgain(defaultRetry)
			}
			return &told
		}
	}
	return e
}

// logFailure logs an error once: errors of the gateway and the provider at a high level, a client's mistakes at debug
// level.
func (q *request) logFailure(err error, e *llm.Error) {
	in, level := &q.in, logLevel(e)
	if !in.server.log.Enabled(in.r.Context(), level) {
		return
	}
	about := []any{"request", in.id.text, "path", in.r.URL.Path, "code", string(e.Code)}
	if in.principal != nil {
		about = append(about, "account", in.principal.Account().ID)
	}
	if q.x.spent.attempts() > 0 {
		about = append(about, "model", q.x.spent.model())
	}
	if q.x.choice.current != nil {
		about = append(about, "provider", q.x.choice.current.Target.Provider.Name())
	}
	if f, ok := errors.AsType[*provider.Failure](err); ok {
		about = append(about, "failure", f.Kind.String(), "status", f.Status)
	}
	in.server.log.Log(in.r.Context(), level, "request failed", append(about, "err", e)...)
}

// logLevel returns the level of an error's log line.
func logLevel(e *llm.Error) slog.Level {
	switch e.Code {
	case llm.CodeInternal:
		if !errors.Is(e, capacity.ErrGone) {
			return slog.LevelError
		}
	case llm.CodeOverloaded:
		if !errors.Is(e, capacity.ErrRefused) { // too many to log each
			return slog.LevelWarn
		}
	case llm.CodeProviderError, llm.CodeProviderTimeout, llm.CodeProviderUnavailable:
		return slog.LevelWarn
	}
	return slog.LevelDebug
}
