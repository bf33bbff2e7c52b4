package api

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"weir/internal/account"
	"weir/internal/admin"
	"weir/internal/conversation"
	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/rawjson"
	"weir/internal/report"
)

const (
	maxUsesBody = 64 << 10
	// replies from this size on count as memory of the account; most pages of defaultLimit are smaller
	largeUses = 128 << 10
	maxDepth  = 100
	// flushWait bounds the wait until the database has the settled attempts.
	flushWait = 5 * time.Second
)

// Uses answers the usage of an account.
type Uses struct {
	replies      *replies
	admin        *admin.Admin
	ledger       *ledger.Ledger
	readCapacity func(*http.Request, string) (conversation.Capacity, func())
}

// List answers GET /v1/uses with the usage of the caller's account.
func (h *Uses) List(permission account.Permission) http.Handler {
	return h.replies.guard(permission, h.report)
}

func (h *Uses) report(r *request) ([]byte, error) {
	q, err := readUsesQuery(r)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(r.Context(), flushWait)
	defer cancel()
	var page report.UsesPage
	if err = h.ledger.Flush(ctx); err == nil {
		page, err = h.admin.Reports.Uses(ctx, q)
	}
	if err != nil {
		return nil, noUsage(err)
	}
	if err := h.hold(r, q.Account, sizeOf(&q, &page)); err != nil {
		return nil, err
	}
	return EncodeUses(q, page)
}

// sizeOf returns an upper bound of a reply's bytes.
func sizeOf(q *report.UsesQuery, page *report.UsesPage) (bytes int) {
	const (
		entry   = 1000 // without its texts
		escaped = 6    // maximum bytes of an escaped byte
	)
	for i := range page.Uses {
		u := &page.Uses[i]
		texts := len(u.Model)
		for k, value := range u.Group {
			if texts += len(q.By[k]) + 1; value != nil {
				texts += len(*value)
			}
		}
		bytes += entry + escaped*texts
	}
	return bytes
}

// hold counts a large reply as memory of the account, until the client has received it.
func (h *Uses) hold(r *request, accountID string, size int) error {
	if size < largeUses {
		return nil
	}
	var capacity conversation.Capacity
	capacity, r.done = h.readCapacity(r.Request, accountID)
	return capacity.Reserve(int64(size))
}

// noUsage reports that the database does not answer, unless the error is about the request itself.
func noUsage(err error) error {
	if e, ok := errors.AsType[*llm.Error](err); ok {
		return e
	}
	return &llm.Error{
		Code: llm.CodeOverloaded, Message: "Usage cannot be read right now. Try again shortly.",
		RetryAfter: time.Second, Err: err,
	}
}

type usesReply struct {
	Data       []useEntry `json:"data"`
	Total      usesTotal  `json:"total"`
	Pagination pagination `json:"pagination"`
}

type useEntry struct {
	ID       string    `json:"id"`
	Date     *string   `json:"date"`
	Model    *string   `json:"model"`
	Group    useGroup  `json:"group,omitempty"`
	Tokens   int64     `json:"tokens"`
	Requests int64     `json:"requests"`
	Cost     llm.Money `json:"cost"`
	uncertainty
	Cache *promptCache `json:"prompt_cache,omitempty"`
}

type usesTotal struct {
	Tokens   int64     `json:"tokens"`
	Requests int64     `json:"requests"`
	Cost     llm.Money `json:"cost"`
	uncertainty
}

// uncertainty holds the uncertain part of a cost.
type uncertainty struct {
	// CostAtMost is the upper bound, if some of the cost is unknown.
	CostAtMost *llm.Money `json:"cost_at_most,omitempty"`
	Unpriced   bool       `json:"unpriced,omitempty"`
}

func uncertaintyOf(cost, uncertain llm.Money, unpriced int64) (u uncertainty) {
	if uncertain > 0 {
		u.CostAtMost = new(cost + uncertain)
	}
	u.Unpriced = unpriced > 0
	return u
}

type pagination struct {
	Limit  int `json:"limit"`
	Offset int `json:"offset"`
	Total  int `json:"total"`
}

// EncodeUses encodes a page of usage in the format of GET /v1/uses.
func EncodeUses(q report.UsesQuery, page report.UsesPage) ([]byte, error) {
	t := &page.Total
	reply := usesReply{
		Data:       make([]useEntry, 0, len(page.Uses)),
		Total:      usesTotal{t.Tokens, t.Requests, t.Cost, uncertaintyOf(t.Cost, t.Uncertain, t.Unpriced)},
		Pagination: pagination{Limit: q.Limit, Offset: q.Offset, Total: page.Count},
	}
	for i := range page.Uses {
		u := &page.Uses[i]
		e := useEntry{
			ID: u.ID(q.Account), Date: &u.Date, Model: &u.Model, Tokens: u.Usage.TotalTokens(),
			Requests: u.Requests, Cost: u.Cost, uncertainty: uncertaintyOf(u.Cost, u.Uncertain, u.Unpriced),
		}
		if len(q.By) > 0 {
			e.Cache = promptCacheOf(u)
			e.Group = groupOf(q.By, u.Group)
			e.ID = report.GroupID(q.Account, q.By, u.Group)
			e.Date, e.Model = e.Group[report.ByDay], e.Group[report.ByModel]
		}
		reply.Data = append(reply.Data, e)
	}
	return json.Marshal(reply)
}

// readUsesQuery reads the parameters from the query string and, if they are missing there, from a JSON body.
func readUsesQuery(r *request) (report.UsesQuery, error) {
	params, err := usesParams(r)
	if err != nil {
		return report.UsesQuery{}, err
	}
	return report.ParseUses(r.principal.Account().ID, params)
}

func usesParams(r *request) (map[string]string, error) {
	params := map[string]string{}
	if err := bodyParams(r, params); err != nil {
		return nil, err
	}
	query, err := parseQuery(r.URL)
	if err != nil {
		return nil, err
	}
	for name, given := range query {
		switch known, err := isUsesName(name); {
		case err != nil:
			return nil, err
		case known && len(given) > 1:
			return nil, givenTwice(name)
		case known && (given[0] != "" || report.IsTagFilter(name)):
			params[name] = given[0]
		}
	}
	return params, nil
}

// bodyParams reads parameters from a JSON object in the body, if there is one.
func bodyParams(r *request, params map[string]string) error {
	body, err := readBody(r.Request, maxUsesBody)
	if err != nil || len(body) == 0 {
		return err
	}
	const hint = "Parameters can go in the query string instead."
	if err := checkObject(body, " "+hint, hint); err != nil {
		return err
	}
	for m := range rawjson.Members(body) {
		name := m.Name()
		known, err := isUsesName(name)
		if err != nil {
			return err
		}
		if _, there := params[name]; there || !known { // of duplicate names the first counts
			continue
		}
		switch rawjson.KindOf(m.Value) {
		case rawjson.Invalid, rawjson.Null:
			if report.IsTagFilter(name) { // such as an unset variable: the answer would cover all requests
				return llm.Invalid(name, name+" is null: give it a value, or leave it out.")
			}
		case rawjson.String:
			params[name] = rawjson.Text(m.Value)
		case rawjson.Number:
			params[name] = string(m.Value)
		default:
			return llm.Invalid(name, name+" must be a string or a number.")
		}
	}
	return nil
}
