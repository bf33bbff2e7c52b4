package gateway

import (
	"errors"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"weir/internal/dialect"
	"weir/internal/dialect/stamp"
	"weir/internal/llm"
	"weir/internal/provider"
)

// noDeadline takes a connection's deadline away.
var noDeadline time.Time

// answered is what the headers of an answer tell about its last attempt.
type answered struct {
	ID        string `json:"id"`
	Provider  string `json:"provider"`
	Model     string `json:"model"`
	Requested string `json:"requested,omitempty"` // where it is another than Model
	Attempts  int    `json:"attempts"`
	Cost      string `json:"cost,omitempty"`    // in dollars, where it is known before the body
	Type      string `json:"type,omitempty"`    // of the body, where it is not JSON
	Dropped   string `json:"dropped,omitempty"` // names of what the provider's wire format cannot carry

	back []dialect.Header // the provider's own that are for the client; a replay has none
}

func (a *attempt) answered() answered {
	spent := &a.call.spent
	told := answered{
		ID: a.call.id.text, Provider: a.Target.Provider.Name(), Model: spent.model(),
		Attempts: len(spent.models), Dropped: droppedHeader(a.dropped), back: a.back,
	}
	if a.Head.Model != told.Model {
		told.Requested = a.Head.Model
	}
	return told
}

// maxDropped bounds X-Weir-Dropped in bytes.
const maxDropped = 1 << 10

// droppedHeader lists the names, which are fit for a header each, as far as the
// bound allows.
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

// answerHeaders sets the headers of an answer, by this attempt or, replayed, by
// an earlier one.
func (c *call) answerHeaders(a *answered, contentType string) {
	h := c.w.Header()
	c.commonHeaders(h, a.ID)
	values := []string{contentType, a.Provider, a.Model, strconv.Itoa(a.Attempts), a.Requested, a.Cost, a.Dropped}
	h["Content-Type"] = values[0:1:1]
	h["X-Weir-Provider"] = values[1:2:2]
	h["X-Weir-Model"] = values[2:3:3]
	h["X-Weir-Attempts"] = values[3:4:4]
	if a.Requested != "" {
		h["X-Weir-Requested-Model"] = values[4:5:5]
	}
	if a.Cost != "" {
		h["X-Weir-Cost-USD"] = values[5:6:6]
	}
	if a.Dropped != "" {
		h["X-Weir-Dropped"] = values[6:7:7]
	}
	setBack(h, a.back)
}

// fail answers with an error, if nothing was answered. It does not ask whether
// the client is there: a body that did not come in time looks as if not.
func (c *call) fail(err error) {
	e := llm.AsError(err)
	c.logFailure(err, e)
	if c.principal.Charged() {
		e = withoutAmounts(err, e)
	}
	e = withWindow(c, e)
	c.settleLimits() // the client may ask again as soon as it has read this
	if c.principal != nil && (e.Code == llm.CodeRateLimited || e.Code == llm.CodeBudgetExceeded) {
		c.server.refused(c.principal, e)
	}
	if c.out.fail(e) {
		return
	}
	if c.measured.status = c.Dialect.Status(e.Code); errors.Is(err, errGone) {
		c.measured.status = statusGone
		return
	}
	h := c.w.Header()
	c.commonHeaders(h, c.id.text)
	h["Content-Type"] = []string{"application/json"}
	if n := len(c.spent.models); n > 0 {
		h["X-Weir-Attempts"] = []string{strconv.Itoa(n)}
	}
	e = withRetryAfter(e)
	dialect.ErrorHeaders(h, e)
	body := c.Dialect.EncodeError(nil, e, c.id.text)
	if c.attempt == nil || c.attempt.hold == nil || c.attempt.hold.Settled() {
		c.releaseBody() // whatever time the client takes
	}
	h["Content-Length"] = []string{strconv.Itoa(len(body))}
	c.w.WriteHeader(c.Dialect.Status(e.Code))
	dialect.WriteBody(c.w, body, c.server.timing.Write)
}

// withoutAmounts is an error as the client may see it: an account that is charged otherwise than the provider charges
// gets no explanation of the provider's that tells an amount.
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

// withWindow is an error that says how much the model takes, where the provider did not.
func withWindow(c *call, e *llm.Error) *llm.Error {
	if e.Misfit.Kind != llm.ContextOverflow || e.Misfit.Limit > 0 || c.attempt == nil {
		return e
	}
	told := *e
	told.Misfit.Limit = c.table.Context(c.attempt.Target)
	return &told
}

// defaultRetry is when a client may try again where nobody knows better.
const defaultRetry = 5 * time.Second

// withRetryAfter is the error with a time to try again, where its status is
// one that promises it and the provider did not say.
func withRetryAfter(e *llm.Error) *llm.Error {
	switch e.Code {
	case llm.CodeRateLimited, llm.CodeProviderUnavailable, llm.CodeOverloaded:
		if e.RetryAfter == 0 {
			told := *e
			if told.RetryAfter = defaultRetry; e.Code == llm.CodeRateLimited { // LangChain's Google class reads it here alone
				told.Message += " " + llm.TryAgain(defaultRetry)
			}
			return &told
		}
	}
	return e
}

// logFailure logs an error once: ours and the provider's loudly, a caller's
// mistakes for whoever looks for them.
func (c *call) logFailure(err error, e *llm.Error) {
	level := logLevel(e)
	if !c.server.log.Enabled(c.r.Context(), level) {
		return
	}
	about := []any{"request", c.id.text, "path", c.r.URL.Path, "code", string(e.Code)}
	if c.principal != nil {
		about = append(about, "account", c.principal.Account().ID)
	}
	if n := len(c.spent.models); n > 0 {
		about = append(about, "model", c.spent.model())
	}
	if c.attempt != nil {
		about = append(about, "provider", c.attempt.Target.Provider.Name())
	}
	if f, ok := errors.AsType[*provider.Failure](err); ok {
		about = append(about, "failure", f.Kind.String(), "status", f.Status)
	}
	c.server.log.Log(c.r.Context(), level, "request failed", append(about, "err", e)...)
}

// logLevel is that of the line about an error.
func logLevel(e *llm.Error) slog.Level {
	switch e.Code {
	case llm.CodeInternal:
		if !errors.Is(e, errGone) {
			return slog.LevelError
		}
	case llm.CodeOverloaded:
		if !errors.Is(e, errShed) { // of which there are too many to tell of each
			return slog.LevelWarn
		}
	case llm.CodeProviderError, llm.CodeProviderTimeout, llm.CodeProviderUnavailable:
		return slog.LevelWarn
	}
	return slog.LevelDebug
}
