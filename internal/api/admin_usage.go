package api

import (
	"context"
	"time"

	"github.com/google/uuid"

	"weir/internal/admin"
	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/report"
)

// adminUsage implements the calls about the usage of accounts.
type adminUsage struct {
	admin  *admin.Admin
	ledger *ledger.Ledger
}

// settled waits until the database has the settled attempts of this node.
func settled(ctx context.Context, l *ledger.Ledger) error {
	ctx, cancel := context.WithTimeout(ctx, flushWait)
	defer cancel()
	if err := l.Flush(ctx); err != nil {
		return noUsage(err)
	}
	return nil
}

// requestView holds a request, with its attempts combined.
type requestView struct {
	ID               string            `json:"id"`
	Arrived          time.Time         `json:"arrived"`
	KeyID            string            `json:"key_id"`
	RequestedModel   string            `json:"requested_model"`
	User             *string           `json:"user"` // the end user
	Tags             map[string]string `json:"tags"`
	Model            string            `json:"model"` // of the last attempt, like outcome, status and error_code
	Outcome          ledger.Outcome    `json:"outcome"`
	Status           *int              `json:"status"` // HTTP status of the provider
	ErrorCode        *llm.Code         `json:"error_code"`
	ReplyID          *string           `json:"provider_reply_id"` // the provider's id of its reply, if it is stored
	Stream           bool              `json:"stream"`
	AttemptCount     int               `json:"attempt_count"`
	PromptTokens     int64             `json:"prompt_tokens"`
	CompletionTokens int64             `json:"completion_tokens"`
	Usage            map[string]int64  `json:"usage"` // by class
	CostUSD          string            `json:"cost_usd"`
	CostAtMostUSD    string            `json:"cost_at_most_usd"` // equal to cost_usd if the cost is known
	// reported by the providers; null unless all reported it
	ProviderCostUSD *string `json:"provider_cost_usd"`
	purchaseView
	Unpriced        bool               `json:"unpriced"`
	UnpricedClasses []string           `json:"unpriced_classes"` // of usage
	Provenance      *ledger.Provenance `json:"provenance"`
	FirstTokenMS    *int64             `json:"first_token_ms"`
	DurationMS      *int64             `json:"duration_ms"`
}

func viewRequest(r *report.Request) requestView {
	return requestView{
		ID: r.ID.String(), Arrived: r.Arrived, KeyID: r.Key, RequestedModel: r.Requested, Model: r.Model,
		User: orNull(r.User), Tags: viewTags(r.Tags), ReplyID: orNull(r.ReplyID),
		Outcome: r.Outcome, Status: unlessZero(r.Status), ErrorCode: orNull(r.Code), Stream: r.Stream,
		AttemptCount: r.Attempts, PromptTokens: r.Usage.InputTokens(), CompletionTokens: r.Usage.OutputTokens(),
		Usage: viewUsage(&r.Usage), CostUSD: r.Cost.String(), CostAtMostUSD: r.AtMost.String(),
		ProviderCostUSD: usd(r.ProviderCost), Unpriced: r.Unpriced != 0,
		UnpricedClasses: append([]string{}, r.Unpriced.Names()...), Provenance: orNull(r.Provenance),
		FirstTokenMS: milliseconds(r.FirstToken), DurationMS: milliseconds(r.Duration),
	}
}

// viewTags returns the values of tags by their names.
func viewTags(tags []llm.Tag) map[string]string {
	values := map[string]string{}
	for _, t := range tags {
		values[t.Name] = t.Value
	}
	return values
}

// usd formats an amount, or returns nil if there is none.
func usd(m *llm.Money) *string {
	if m == nil {
		return nil
	}
	return new(m.String())
}

// unlessZero returns a pointer to the number, or nil for 0, which means unknown.
func unlessZero[T int | int64](n T) *T {
	if n == 0 {
		return nil
	}
	return &n
}

// milliseconds converts a duration, or returns nil if it is not known or has not ended.
func milliseconds(d time.Duration) *int64 {
	if d == 0 {
		return nil
	}
	return new(d.Milliseconds())
}

// viewUsage returns the counts by class, without classes of count 0.
func viewUsage(u *llm.Usage) map[string]int64 {
	counts := map[string]int64{}
	for c, n := range u {
		if n != 0 {
			counts[llm.Class(c).String()] = n
		}
	}
	return counts
}

func (h *adminUsage) listRequests(r *adminRequest) (answer, error) {
	q, err := report.ParseRequests(r.visit.Account.ID, r.query.all())
	if err != nil {
		return answer{}, err
	}
	q.Limit = min(r.query.limit, report.MaxRequests)
	if q.After, err = report.ParseCursor(r.query.cursor); err != nil {
		return answer{}, badCursor()
	}
	if err := settled(r.Context(), h.ledger); err != nil {
		return answer{}, err
	}
	list, next, err := h.admin.Reports.Requests(r.Context(), q)
	if err != nil {
		return answer{}, err
	}
	p := listPage[requestView]{Data: []requestView{}}
	for i := range list {
		p.Data = append(p.Data, r.viewRequest(&list[i]))
	}
	if next != (report.Cursor{}) {
		p.NextCursor = new(sealCursor(next.String()))
	}
	return found(p)
}

// requestDetailView holds a request with its attempts.
type requestDetailView struct {
	requestView
	Attempts []attemptView `json:"attempts"`
}

// attemptView holds one attempt and the calculation of its cost.
type attemptView struct {
	N            int                `json:"n"`
	Provider     string             `json:"provider"`
	Model        string             `json:"model"` // the provider's own name
	Opened       time.Time          `json:"opened"`
	Outcome      ledger.Outcome     `json:"outcome"`
	Status       *int               `json:"status"`
	ErrorCode    *llm.Code          `json:"error_code"`
	FinishReason *llm.FinishReason  `json:"finish_reason"`
	ServiceTier  *string            `json:"service_tier"`
	ServedModel  *string            `json:"served_model"`      // if the provider names another than model
	Substituted  bool               `json:"substituted"`       // that is another model, and not another name
	Cached       bool               `json:"cached"`            // a stored answer was returned
	SavedUSD     *string            `json:"saved_usd"`         // that it was charged the first time
	ReplyID      *string            `json:"provider_reply_id"` // the provider's id of its reply
	Provenance   *ledger.Provenance `json:"provenance"`
	Usage        map[string]int64   `json:"usage"` // including corrections, like cost_usd
	Missed       *missedView        `json:"missed"`
	CostUSD      string             `json:"cost_usd"`
	AtMostUSD    string             `json:"cost_at_most_usd"` // equal to cost_usd if the cost is known
	purchaseView
	ProviderUSD  *string          `json:"provider_cost_usd"` // reported by the provider, or null
	Unpriced     []string         `json:"unpriced_classes"`
	HoldUSD      string           `json:"hold_usd"` // the most that it could have cost
	PriceVersion *string          `json:"price_version"`
	PriceTier    *int64           `json:"price_tier_above"` // input tokens
	Lines        []costLineView   `json:"cost_lines"`
	Corrections  []correctionView `json:"corrections"`
	sizesView
	FirstTokenMS *int64 `json:"first_token_ms"`
	DurationMS   *int64 `json:"duration_ms"`
}

// sizesView holds the bytes of a call of a tool; null for other attempts.
type sizesView struct {
	Arguments *int64 `json:"argument_bytes"`
	Result    *int64 `json:"result_bytes"`
}

// costLineView holds a line of the calculation of a cost: count times rate, for usage.
type costLineView struct {
	Kind      report.LineKind `json:"kind"`
	Class     *string         `json:"class"`
	Count     *int64          `json:"count"`
	RateUSD   *string         `json:"rate_usd"` // for one token or unit
	AmountUSD string          `json:"amount_usd"`
}

// correctionView holds a correction of an attempt.
type correctionView struct {
	Kind    string           `json:"kind"`
	Usage   map[string]int64 `json:"usage"` // added usage, like cost_usd
	CostUSD string           `json:"cost_usd"`
	Priced  bool             `json:"priced"` // it sets the cost of unpriced usage
	Reason  *string          `json:"reason"`
	By      string           `json:"by"`
	At      time.Time        `json:"at"`
}

func (h *adminUsage) showRequest(r *adminRequest) (answer, error) {
	d, err := h.findRequest(r)
	if err != nil {
		if refused, there := h.findRefusal(r); there {
			return found(refused)
		}
		return answer{}, err
	}
	v := requestDetailView{r.viewRequest(&d.Request), []attemptView{}}
	for i := range d.Parts {
		v.Attempts = append(v.Attempts, viewAttempt(&d.Parts[i]))
	}
	return found(v)
}

// ViewRequests returns requests as /admin/v1 does, to be encoded as JSON.
func ViewRequests(list []report.Request) any {
	views := make([]requestView, len(list))
	for i := range list {
		views[i] = viewRequest(&list[i])
	}
	return views
}

// ViewRequestDetail returns a request as /admin/v1 does, to be encoded as JSON.
func ViewRequestDetail(d *report.RequestDetail) any {
	v := requestDetailView{viewRequest(&d.Request), []attemptView{}}
	for i := range d.Parts {
		v.Attempts = append(v.Attempts, viewAttempt(&d.Parts[i]))
	}
	return v
}

// findRequest returns the request in the path, with its attempts.
func (h *adminUsage) findRequest(r *adminRequest) (d report.RequestDetail, err error) {
	id, err := uuid.Parse(r.PathValue("id"))
	if err != nil {
		return d, noRequest("id")
	}
	if err := settled(r.Context(), h.ledger); err != nil {
		return d, err
	}
	find := h.admin.Reports.Request
	if r.visit.Operator() {
		find = h.admin.Reports.RequestAtCost
	}
	d, ok, err := find(r.Context(), r.visit.Account.ID, id)
	if err == nil && !ok {
		err = noRequest("id")
	}
	return d, err
}

// findRefusal returns the refused request in the path.
func (h *adminUsage) findRefusal(r *adminRequest) (v admin.RefusedRequest, there bool) {
	id, err := uuid.Parse(r.PathValue("id"))
	if err != nil {
		return v, false
	}
	v, there, err = h.admin.Refusals.Find(r.Context(), id)
	return v, err == nil && there && v.AccountID == r.visit.Account.ID
}

func noRequest(param string) error {
	return llm.Errorf(llm.CodeNotFound, "There is no such request in this account, or it was deleted because of its "+
		"age.").At(param)
}

func viewAttempt(a *report.Attempt) attemptView {
	usage, cost := a.Corrected()
	margin, more := a.Margin()
	left := a.Uncertain()
	ofCost, ofCharge := a.LeftUnpriced()
	v := attemptView{
		N: int(a.ID.N), Provider: a.Provider, Model: a.Model, Opened: a.Opened,
		Outcome: a.Outcome, Status: unlessZero(a.Status), ErrorCode: orNull(a.Code), FinishReason: orNull(a.Finish),
		ServedModel: orNull(a.Served.Model), Substituted: a.Served.Other,
		ServiceTier: orNull(a.Settlement.Tier), ReplyID: orNull(a.ReplyID), Provenance: orNull(a.Provenance),
		Usage: viewUsage(&usage), Missed: viewMissed(&a.Missed), CostUSD: (cost + margin).String(),
		AtMostUSD: (cost + margin + left + more).String(), ProviderUSD: usd(a.ProviderCost),
		Unpriced: append([]string{}, ofCharge.Names()...),
		HoldUSD:  a.MostCharged().String(), PriceVersion: orNull(a.Price.Version), PriceTier: unlessZero(a.Tier),
		Lines: []costLineView{}, Corrections: []correctionView{},
		FirstTokenMS: milliseconds(a.FirstToken), DurationMS: milliseconds(a.Duration),
	}
	if v.Cached = a.Cached.Hit; v.Cached {
		v.SavedUSD = new(a.Cached.Saved.String())
	}
	if a.Sizes != (ledger.Sizes{}) {
		v.sizesView = sizesView{new(a.Sizes.Arguments), new(a.Sizes.Result)}
	}
	if a.Terms != nil { // the caller is an operator
		v.purchaseView = purchaseView{new(cost.String()), new((cost + left).String()), new(ofCost != 0)}
	}
	for i := range a.Lines {
		v.Lines = append(v.Lines, viewLine(&a.Lines[i]))
	}
	for i := range a.Corrections {
		v.Corrections = append(v.Corrections, viewCorrection(&a.Corrections[i]))
	}
	return v
}

func viewCorrection(c *ledger.Correction) correctionView {
	return correctionView{
		c.Kind, viewUsage(&c.Usage), (c.Cost + c.Margin).String(), c.Priced, orNull(c.Reason), c.By, c.At,
	}
}

func viewLine(l *report.CostLine) costLineView {
	v := costLineView{Kind: l.What, AmountUSD: l.Amount.String()}
	if l.What == report.LineUsage {
		v.Class, v.Count = new(l.Class.String()), &l.Count
		if l.Rate.Known() {
			v.RateUSD = new(llm.FormatOne(l.Class, l.Rate))
		}
	}
	return v
}
