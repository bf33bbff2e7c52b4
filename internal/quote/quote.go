// Package quote says what a request may cost at a target, and what its answer has cost: pure
// functions of the request, the target and its price. Nothing here talks to anybody.
package quote

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"weir/internal/charge"
	"weir/internal/dialect"
	"weir/internal/dialect/rules"
	"weir/internal/llm"
	"weir/internal/route"
)

// Request is what of a request decides what it costs, whoever is asked.
type Request struct {
	Dialect *dialect.Dialect   // the client's
	Op      *dialect.Operation // what is asked for
	Head    llm.Head
	Header  http.Header
	Body    []byte
	Source  Source

	walks walks
}

// Source makes of a request what is made only where it is needed.
type Source interface {
	// Tree decodes the body, once. An error says that nobody here understands it.
	Tree() (*llm.Request, error)
	// Step does work on so many bytes as soon as it is its turn.
	Step(size int, work func())
}

// PassedHeaders are the client's headers that are for a provider which speaks as it does.
func (r *Request) PassedHeaders() (passed []dialect.Header) {
	for _, name := range r.Dialect.Passed {
		value := strings.Join(r.Header.Values(name), ",")
		if value != "" && !strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r > '~' }) {
			passed = append(passed, dialect.Header{Name: name, Value: value})
		}
	}
	return passed
}

// InputTokens counts the tokens of the request, by the vocabulary that estimates are made with.
func (r *Request) InputTokens() (n int64) {
	r.Source.Step(CountingWork*len(r.Body), func() { n = r.countInput() })
	return n
}

// Quote is a request at a target.
type Quote struct {
	*Request
	// Behind is how many bytes of an answer the target is to go on behind.
	Behind int64

	Target *route.Target
	Speaks *dialect.Dialect   // the wire format in which the target is asked
	Spoken *dialect.Operation // what is asked for in it; nil where it has no such thing
	Quirks *llm.Quirks        // the target's departures from it
	Price  llm.Price          // at the moment at which the request came
	Terms  *charge.Terms      // by which the account is charged for it; nil for the cost

	table        *route.Table
	fitted       Fitted // the last that Fitted made
	apart        int64  // as Apart has it, once it was counted
	apartCounted bool
	untold       llm.Usage // as Untold has it, once it was read
	untoldRead   bool
}

// New is a request at a target, at the price of the moment at which it came.
func New(r *Request, table *route.Table, target *route.Target, came time.Time) Quote {
	speaks := target.Provider.Speaking(r.Dialect, target.Model)
	if (speaks != r.Dialect || r.Head.Searches) && r.searches(target.Model) {
		speaks = target.Provider.Searching(speaks)
	}
	return Quote{
		Request: r, Price: table.Price(target, came), table: table, Target: target,
		Speaks: speaks, Spoken: speaks.For(r.Op.Op), Quirks: target.Provider.Quirks(speaks),
	}
}

// Passed are the client's headers that go along to the target.
func (q *Quote) Passed() []dialect.Header {
	if q.Speaks != q.Dialect {
		return nil
	}
	return q.PassedHeaders()
}

// RefusedAssumed is the error for an attempt at an assumed price, where the configuration has
// these refused.
func (q *Quote) RefusedAssumed() error {
	if q.Op.Free || !q.table.RefusesAssumed() || !q.Price.Known() || q.Price.Basis == llm.BasisModel {
		return nil
	}
	return &llm.Error{
		Code: llm.CodeForbidden, Param: "model",
		Message: fmt.Sprintf(
			"The price of the model %q is assumed, and the configuration refuses assumed prices (pricing.assumed). "+
				"Its operator can give it a price in the configuration, under prices.", q.Target.FullName()),
	}
}

// MaxOutput is the most output tokens that one choice can have: the client's cap or the
// model's, whichever is less.
func (q *Quote) MaxOutput() int64 {
	if q.Head.MaxOutput == 0 {
		most, _ := q.table.MaxOutput(q.Target)
		return most
	}
	return q.capped(q.askedCap())
}

// askedCap is the client's cap on the output as the target gets it, in tokens; 0 for none.
func (q *Quote) askedCap() int64 {
	if q.Head.MaxOutput == 0 || q.Speaks == q.Dialect {
		return q.Head.MaxOutput
	}
	return q.Rules().Raised(q.Target.Model, q.Head.MaxOutput)
}

// Rules are what the target's vendor asks of requests in its wire format.
func (q *Quote) Rules() rules.Set { return q.Target.Provider.Rules(q.Speaks) }

// maxUnknown is the most output tokens, of one choice, that a client is
// believed to get from a model whose size nobody knows.
const maxUnknown = 1 << 20

// capped is the most output tokens that a choice can have under the client's cap, which a
// wire format without caps does not carry. Thinking that is asked for beyond it, between calls
// of tools, has the context window:
// https://platform.claude.com/docs/en/build-with-claude/extended-thinking#interleaved-thinking.
func (q *Quote) capped(limit int64) int64 {
	if q.Head.Thinking >= limit && q.Head.Thinking > 0 && q.Speaks == q.Dialect {
		return q.window()
	}
	if q.Spoken != nil && q.Spoken.Uncapped {
		limit = maxUnknown
	}
	if most, known := q.table.MaxOutput(q.Target); known {
		return min(limit, most)
	}
	return min(limit, maxUnknown)
}
