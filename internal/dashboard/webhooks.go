package dashboard

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"weir/internal/admin"
	"weir/internal/people"
	"weir/internal/webhook"
)

// webhookHandlers serves the pages of webhook endpoints, of accounts and of the installation.
type webhookHandlers struct {
	site     *site
	webhooks *admin.Webhooks
	once     *once
}

// webhooksPath is the path of the installation's endpoints.
const webhooksPath = "/operator/webhooks"

// hookHome identifies the owner of a page's endpoints.
type hookHome struct {
	account string // id; empty for the installation
	path    string // of the list
}

// hookHomeOf returns the account in the visit's path, or the installation if there is none.
func hookHomeOf(v *people.Visit) hookHome {
	if v.Account == nil {
		return hookHome{path: webhooksPath}
	}
	return hookHome{v.Account.ID, accountPath(v.Account.Name) + "/webhooks"}
}

// kinds returns the events that an endpoint can receive.
func (h hookHome) kinds() []webhook.Kind {
	return slices.DeleteFunc(webhook.Kinds(), func(k webhook.Kind) bool {
		return h.account != "" && k.To == webhook.ToOperators
	})
}

// endpointPath returns the path of one of the visit's endpoints.
func endpointPath(v *people.Visit, e *webhook.Endpoint) string {
	return hookHomeOf(v).path + "/" + e.ID
}

// find returns the endpoint in the path, if it belongs to the visit's account or installation.
func (h *webhookHandlers) find(r *http.Request, v *people.Visit) (webhook.Endpoint, error) {
	return h.webhooks.EndpointOf(r.Context(), hookHomeOf(v).account, r.PathValue("webhook"))
}

// endpointServe answers a request for the endpoint in its path.
type endpointServe func(w http.ResponseWriter, r *http.Request, v *people.Visit, e *webhook.Endpoint) error

// one finds the endpoint and calls answer.
func (h *webhookHandlers) one(answer endpointServe) serve {
	return func(w http.ResponseWriter, r *http.Request, v *people.Visit) error {
		e, err := h.find(r, v)
		if err != nil {
			return err
		}
		return answer(w, r, v, &e)
	}
}

// hooksPage lists endpoints.
type hooksPage struct {
	Intro   string
	NewPath string // empty if the maximum is reached
	Rows    []hookRow
	Empty   Empty
	Check   []Code
}

// hookRow shows an endpoint in the list.
type hookRow struct {
	URL, Href string
	Created   time.Time
	Events    hookEvents
	Health    hookHealth
	Last      *deliveryRow // nil if there is none yet
}

// hookEvents shows the events of an endpoint: the first names and the number of others; no names for all events.
type hookEvents struct {
	Named []string
	More  int
}

const mostNamed = 3 // named events of an endpoint in the list

func hookEventsOf(types []webhook.Type) (e hookEvents) {
	for _, t := range types[:min(len(types), mostNamed)] {
		e.Named = append(e.Named, string(t))
	}
	e.More = len(types) - len(e.Named)
	return e
}

// hookHealth shows the state of an endpoint and, if it is not healthy, the reason and since when.
type hookHealth struct {
	Badge Badge
	Since *time.Time
	Why   string
}

func hookHealthOf(e *webhook.Endpoint) hookHealth {
	switch e.Health() {
	case webhook.Disabled:
		return hookHealth{Badge{"off", "Disabled"}, e.Disabled, e.Why}
	case webhook.Failing:
		return hookHealth{Badge{"warn", "Failing"}, e.Failing, ""}
	}
	return hookHealth{Badge: Badge{"good", "Active"}}
}

func (h *webhookHandlers) list(w http.ResponseWriter, r *http.Request, v *people.Visit) error {
	home := hookHomeOf(v)
	list, err := h.webhooks.List(r.Context(), home.account)
	if err != nil {
		return err
	}
	last := map[string]webhook.Delivery{}
	for i := range list {
		newest, err := h.webhooks.Deliveries(r.Context(), webhook.DeliveryQuery{Webhook: list[i].ID, Limit: 1})
		if err != nil {
			return err
		}
		if len(newest) > 0 {
			last[list[i].ID] = newest[0]
		}
	}
	return h.site.show(w, r, v, page{name: "webhooks", title: "Webhooks", data: hooksPageOf(home, list, last)})
}

// hooksPageOf lists endpoints, each with its last delivery, by endpoint id.
func hooksPageOf(home hookHome, list []webhook.Endpoint, last map[string]webhook.Delivery) hooksPage {
	p := hooksPage{Intro: "Endpoints that receive the events of this account.", NewPath: home.path + "/new"}
	if home.account == "" {
		p.Intro = "Endpoints that receive the events of the whole installation and of every account."
	}
	if len(list) >= webhook.MaxEndpoints {
		p.NewPath = ""
	}
	for i := range list {
		e := &list[i]
		row := hookRow{
			URL: e.URL, Href: home.path + "/" + e.ID, Created: e.Created, Events: hookEventsOf(e.Types),
			Health: hookHealthOf(e),
		}
		if d, ok := last[e.ID]; ok {
			row.Last = new(deliveryRowOf(row.Href, &d))
		}
		p.Rows = append(p.Rows, row)
	}
	if len(list) == 0 {
		p.Check = checkSnippets
	}
	p.Empty = Empty{
		Icon: "webhooks", Title: "No webhooks", Action: "Add an endpoint", Href: p.NewPath,
		Text: "A webhook sends events to a program of yours as they happen: a budget is nearly used up, a key was " +
			"created or revoked, a provider fails. Each event is a signed POST request to an address that you choose.",
	}
	return p
}

// hookNotice shows an endpoint that needs attention.
type hookNotice struct {
	Kind      string // of the note: bad or warn
	Href, URL string
	Text      string
	Since     time.Time
}

// noticedAfter is how long an endpoint must fail until other pages report it.
const noticedAfter = oneDay

// hookNotices returns notices about failing endpoints of the visit's account, or of the installation, for visitors
// who may manage them.
func hookNotices(ctx context.Context, hooks *admin.Webhooks, v *people.Visit, now time.Time) ([]hookNotice, error) {
	home, right := hookHomeOf(v), people.Operate
	if home.account != "" {
		right = people.Manage
	}
	if hooks == nil || v.May(right, home.account) != nil {
		return nil, nil
	}
	list, err := hooks.List(ctx, home.account)
	if err != nil {
		return nil, err
	}
	return hookNoticesOf(home, list, now), nil
}

func hookNoticesOf(home hookHome, list []webhook.Endpoint, now time.Time) (all []hookNotice) {
	for i := range list {
		e := &list[i]
		n := hookNotice{Href: home.path + "/" + e.ID, URL: e.URL}
		switch {
		case e.Disabled != nil && e.Why != webhook.ByHand:
			n.Kind, n.Since, n.Text = "bad", *e.Disabled, "It was disabled: "+cmp.Or(e.Why, "reason unknown")+
				". Nothing is sent to it."
		case e.Disabled == nil && e.Failing != nil && now.Sub(*e.Failing) >= noticedAfter:
			n.Kind, n.Since, n.Text = "warn", *e.Failing, "All deliveries fail. If this does not change, "+
				"the endpoint is disabled on "+moment(e.Failing.Add(webhook.DisableAfter))+"."
			n.Text += droppedText(e)
		case e.Disabled == nil && e.Dropped > 0:
			n.Kind, n.Since, n.Text = "warn", now, strings.TrimSpace(droppedText(e))
		default:
			continue
		}
		all = append(all, n)
	}
	return all
}

// droppedText reports dropped events; empty for none.
func droppedText(e *webhook.Endpoint) string {
	if e.Dropped == 0 {
		return ""
	}
	return fmt.Sprintf(" %d events were not sent to it, because too many deliveries waited. Recover sends them.",
		e.Dropped)
}
