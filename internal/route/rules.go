package route

import (
	"net/http"
	"slices"

	"weir/internal/llm"
	"weir/internal/provider"
)

// Fault is a kind of failure, as the rules distinguish it.
type Fault uint8

// The faults.
const (
	FaultNone        Fault = iota
	FaultUnreachable       // no connection; nothing was sent
	FaultLate              // no first byte in time
	FaultSilent            // no further byte in time
	FaultTotal             // the total timeout has expired
	FaultBroken            // the answer was interrupted
	FaultAborted           // the finish reason reports a failure
	FaultSubstituted       // another model answered, and the alias refuses that
	FaultShape             // the answer is not valid in the protocol
	FaultGaveUp            // 504, 522, 524
	FaultServer            // 500, 502, 408, or an error in place of the answer
	FaultOverloaded        // 503, 529
	FaultLimited           // 429
	FaultQuota             // 402, or a 429 that waiting does not resolve
	FaultCredentials       // 401, or Weir has no credentials
	FaultForbidden         // 403
	FaultModel             // 404 of a model that the configuration names
	FaultUnnamed           // 404 of a model that only the request names
	FaultDear              // no endpoint serves the model within the request's highest price
	FaultContext           // the request is longer than the model's context window
	FaultPolicy            // a content policy
	FaultRequest           // 400, 413, 422
	FaultCanceled          // cancelled by the client or the gateway
	FaultOurs              // the gateway could not make the attempt
	numFaults
)

// Rule describes the next step after a fault, before the client has received a part of an answer.
type Rule struct {
	Fault Fault
	When  string // description for people
	// Cause is the name of the fault in an alias's causes; empty for a fault that never falls back.
	Cause llm.Cause
	// Again allows a retry at the same target after a pause, within the retry budget.
	Again bool
	// OtherKey allows a retry at once with another key of the target, within the retry budget.
	OtherKey bool
	// Onward allows the next target, if the alias names no causes. It does not count as a retry.
	Onward bool
	// OnwardFirst prefers the next target to a retry at the same one.
	OnwardFirst bool
	// Larger limits Onward to targets with a larger or unknown context window.
	Larger bool
	// Dearer allows the same target at once at a higher price, if no other is left. The refusal cost nothing and is not
	// the provider's fault.
	Dearer bool
	// RestsKey lets the key rest for the time that the provider reports.
	RestsKey bool
	// Counts tells whose circuits of the target count the fault.
	Counts Counts
}

// Counts tells whose circuits of a target count a fault.
type Counts uint8

// The values of Counts.
const (
	ForNobody Counts = iota
	// ForAccount is for failures that a request's content can cause: they count for the account that had them, and for
	// all once another account has the same failure.
	ForAccount
	ForAll
)

// String describes the accounts for people.
func (c Counts) String() string {
	return [...]string{"–", "only for that account, until another has the same failure", "for all"}[c]
}

// Rules returns the whole table.
func Rules() []Rule { return slices.Concat(exchangeRules(), statusRules(), requestRules()) }

// exchangeRules returns the rules for failures of the connection and of the answer.
func exchangeRules() []Rule {
	return []Rule{
		{
			Fault: FaultUnreachable, Cause: llm.CauseUnreachable, When: "no connection, or none in time",
			Again: true, Onward: true, Counts: ForAll,
		},
		{
			Fault: FaultLate, Cause: llm.CauseTimeout, When: "silent: no first byte in time",
			Onward: true, Counts: ForAccount,
		},
		{
			Fault: FaultSilent, Cause: llm.CauseTimeout, When: "silent: no further byte in time",
			Onward: true, Counts: ForAll,
		},
		// A client that reads slowly causes this, too.
		{Fault: FaultTotal, When: "the total timeout has expired", Counts: ForAccount},
		{
			Fault: FaultBroken, Cause: llm.CauseBrokenOff, When: "interrupted, reset",
			Again: true, Onward: true, Counts: ForAll,
		},
		{
			Fault: FaultAborted, Cause: llm.CauseBrokenOff,
			When:  "a finish reason that reports a failure, such as `error` or `MALFORMED_FUNCTION_CALL`",
			Again: true, Onward: true, Counts: ForAccount,
		},
		{
			Fault: FaultSubstituted, Cause: llm.CauseBadAnswer,
			When:   "another model than the requested one answered, and the alias has `served_model: refuse`",
			Onward: true,
		},
		{
			Fault: FaultShape, Cause: llm.CauseBadAnswer, When: "not the protocol: an answer of unexpected form",
			Again: true, Onward: true, Counts: ForAccount,
		},
	}
}

// statusRules returns the rules for failures of the provider that a status reports.
func statusRules() []Rule {
	return []Rule{
		{
			Fault: FaultServer, Cause: llm.CauseServerError, When: "500, 502, 408, an error in place of the answer",
			Again: true, Onward: true, Counts: ForAll,
		},
		// As after a missing first byte, the provider may still work on the request, and a retry would be charged
		// twice.
		{
			Fault: FaultGaveUp, Cause: llm.CauseTimeout,
			When:   "504, 522, 524: a gateway in front of the provider gave up",
			Onward: true, Counts: ForAccount,
		},
		{
			Fault: FaultOverloaded, Cause: llm.CauseOverloaded, When: "503, 529",
			Again: true, Onward: true, OnwardFirst: true, Counts: ForAll,
		},
		{
			Fault: FaultLimited, Cause: llm.CauseRateLimited, When: "429",
			Again: true, OtherKey: true, Onward: true, OnwardFirst: true, RestsKey: true,
		},
		{
			Fault: FaultQuota, Cause: llm.CauseQuota, When: "402, 429 because no money is left",
			OtherKey: true, Onward: true, RestsKey: true, Counts: ForAll,
		},
		{
			Fault: FaultCredentials, Cause: llm.CauseCredentials, When: "401, or no credentials",
			OtherKey: true, Onward: true, RestsKey: true, Counts: ForAll,
		},
		// The key may lack access to the model or to a file of the request, which is no reason to keep others from the
		// provider.
		{Fault: FaultForbidden, Cause: llm.CauseForbidden, When: "403", OtherKey: true, Onward: true, Counts: ForAll},
	}
}

// requestRules returns the rules for the model and the request itself, and for failures of the gateway.
func requestRules() []Rule {
	return []Rule{
		{
			Fault: FaultModel, Cause: llm.CauseModelNotFound,
			When:   "404 of a model that an alias, `models` or `default_model` names",
			Onward: true, Counts: ForAccount,
		},
		{
			Fault: FaultUnnamed, Cause: llm.CauseModelNotFound, When: "404 of a model that only the request names",
			Onward: true,
		},
		{
			Fault: FaultDear, Cause: llm.CauseMaxPrice,
			When:   "404: no endpoint serves the model within the request's highest price",
			Onward: true, Dearer: true,
		},
		{
			Fault: FaultContext, Cause: llm.CauseContextLength, When: "400: longer than the context window",
			Onward: true, Larger: true,
		},
		{Fault: FaultPolicy, Cause: llm.CauseContentPolicy, When: "400, 403: refused by a content policy"},
		{Fault: FaultRequest, Cause: llm.CauseInvalidRequest, When: "400, 413, 422"},
		{Fault: FaultCanceled, When: "the client left, the gateway stops, or it has no memory left for the answer"},
		{
			Fault: FaultOurs,
			When:  "the attempt could not be made, or the gateway has no file, port or memory for a connection",
		},
	}
}

// of returns the rule for a failure.
func (t *ruleBook) of(f *provider.Failure) *Rule { return &t[FaultOf(f)] }

// ruleBook holds the rules by fault.
type ruleBook [numFaults]Rule

func newRuleBook() *ruleBook {
	var b ruleBook
	for _, r := range Rules() {
		b[r.Fault] = r
	}
	return &b
}

// isCallers reports whether the fault is the client's mistake.
func (f Fault) isCallers() bool {
	return f == FaultRequest || f == FaultPolicy || f == FaultContext || f == FaultUnnamed
}

// FaultOf returns the fault behind a failure, assuming a model that the configuration names.
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
	case provider.KindSubstituted:
		return FaultSubstituted
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

// moneyWords are the vendors' codes for a 429 that waiting does not resolve.
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
