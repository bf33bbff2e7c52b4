package dashboard

import (
	"net/http"
	"net/url"
	"strings"

	"weir/internal/admin"
	"weir/internal/llm"
	"weir/internal/people"
	"weir/internal/report"
)

// socketHandlers serves the pages of open WebSockets.
type socketHandlers struct {
	site  *site
	admin *admin.Admin
}

const (
	allSocketsPath = "/operator/sockets"
	// socketsShown is the number of WebSockets per page.
	socketsShown = 100
)

// socketsPage lists the open WebSockets of an account, or of all.
type socketsPage struct {
	All   bool // of all accounts
	Rows  []socketRow
	Pager Pager
	Empty Empty
}

// socketRow shows an open WebSocket.
type socketRow struct {
	admin.SocketView
	Name  string // of the API
	Href  string
	Key   string // label; empty if it is not known
	Badge Badge
	Cost  string
	End   *Confirm // nil if the visitor may not end it
}

// socketPage shows one WebSocket with its requests.
type socketPage struct {
	ID       string
	Row      *socketRow // nil if it has ended
	ListPath string
	Tiles    []Tile
	Facts    []Fact
	Requests []requestRow
	Older    string // path of all its requests; empty if the page has them
}

func socketsPath(account string) string { return accountPath(account) + "/sockets" }

func (h *socketHandlers) list(w http.ResponseWriter, r *http.Request, v *people.Visit) error {
	account, base, labels := "", allSocketsPath, map[string]string{}
	if v.Account != nil {
		account, base = v.Account.ID, socketsPath(v.Account.Name)
		keys, err := h.admin.Accounts.Keys(r.Context(), account)
		if err != nil {
			return err
		}
		labels = labelsOf(keys)
	}
	all, err := h.admin.Sockets.List(r.Context(), account, r.URL.Query().Get("after"), socketsShown+1)
	if err != nil {
		return err
	}
	p := socketsPageOf(v, all, base, labels)
	return h.site.show(w, r, v, page{name: "sockets", title: "WebSockets", scripts: []string{"live.js"}, data: p})
}

func socketsPageOf(v *people.Visit, all []admin.SocketView, base string, labels map[string]string) socketsPage {
	p := socketsPage{All: v.Account == nil, Empty: Empty{
		Icon: "sockets", Title: "No open WebSockets",
		Text: "Agents such as Codex and programs with speech models open them. Each appears here while it is open.",
	}}
	if len(all) > socketsShown {
		all = all[:socketsShown]
		p.Pager.Next = withQuery(base, url.Values{"after": {all[socketsShown-1].ID}})
	}
	for i := range all {
		p.Rows = append(p.Rows, socketRowOf(v, &all[i], labels))
	}
	return p
}

func socketRowOf(v *people.Visit, x *admin.SocketView, labels map[string]string) socketRow {
	row := socketRow{
		SocketView: *x, Name: socketName(x.API), Href: socketsPath(x.Account) + "/" + x.ID, Key: labels[x.KeyID],
		Badge: Badge{"off", "Idle"}, Cost: dollars(x.Charge),
	}
	switch {
	case x.Ending:
		row.Badge = Badge{"warn", "Ending"}
	case x.Running > 0:
		row.Badge = Badge{"good", number(x.Running) + " running"}
	}
	if x.Uncertain {
		row.Cost += " or more"
	}
	if v.May(people.Use, x.AccountID) == nil && !x.Ending {
		row.End = &Confirm{
			Ident: "end-" + x.ID, Button: "End", Object: "the WebSocket", Title: "End the WebSocket?",
			Text: "It is closed within seconds, and its requests in flight are cancelled. Its client may open " +
				"another one: revoke its key to prevent that.",
			Action: row.Href + "/end", Verb: "End the WebSocket",
		}
	}
	return row
}

// socketName returns the name of a client API of WebSockets for people.
func socketName(api string) string {
	switch api {
	case "responses":
		return "Responses"
	case "realtime":
		return "Realtime"
	case "live":
		return "Live"
	}
	return api
}

func (h *socketHandlers) show(w http.ResponseWriter, r *http.Request, v *people.Visit) error {
	id := r.PathValue("socket")
	q, err := report.ParseRequests(v.Account.ID, map[string]string{"socket": id})
	if err != nil {
		return errNoSocket()
	}
	q.Limit = requestsShown
	list, _, err := h.admin.Reports.Requests(r.Context(), q)
	if err != nil {
		return err
	}
	keys, err := h.admin.Accounts.Keys(r.Context(), v.Account.ID)
	if err != nil {
		return err
	}
	found, err := h.admin.Sockets.One(r.Context(), v.Account.ID, id)
	open := err == nil
	if !open && (llm.AsError(err).Code != llm.CodeNotFound || len(list) == 0) {
		return err
	}
	base, labels := accountPath(v.Account.Name), labelsOf(keys)
	p := socketPage{ID: id, ListPath: base + "/sockets", Requests: requestRows(base+"/requests", list, labels)}
	if len(list) == requestsShown {
		p.Older = withQuery(base+"/requests", url.Values{"socket": {id}})
	}
	if open {
		row := socketRowOf(v, &found, labels)
		p.describe(&row)
	}
	return h.site.show(w, r, v, page{name: "socket", title: "WebSocket", scripts: []string{"live.js"}, data: p})
}

func errNoSocket() error {
	return llm.Errorf(llm.CodeNotFound, "There is no such WebSocket in this account, or it has ended without a "+
		"request.")
}

func (p *socketPage) describe(row *socketRow) {
	p.Row = row
	p.Tiles = []Tile{
		{Label: "Cost so far", Value: row.Cost},
		{Label: "Ended requests", Value: number(row.Requests)},
		{Label: "Running", Value: number(row.Running)},
	}
	node := strings.TrimSpace(row.Node + " " + row.NodeID)
	p.Facts = []Fact{
		{"API", row.Name},
		{"Key", row.Key},
		{"Model", row.Model},
		{"Node", node},
		{"Opened", moment(row.Began)},
		{"Last request", moment(row.Active)},
	}
}

func (h *socketHandlers) end(w http.ResponseWriter, r *http.Request, v *people.Visit) error {
	err := h.admin.Sockets.End(r.Context(), v.By, v.Account.ID, r.PathValue("socket"))
	return goAfter(w, r, socketsPath(v.Account.Name)+"?done=socket-ended", err)
}
