package ledger

import (
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"weir/internal/llm"
)

// MaxRequests is the most requests that one page has.
const MaxRequests = 200

// Ended selects requests by how they ended.
type Ended string

// How a request can have ended.
const (
	EndedAny   Ended = ""      // and those under way
	EndedOK    Ended = "ok"    // with a whole answer
	EndedError Ended = "error" // in any other way; a client that left is one
	// EndedUnseen selects those with an attempt whose end nobody saw and that nobody has
	// resolved.
	EndedUnseen Ended = "unseen"
)

// Known reports whether there is such a way.
func (e Ended) Known() bool {
	return e == EndedAny || e == EndedOK || e == EndedError || e == EndedUnseen
}

// Has reports whether a request whose last attempt has that outcome is among
// those selected; unseen says that the end of an attempt is not known.
func (e Ended) Has(o Outcome, unseen bool) bool {
	switch e {
	case EndedUnseen:
		return unseen
	case EndedOK:
		return o == OutcomeOK
	case EndedError:
		return o != OutcomeOK && o != OutcomeOpen
	}
	return true
}

// RequestCursor is a place in the list of an account's requests, which is in
// the order of days, and on a day in that of ids. The zero value is no place.
type RequestCursor struct {
	Date string // UTC, in DateLayout
	ID   uuid.UUID
}

// String is "<date>.<request id>", empty for no place.
func (c RequestCursor) String() string {
	if c == (RequestCursor{}) {
		return ""
	}
	return c.Date + "." + c.ID.String()
}

// ParseRequestCursor reads the form of String.
func ParseRequestCursor(s string) (RequestCursor, error) {
	if s == "" {
		return RequestCursor{}, nil
	}
	date, text, _ := strings.Cut(s, ".")
	_, err := time.Parse(DateLayout, date)
	id, ierr := uuid.Parse(text)
	if err != nil || ierr != nil {
		return RequestCursor{}, fmt.Errorf(`cursor %q: not of the form "<date>.<request id>"`, s)
	}
	return RequestCursor{date, id}, nil
}

// RequestCursorAt is the place before all requests that came at that moment or
// later. Ids are UUIDs of version 7, which begin with the time (RFC 9562, 5.7).
func RequestCursorAt(t time.Time) RequestCursor {
	c := RequestCursor{Date: t.UTC().Format(DateLayout)}
	for i, ms := 5, t.UnixMilli(); i >= 0; i-- {
		c.ID[i], ms = byte(ms), ms>>8
	}
	return c
}

// RequestsQuery selects requests of one account. Dates are UTC calendar dates in
// DateLayout, both inclusive; empty for no bound.
type RequestsQuery struct {
	Account string // account id
	Key     string // key id; empty for every key
	Model   string // "<provider>/<model-name>" of an attempt, or as it was asked for; empty for every model
	Ended   Ended
	From    string
	To      string
	After   RequestCursor // where the page before ended; none for the newest
	Limit   int           // 1 to MaxRequests
}

// RequestSummary is a request with its attempts folded together.
type RequestSummary struct {
	ID        uuid.UUID
	Arrived   time.Time // UTC
	Key       string    // key id
	Requested string    // the model as the client asked for it
	// Of the last attempt, which answered when any did. The outcome is
	// OutcomeOpen while it is under way.
	Model    string // "<provider>/<model-name>"
	Outcome  Outcome
	Status   int      // the provider's HTTP status; 0 when none came
	Code     llm.Code // the error the client got; empty for none
	Stream   bool
	Attempts int
	// Of all attempts, with what was corrected later.
	Usage    llm.Usage
	Cost     llm.Money
	Unpriced llm.Classes // of usage that has no price, and adds 0 to Cost
	AtMost   llm.Money   // what it can have cost at most; Cost where that is known
	// ProviderCost is what providers say that all attempts cost; nil where one that cost
	// something said nothing.
	ProviderCost *llm.Money
	Unseen       bool          // an attempt is one of AttemptDetail.Unseen
	Provenance   Provenance    // the worst of them; empty while all are open
	FirstToken   time.Duration // from the arrival to the first piece; 0 when none came
	Duration     time.Duration // from the arrival to the end of the last attempt; 0 while it is under way
}

// Cursor is the request's place in the list.
func (r *RequestSummary) Cursor() RequestCursor {
	return RequestCursor{r.Arrived.UTC().Format(DateLayout), r.ID}
}

// Summarize folds the attempts of a request, of which there is one or more, in
// the order of their numbers.
func Summarize(attempts []AttemptDetail) RequestSummary {
	last := &attempts[len(attempts)-1]
	r := RequestSummary{
		ID: last.ID.Request, Arrived: last.Arrived, Key: last.Key, Requested: last.Requested,
		Model: last.FullModel(), Outcome: last.Outcome, Status: last.Status, Code: last.Code,
		Stream: last.Stream, Attempts: len(attempts),
	}
	if last.Outcome != OutcomeOpen {
		r.Duration = last.Opened.Add(last.Duration).Sub(last.Arrived)
	}
	for i := range attempts {
		r.fold(&attempts[i])
	}
	r.ProviderCost = providerCost(attempts)
	return r
}

func providerCost(attempts []AttemptDetail) *llm.Money {
	var sum llm.Money
	told := false
	for i := range attempts {
		a := &attempts[i]
		if a.ProviderCost == nil && (a.Charged() > 0 || a.Unpriced != 0) {
			return nil
		}
		if a.ProviderCost != nil {
			sum, told = sum+*a.ProviderCost, true
		}
	}
	if !told {
		return nil
	}
	return &sum
}

func (r *RequestSummary) fold(a *AttemptDetail) {
	if r.FirstToken == 0 && a.FirstToken > 0 {
		r.FirstToken = a.Opened.Add(a.FirstToken).Sub(a.Arrived)
	}
	if a.Outcome == OutcomeOpen {
		return
	}
	r.Unpriced |= a.Unpriced
	r.Unseen = r.Unseen || a.Unseen()
	if doubt(a.Provenance) > doubt(r.Provenance) {
		r.Provenance = a.Provenance
	}
	usage, cost := a.Corrected()
	r.Usage.Add(&usage)
	r.Cost += cost
	r.AtMost += cost + a.Uncertain()
}

// doubt orders provenances, the worst last.
func doubt(p Provenance) int {
	switch p {
	case Exact:
		return 1
	case Assumed:
		return 2
	case Estimated:
		return 3
	case Unknown:
		return 4
	}
	return 0
}

// RequestDetail is a request with its attempts, by number.
type RequestDetail struct {
	RequestSummary
	Parts []AttemptDetail
}

// AttemptDetail is an attempt with what was corrected later.
type AttemptDetail struct {
	Entry       // as it was settled, or opened
	Corrections []Correction
	// Lines are how the cost came about: their amounts add up to that of
	// Corrected. Only Request fills them in.
	Lines []CostLine
	// Tier is what the input tokens had to exceed for the rates in Lines; 0 for
	// the rates that hold where no tier does.
	Tier int64
}

// Correction is what was decided later about an attempt.
type Correction struct {
	Kind  string    // CorrectionResolved or CorrectionAmount
	Seq   int       // among those of its kind, from 1
	Usage llm.Usage // what it adds; may be negative
	Cost  llm.Money // what it adds; may be negative
	// Uncertain is what it adds to what the attempt may have cost beyond its cost; not
	// positive.
	Uncertain llm.Money
	Reason    string    // empty where none was given; of a resolution by rule, the rule
	By        string    // who decided
	At        time.Time // UTC
}

// Corrected is what the attempt used and cost, corrections included.
func (a *AttemptDetail) Corrected() (usage llm.Usage, cost llm.Money) {
	usage, cost = a.Usage, a.Cost
	for i := range a.Corrections {
		usage.Add(&a.Corrections[i].Usage)
		cost += a.Corrections[i].Cost
	}
	return usage, cost
}

// Uncertain is what the attempt may have cost beyond its cost, until it is resolved.
func (a *AttemptDetail) Uncertain() llm.Money {
	left := a.Charged() - a.Cost
	for i := range a.Corrections {
		left += a.Corrections[i].Uncertain
	}
	return left
}

// CostLine is a line of the arithmetic of a cost.
type CostLine struct {
	What LineKind
	// Of usage: the count of a class, in tokens or units, at a rate in
	// pico-dollars each.
	Class llm.Class
	Count int64
	Rate  llm.Rate
	// Amount is in nano-dollars. The cost is rounded once, and each line of usage
	// so that it and those before it are off by half a nano-dollar at most.
	Amount llm.Money
}

// LineKind says what a line of a cost is.
type LineKind string

// The kinds of lines.
const (
	LineUsage      LineKind = "usage"
	LineHold       LineKind = "hold"       // of unknown outcome: the most that it can have cost
	LineProvider   LineKind = "provider"   // what the provider says that it charges
	LineCorrection LineKind = "correction" // what was decided later
	LineOther      LineKind = "other"      // what the price does not explain; weir ledger verify tells of it
)

// Explain fills in Lines and Tier.
func (a *AttemptDetail) Explain() {
	a.Lines, a.Tier = nil, 0
	var sum llm.Money
	add := func(l CostLine) {
		if sum += l.Amount; l.What == LineUsage || l.Amount != 0 {
			a.Lines = append(a.Lines, l)
		}
	}
	switch {
	case a.Provenance == Unknown:
		add(CostLine{What: LineHold, Amount: a.Hold})
	case a.Billed:
		add(CostLine{What: LineProvider, Amount: a.Cost})
	default:
		lines, above := a.Price.Lines(&a.Usage, a.Settlement.Tier)
		a.Tier = above
		for _, l := range lines {
			add(CostLine{LineUsage, l.Class, l.Count, l.Rate, l.Amount})
		}
	}
	add(CostLine{What: LineOther, Amount: a.Cost - sum})
	for i := range a.Corrections {
		add(CostLine{What: LineCorrection, Amount: a.Corrections[i].Cost})
	}
}
