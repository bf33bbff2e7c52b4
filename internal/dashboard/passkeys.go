package dashboard

import (
	"net/http"
	"time"

	"weir/internal/people"
	"weir/internal/signin"
)

// challengePart holds the options for the browser's passkey dialog. Without options nothing is shown.
type challengePart struct{ Options, State string }

// passkeyRow shows a passkey on its user's page.
type passkeyRow struct {
	Name    string
	Created time.Time
	Used    *time.Time
	Remove  Confirm
}

// passkeyPage shows the form that adds a passkey.
type passkeyPage struct {
	Email          string
	Ask            challengePart
	Name, Password Field
	Problems       []Problem
}

func passkeyRows(all []signin.Passkey) (rows []passkeyRow) {
	for i := range all {
		p := &all[i]
		rows = append(rows, passkeyRow{Name: p.Name, Created: p.Created, Used: p.Used, Remove: Confirm{
			Ident: "passkey-" + p.ID, Button: "Remove", Object: "the passkey " + p.Name, Title: "Remove this passkey?",
			Text:   "It can no longer replace a code. The browser or device still has its own copy: delete it there.",
			Action: "/me/passkeys/" + p.ID + "/remove", Verb: "Remove the passkey",
		}})
	}
	return rows
}

func (h *profileHandlers) showPasskey(w http.ResponseWriter, r *http.Request, v *people.Visit, f *form) error {
	ask, err := h.signIn.Passkeys.Begin(r.Context(), v.Visitor, h.publicURL(r))
	if err != nil {
		return err
	}
	p := passkeyPage{Email: v.User().Email, Ask: challengePart(ask)}
	p.Name = f.field(Field{
		Name: "name", Label: "Name", Required: true, Max: 64,
		Hint:     "A name that distinguishes it from others, such as Laptop.",
		Complete: "off",
	})
	p.Password = f.field(currentPassword("password"))
	p.Problems = f.problems()
	return h.site.show(w, r, v, page{
		name: "passkey", title: "Add a passkey", status: f.status(), scripts: []string{"passkey.js"}, data: p,
	})
}

func (h *profileHandlers) addPasskey(w http.ResponseWriter, r *http.Request, v *people.Visit) error {
	err := h.signIn.Passkeys.Add(r.Context(), v.Visitor, h.publicURL(r), r.PostFormValue("state"),
		r.PostFormValue("answer"), r.PostFormValue("name"), secret(r, "password"), v.Origin)
	return sent(r).followed(w, r, v, "/me?done=passkey-added", err, h.showPasskey)
}

func (h *profileHandlers) removePasskey(w http.ResponseWriter, r *http.Request, v *people.Visit) error {
	err := h.signIn.Passkeys.Remove(r.Context(), v.Visitor, r.PathValue("passkey"), v.Origin)
	return goAfter(w, r, "/me?done=passkey-removed", err)
}

// givePasskey accepts the signature of a passkey as the second factor of a person who signs in.
func (h *signInHandlers) givePasskey(w http.ResponseWriter, r *http.Request, v *people.Visit) error {
	session, err := h.signIn.Passkeys.Give(r.Context(), h.site.cookies.session(r), h.publicURL(r),
		r.PostFormValue("state"), r.PostFormValue("answer"), v.Origin)
	return h.passed(w, r, v, session, err)
}
