package dashboard

import (
	"crypto/rand"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"weir/internal/llm"
	"weir/internal/people"
	"weir/internal/webhook"
)

// hookPage shows one endpoint and its deliveries.
type hookPage struct {
	URL, Path  string
	ListPath   string
	Health     hookHealth
	Disabled   bool
	GivesUp    *time.Time // when it is disabled, if it keeps failing
	Views      []Link
	Deliveries []deliveryRow
	Filtered   bool
	Recover    Field
	Pager      Pager
	Fields     hookFields
	Facts      []Fact
	Former     *time.Time // until when the former secret signs, too
	Rotate     Confirm
	Disable    Confirm
	Remove     Confirm
	Check      []Code
	Problems   []Problem
}

// deliveryRow shows a delivery in a list.
type deliveryRow struct {
	Href  string
	Type  webhook.Type
	At    time.Time // of the event
	Badge Badge
	Due   *time.Time // of the next try, after a failed one
	Tries int
	Last  string // result of the last try; empty for none yet
	Took  string
}

const (
	deliveriesShown = 25
	maxProblem      = 120 // bytes of an error in a list
)

func deliveryRowOf(hook string, d *webhook.Delivery) deliveryRow {
	row := deliveryRow{
		Href: hook + "/deliveries/" + d.ID, Type: d.Type, At: d.At, Badge: deliveryBadge(d), Tries: d.Tries, Took: none,
	}
	if d.Last == nil {
		return row
	}
	row.Took, row.Last = took(d.Last.Took), statusText(d.Last)
	if d.State == webhook.Pending && d.Last.Error != "" {
		row.Due = d.Due
	}
	return row
}

// deliveryBadge shows the state of a delivery.
func deliveryBadge(d *webhook.Delivery) Badge {
	switch {
	case d.State == webhook.Delivered:
		return Badge{"good", "Delivered"}
	case d.State == webhook.Failed:
		return Badge{"bad", "Failed"}
	case d.Last != nil && d.Last.Error != "":
		return Badge{"warn", "Retrying"}
	}
	return Badge{"", "Waiting"}
}

// statusText describes the result of a try.
func statusText(t *webhook.Try) string {
	if t.Status > 0 {
		return "status " + number(int64(t.Status))
	}
	return cut(t.Error, maxProblem)
}

// cut shortens a text to at most that many bytes, with a mark if more follows.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}

// deliveryQuery reads the filters of an endpoint's deliveries. The query reads one more than a page shows.
func deliveryQuery(id string, values url.Values) (webhook.DeliveryQuery, error) {
	q := webhook.DeliveryQuery{Webhook: id, State: webhook.State(values.Get("state")), Limit: deliveriesShown + 1}
	if q.State != "" && !slices.Contains(webhook.States(), q.State) {
		return q, llm.Invalid("state", "state must be pending, delivered or failed.")
	}
	if before := values.Get("before"); before != "" {
		place, err := uuid.Parse(before)
		if err != nil {
			return q, llm.Invalid("before", "This page of the list does not exist. Start with the newest page.")
		}
		q.Before = place.String()
	}
	return q, nil
}

func (h *webhookHandlers) show(w http.ResponseWriter, r *http.Request, v *people.Visit, f *form) error {
	e, err := h.find(r, v)
	if err != nil {
		return err
	}
	q, err := deliveryQuery(e.ID, r.URL.Query())
	if err != nil {
		return err
	}
	list, err := h.webhooks.Deliveries(r.Context(), q)
	if err != nil {
		return err
	}
	p := hookPageOf(hookHomeOf(v), v.Operator(), &e, f)
	p.list(q, list)
	return h.site.show(w, r, v, page{name: "webhook", title: "Webhook endpoint", status: f.status(), data: p})
}

// list adds deliveries to the page; if there is one more than fits, it adds a link to older ones.
func (p *hookPage) list(q webhook.DeliveryQuery, list []webhook.Delivery) {
	href := func(state webhook.State, before string) string {
		values := url.Values{}
		if state != "" {
			values.Set("state", string(state))
		}
		if before != "" {
			values.Set("before", before)
		}
		return withQuery(p.Path, values)
	}
	for _, view := range []struct {
		state webhook.State
		label string
	}{{"", "All"}, {webhook.Pending, "Waiting"}, {webhook.Delivered, "Delivered"}, {webhook.Failed, "Failed"}} {
		p.Views = append(p.Views, Link{Label: view.label, Href: href(view.state, ""), Current: view.state == q.State})
	}
	if len(list) > deliveriesShown {
		list = list[:deliveriesShown]
		p.Pager.Older = href(q.State, list[deliveriesShown-1].ID)
	}
	if q.Before != "" {
		p.Pager.Newest = href(q.State, "")
	}
	for i := range list {
		p.Deliveries = append(p.Deliveries, deliveryRowOf(p.Path, &list[i]))
	}
	p.Filtered = q.State != "" || q.Before != ""
}

// hookPageOf builds the page without the deliveries.
func hookPageOf(home hookHome, operator bool, e *webhook.Endpoint, f *form) hookPage {
	path := home.path + "/" + e.ID
	p := hookPage{
		URL: e.URL, Path: path, ListPath: home.path, Health: hookHealthOf(e), Disabled: e.Disabled != nil,
		Fields: hookFieldsOf(home, operator, f, e), Former: e.Rotated, Check: checkSnippets,
		Facts: []Fact{{"Private address", "Not allowed"}, {"Added", moment(e.Created)}, {"Id", e.ID}},
		Rotate: Confirm{
			Ident: "rotate", Button: "Rotate the secret", Object: "of " + e.URL, Title: "Rotate the secret?",
			Keep: "Leave it",
			Text: "The next page shows the new secret once. For 24 hours, events are signed with both secrets, so " +
				"that you can update the receiver.",
			Action: path + "/rotate", Verb: "Rotate the secret", Once: rand.Text(),
		},
		Disable: Confirm{
			Ident: "disable", Button: "Disable", Object: e.URL, Title: "Disable this endpoint?", Keep: "Leave it",
			Text: "Nothing is sent to the endpoint until it is enabled again. Events from that time are sent only if " +
				"they are recovered.",
			Action: path + "/disable", Verb: "Disable the endpoint",
		},
		Remove: Confirm{
			Ident: "remove", Button: "Remove", Object: e.URL, Title: "Remove this endpoint?",
			Text: "The endpoint is removed with its secret and all its deliveries. Waiting events are not sent. This " +
				"cannot be undone.",
			Action: path + "/remove", Verb: "Remove the endpoint",
		},
	}
	if e.AllowPrivate {
		p.Facts[0].Value = "Allowed by an operator"
	}
	if e.Rotated != nil {
		p.Rotate.Text += " The former secret, valid until " + moment(*e.Rotated) +
			", stops signing at once."
	}
	if e.Disabled == nil && e.Failing != nil {
		p.GivesUp = new(e.Failing.Add(webhook.DisableAfter))
	}
	p.Recover = recoverField()
	p.Problems = f.problems()
	return p
}

// recoverField returns the field with the period from which missed events are sent again.
func recoverField() Field {
	most := int(webhook.RecoverFor.Hours())
	return Field{Name: "hours", Label: "Events of the last", Short: true, Choices: []Choice{
		{Value: "1", Label: "hour"},
		{Value: "24", Label: "day"},
		{Value: "72", Label: "3 days", Chosen: true},
		{Value: "168", Label: "7 days"},
		{Value: strconv.Itoa(most), Label: strconv.Itoa(most/24) + " days"},
	}}
}

// recover sends missed events to an endpoint again.
func (h *webhookHandlers) recover(w http.ResponseWriter, r *http.Request, v *people.Visit, e *webhook.Endpoint) error {
	f := sent(r)
	text := f.values.Get("hours")
	hours, err := strconv.Atoi(text)
	if err != nil || !slices.ContainsFunc(recoverField().Choices, func(c Choice) bool { return c.Value == text }) {
		f.mistake("hours", "The time is not in the list. Choose one from the list.")
		return h.show(w, r, v, f)
	}
	_, err = h.webhooks.Recover(r.Context(), e.ID, h.site.now().Add(-time.Duration(hours)*time.Hour))
	return (&form{}).followed(w, r, v, endpointPath(v, e)+"?done=webhook-recovered", err, h.show)
}

func (h *webhookHandlers) change(w http.ResponseWriter, r *http.Request, v *people.Visit, e *webhook.Endpoint) error {
	f := sent(r)
	is := readHook(hookHomeOf(v), v.Operator(), f)
	if f.bad() {
		return h.show(w, r, v, f)
	}
	u := webhook.Update{Types: &is.Types}
	// The permission applies to the address on the page, not to one that has just replaced it.
	if is.URL != e.URL || is.AllowPrivate {
		u.URL = &is.URL
	}
	if v.Operator() {
		u.AllowPrivate = &is.AllowPrivate
	}
	_, err := h.webhooks.Change(r.Context(), v.By, e.ID, u)
	return f.followed(w, r, v, endpointPath(v, e)+"?done=webhook-changed", err, h.show)
}

func (h *webhookHandlers) test(w http.ResponseWriter, r *http.Request, v *people.Visit, e *webhook.Endpoint) error {
	_, err := h.webhooks.Test(r.Context(), e.ID)
	return (&form{}).followed(w, r, v, endpointPath(v, e)+"?done=webhook-tested", err, h.show)
}

// setDisabled disables or enables an endpoint, and shows the confirmation.
func (h *webhookHandlers) setDisabled(disabled bool, word string) serve {
	return h.one(func(w http.ResponseWriter, r *http.Request, v *people.Visit, e *webhook.Endpoint) error {
		_, err := h.webhooks.Change(r.Context(), v.By, e.ID, webhook.Update{Disabled: &disabled})
		return (&form{}).followed(w, r, v, endpointPath(v, e)+"?done="+word, err, h.show)
	})
}

func (h *webhookHandlers) remove(w http.ResponseWriter, r *http.Request, v *people.Visit, e *webhook.Endpoint) error {
	err := h.webhooks.Remove(r.Context(), v.By, e.ID)
	return goAfter(w, r, hookHomeOf(v).path+"?done=webhook-removed", err)
}
