package ledger

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"weir/internal/budget"
	"weir/internal/charge"
	"weir/internal/llm"
)

// AttemptID identifies an attempt by the id of the client's request and the number of the attempt, from 1.
type AttemptID struct {
	Request uuid.UUID
	N       uint16
}

// String returns "<request id>.<number>".
func (id AttemptID) String() string {
	return id.Request.String() + "." + strconv.Itoa(int(id.N))
}

// ParseAttemptID parses the form that String returns.
func ParseAttemptID(s string) (AttemptID, error) {
	request, number, _ := strings.Cut(s, ".")
	u, err := uuid.Parse(request)
	n, nerr := strconv.ParseUint(number, 10, 16)
	if err != nil || nerr != nil || n == 0 {
		return AttemptID{}, fmt.Errorf(`attempt %q is invalid: write "<request id>.<number>"`, s)
	}
	return AttemptID{Request: u, N: uint16(n)}, nil
}

// Attempt holds the facts about an attempt that are known when it is opened.
type Attempt struct {
	ID        AttemptID
	Account   string // account id
	Key       string // key id
	Requested string // the model as the client requested it
	Provider  string
	Model     string    // the provider's name of the model
	Region    string    // region in the provider's address; empty for none
	Opened    time.Time // UTC, whole microseconds
	Arrived   time.Time // when the client's request arrived; all its attempts count on that UTC date
	Stream    bool
	// Attribution names the end user and the tags of the request.
	Attribution llm.Attribution
	// Parts are the account's and key's parts whose budgets the attempt counts against.
	Parts budget.Parts

	// Price is resolved once, at opening. The journal stores its Version.
	Price llm.Price
	// Bound is the maximum usage of the attempt, as far as the request determines it: input and output tokens. Hold is
	// the cost of Bound at the highest rates that can apply. An attempt of unknown outcome is settled with both.
	Bound llm.Usage
	Hold  llm.Money
	// Terms determine the account's charge; nil if the account is charged the cost. The journal stores the Version of a
	// price of the account's own. ChargeHold is the maximum charge for Bound; 0 without Terms.
	Terms      *charge.Terms
	ChargeHold llm.Money
	// BillByProvider makes the attempt cost the amount that the provider reports, if it reports one. It is not in the
	// journal.
	BillByProvider bool
	// Reservation is the amount in budgets that the attempt occupies until it is settled; nil without budgets. It is
	// not in the journal.
	Reservation *budget.Reservation
}

// FullModel returns "<provider>/<model-name>", the model's name in every report.
func (a *Attempt) FullModel() string { return a.Provider + "/" + a.Model }

// PartScopes returns the scopes of the attempt's parts.
func (a *Attempt) PartScopes() []string {
	if a.Parts == 0 {
		return nil
	}
	return a.Parts.Scopes(a.Account, a.Key, &a.Attribution)
}

// These constants bound how far a provider's numbers may exceed the attempt's bound and still be believed: by this
// factor, or up to these amounts. A recording may last a day independent of the bound, because the bound covers only
// the client's input.
const (
	believeTimes    = 100
	believeTokens   = 1 << 20
	believeSearches = 10_000
	believeMillis   = 24 * 3_600_000
)

// Believes reports whether a provider's usage of the attempt is plausible.
func (a *Attempt) Believes(u *llm.Usage) bool {
	return u.TotalTokens() <= max(believeTokens, believeTimes*a.Bound.TotalTokens()) &&
		u[llm.Searches] <= believeSearches &&
		u[llm.Milliseconds] <= max(believeMillis, believeTimes*a.Bound[llm.Milliseconds])
}

// CodeClientGone is the error code of an attempt whose client disconnected. It is never sent to a client.
const CodeClientGone llm.Code = "CLIENT_GONE"

// Outcome says how an attempt ended.
type Outcome string

// These are the outcomes. Open is the state of an attempt that is not settled.
const (
	OutcomeOpen       Outcome = "open"
	OutcomeOK         Outcome = "ok"          // a complete answer
	OutcomeRefused    Outcome = "refused"     // no connection: the provider saw nothing
	OutcomeRejected   Outcome = "rejected"    // an error status before any output
	OutcomeFailed     Outcome = "failed"      // a reset, an invalid answer or a timeout before any output
	OutcomeCut        Outcome = "cut"         // the answer broke off
	OutcomeClientGone Outcome = "client_gone" // the client disconnected before the end
	OutcomeUnknown    Outcome = "unknown"     // the process died before the end
)

// Provenance says where the numbers of a settlement come from.
type Provenance string

// These are the provenances.
const (
	Exact Provenance = "exact" // the provider's own numbers, at a price of exactly that model
	// the provider's numbers, at the price of a similar model, or below the provider's reported charge
	Assumed   Provenance = "assumed"
	Estimated Provenance = "estimated" // counted here, because the provider reported none
	Unknown   Provenance = "unknown"   // the bound of the attempt, because its end was not observed
)

// Settlement records how an attempt ended and its cost.
type Settlement struct {
	Outcome    Outcome
	Provenance Provenance
	Usage      llm.Usage
	// Cost is the best estimate. It excludes the classes without a rate, which Unpriced lists.
	Cost     llm.Money
	Unpriced llm.Classes
	// AtMost is the upper bound of the cost if the cost is unknown, or if the provider reports a higher charge than
	// Cost. Budgets count it until the attempt is resolved. It is above Cost, or 0 if Cost is certain; for an unknown
	// outcome both are the hold.
	AtMost llm.Money
	// Margin is the account's charge minus Cost, which may be negative. MarginUncertain is the amount by which it may
	// still grow if the cost is unknown. Both are 0 if the account is charged the cost.
	Margin, MarginUncertain llm.Money
	// ChargeUnpriced lists the classes that the charge excludes; nil if they equal Unpriced. It is always set at a
	// price of the account's own, except in journals and rows older than the field.
	ChargeUnpriced *llm.Classes
	// ProviderCost is the charge that the provider reports; nil if it reports none. Billed reports that Cost is that
	// charge and not the result of the price.
	ProviderCost *llm.Money
	Billed       bool
	// Counts reports that this attempt adds one to the number of requests. At most one attempt of a request does.
	Counts bool
	Finish llm.FinishReason // empty if there was no answer
	// how the provider served it: its service tier and other modes of a price, separated by commas
	Tier       string
	Served     Served        // which model answered
	Missed     Missed        // input that could have been read from a prompt cache
	Cached     Cached        // whether a stored answer was returned
	Sizes      Sizes         // of a call of a tool
	Code       llm.Code      // error code that the client received; empty for none
	Status     int           // the provider's HTTP status; 0 if there was none
	FirstToken time.Duration // from opening to the first output; 0 if there was none
	// ReplyID is the provider's id of its reply, by which the provider's support finds it. It is empty if the provider
	// sent none, and for a complete answer with the provider's numbers, because the client has that id.
	ReplyID string
	// Ask reports that the provider can be queried by that id for the final usage of the attempt.
	Ask      bool
	Duration time.Duration // from opening to the attempt's end; if it is 0, until it is settled
}

// MostCost returns the upper bound of the attempt's cost.
func (s *Settlement) MostCost() llm.Money { return max(s.Cost, s.AtMost) }

// Charge returns the account's charge, as far as the cost is known.
func (s *Settlement) Charge() llm.Money { return s.Cost + s.Margin }

// UnpricedCharge returns the classes that the charge excludes.
func (s *Settlement) UnpricedCharge() llm.Classes {
	if s.ChargeUnpriced != nil {
		return *s.ChargeUnpriced
	}
	return s.Unpriced
}

// Charged returns the amount that counts against budgets: the upper bound of the account's charge.
func (s *Settlement) Charged() llm.Money { return s.MostCost() + s.Margin + s.MarginUncertain }

// Entry combines a settled attempt with its settlement.
type Entry struct {
	Attempt
	Settlement
}

// Position is a place in a journal.
type Position = budget.Position

// PriceRecord holds the rates of a price version, so that every cost can be recomputed.
type PriceRecord struct {
	Version string
	Rates   llm.Rates
	Tiers   []llm.Tier
	Modes   []llm.Mode
}

// Batch is a range of the journal, ready for the database.
type Batch struct {
	Journal  uuid.UUID
	From, To Position
	Prices   []PriceRecord // versions first used in this range
	Opened   []Attempt     // opened in this range and not settled in it
	Settled  []Entry       // settled in this range, each with its attempt
	Aside    []Aside       // set aside in this range

	records  int      // read in this range
	orphaned int      // of Aside: settlements of attempts that are not open
	lost     Position // number of bytes in this range that cannot be read
}

// ErrMoved is returned if the database's position is not the start of the batch: the database was restored, or another
// process writes this journal.
var ErrMoved = errors.New("ledger: the database is at another position of the journal than this process")

func byID(a, b Attempt) int {
	if c := slices.Compare(a.ID.Request[:], b.ID.Request[:]); c != 0 {
		return c
	}
	return int(a.ID.N) - int(b.ID.N)
}
