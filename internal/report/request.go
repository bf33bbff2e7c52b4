package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"weir/internal/ledger"
	"weir/internal/llm"
)

// MaxRequests is the maximum number of requests per page.
const MaxRequests = 200

// Ended selects requests by their end.
type Ended string

// These are the ends of a request.
const (
	EndedAny   Ended = ""      // all, including running requests
	EndedOK    Ended = "ok"    // with a complete answer
	EndedError Ended = "error" // in any other way, including a client that disconnected
	// EndedUnseen selects requests with an unresolved attempt without an observed end.
	EndedUnseen Ended = "unseen"
)

// Known reports whether e is one of these constants.
func (e Ended) Known() bool {
	return e == EndedAny || e == EndedOK || e == EndedError || e == EndedUnseen
}

// Has reports whether e selects a request with that outcome of its last attempt. Unseen reports that the end of an
// attempt was not observed.
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

// Cursor is a place in the list of an account's requests, sorted by day, then id. The zero value is no place.
type Cursor struct {
	Date string // UTC, in the form YYYY-MM-DD
	ID   uuid.UUID
}

// String returns "<date>.<request id>"; empty for the zero value.
func (c Cursor) String() string {
	if c == (Cursor{}) {
		return ""
	}
	return c.Date + "." + c.ID.String()
}

// ParseCursor parses the form that String returns.
func ParseCursor(s string) (Cursor, error) {
	if s == "" {
		return Cursor{}, nil
	}
	date, text, _ := strings.Cut(s, ".")
	_, err := time.Parse(time.DateOnly, date)
	id, ierr := uuid.Parse(text)
	if err != nil || ierr != nil {
		return Cursor{}, fmt.Errorf(`cursor %q is invalid: write "<date>.<request id>"`, s)
	}
	return Cursor{date, id}, nil
}

// CursorAt returns the place before all requests that arrived at that time or later. Ids are UUIDs of version 7, which
// begin with the time (RFC 9562, 5.7).
func CursorAt(t time.Time) Cursor {
	c := Cursor{Date: t.UTC().Format(time.DateOnly)}
	for i, ms := 5, t.UnixMilli(); i >= 0; i-- {
		c.ID[i], ms = byte(ms), ms>>8
	}
	return c
}

// Request combines a request's attempts.
type Request struct {
	ID        uuid.UUID
	Arrived   time.Time // UTC
	Key       string    // key id
	Requested string    // the model as the client requested it
	llm.Attribution
	ReplyID string // the provider's id of its reply, of the last attempt with one; empty if none is stored
	// These fields are of the last attempt, which is the one that answered if any did. The outcome is
	// ledger.OutcomeOpen while it runs.
	Model    string // "<provider>/<model-name>"
	Outcome  ledger.Outcome
	Status   int      // the provider's HTTP status; 0 if there was none
	Code     llm.Code // error code that the client received; empty for none
	Stream   bool
	Cached   ledger.Cached
	Attempts int
	// These fields are of all attempts, including corrections. The cost is the account's charge.
	Usage    llm.Usage
	Cost     llm.Money
	Unpriced llm.Classes // classes of usage without a price, which add 0 to Cost
	AtMost   llm.Money   // upper bound of the cost; equals Cost if that is certain
	// PurchaseUnpriced lists the classes of usage without a provider's price, for operators.
	PurchaseUnpriced llm.Classes
	// ProviderCost is the sum of the costs that providers report; nil if a provider reported none for an attempt that
	// cost something, and for an account with a price list.
	ProviderCost *llm.Money
	Unseen       bool              // an attempt is ledger.Row.Unseen
	Provenance   ledger.Provenance // the least certain one; empty while all are open
	FirstToken   time.Duration     // from arrival to the first output; 0 if there was none
	Duration     time.Duration     // from arrival to the end of the last attempt; 0 while it runs
	Margin
}

// Cursor returns the request's place in the list.
func (r *Request) Cursor() Cursor {
	return Cursor{r.Arrived.UTC().Format(time.DateOnly), r.ID}
}

// Summarize combines the attempts of a request. There must be at least one, and they must be in order.
func Summarize(attempts []Attempt) Request {
	last := &attempts[len(attempts)-1]
	r := Request{
		ID: last.ID.Request, Arrived: last.Arrived, Key: last.Key, Requested: last.Requested, Model: last.FullModel(),
		Outcome: last.Outcome, Status: last.Status, Code: last.Code, Stream: last.Stream, Attempts: len(attempts),
		Attribution: last.Attribution, Cached: last.Cached,
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
	if a.ReplyID != "" {
		r.ReplyID = a.ReplyID
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

// doubt returns the rank of a provenance; the least certain one has the highest.
func doubt(p ledger.Provenance) int {
	return slices.Index([]ledger.Provenance{"", ledger.Exact, ledger.Assumed, ledger.Estimated, ledger.Unknown}, p)
}

// RequestDetail is a request with its attempts, in order.
type RequestDetail struct {
	Request
	Parts []Attempt
}

// Attempt returns the attempt with a number; nil if the request has none.
func (d *RequestDetail) Attempt(n string) *Attempt {
	for i := range d.Parts {
		if strconv.Itoa(int(d.Parts[i].ID.N)) == n {
			return &d.Parts[i]
		}
	}
	return nil
}

// Attempt is an attempt of a request.
type Attempt struct {
	ledger.Row
	// Lines explain the charge: their amounts add up to it, including corrections. Only Request fills them in.
	Lines []CostLine
	// Tier is the number of input tokens above which the rates in Lines apply; 0 for the base rates.
	Tier int64
}

// CostLine is a line of the calculation of a cost.
type CostLine struct {
	What LineKind
	// For usage: the count of a class, in tokens or units, at a rate in pico-dollars each.
	Class llm.Class
	Count int64
	Rate  llm.Rate
	// Amount is in nano-dollars. The total cost is rounded once, and each line of usage so that the partial sums are
	// off by at most half a nano-dollar.
	Amount llm.Money
}

// LineKind is the kind of a line of a cost.
type LineKind string

// These are the kinds of lines.
const (
	LineUsage      LineKind = "usage"
	LineHold       LineKind = "hold"       // of unknown outcome: the upper bound
	LineProvider   LineKind = "provider"   // the provider's reported charge
	LineCorrection LineKind = "correction" // later corrections
	LineCharge     LineKind = "charge"     // added by the account's price list
	LineOther      LineKind = "other"      // not explained by the price; weir ledger verify reports it
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
