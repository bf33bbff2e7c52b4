package dashboard

import (
	"cmp"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"weir/internal/charge"
	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/people"
	"weir/internal/report"
)

// requestPage shows one request with its attempts.
type requestPage struct {
	ID       string
	Model    string
	Badge    Badge
	Arrived  time.Time
	Key      string
	KeyPath  string // requests of the key
	ListPath string
	Content  string // path of the content; empty if it is not logged, or the visitor may not read it
	Tiles    []Tile
	Facts    []Fact
	Path     Chart
	Attempts []attemptView
	Problems []Problem
	Hidden   int // number of attempts that are not shown
}

// attemptView shows one attempt and the calculation of its cost.
type attemptView struct {
	N           int
	Title       string
	Model       string
	Badge       Badge
	Open        bool
	Facts       []Fact
	Lines       []costRow
	Cost        string // sum of the lines
	Corrections []correctionRow
	Unresolved  bool
	Resolve     *resolveForm // nil if its cost is known, and for all but operators
}

// costRow shows a line of the calculation.
type costRow struct{ What, Count, Rate, Amount string }

// correctionRow shows a correction.
type correctionRow struct {
	By, Text string
	At       time.Time
}

// mostAttempts bounds the shown attempts of a request.
const mostAttempts = 20

func (h *requestHandlers) show(w http.ResponseWriter, r *http.Request, v *people.Visit, f *form) error {
	d, err := h.read(r, v)
	if err != nil {
		if there, other := h.showRefused(w, r, v); there || other != nil {
			return other
		}
		return err
	}
	keys, err := h.admin.Accounts.Keys(r.Context(), v.Account.ID)
	if err != nil {
		return err
	}
	p := requestPageOf(accountPath(v.Account.Name)+"/requests", d, labelsOf(keys))
	if p.Content, err = h.contentPath(r, v, d.ID); err != nil {
		return err
	}
	if v.Operator() {
		p.offerResolve(d, f)
	}
	p.Problems = f.problems()
	return h.site.show(w, r, v, page{name: "request", title: "Request", status: f.status(), data: p})
}

// read returns the request in the path, with the latest settled attempts.
func (h *requestHandlers) read(r *http.Request, v *people.Visit) (*report.RequestDetail, error) {
	gone := llm.Errorf(llm.CodeNotFound, "There is no such request in this account, or it was deleted because of its "+
		"age. Its cost stays in the usage report.")
	id, err := uuid.Parse(r.PathValue("id"))
	if err != nil {
		return nil, gone
	}
	h.flush(r.Context())
	find := h.admin.Reports.Request
	if v.Operator() {
		find = h.admin.Reports.RequestAtCost
	}
	d, there, err := find(r.Context(), v.Account.ID, id)
	if err != nil {
		return nil, err
	}
	if !there {
		return nil, gone
	}
	return &d, nil
}

func requestPageOf(base string, d *report.RequestDetail, labels map[string]string) requestPage {
	p := requestPage{
		ID: d.ID.String(), Model: d.Model, Badge: outcomeBadge(d.Outcome), Arrived: d.Arrived,
		Key: cmp.Or(labels[d.Key], "an unknown key"), KeyPath: base + "?key=" + d.Key, ListPath: base,
		Tiles: requestTiles(d), Facts: requestFacts(&d.Request),
	}
	shown := d.Parts[:min(len(d.Parts), mostAttempts)]
	p.Hidden = len(d.Parts) - len(shown)
	if !d.Cached.Hit {
		p.Path = pathChart(shown)
	}
	for i := range shown {
		p.Attempts = append(p.Attempts, attemptViewOf(&shown[i]))
	}
	return p
}

func requestTiles(d *report.RequestDetail) []Tile {
	cost := exactly("Cost", amount(d.Cost), dollars(d.Cost))
	cost.Note = strings.TrimPrefix(cost.Note+", "+numbersOfAll(d), ", ")
	if d.AtMost > d.Cost {
		cost.Note = strings.TrimSuffix("at most "+dollars(d.AtMost)+", "+cost.Note, ", ")
	}
	if d.Unpriced != 0 {
		cost.Value, cost.Note = "Unpriced", "at least "+dollars(d.Cost)
		if d.AtMost > d.Cost {
			cost.Note += ", at most " + dollars(d.AtMost)
		}
	}
	if d.ProviderCost != nil {
		cost.Note += "; the provider reports " + dollars(*d.ProviderCost)
	}
	return []Tile{
		cost,
		{"Tokens", number(d.Usage.TotalTokens()), number(d.Usage.InputTokens()) + " in, " +
			number(d.Usage.OutputTokens()) + " out"},
		{"First token", orNone(d.FirstToken), firstTokenNote(d)},
		{"Duration", orNone(d.Duration), attemptsNote(d)},
	}
}

func firstTokenNote(d *report.RequestDetail) string {
	switch {
	case d.FirstToken > 0:
		return "after the request arrived"
	case d.Outcome == ledger.OutcomeOK:
		return "the answer came whole"
	}
	return "no token arrived"
}

func attemptsNote(d *report.RequestDetail) string {
	if d.Cached.Hit {
		return "no attempt at a provider"
	}
	return many(int64(d.Attempts), "attempt")
}

func provenanceText(p ledger.Provenance) string {
	switch p {
	case ledger.Exact:
		return "usage as reported by the provider"
	case ledger.Assumed:
		return "usage as reported by the provider, price assumed"
	case ledger.Estimated:
		return "usage estimated: the provider did not report it"
	case ledger.Unknown:
		return "upper bound: the gateway did not see the end"
	}
	return "running"
}

// numbersOfAll describes the source of a request's numbers: that of its least certain attempt.
func numbersOfAll(d *report.RequestDetail) string {
	if d.Cached.Hit {
		return "a stored answer"
	}
	text := provenanceText(d.Provenance)
	if len(d.Parts) > 0 && d.Provenance == ledger.Exact && d.Cost == 0 {
		text = numbersOf(&d.Parts[len(d.Parts)-1])
	}
	for i := range d.Parts {
		if a := &d.Parts[i]; a.Provenance == ledger.Unknown {
			if text = numbersOf(a); !a.Resolved() {
				break
			}
		}
	}
	return text
}

// numbersOf describes the source of an attempt's numbers.
func numbersOf(a *report.Attempt) string {
	if a.Provenance == ledger.Unknown && a.Resolved() {
		return "resolved later: the gateway did not see the end"
	}
	if a.Provenance == ledger.Exact && a.Usage == (llm.Usage{}) && a.Cost == 0 {
		return "no usage"
	}
	return provenanceText(a.Provenance)
}

func requestFacts(d *report.Request) []Fact {
	facts := []Fact{{"Requested model", cmp.Or(d.Requested, "none: the default model")}, {"Answer asked for", "whole"}}
	if d.Stream {
		facts[1].Value = "as a stream"
	}
	if d.Code != "" {
		facts = append(facts, Fact{"Error", errorText(d.Code, d.Outcome, d.Status)})
	}
	if d.User != "" {
		facts = append(facts, Fact{"End user", d.User})
	}
	if len(d.Tags) > 0 {
		facts = append(facts, Fact{"Tags", tagsText(d.Tags)})
	}
	return facts
}

func attemptViewOf(a *report.Attempt) attemptView {
	v := attemptView{
		N: int(a.ID.N), Title: "Attempt " + strconv.Itoa(int(a.ID.N)), Model: a.FullModel(),
		Badge: outcomeBadge(a.Outcome), Open: a.Outcome == ledger.OutcomeOpen, Facts: attemptFacts(a),
	}
	if a.Cached.Hit {
		v.Title = "Stored answer"
	}
	if v.Open {
		return v
	}
	_, cost := a.Corrected()
	margin, _ := a.Margin()
	cost += margin
	_, unpriced := a.LeftUnpriced()
	v.Cost = costText(cost, unpriced != 0)
	v.Lines = costRows(a)
	places := decimals(v.Cost)
	for i := range v.Lines {
		places = max(places, decimals(v.Lines[i].Amount))
	}
	for i := range v.Lines {
		v.Lines[i].Amount = padded(places, v.Lines[i].Amount)
	}
	v.Cost = padded(places, v.Cost)
	v.Unresolved = a.Unresolved()
	for i := range a.Corrections {
		c := &a.Corrections[i]
		text := dollars(c.Cost+c.Margin) + " and " + number(c.Usage.TotalTokens()) + " tokens"
		if c.Kind == ledger.CorrectionAmount {
			text = dollars(c.Cost+c.Margin) + ", " + c.Reason
		}
		if c.Priced {
			text += "; sets the cost of the usage without a price"
		}
		v.Corrections = append(v.Corrections, correctionRow{By: c.By, At: c.At, Text: text})
	}
	return v
}

// sentText returns when an attempt was sent; empty for a stored answer, for which nothing was.
func sentText(a *report.Attempt) string {
	switch after := a.Opened.Sub(a.Arrived); {
	case a.Cached.Hit:
		return ""
	case after >= time.Millisecond:
		return took(after) + " after the request arrived"
	}
	return "immediately"
}

func attemptFacts(a *report.Attempt) (facts []Fact) {
	add := func(name, text string) {
		if text != "" {
			facts = append(facts, Fact{name, text})
		}
	}
	add("Sent", sentText(a))
	if a.Outcome == ledger.OutcomeOpen {
		add("Hold", dollars(a.MostCharged())+", the upper bound of its cost")
		return facts
	}
	if a.FirstToken > 0 {
		add("First token", took(a.FirstToken))
	}
	if !a.Cached.Hit {
		add("Duration", took(a.Duration))
	}
	if a.Status > 0 {
		add("Provider’s HTTP status", strconv.Itoa(a.Status))
	}
	add("Provider’s reply id", a.ReplyID)
	add("Error", errorText(a.Code, a.Outcome, a.Status))
	add("Finish reason", string(a.Finish))
	add("Arguments and result", sizesText(a.Sizes))
	add("Service tier", a.Settlement.Tier)
	add("Answered by", servedBy(a))
	add("Missed in the prompt cache", missedText(&a.Missed))
	if !a.Cached.Hit { // it has no usage, and needs no price
		add("Source of the numbers", numbersOf(a))
		add("Version of the price", priceVersion(a))
	}
	add("Rates", pricedAs(a))
	ofCost, ofCharge := a.LeftUnpriced()
	add("Classes without a price", strings.Join(ofCharge.Names(), ", "))
	_, cost := a.Corrected()
	margin, more := a.Margin()
	left := a.Uncertain()
	if left+more > 0 {
		add("Cost at most", dollars(cost+margin+left+more))
	}
	if a.Terms != nil { // the visitor is an operator
		add("Price list", termsText(a.Terms))
		add("Purchase cost", dollars(cost))
		add("Classes without a purchase price", strings.Join(ofCost.Names(), ", "))
		if left > 0 {
			add("Purchase cost at most", dollars(cost+left))
		}
	}
	if a.ProviderCost != nil {
		add("Cost reported by the provider", dollars(*a.ProviderCost))
	}
	if a.Billed && a.Price.Known() {
		add("Cost by the price", dollars(a.Price.Cost(&a.Usage, a.Settlement.Tier)))
	}
	if a.Tier > 0 {
		add("Price tier", "requests with more than "+number(a.Tier)+" input tokens")
	}
	return facts
}

// sizesText describes the sizes of a call of a tool; empty for other attempts.
func sizesText(s ledger.Sizes) string {
	if s == (ledger.Sizes{}) {
		return ""
	}
	return number(s.Arguments) + " and " + number(s.Result) + " bytes"
}

// termsText describes the terms of an account's charge.
func termsText(t *charge.Terms) string {
	text := t.Markup.String() + " % on the cost"
	if t.Own() {
		return t.Price.Version + ", and " + text + " of classes without a rate"
	}
	return text
}
