// Package quote computes what a request may cost at a target and what its answer has cost, as pure functions of the
// request, the target and its price. It does no input or output.
package quote

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"weir/internal/capacity"
	"weir/internal/charge"
	"weir/internal/dialect"
	"weir/internal/dialect/parse"
	"weir/internal/dialect/rules"
	"weir/internal/llm"
	"weir/internal/route"
)

// Request holds the properties of a request that determine its cost at any target.
type Request struct {
	Dialect *dialect.Dialect   // the client's
	Op      *dialect.Operation // the requested operation
	Head    llm.Head
	Header  http.Header
	Body    []byte
	// Capacity holds the memory of the tree and the turns for decoding and counting; nil for a request without limits.
	Capacity *capacity.Held
	Bounds   *parse.Limiter // measures a body before it is decoded; nil to decode it in any case
	// CacheKey names the conversation for providers' prompt caches, if it may be added to a chat; else empty.
	CacheKey string

	tree  tree
	walks walks
}

// PassedHeaders returns the client's headers for a provider of the same wire format.
func (r *Request) PassedHeaders() (passed []dialect.Header) {
	for _, name := range r.Dialect.Passed {
		value := strings.Join(r.Header.Values(name), ",")
		if value != "" && !strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r > '~' }) {
			passed = append(passed, dialect.Header{Name: name, Value: value})
		}
	}
	return passed
}

// InputTokens counts the tokens of the request by the vocabulary for estimates.
func (r *Request) InputTokens() int64 {
	defer r.Capacity.TurnAnyway(CountingWork * len(r.Body)).End()
	return r.countInput()
}

// Offer is a target as a request meets it.
type Offer struct {
	Target *route.Target
	Speaks *dialect.Dialect   // the wire format of the request to the target
	Spoken *dialect.Operation // the operation in it; nil if it has none
	Quirks *llm.Quirks        // the target's quirks in it
	Price  llm.Price          // when the request arrived
	Terms  *charge.Terms      // of the account; nil if it is charged the cost
}

// Quote is a request at one target.
type Quote struct {
	*Request
	Offer
	// Behind is the number of bytes of an earlier answer that the target continues.
	Behind int64

	table          *route.Table
	fitted         Fitted // the last result of Fitted
	fees           int64  // the result of SeparateFees
	feesCounted    bool
	unreported     llm.Usage // the result of UnreportedTools
	unreportedRead bool
}

// Begin makes q, which must be zero, the quote of a request at a target, at the price of the time at which the request
// arrived. It builds a large value in its place: a copy would need a large stack.
func Begin(q *Quote, r *Request, table *route.Table, target *route.Target, came time.Time) {
	q.Request, q.table, q.Target = r, table, target
	q.Speaks = target.Provider.Speaking(r.Dialect, target.Model)
	if (q.Speaks != r.Dialect || r.Head.Searches) && r.searches(target.Model) {
		q.Speaks = target.Provider.Searching(q.Speaks)
	}
	q.Spoken, q.Quirks = q.Speaks.For(r.Op.Op), target.Provider.Quirks(q.Speaks)
	q.Price = table.Price(target, came)
}

// Passed returns the client's headers that are sent to the target.
func (q *Quote) Passed() []dialect.Header {
	if q.Speaks != q.Dialect {
		return nil
	}
	return q.PassedHeaders()
}

// RefusedAssumed returns the error for an attempt at an assumed price, if the configuration refuses these.
func (q *Quote) RefusedAssumed() error {
	if q.Op.Free || !q.table.RefusesAssumed() || !q.Price.Known() || q.Price.Basis == llm.BasisModel {
		return nil
	}
	return &llm.Error{
		Code: llm.CodeForbidden, Param: "model",
		Message: fmt.Sprintf(
			"The price of the model %q is assumed, and the configuration refuses assumed prices (pricing.assumed). "+
				"Ask the operator to set a price in the configuration, under prices.", q.Target.FullName()),
	}
}

// MaxOutput returns the most output tokens of one choice: the smaller of the client's cap and the model's.
func (q *Quote) MaxOutput() int64 {
	if q.Head.MaxOutput == 0 {
		most, _ := q.table.MaxOutput(q.Target)
		return most
	}
	return q.capped(q.askedCap())
}

// askedCap returns the client's output cap as the target receives it, in tokens; 0 for none.
func (q *Quote) askedCap() int64 {
	if q.Head.MaxOutput == 0 || q.Speaks == q.Dialect {
		return q.Head.MaxOutput
	}
	return q.Rules().Raised(q.Target.Model, q.Head.MaxOutput)
}

// Rules returns the rules of the target's vendor for its wire format.
func (o *Offer) Rules() rules.Set { return o.Target.Provider.Rules(o.Speaks) }

// maxUnknown bounds the output tokens of one choice of a model of unknown size.
const maxUnknown = 1 << 20

// capped returns the most output tokens of a choice under the client's cap, which wire formats without caps do not
// carry. Thinking beyond the cap, between tool calls, is bounded by the context window:
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
