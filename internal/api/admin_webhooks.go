package api

import (
	"net/http"
	"time"

	"weir/internal/llm"
	"weir/internal/people"
	"weir/internal/webhook"
)

// adminWebhookRoutes are the endpoints of accounts, and those of the installation.
func (s *Server) adminWebhookRoutes() []people.Route {
	return append(s.adminWebhookRoutesAt("/accounts/{account}/webhooks", people.Manage), s.adminWebhookRoutesAt(
		"/webhooks", people.Operate)...)
}

func (s *Server) adminWebhookRoutesAt(base string, right people.Right) []people.Route {
	one := base + "/{webhook}"
	return []people.Route{
		s.adminRoute("GET "+base, right, s.listWebhooks, listing...),
		s.adminMake("POST "+base, right, s.makeWebhook),
		s.adminRoute("GET "+one, right, s.showWebhook),
		s.adminRoute("PATCH "+one, right, s.changeWebhook),
		s.adminRoute("DELETE "+one, right, s.removeWebhook),
		s.adminMake("POST "+one+"/test", right, s.testWebhook),
		s.adminMake("POST "+one+"/recover", right, s.recoverWebhook),
		s.adminMake("POST "+one+"/rotate-secret", right, s.rotateWebhook),
		s.adminRoute("GET "+one+"/deliveries", right, s.listDeliveries, named("state")...),
		s.adminRoute("GET "+one+"/deliveries/{delivery}", right, s.showDelivery),
		s.adminMake("POST "+one+"/deliveries/{delivery}/redeliver", right, s.redeliver),
	}
}

// webhookView is an endpoint without its secret.
type webhookView struct {
	ID                string                 `json:"id"`
	AccountID         *string                `json:"account_id"` // null for the installation's
	URL               string                 `json:"url"`
	Events            []webhook.Type         `json:"events"` // empty for all
	AllowPrivate      bool                   `json:"allow_private"`
	State             webhook.EndpointHealth `json:"state"`
	FailingSince      *time.Time             `json:"failing_since"`
	DisabledAt        *time.Time             `json:"disabled_at"`
	DisabledWhy       *string                `json:"disabled_why"`
	FormerSecretUntil *time.Time             `json:"former_secret_until"`
	Created           time.Time              `json:"created"`
}

// secretWebhookView is an endpoint with its secret, this once.
type secretWebhookView struct {
	webhookView
	Secret string `json:"secret"`
}

func viewWebhook(e *webhook.Endpoint) webhookView {
	return webhookView{
		ID: e.ID, AccountID: orNull(e.Account), URL: e.URL, Events: append([]webhook.Type{}, e.Types...),
		AllowPrivate: e.AllowPrivate,
		State:        e.Health(), FailingSince: e.Failing, DisabledAt: e.Disabled, DisabledWhy: orNull(e.Why),
		FormerSecretUntil: e.Rotated, Created: e.Created,
	}
}

// homeOf is the account whose endpoints the path names; empty for the
// installation's.
func homeOf(r *adminRequest) string {
	if r.visit.Account == nil {
		return ""
	}
	return r.visit.Account.ID
}

// webhookPath are the steps to an endpoint, and those behind it.
func webhookPath(e *webhook.Endpoint, behind ...string) []string {
	steps := []string{"webhooks", e.ID}
	if e.Account != "" {
		steps = append([]string{"accounts", e.Account}, steps...)
	}
	return append(steps, behind...)
}

// webhookOf is the endpoint that the path names, if it is one of the account's, or
// of the installation's, that it names too.
func (s *Server) webhookOf(r *adminRequest) (webhook.Endpoint, error) {
	return s.admin.Webhooks.EndpointOf(r.Context(), homeOf(r), r.PathValue("webhook"))
}

func (s *Server) listWebhooks(r *adminRequest) (answer, error) {
	list, err := s.admin.Webhooks.List(r.Context(), homeOf(r))
	if err != nil {
		return answer{}, err
	}
	return found(pageOf(r.query, list, func(e *webhook.Endpoint) string { return e.ID }, viewWebhook))
}

// webhookUpdate reads what is given of an endpoint. Fields are those that are not
// for a new one.
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
		return u, &llm.Error{
			Code:    llm.CodeForbidden,
			Message: "Only operators may let an endpoint be on a private address.", Param: "allow_private",
		}
	}
	return u, nil
}

func (s *Server) makeWebhook(r *adminRequest) (answer, error) {
	u, err := webhookUpdate(r)
	if err != nil {
		return answer{}, err
	}
	e := webhook.Endpoint{Account: homeOf(r)}
	if u.URL != nil {
		e.URL = *u.URL
	}
	if u.Types != nil {
		e.Types = *u.Types
	}
	e.AllowPrivate = u.AllowPrivate != nil && *u.AllowPrivate
	e, secret, err := s.admin.Webhooks.Add(r.Context(), r.by(), e)
	if err != nil {
		return answer{}, err
	}
	return created(secretWebhookView{viewWebhook(&e), secret.Reveal()}, webhookPath(&e)...)
}

func (s *Server) showWebhook(r *adminRequest) (answer, error) {
	e, err := s.webhookOf(r)
	if err != nil {
		return answer{}, err
	}
	return found(viewWebhook(&e))
}

// changeWebhook changes what is given, all of it or nothing (RFC 7396).
func (s *Server) changeWebhook(r *adminRequest) (answer, error) {
	e, err := s.webhookOf(r)
	if err != nil {
		return answer{}, err
	}
	var disabled *bool
	u, err := webhookUpdate(r, field{"disabled", flag(&disabled)})
	if err != nil {
		return answer{}, err
	}
	u.Disabled = disabled
	if e, err = s.admin.Webhooks.Change(r.Context(), r.by(), e.ID, u); err != nil {
		return answer{}, err
	}
	return found(viewWebhook(&e))
}

func (s *Server) removeWebhook(r *adminRequest) (answer, error) {
	e, err := s.webhookOf(r)
	if err != nil {
		return answer{}, err
	}
	return gone(s.admin.Webhooks.Remove(r.Context(), r.by(), e.ID))
}

func (s *Server) testWebhook(r *adminRequest) (answer, error) {
	e, err := s.webhookOf(r)
	if err == nil {
		err = readFields("", r.body)
	}
	if err != nil {
		return answer{}, err
	}
	id, err := s.admin.Webhooks.Test(r.Context(), e.ID)
	if err != nil {
		return answer{}, err
	}
	return s.answerDelivery(r, &e, id)
}

// recoveredView says how many deliveries began anew.
type recoveredView struct {
	Deliveries int `json:"deliveries"`
}

func (s *Server) recoverWebhook(r *adminRequest) (answer, error) {
	e, err := s.webhookOf(r)
	var since time.Time
	if err == nil {
		err = readFields("", r.body, field{"since", instant(&since)})
	}
	if err != nil {
		return answer{}, err
	}
	n, err := s.admin.Webhooks.Recover(r.Context(), e.ID, since)
	if err != nil {
		return answer{}, err
	}
	a, err := found(recoveredView{n})
	a.Status = http.StatusAccepted
	return a, err
}

func (s *Server) rotateWebhook(r *adminRequest) (answer, error) {
	e, err := s.webhookOf(r)
	if err == nil {
		err = readFields("", r.body)
	}
	if err != nil {
		return answer{}, err
	}
	e, secret, err := s.admin.Webhooks.RotateSecret(r.Context(), r.by(), e.ID)
	if err != nil {
		return answer{}, err
	}
	return found(secretWebhookView{viewWebhook(&e), secret.Reveal()})
}
