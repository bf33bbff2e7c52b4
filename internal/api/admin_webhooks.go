package api

import (
	"net/http"
	"time"

	"weir/internal/admin"
	"weir/internal/llm"
	"weir/internal/webhook"
)

// adminWebhooks implements the calls about webhook endpoints and their deliveries.
type adminWebhooks struct{ webhooks *admin.Webhooks }

// webhookView holds an endpoint without its secret.
type webhookView struct {
	ID                string                 `json:"id"`
	AccountID         *string                `json:"account_id"` // null for an endpoint of the installation
	URL               string                 `json:"url"`
	Events            []webhook.Type         `json:"events"` // empty for all
	Format            webhook.Format         `json:"format"`
	AllowPrivate      bool                   `json:"allow_private"`
	State             webhook.EndpointHealth `json:"state"`
	FailingSince      *time.Time             `json:"failing_since"`
	DisabledAt        *time.Time             `json:"disabled_at"`
	DisabledWhy       *string                `json:"disabled_why"`
	FormerSecretUntil *time.Time             `json:"former_secret_until"`
	DroppedEvents     int64                  `json:"dropped_events"`
	Created           time.Time              `json:"created"`
}

// secretWebhookView holds an endpoint with its secret, which is returned only once.
type secretWebhookView struct {
	webhookView
	Secret string `json:"secret"`
}

func viewWebhook(e *webhook.Endpoint) webhookView {
	return webhookView{
		ID: e.ID, AccountID: orNull(e.Account), URL: e.URL, Events: append([]webhook.Type{}, e.Types...),
		Format: e.Format, AllowPrivate: e.AllowPrivate, State: e.Health(), FailingSince: e.Failing,
		DisabledAt: e.Disabled, DisabledWhy: orNull(e.Why), FormerSecretUntil: e.Rotated, DroppedEvents: e.Dropped,
		Created: e.Created,
	}
}

// webhookPath returns the segments of an endpoint's path, and further ones.
func webhookPath(e *webhook.Endpoint, behind ...string) []string {
	steps := []string{"webhooks", e.ID}
	if e.Account != "" {
		steps = append([]string{"accounts", e.Account}, steps...)
	}
	return append(steps, behind...)
}

// endpointCall executes a request about the endpoint in its path.
type endpointCall func(r *adminRequest, e *webhook.Endpoint) (answer, error)

// one finds the endpoint in the path, if it belongs to the account in the path, or to the installation, and executes
// the call.
func (h *adminWebhooks) one(call endpointCall) adminCall {
	return func(r *adminRequest) (answer, error) {
		e, err := h.webhooks.EndpointOf(r.Context(), r.account(), r.PathValue("webhook"))
		if err != nil {
			return answer{}, err
		}
		return call(r, &e)
	}
}

func (h *adminWebhooks) list(r *adminRequest) (answer, error) {
	list, err := h.webhooks.List(r.Context(), r.account())
	return listed(r.query, list, err, func(e *webhook.Endpoint) string { return e.ID }, viewWebhook)
}

// webhookUpdate reads the given members of an endpoint. Fields are further members that a new endpoint does not have.
func webhookUpdate(r *adminRequest, fields ...field) (u webhook.Update, err error) {
	var url string
	var types []webhook.Type
	err = readFields("", r.body, append(
		fields,
		field{"url", given(&u.URL, &url, text(&url))},
		field{"events", given(&u.Types, &types, texts(&types))},
		field{"allow_private", flag(&u.AllowPrivate)},
	)...)
	if err != nil {
		return u, err
	}
	if u.AllowPrivate != nil && *u.AllowPrivate && !r.visit.Operator() {
		return u, llm.Errorf(llm.CodeForbidden, "Only operators can allow a private address. Ask "+
			"an operator.").At("allow_private")
	}
	return u, nil
}

func (h *adminWebhooks) create(r *adminRequest) (answer, error) {
	var format string
	u, err := webhookUpdate(r, field{"format", text(&format)})
	if err != nil {
		return answer{}, err
	}
	e := webhook.Endpoint{Account: r.account(), Format: webhook.Format(format)}
	if u.URL != nil {
		e.URL = *u.URL
	}
	if u.Types != nil {
		e.Types = *u.Types
	}
	e.AllowPrivate = u.AllowPrivate != nil && *u.AllowPrivate
	e, secret, err := h.webhooks.Add(r.Context(), r.by(), e)
	if err != nil {
		return answer{}, err
	}
	return created(secretWebhookView{viewWebhook(&e), secret.Reveal()}, webhookPath(&e)...)
}

func (h *adminWebhooks) show(r *adminRequest, e *webhook.Endpoint) (answer, error) {
	return found(viewWebhook(e))
}

// change changes what is given, all of it or nothing (RFC 7396).
func (h *adminWebhooks) change(r *adminRequest, e *webhook.Endpoint) (answer, error) {
	var disabled *bool
	u, err := webhookUpdate(r, field{"disabled", flag(&disabled)})
	if err != nil {
		return answer{}, err
	}
	u.Disabled = disabled
	changed, err := h.webhooks.Change(r.Context(), r.by(), e.ID, u)
	return shown(changed, err, viewWebhook)
}

func (h *adminWebhooks) remove(r *adminRequest, e *webhook.Endpoint) (answer, error) {
	return gone(h.webhooks.Remove(r.Context(), r.by(), e.ID))
}

func (h *adminWebhooks) test(r *adminRequest, e *webhook.Endpoint) (answer, error) {
	if err := readFields("", r.body); err != nil {
		return answer{}, err
	}
	id, err := h.webhooks.Test(r.Context(), e.ID)
	if err != nil {
		return answer{}, err
	}
	return h.answerDelivery(r, e, id)
}

// recoveredView holds the number of deliveries that started again.
type recoveredView struct {
	Deliveries int `json:"deliveries"`
}

func (h *adminWebhooks) recover(r *adminRequest, e *webhook.Endpoint) (answer, error) {
	var since time.Time
	if err := readFields("", r.body, field{"since", instant(&since)}); err != nil {
		return answer{}, err
	}
	n, err := h.webhooks.Recover(r.Context(), e.ID, since)
	if err != nil {
		return answer{}, err
	}
	a, err := found(recoveredView{n})
	a.Status = http.StatusAccepted
	return a, err
}

func (h *adminWebhooks) rotate(r *adminRequest, e *webhook.Endpoint) (answer, error) {
	if err := readFields("", r.body); err != nil {
		return answer{}, err
	}
	rotated, secret, err := h.webhooks.RotateSecret(r.Context(), r.by(), e.ID)
	if err != nil {
		return answer{}, err
	}
	return found(secretWebhookView{viewWebhook(&rotated), secret.Reveal()})
}
