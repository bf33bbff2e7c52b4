package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"weir/internal/ledger"
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
func (e Ended) Has(o ledger.Outcome, unseen bool) bool {
	switch e {
	case EndedUnseen:
		return unseen
	case EndedOK:
		return o == ledger.OutcomeOK
	case EndedError:
		return o != ledger.OutcomeOK && o != ledger.OutcomeOpen
	}
	return true
}

// Cursor is a place in the list of an account's requests, which is in
// the order of days, and on a day in that of ids. The zero value is no place.
type Cursor struct {
	Date string // UTC, as YYYY-MM-DD
	ID   uuid.UUID
}

// String is "<date>.<request id>", empty for no place.
func (c Cursor) String() string {
	if c == (Cursor{}) {
		return ""
	}
	return c.Date + "." + c.ID.String()
}

// ParseCursor reads the form of String.
func ParseCursor(s string) (Cursor, error) {
	if s == "" {
		return Cursor{}, nil
	}
	date, text, _ := strings.Cut(s, ".")
	_, err := time.Parse(time.DateOnly, date)
	id, ierr := uuid.Parse(text)
	if err != nil || ierr != nil {
		return Cursor{}, fmt.Errorf(`cursor %q: not of the form "<date>.<request id>"`, s)
	}
	return Cursor{date, id}, nil
}

// CursorAt is the place before all requests that came at that moment or
// later. Ids are UUIDs of version 7, which begin with the time (RFC 9562, 5.7).
func CursorAt(t time.Time) Cursor {
	c := Cursor{Date: t.UTC().Format(time.DateOnly)}
	for i, ms := 5, t.UnixMilli(); i >= 0; i-- {
		c.ID[i], ms = byte(ms), ms>>8
	}
	return c
}

// RequestsQuery selects requests of one account. Dates are UTC calendar dates of
// time.DateOnly, both inclusive; empty for no bound.
type RequestsQuery struct {
	Account string // account id
	Key     string // key id; empty for every key
	Model   string // "<provider>/<model-name>" of an attempt, or as it was asked for; empty for every model
	Ended   Ended
	From    string
	To      string
	After   Cursor // where the page before ended; none for the newest
	Limit   int    // 1 to MaxRequests
}

// Request is a request with its attempts folded together.
type Request struct {
	ID        uuid.UUID
	Arrived   time.Time // UTC
	Key       string    // key id
	Requested string    // the model as the client asked for it
	// Of the last attempt, which answered when any did. The outcome is
	// ledger.OutcomeOpen while it is under way.
	Model    string // "<provider>/<model-name>"
	Outcome  ledger.Outcome
	Status   int      // the provider's HTTP status; 0 when none came
	Code     llm.Code // the error the client got; empty for none
	Stream   bool
	Attempts int
	// Of all attempts, with what was corrected later. The cost is what the account is charged.
	Usage    llm.Usage
	Cost     llm.Money
	Unpriced llm.Classes // of usage that has no price, and adds 0 to Cost
	AtMost   llm.Money   // what it can have cost at most; Cost where that is known
	// PurchaseUnpriced are those of usage that has no price of its provider's, for operators.
	PurchaseUnpriced llm.Classes
	// ProviderCost is what providers say that all attempts cost; nil where one that cost
	// something said nothing, and where the account has a price list.
	ProviderCost *llm.Money
	Unseen       bool              // an attempt is one of ledger.Row.Unseen
	Provenance   ledger.Provenance // the worst of them; empty while all are open
	FirstToken   time.Duration     // from the arrival to the first piece; 0 when none came
	Duration     time.Duration     // from the arrival to the end of the last attempt; 0 while it is under way
	Margin
}

// Cursor is the request's place in the list.
func (r *Request) Cursor() Cursor {
	return Cursor{r.Arrived.UTC().Format(time.DateOnly), r.ID}
}

// Summarize folds the attempts of a request, of which there is one or more, in
// the order of their numbers.
func Summarize(attempts []Attempt) Request {
	last := &attempts[len(attempts)-1]
	r := Request{
		ID: last.ID.Request, Arrived: last.Arrived, Key: last.Key, Requested: last.Requested, Model: last.FullModel(),
		Outcome: last.Outcome, Status: last.Status, Code: last.Code, Stream: last.Stream, Attempts: len(attempts),
	}
	if last.Outcome != ledger.OutcomeOpen {
		r.Duration = last.Opened.Add(last.Duration).Sub(last.Arrived)
	}
	for i := range attempts {
		r.fold(&attempts[i])
	}
	r.ProviderCost = providerCost(attempts)
	return r
}

func providerCost(attempts []Attempt) *llm.Money {
	var sum llm.Money
	told := false
	for i := range attempts {
		a := &attempts[i]
		if a.Terms != nil {
			return nil
		}
		if a.ProviderCost == nil && (a.MostCost() > 0 || a.Unpriced != 0) {
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

func (r *Request) fold(a *Attempt) {
	if r.FirstToken == 0 && a.FirstToken > 0 {
		r.FirstToken = a.Opened.Add(a.FirstToken).Sub(a.Arrived)
	}
	if a.Outcome == ledger.OutcomeOpen {
		return
	}
	ofCost, ofCharge := a.LeftUnpriced()
	r.Unpriced, r.PurchaseUnpriced = r.Unpriced|ofCharge, r.PurchaseUnpriced|ofCost
	r.Unseen = r.Unseen || a.Unseen()
	if doubt(a.Provenance) > doubt(r.Provenance) {
		r.Provenance = a.Provenance
	}
	usage, cost := a.Corrected()
	r.Usage.Add(&usage)
	margin, uncertain := a.Margin()
	r.Cost += cost + margin
	r.AtMost += cost + margin + a.Uncertain() + uncertain
	r.add(Margin{Margin: margin, MarginUncertain: uncertain})
}

// doubt orders provenances, the worst last.
func doubt(p ledger.Provenance) int {
	return slices.Index([]ledger.Provenance{"", ledger.Exact, ledger.Assumed, ledger.Estimated, ledger.Unknown}, p)
}

// RequestDetail is a request with its attempts, by number.
type RequestDetail struct {
	Request
	Parts []Attempt
}

// Attempt is an attempt of a request.
type Attempt struct {
	ledger.Row
	// Lines are how the charge came about: their amounts add up to it, corrections included. Only Request fills them in.
	Lines []CostLine
	// Tier is what the input tokens had to exceed for the rates in Lines; 0 for
	// the rates that hold where no tier does.
	Tier int64
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
	LineCharge     LineKind = "charge"     // what the account's price list charges
	LineOther      LineKind = "other"      // what the price does not explain; weir ledger verify tells of it
)

// Explain fills in Lines and Tier.
func (a *Attempt) Explain() {
	a.Lines, a.Tier = nil, 0
	var sum llm.Money
	add := func(l CostLine) {
		if sum += l.Amount; l.What == LineUsage || l.Amount != 0 {
			a.Lines = append(a.Lines, l)
		}
	}
	switch {
	case a.Provenance == ledger.Unknown:
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
	add(CostLine{What: LineCharge, Amount: a.Settlement.Margin})
	for i := range a.Corrections {
		c := &a.Corrections[i]
		add(CostLine{What: LineCorrection, Amount: c.Cost + c.Margin})
	}
}
