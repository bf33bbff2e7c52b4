package dashboard

import (
	"errors"
	"net/http"

	"weir/internal/llm"
	"weir/internal/oauth"
	"weir/internal/people"
)

// consentHandlers asks a person whether a program may use tools for them.
type consentHandlers struct {
	site  *site
	oauth *oauth.Server
}

// consentPage names the program and the rights that it asks for. With a Refusal the program's request is invalid.
type consentPage struct {
	Name, Host   string // of the program; no host for a registered one
	RedirectHost string // gets the answer
	Local        bool   // RedirectHost is the person's own machine
	Path         string // of the tools
	Email        string // of the person
	Account      Field
	CanAllow     bool // the person may use an account
	Query        string
	Refusal      string
	Problems     []Problem
}

// show asks the person. It leads to no other site by itself: anybody can name any program in a link.
func (h *consentHandlers) show(w http.ResponseWriter, r *http.Request, v *people.Visit) error {
	return h.ask(w, r, v, r.URL.RawQuery, &form{})
}

// read reads the request in a query.
func (h *consentHandlers) read(r *http.Request, v *people.Visit, query string) (*oauth.Request, error) {
	if v.User() == nil {
		return nil, llm.Errorf(llm.CodeForbidden, "Only people can grant a program access. Sign in.")
	}
	return h.oauth.Read(r.Context(), v.User().ID, query)
}

// ask shows the request in a query.
func (h *consentHandlers) ask(w http.ResponseWriter, r *http.Request, v *people.Visit, query string, f *form) error {
	asked, err := h.read(r, v, query)
	if refusal, ok := errors.AsType[*oauth.Refusal](err); ok {
		return h.site.show(w, r, v, page{
			name: "consent", title: "Invalid request", bare: true, leads: refusal.FormTarget(),
			status: http.StatusBadRequest, data: consentPage{Refusal: refusal.Text, Query: query},
		})
	}
	if err != nil {
		return err
	}
	return h.site.show(w, r, v, page{
		name: "consent", title: "Allow access", bare: true, leads: asked.FormTarget(), status: f.status(),
		data: consentPageOf(v, asked, f),
	})
}

func consentPageOf(v *people.Visit, asked *oauth.Request, f *form) consentPage {
	p := consentPage{
		Name: asked.Client.Name, Host: asked.Client.Host, Path: asked.Path, Query: asked.Query, Email: v.User().Email,
	}
	p.RedirectHost, p.Local = asked.RedirectHost()
	account := Field{Name: "account", Label: "Account", Hint: "The calls of tools are charged to it."}
	for _, m := range v.Memberships() {
		if v.May(people.Use, m.AccountID) == nil {
			account.Choices = append(account.Choices, Choice{Value: m.AccountID, Label: m.AccountName})
		}
	}
	p.CanAllow = len(account.Choices) > 0
	p.Account = f.field(account)
	p.Problems = f.problems()
	return p
}

// answer sends the person's answer to the program.
func (h *consentHandlers) answer(w http.ResponseWriter, r *http.Request, v *people.Visit) error {
	query := r.PostForm.Get("query")
	asked, err := h.read(r, v, query)
	refusal, refused := errors.AsType[*oauth.Refusal](err)
	switch {
	case refused && r.PostForm.Get("answer") == "back":
		return goTo(w, r, refusal.To)
	case refused:
		return h.ask(w, r, v, query, &form{})
	case err != nil:
		return err
	}
	to := h.oauth.Deny(asked)
	if r.PostForm.Get("answer") == "allow" {
		if to, err = h.oauth.Grant(r.Context(), v.By, v.Visitor, r.PostForm.Get("account"), asked); err != nil {
			f := sent(r)
			if !f.refuse(err) {
				return err
			}
			return h.ask(w, r, v, query, f)
		}
	}
	return goTo(w, r, to)
}
