package ledger

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"weir/internal/budget"
	"weir/internal/charge"
	"weir/internal/llm"
)

// AttemptID names one attempt: the id of the client's request and the number
// of the attempt, from 1.
type AttemptID struct {
	Request uuid.UUID
	N       uint16
}

// String is "<request id>.<number>".
func (id AttemptID) String() string {
	return id.Request.String() + "." + strconv.Itoa(int(id.N))
}

// ParseAttemptID reads the form of String.
func ParseAttemptID(s string) (AttemptID, error) {
	request, number, _ := strings.Cut(s, ".")
	u, err := uuid.Parse(request)
	n, nerr := strconv.ParseUint(number, 10, 16)
	if err != nil || nerr != nil || n == 0 {
		return AttemptID{}, fmt.Errorf(`attempt %q: not of the form "<request id>.<number>"`, s)
	}
	return AttemptID{Request: u, N: uint16(n)}, nil
}

// Attempt is what is known of an attempt when it is opened.
type Attempt struct {
	ID        AttemptID
	Account   string // account id
	Key       string // key id
	Requested string // the model as the client asked for it
	Provider  string
	Model     string    // the provider's name of the model
	Region    string    // where the provider's address says that it serves; empty for none
	Opened    time.Time // UTC, whole microseconds
	Arrived   time.Time // when the client's request came; all its attempts count on that UTC date
	Stream    bool
	// Attribution is for whom and for what the request is.
	Attribution llm.Attribution
	// Parts are the parts of the account and the key that it counts against in budgets.
	Parts budget.Parts

	// Price is resolved here, once. The journal keeps its Version.
	Price llm.Price
	// Bound is the most that the attempt can consume, as far as the request
	// tells: input and output tokens. Hold is what Bound costs at the dearest
	// reachable rates. An attempt of unknown outcome is settled at both.
	Bound llm.Usage
	Hold  llm.Money
	// Terms are what the account is charged for it; nil where it is charged the cost. The journal keeps the Version of
	// a price of the account's own. ChargeHold is what Bound is charged with at most; 0 without Terms.
	Terms      *charge.Terms
	ChargeHold llm.Money
	// BillByProvider has the attempt cost what the provider says, where it does. It
	// is not in the journal.
	BillByProvider bool
	// Reservation is the reservation in budgets that the attempt takes up until it is
	// settled; nil where there is no budget. It is not in the journal.
	Reservation *budget.Reservation
}

// FullModel is "<provider>/<model-name>", the model's name in every report.
func (a *Attempt) FullModel() string { return a.Provider + "/" + a.Model }

// PartScopes are the scopes of its parts.
func (a *Attempt) PartScopes() []string {
	if a.Parts == 0 {
		return nil
	}
	return a.Parts.Scopes(a.Account, a.Key, &a.Attribution)
}

// How far beyond its bound an attempt's numbers may lie and still be taken for the
// provider's: so many times, or as much as these. A recording may be a day long,
// whatever its bound is, for that is of what the client sent.
const (
	believeTimes    = 100
	believeTokens   = 1 << 20
	believeSearches = 10_000
	believeMillis   = 24 * 3_600_000
)

// Believes says whether a provider's numbers of the attempt can be true.
func (a *Attempt) Believes(u *llm.Usage) bool {
	return u.TotalTokens() <= max(believeTokens, believeTimes*a.Bound.TotalTokens()) &&
		u[llm.Searches] <= believeSearches &&
		u[llm.Milliseconds] <= max(believeMillis, believeTimes*a.Bound[llm.Milliseconds])
}

// CodeClientGone is the error of an attempt whose client left. No client reads it.
const CodeClientGone llm.Code = "CLIENT_GONE"

// Outcome says how an attempt ended.
type Outcome string

// The outcomes. Open is the state of an attempt that is not settled.
const (
	OutcomeOpen       Outcome = "open"
	OutcomeOK         Outcome = "ok"          // a whole answer
	OutcomeRefused    Outcome = "refused"     // no connection: the provider saw nothing
	OutcomeRejected   Outcome = "rejected"    // an error status before any output
	OutcomeFailed     Outcome = "failed"      // reset, garbage, timeout before any output
	OutcomeCut        Outcome = "cut"         // the answer broke off
	OutcomeClientGone Outcome = "client_gone" // the client left before the end
	OutcomeUnknown    Outcome = "unknown"     // the process died in between
)

// Provenance says where the numbers of a settlement come from.
type Provenance string

// The provenances.
const (
	Exact Provenance = "exact" // the provider's own numbers, at a price of exactly that model
	// the provider's numbers, at a price of a model like it, or below what it says that it charges
	Assumed   Provenance = "assumed"
	Estimated Provenance = "estimated" // counted here, because the provider's never came
	Unknown   Provenance = "unknown"   // the bound of the attempt; nobody saw its end
)

// Settlement is how an attempt ended and what it cost.
type Settlement struct {
	Outcome    Outcome
	Provenance Provenance
	Usage      llm.Usage
	// Cost is the best estimate. What it is for classes without a rate, in Unpriced,
	// is not in it.
	Cost     llm.Money
	Unpriced llm.Classes
	// AtMost is what the attempt can have cost at most, where nobody knows, or where its
	// provider says that it charges more than Cost: budgets
	// count it until the attempt is resolved. It is above Cost, or 0 where Cost is what
	// the attempt cost; of unknown outcome both are the hold.
	AtMost llm.Money
	// Margin is what the account is charged beyond Cost, which may be negative, and MarginUncertain what that may come to
	// beyond it where nobody knows the cost; 0 where the account is charged the cost.
	Margin, MarginUncertain llm.Money
	// ChargeUnpriced are the classes that the charge is without; nil where they are Unpriced. A price of the account's own
	// always has them, but in journals and rows from before there were any.
	ChargeUnpriced *llm.Classes
	// ProviderCost is what the provider says that it charges; nil where it says
	// nothing. Billed says that Cost is that, and not what the price comes to.
	ProviderCost *llm.Money
	Billed       bool
	// Counts says that this attempt stands for its request: it adds one to
	// the number of requests. One attempt of a request at most does.
	Counts     bool
	Finish     llm.FinishReason // empty when no answer came
	Tier       string           // how the provider served it: its service tier, and other modes of a price, with commas
	Code       llm.Code         // the error the client got for it; empty for none
	Status     int              // the provider's HTTP status; 0 when none came
	FirstToken time.Duration    // from opening to the first piece; 0 when none came
	// ReplyID is the provider's id of its reply, by which its support finds it; empty where
	// none came, and of a whole answer with the provider's numbers, whose client has the id.
	ReplyID string
	// Ask says that the provider can be asked by that id what the attempt used in the end.
	Ask      bool
	Duration time.Duration // from opening to settling
}

// MostCost is the most that the attempt can have cost.
func (s *Settlement) MostCost() llm.Money { return max(s.Cost, s.AtMost) }

// Charge is what the account is charged, as far as the cost is known.
func (s *Settlement) Charge() llm.Money { return s.Cost + s.Margin }

// UnpricedCharge are the classes that the charge is without.
func (s *Settlement) UnpricedCharge() llm.Classes {
	if s.ChargeUnpriced != nil {
		return *s.ChargeUnpriced
	}
	return s.Unpriced
}

// Charged is what counts against budgets: the most that the account can be charged.
func (s *Settlement) Charged() llm.Money { return s.MostCost() + s.Margin + s.MarginUncertain }

// Entry is a settled attempt, whole.
type Entry struct {
	Attempt
	Settlement
}

// Position is a place in a journal.
type Position = budget.Position

// PriceRecord is a price as the ledger keeps it: the rates behind a version,
// so that every cost can be recomputed.
type PriceRecord struct {
	Version string
	Rates   llm.Rates
	Tiers   []llm.Tier
	Modes   []llm.Mode
}

// Batch is a stretch of the journal, ready for the database.
type Batch struct {
	Journal  uuid.UUID
	From, To Position
	Prices   []PriceRecord // versions first used in this stretch
	Opened   []Attempt     // opened in this stretch and not settled in it
	Settled  []Entry       // settled in this stretch, each with its attempt
}

// ErrMoved says that the database's position is not where the batch begins:
// somebody restored the database, or another process holds this journal.
var ErrMoved = errors.New("ledger: the database is at another position of the journal")
