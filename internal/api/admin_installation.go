package api

import (
	"encoding/json"
	"math"
	"strconv"
	"time"

	"weir/internal/admin"
	"weir/internal/audit"
	"weir/internal/budget"
	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/report"
	"weir/internal/route"
)

// adminInstallation implements the calls about the whole installation.
type adminInstallation struct {
	admin  *admin.Admin
	ledger *ledger.Ledger
	router *route.Router
	now    func() time.Time
}

// auditView holds an entry of the audit log.
type auditView struct {
	Seq       int64           `json:"seq"`
	At        time.Time       `json:"at"`
	Actor     actorView       `json:"actor"`
	Action    audit.Action    `json:"action"`
	Object    objectView      `json:"object"`
	AccountID *string         `json:"account_id"`
	Before    json.RawMessage `json:"before"` // an object or null, like after
	After     json.RawMessage `json:"after"`
	Hash      string          `json:"hash"`
}

type actorView struct {
	Kind      audit.Kind `json:"kind"`
	ID        *string    `json:"id"`
	Name      *string    `json:"name"`
	Address   *string    `json:"address"`
	RequestID *string    `json:"request_id"`
	Tool      *string    `json:"tool"` // MCP tool that a model called
}

type objectView struct {
	Kind string  `json:"kind"`
	ID   *string `json:"id"`
	Name *string `json:"name"`
}

func viewEntry(e *audit.Entry) auditView {
	a, o := &e.Actor, &e.Object
	return auditView{
		Seq: e.Seq, At: e.At, Action: e.Action, AccountID: orNull(e.Account), Before: e.Before, After: e.After,
		Hash:   e.Hash.String(),
		Actor:  actorView{a.Kind, orNull(a.ID), orNull(a.Name), orNull(a.Address), orNull(a.Request), orNull(a.Tool)},
		Object: objectView{o.Kind, orNull(o.ID), orNull(o.Name)},
	}
}

func (h *adminInstallation) listAudit(r *adminRequest) (answer, error) {
	q, err := h.auditQuery(r)
	if err != nil {
		return answer{}, err
	}
	q.Limit = r.query.limit + 1 // one more shows whether there is a next page
	list, err := h.admin.Audit.Entries(r.Context(), q)
	if err != nil {
		return answer{}, err
	}
	place := func(e *audit.Entry) string { return strconv.FormatInt(e.Seq, 10) }
	return found(firstPage(r.query, list, place, viewEntry))
}

// auditQuery builds the query of the log from the query string.
func (h *adminInstallation) auditQuery(r *adminRequest) (q audit.Query, err error) {
	q = audit.Query{
		Account: r.query.get("account"), Actor: r.query.get("actor"), Object: r.query.get("object"),
		Action: audit.Action(r.query.get("action")),
	}
	if q.From, err = r.query.instant("from"); err != nil {
		return q, err
	}
	if q.To, err = r.query.instant("to"); err != nil {
		return q, err
	}
	if !q.From.IsZero() && !q.To.IsZero() && !q.From.Before(q.To) {
		return q, llm.Invalid("from", "from must be before to.")
	}
	if r.query.cursor != "" {
		if q.Before, err = strconv.ParseInt(r.query.cursor, 10, 64); err != nil || q.Before < 1 ||
			q.Before == math.MaxInt64 {
			return q, badCursor()
		}
	}
	return q, nil
}

// providerView holds the state of a provider on the answering node, which is the state of its worst target.
type providerView struct {
	Name        string       `json:"name"`
	Dialect     string       `json:"dialect"`
	BaseURL     string       `json:"base_url"`
	State       route.State  `json:"state"`
	Keys        int          `json:"keys"`
	KeysResting int          `json:"keys_resting"`
	Targets     []targetView `json:"targets"` // only targets that were called
}

// targetView holds the state of a provider's model.
type targetView struct {
	Model       string      `json:"model"` // "<provider>/<model-name>"
	State       route.State `json:"state"`
	Failures    int         `json:"failures"` // consecutive
	Until       *time.Time  `json:"until"`    // when an open circuit may be probed
	LatencyMS   *int64      `json:"latency_ms"`
	LastError   *string     `json:"last_error"`
	LastErrorAt *time.Time  `json:"last_error_at"`
}

func viewProvider(p *route.ProviderCondition) providerView {
	v := providerView{
		Name: p.Name, Dialect: p.Dialect, BaseURL: p.BaseURL, State: p.State,
		Keys: p.Keys, KeysResting: p.Resting, Targets: []targetView{},
	}
	for i := range p.Targets {
		c := &p.Targets[i]
		v.Targets = append(v.Targets, targetView{
			c.Target, c.State, c.Failures, c.Until, unlessZero(c.LatencyMS), orNull(c.LastError), c.LastAt,
		})
	}
	return v
}

func (h *adminInstallation) listProviders(r *adminRequest) (answer, error) {
	list := h.router.Table().Providers(h.now())
	return found(pageOf(r.query, list, func(p *route.ProviderCondition) string { return p.Name }, viewProvider))
}

// unpricedView holds a model that was used without a price.
type unpricedView struct {
	Model     string `json:"model"`
	Attempts  int64  `json:"attempts"`
	Accounts  int64  `json:"accounts"`
	FirstDate string `json:"first_date"` // UTC, like last_date
	LastDate  string `json:"last_date"`
}

func (h *adminInstallation) listUnpriced(r *adminRequest) (answer, error) {
	from, to, err := r.query.dates()
	if err != nil {
		return answer{}, err
	}
	if err := settled(r.Context(), h.ledger); err != nil {
		return answer{}, err
	}
	list, err := h.admin.Reports.Unpriced(r.Context(), report.UnpricedQuery{
		From: from, To: to, After: r.query.cursor, Limit: r.query.limit + 1,
	})
	view := func(m *report.UnpricedModel) unpricedView {
		return unpricedView{m.Model, m.Attempts, m.Accounts, m.First, m.Last}
	}
	return listed(r.query, list, err, func(m *report.UnpricedModel) string { return m.Model }, view)
}

// nodeView holds a node that shares the database.
type nodeView struct {
	ID      string     `json:"id"` // of its journal
	Name    string     `json:"name"`
	Address string     `json:"address"`
	Version string     `json:"version"`
	Alive   bool       `json:"alive"`
	Started time.Time  `json:"started"`
	Seen    time.Time  `json:"seen"`
	Stopped *time.Time `json:"stopped"`
}

func viewNode(n *budget.KnownNode) nodeView {
	return nodeView{n.Journal.String(), n.Name, n.Address, n.Version, n.Alive, n.Started, n.Seen, n.Stopped}
}

func (h *adminInstallation) listNodes(r *adminRequest) (answer, error) {
	list, err := h.admin.Nodes.List(r.Context())
	return listed(r.query, list, err, func(n *budget.KnownNode) string { return n.Journal.String() }, viewNode)
}
