package route

import (
	"net/http"
	"slices"

	"weir/internal/llm"
	"weir/internal/provider"
)

// Fault is a kind of failure, as far as it matters for what follows it.
type Fault uint8

// The faults.
const (
	FaultNone        Fault = iota
	FaultUnreachable       // no connection; nothing was sent
	FaultLate              // no first byte in time
	FaultSilent            // none after others in time
	FaultTotal             // the time for a whole exchange is over
	FaultBroken            // the answer broke off
	FaultAborted           // its finish reason tells of a failure
	FaultShape             // the answer is not the protocol
	FaultGaveUp            // 504, 522, 524
	FaultServer            // 500, 502, 408, or an error in place of the answer
	FaultOverloaded        // 503, 529
	FaultLimited           // 429
	FaultQuota             // 402, or a 429 that no waiting cures
	FaultCredentials       // 401, or we have none to show
	FaultForbidden         // 403
	FaultModel             // 404 of a model that the configuration names
	FaultUnnamed           // 404 of a model that the request alone names
	FaultDear              // nobody serves the model within the highest price of the request
	FaultContext           // the request is longer than the model's context window
	FaultPolicy            // a content policy
	FaultRequest           // 400, 413, 422
	FaultCanceled          // our side gave up
	FaultOurs              // the attempt could not be made
	numFaults
)

// Rule is what follows a fault before the client has seen any of an answer.
type Rule struct {
	Fault Fault
	When  string // in words, for people
	// Cause is the word by which an alias names it in its causes; empty for a fault that never falls back.
	Cause llm.Cause
	// Again is whether the same target may be asked once more, after a pause,
	// within the retry budget.
	Again bool
	// OtherKey is whether it may be asked at once with another of its keys,
	// within the retry budget.
	OtherKey bool
	// Onward is whether the next target may be asked, where the alias names no causes. It is no retry.
	Onward bool
	// OnwardFirst is whether that comes before asking the same one again.
	OnwardFirst bool
	// Larger limits Onward to targets whose context window is larger, or not
	// known.
	Larger bool
	// Dearer is whether the same target may be asked at once at a higher price,
	// where no other is left. Its refusal cost nothing, and is no fault of the provider's.
	Dearer bool
	// RestsKey is whether the key rests: for as long as the provider says.
	RestsKey bool
	// Counts is for whom it counts against the target.
	Counts Counts
}

// Counts is for whom a fault counts against a target.
type Counts uint8

// For whom.
const (
	ForNobody Counts = iota
	// ForAccount is for what the content of a request can bring about: for the account
	// alone that met it, and for all once another account meets the same.
	ForAccount
	ForAll
)

// String is for whom, for people.
func (c Counts) String() string {
	return [...]string{"–", "for that account alone, until another meets the same", "for all"}[c]
}

// Rules is the whole table.
func Rules() []Rule {
	return []Rule{
		{Fault: FaultUnreachable, Cause: llm.CauseUnreachable, When: "no connection, or none in time", Again: true, Onward: true, Counts: ForAll},
		{Fault: FaultLate, Cause: llm.CauseTimeout, When: "silent: no first byte in time", Onward: true, Counts: ForAccount},
		{Fault: FaultSilent, Cause: llm.CauseTimeout, When: "silent: no further byte in time", Onward: true, Counts: ForAll},
		// Whoever reads slowly brings it about, too.
		{Fault: FaultTotal, When: "the time for the whole exchange is over", Counts: ForAccount},
		{Fault: FaultBroken, Cause: llm.CauseBrokenOff, When: "broken off, reset", Again: true, Onward: true, Counts: ForAll},
		{
			Fault: FaultAborted, Cause: llm.CauseBrokenOff, When: "a finish reason that tells of a failure, such as `error` or `MALFORMED_FUNCTION_CALL`",
			Again: true, Onward: true, Counts: ForAccount,
		},
		{
			Fault: FaultShape, Cause: llm.CauseBadAnswer, When: "not the protocol: an answer of an unexpected shape", Again: true, Onward: true,
			Counts: ForAccount,
		},
		{
			Fault: FaultServer, Cause: llm.CauseServerError, When: "500, 502, 408, an error in place of the answer", Again: true, Onward: true,
			Counts: ForAll,
		},
		// As without a first byte: the provider may go on with its work, and would be paid twice.
		{Fault: FaultGaveUp, Cause: llm.CauseTimeout, When: "504, 522, 524: a gateway before the provider gave up", Onward: true, Counts: ForAccount},
		{Fault: FaultOverloaded, Cause: llm.CauseOverloaded, When: "503, 529", Again: true, Onward: true, OnwardFirst: true, Counts: ForAll},
		{
			Fault: FaultLimited, Cause: llm.CauseRateLimited, When: "429", Again: true, OtherKey: true, Onward: true, OnwardFirst: true,
			RestsKey: true,
		},
		{
			Fault: FaultQuota, Cause: llm.CauseQuota, When: "402, 429 without money left", OtherKey: true, Onward: true, RestsKey: true,
			Counts: ForAll,
		},
		{
			Fault: FaultCredentials, Cause: llm.CauseCredentials, When: "401, no credentials to show", OtherKey: true, Onward: true, RestsKey: true,
			Counts: ForAll,
		},
		// It may be the model, or a file in the request, that the key may not have: no reason to keep others from the provider.
		{Fault: FaultForbidden, Cause: llm.CauseForbidden, When: "403", OtherKey: true, Onward: true, Counts: ForAll},
		{
			Fault: FaultModel, Cause: llm.CauseModelNotFound, When: "404 of a model that an alias, `models` or `default_model` names", Onward: true,
			Counts: ForAccount,
		},
		{Fault: FaultUnnamed, Cause: llm.CauseModelNotFound, When: "404 of a model that the request alone names", Onward: true},
		{
			Fault: FaultDear, Cause: llm.CauseMaxPrice, When: "404: nobody serves the model within the highest price of the request", Onward: true,
			Dearer: true,
		},
		{Fault: FaultContext, Cause: llm.CauseContextLength, When: "400: longer than the context window", Onward: true, Larger: true},
		{Fault: FaultPolicy, Cause: llm.CauseContentPolicy, When: "400, 403: refused by a content policy"},
		{Fault: FaultRequest, Cause: llm.CauseInvalidRequest, When: "400, 413, 422"},
		{Fault: FaultCanceled, When: "the client left, the gateway stops, or it has no memory left for the answer"},
		{Fault: FaultOurs, When: "the attempt could not be made, or the gateway has no file, port or memory for a connection"},
	}
}

// of is the row of the table for a failure.
func (t *ruleBook) of(f *provider.Failure) *Rule { return &t[FaultOf(f)] }

// ruleBook is the table by fault.
type ruleBook [numFaults]Rule

func newRuleBook() *ruleBook {
	var b ruleBook
	for _, r := range Rules() {
		b[r.Fault] = r
	}
	return &b
}

// isCallers reports whether the fault is the mistake of whoever asks.
func (f Fault) isCallers() bool {
	return f == FaultRequest || f == FaultPolicy || f == FaultContext || f == FaultUnnamed
}

// FaultOf is the fault behind a failure, of a model that the configuration names.
func FaultOf(f *provider.Failure) Fault {
	switch f.Kind {
	case provider.KindRefused, provider.KindConnectTimeout:
		if f.Ours() {
			return FaultOurs
		}
		return FaultUnreachable
	case provider.KindFirstByteTimeout:
		return FaultLate
	case provider.KindIdleTimeout:
		return FaultSilent
	case provider.KindTotalTimeout:
		return FaultTotal
	case provider.KindReset, provider.KindTruncated:
		return FaultBroken
	case provider.KindAborted:
		return FaultAborted
	case provider.KindProtocol:
		return FaultShape
	case provider.KindCanceled:
		return FaultCanceled
	case provider.KindShortage:
		return FaultOurs
	case provider.KindCredential:
		return FaultCredentials
	case provider.KindInStream:
		return faultOfCode(f)
	}
	return faultOfStatus(f)
}

func faultOfStatus(f *provider.Failure) Fault {
	switch {
	case f.TooDear():
		return FaultDear
	case f.GaveUp():
		return FaultGaveUp
	}
	switch f.Status {
	case http.StatusUnauthorized:
		return FaultCredentials
	case http.StatusForbidden:
		return FaultForbidden
	case http.StatusPaymentRequired:
		return FaultQuota
	case http.StatusTooManyRequests:
		if slices.Contains(moneyWords, f.Upstream.Code) {
			return FaultQuota
		}
		return FaultLimited
	}
	return faultOfCode(f)
}

// moneyWords are the vendors' codes for a 429 that no waiting cures.
var moneyWords = []string{"insufficient_quota", "billing_hard_limit_reached", "billing_error"}

func faultOfCode(f *provider.Failure) Fault {
	switch f.Err.Code {
	case llm.CodeInvalidRequest, llm.CodeRequestTooLarge:
		switch {
		case f.Overflow():
			return FaultContext
		case f.ByPolicy():
			return FaultPolicy
		}
		return FaultRequest
	case llm.CodeModelNotFound:
		return FaultModel
	case llm.CodeRateLimited:
		return FaultLimited
	case llm.CodeProviderUnavailable, llm.CodeOverloaded:
		return FaultOverloaded
	case llm.CodeAuthentication:
		return FaultCredentials
	case llm.CodeForbidden:
		return FaultForbidden
	case llm.CodeBudgetExceeded:
		return FaultQuota
	}
	return FaultServer
}
