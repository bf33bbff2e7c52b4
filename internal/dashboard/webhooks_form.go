package dashboard

import (
	"crypto/rand"
	"net/http"
	"slices"
	"strings"
	"time"

	"weir/internal/llm"
	"weir/internal/people"
	"weir/internal/webhook"
)

// newHookPage shows the form of a new endpoint.
type newHookPage struct {
	Back     string
	Once     string // name of this form, so that it is executed only once
	Fields   hookFields
	Problems []Problem
}

// hookFields holds the fields of an endpoint.
type hookFields struct {
	URL     Field
	Format  *Field // nil for an endpoint that exists: its format does not change
	Events  Field
	Private *Field // nil for visitors who may not allow it
}

// hookSecretPage shows the secret of an endpoint, only once.
type hookSecretPage struct {
	Title  string
	URL    string
	Secret string
	Former *time.Time // until when the former secret signs, too; nil for none
	Back   string
	Check  []Code
}

func (h *webhookHandlers) showNew(w http.ResponseWriter, r *http.Request, v *people.Visit, f *form) error {
	p := newHookPageOf(hookHomeOf(v), v.Operator(), f)
	return h.site.show(w, r, v, page{name: "webhook-new", title: "Add an endpoint", status: f.status(), data: p})
}

func newHookPageOf(home hookHome, operator bool, f *form) newHookPage {
	p := newHookPage{Back: home.path, Once: rand.Text(), Fields: hookFieldsOf(home, operator, f, &webhook.Endpoint{})}
	p.Fields.URL.First = true
	p.Problems = f.problems()
	return p
}

// hookFieldsOf returns the fields with the endpoint's values.
func hookFieldsOf(home hookHome, operator bool, f *form, e *webhook.Endpoint) (x hookFields) {
	hint := "Events are sent to this address by POST over https."
	if e.AllowPrivate && !operator {
		hint += " An operator allowed a private address. If you change the address, an operator must allow it again."
	}
	if e.ID == "" {
		format := f.field(Field{
			Name: "format", Label: "Format", Kind: "radio", Choices: formatChoices(home),
		})
		x.Format = &format
	}
	x.URL = f.field(Field{
		Name: "url", Label: "Address", Hint: hint, Value: e.URL, Mode: "url",
		Example: "https://example.com/hooks/weir", Required: true, Max: 2048, Complete: "off",
	})
	events := Field{
		Name: "events", Label: "Events", Kind: "checkbox",
		Hint: "If none is chosen, the endpoint receives all events, including those of later versions.",
	}
	for _, k := range home.kinds() {
		events.Choices = append(events.Choices, Choice{
			Value: string(k.Type), Label: string(k.Type), Note: strings.ReplaceAll(k.About, "`", ""),
			Chosen: slices.Contains(e.Types, k.Type),
		})
	}
	x.Events = f.field(events)
	if operator {
		private := f.field(Field{
			Name: "allow_private", Label: "Private addresses", Kind: "checkbox",
			Choices: []Choice{{
				Value: "on", Label: "Allow a private address", Chosen: e.AllowPrivate,
				Note: "An address in the gateway’s own network, where plain http is allowed too. Only operators can " +
					"allow it, and only for this address.",
			}},
		})
		x.Private = &private
	}
	return x
}

// formatChoices returns the formats that an endpoint can have.
func formatChoices(home hookHome) []Choice {
	all := []Choice{
		{Value: string(webhook.JSON), Label: "JSON", Note: "Signed events for a program.", Chosen: true},
		{Value: string(webhook.Slack), Label: "Slack", Note: "A message for an incoming webhook."},
		{Value: string(webhook.Teams), Label: "Microsoft Teams", Note: "A card for a workflow."},
	}
	if home.account == "" {
		all = append(all, Choice{
			Value: string(webhook.Mail), Label: "Mail", Note: "The address is mailto: and an e-mail address.",
		})
	}
	return all
}

// readHook reads the endpoint of the form. It adds mistakes to the fields; package webhook checks the address.
func readHook(home hookHome, operator bool, f *form) webhook.Endpoint {
	e := webhook.Endpoint{
		Account: home.account, URL: strings.TrimSpace(f.values.Get("url")),
		Format:       webhook.Format(f.values.Get("format")),
		AllowPrivate: f.values.Get("allow_private") == "on",
	}
	kinds := home.kinds()
	for _, text := range f.values["events"] {
		if !slices.ContainsFunc(kinds, func(k webhook.Kind) bool { return string(k.Type) == text }) {
			f.mistake("events", "An event is not in the list. Choose events from the list.")
		}
		e.Types = append(e.Types, webhook.Type(text))
	}
	if e.AllowPrivate && !operator {
		f.mistake("allow_private", "Only operators can allow a private address. Ask an operator.")
	}
	return e
}

func (h *webhookHandlers) create(w http.ResponseWriter, r *http.Request, v *people.Visit) error {
	home, f := hookHomeOf(v), sent(r)
	e := readHook(home, v.Operator(), f)
	if f.bad() {
		return h.showNew(w, r, v, f)
	}
	name := onceName(v, r.PostForm)
	if !h.once.first(name, h.site.now()) {
		return goTo(w, r, home.path+"?done=webhook-made")
	}
	e, secret, err := h.webhooks.Add(r.Context(), v.By, e)
	if err != nil {
		h.once.forget(name)
		return f.refused(w, r, v, err, h.showNew)
	}
	return h.showSecret(w, r, v, "Secret of the new endpoint", &e, secret)
}

// rotate replaces the secret of an endpoint, and shows the new one.
func (h *webhookHandlers) rotate(w http.ResponseWriter, r *http.Request, v *people.Visit, e *webhook.Endpoint) error {
	name := onceName(v, r.PostForm)
	if !h.once.first(name, h.site.now()) {
		return goTo(w, r, endpointPath(v, e)+"?done=webhook-rotated")
	}
	rotated, secret, err := h.webhooks.RotateSecret(r.Context(), v.By, e.ID)
	if err != nil {
		h.once.forget(name)
		return err
	}
	return h.showSecret(w, r, v, "New secret of the endpoint", &rotated, secret)
}

func (h *webhookHandlers) showSecret(w http.ResponseWriter, r *http.Request, v *people.Visit, title string,
	e *webhook.Endpoint, secret llm.Secret,
) error {
	p := hookSecretPage{
		Title: title, URL: e.URL, Secret: secret.Reveal(), Former: e.Rotated, Back: endpointPath(v, e),
		Check: checkSnippets,
	}
	return h.site.show(w, r, v, page{name: "webhook-secret", title: title, data: p})
}

// checkSnippets are programs that check the signature of an event, with the libraries of the specification,
// https://github.com/standard-webhooks/standard-webhooks.
var checkSnippets = []Code{
	{Ident: "check-python", Label: "Python", Text: `# pip install standardwebhooks
import os
from standardwebhooks.webhooks import Webhook

receiver = Webhook(os.environ["WEBHOOK_SECRET"])
# body: the raw request body; headers: the request headers
# raises an error if the signature is wrong
event = receiver.verify(body, headers)`},
	{Ident: "check-javascript", Label: "JavaScript", Text: `// npm install standardwebhooks
import { Webhook } from "standardwebhooks";

const receiver = new Webhook(process.env.WEBHOOK_SECRET);
// body: the raw request body as a string; headers: the request headers
// throws an error if the signature is wrong
const event = receiver.verify(body, headers);`},
	{Ident: "check-go", Label: "Go", Text: `// go get github.com/standard-webhooks/standard-webhooks/libraries
import standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

receiver, err := standardwebhooks.NewWebhook(os.Getenv("WEBHOOK_SECRET"))
// body: the raw request body
// returns an error if the signature is wrong
err = receiver.Verify(body, request.Header)`},
}
