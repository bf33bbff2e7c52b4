package api

import (
	"cmp"
	"strconv"

	"weir/internal/llm"
	"weir/internal/report"
)

// useView holds the usage of an account on a date, by model.
type useView struct {
	ID    string   `json:"id"`
	Date  *string  `json:"date"` // UTC
	Model *string  `json:"model"`
	Group useGroup `json:"group,omitempty"`
	amountsView
	CostUSD string `json:"cost_usd"`
	AtMost  string `json:"cost_at_most_usd"` // equal to cost_usd if the cost is known
	purchaseView
	Unpriced bool `json:"unpriced"` // some usage has no price and adds 0 to the cost
}

// amountsView holds amounts that were used.
type amountsView struct {
	Tokens     int64            `json:"tokens"`
	Usage      map[string]int64 `json:"usage"` // by class
	Requests   int64            `json:"requests"`
	Attempts   int64            `json:"attempts"`
	Errors     int64            `json:"errors"` // failed attempts
	Cached     int64            `json:"cached_requests"`
	SavedUSD   string           `json:"saved_usd"`
	FirstToken *speedView       `json:"first_token,omitempty"`
	Cache      *promptCacheView `json:"prompt_cache,omitempty"`
}

// speedView describes times to first token.
type speedView struct {
	Answers  int64 `json:"answers"`
	MedianMS int64 `json:"median_ms"`
	P95MS    int64 `json:"p95_ms"`
}

func viewAmounts(q *report.UsesQuery, u *report.Use) amountsView {
	v := amountsView{
		Tokens: u.Usage.TotalTokens(), Usage: viewUsage(&u.Usage), Requests: u.Requests, Attempts: u.Attempts,
		Errors: u.Errors, Cached: u.Cached, SavedUSD: u.Saved.String(), Cache: viewPromptCache(u),
	}
	if q.Speeds {
		s := &u.Speed
		v.FirstToken = &speedView{s.Answers(), s.Median().Milliseconds(), s.P95().Milliseconds()}
	}
	return v
}

func viewUse(q *report.UsesQuery, u *report.Use) useView {
	v := useView{
		ID: u.ID(q.Account), Date: &u.Date, Model: &u.Model, amountsView: viewAmounts(q, u),
		CostUSD: u.Cost.String(), AtMost: u.AtMost().String(), Unpriced: u.Unpriced > 0,
	}
	if len(q.By) > 0 {
		v.Group = groupOf(q.By, u.Group)
		v.ID = report.GroupID(q.Account, q.By, u.Group)
		v.Date, v.Model = v.Group[report.ByDay], v.Group[report.ByModel]
	}
	return v
}

// usesView is a page of usage, with the sums over all matching entries.
type usesView struct {
	listPage[useView]
	Total totalView `json:"total"`
}

type totalView struct {
	Tokens   int64  `json:"tokens"`
	Requests int64  `json:"requests"`
	CostUSD  string `json:"cost_usd"`
	AtMost   string `json:"cost_at_most_usd"`
	Unpriced bool   `json:"unpriced"`
	purchaseView
}

func (h *adminUsage) listUses(r *adminRequest) (answer, error) {
	q, err := report.ParseUsesFilters(r.query.all())
	if err != nil {
		return answer{}, err
	}
	q.Account = r.visit.Account.ID
	uses, next, err := h.read(r, &q)
	if err != nil {
		return answer{}, err
	}
	t := &uses.Total
	v := usesView{listPage[useView]{Data: []useView{}, NextCursor: next}, viewTotal(t)}
	if r.seesPurchase() {
		v.Total.purchaseView = purchaseOf(&t.Margin, t.Cost, t.Uncertain, t.Unpriced)
	}
	for i := range uses.Uses {
		u := &uses.Uses[i]
		one := viewUse(&q, u)
		if r.seesPurchase() {
			one.purchaseView = purchaseOf(&u.Margin, u.Cost, u.Uncertain, u.Unpriced)
		}
		v.Data = append(v.Data, one)
	}
	return found(v)
}

func viewTotal(t *report.Totals) totalView {
	return totalView{
		Tokens: t.Tokens, Requests: t.Requests, CostUSD: t.Cost.String(), AtMost: t.AtMost().String(),
		Unpriced: t.Unpriced > 0,
	}
}

// groupView holds the usage of a group of requests, of one account or of several.
type groupView struct {
	ID          string   `json:"id"`
	Group       useGroup `json:"group"`
	AccountName *string  `json:"account_name"` // null if the group is not of one account
	amountsView
	CostUSD string `json:"cost_usd"`
	AtMost  string `json:"cost_at_most_usd"` // equal to cost_usd if the cost is known
	purchaseView
	Unpriced bool `json:"unpriced"` // some usage has no price and adds 0 to the cost
}

// groupsView is a page of groups, with the sums over all matching entries.
type groupsView struct {
	listPage[groupView]
	Total totalView `json:"total"`
}

// listGroups answers the usage of all accounts, or of one of them.
func (h *adminUsage) listGroups(r *adminRequest) (answer, error) {
	params := r.query.all()
	params["group_by"] = cmp.Or(params["group_by"], string(report.ByAccount))
	q, err := report.ParseUsesFilters(params, report.ByAccount)
	if err != nil {
		return answer{}, err
	}
	q.All = true
	accounts, err := h.admin.Accounts.Accounts(r.Context())
	if err != nil {
		return answer{}, err
	}
	if name := r.query.get("account"); name != "" {
		one, err := h.admin.Accounts.Account(r.Context(), name)
		if err != nil {
			return answer{}, llm.AsError(err).At("account")
		}
		q.Account = one.ID
	}
	uses, next, err := h.read(r, &q)
	if err != nil {
		return answer{}, err
	}
	names := map[string]*string{}
	for i := range accounts {
		names[accounts[i].ID] = &accounts[i].Name
	}
	v, t := groupsView{listPage[groupView]{Data: []groupView{}, NextCursor: next}, viewTotal(&uses.Total)}, &uses.Total
	v.Total.purchaseView = purchaseOf(&t.Margin, t.Cost, t.Uncertain, t.Unpriced)
	for i := range uses.Uses {
		v.Data = append(v.Data, viewGroup(&q, &uses.Uses[i], names))
	}
	return found(v)
}

func viewGroup(q *report.UsesQuery, u *report.Use, names map[string]*string) groupView {
	v := groupView{
		ID: report.GroupID(q.Account, q.By, u.Group), Group: groupOf(q.By, u.Group),
		amountsView: viewAmounts(q, u), CostUSD: u.Cost.String(), AtMost: u.AtMost().String(),
		Unpriced: u.Unpriced > 0, purchaseView: purchaseOf(&u.Margin, u.Cost, u.Uncertain, u.Unpriced),
	}
	id := q.Account
	if of := v.Group[report.ByAccount]; of != nil {
		id = *of
	}
	v.AccountName = names[id]
	return v
}

// read reads a page of usage for the query, and the cursor of the next page.
func (h *adminUsage) read(r *adminRequest, q *report.UsesQuery) (uses report.UsesPage, next *string, err error) {
	q.Limit = r.query.limit
	if r.query.cursor != "" { // an offset in the list; passing days add to its front
		if q.Offset, err = strconv.Atoi(r.query.cursor); err != nil || q.Offset < 1 || q.Offset > report.MaxOffset {
			return uses, nil, badCursor()
		}
	}
	if err := settled(r.Context(), h.ledger); err != nil {
		return uses, nil, err
	}
	if uses, err = h.admin.Reports.Uses(r.Context(), *q); err != nil {
		return uses, nil, err
	}
	if end := q.Offset + len(uses.Uses); end < uses.Count && len(uses.Uses) > 0 {
		next = new(sealCursor(strconv.Itoa(end)))
	}
	return uses, next, nil
}

// dates returns start_date and end_date, both inclusive; empty for no bound.
func (q *query) dates() (from, to string, err error) {
	return report.ParseDates(q.get("start_date"), q.get("end_date"))
}
