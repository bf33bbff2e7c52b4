package dashboard

import (
	"context"
	"net/http"

	"weir/internal/audit"
	"weir/internal/people"
)

// userPage is a user, and what an operator can do with them.
type userPage struct {
	userRow
	Changes  []Confirm
	Problems []Problem
}

func (h *peopleHandlers) one(w http.ResponseWriter, r *http.Request, v *people.Visit, f *form) error {
	u, err := h.people.User(r.Context(), r.PathValue("user"))
	if err != nil {
		return err
	}
	p := userPage{userRow: userRowOf(v, &u, nil), Problems: f.problems()}
	p.Changes = append(userChanges(&u, p.Name), p.Change)
	return h.site.show(w, r, v, page{name: "operator-user", title: p.Name, status: f.status(), data: p})
}

// change is what changes a user, and the word for what was done then.
func (h *peopleHandlers) change(word string, change func(ctx context.Context, by audit.Actor, userID string) error,
) serve {
	return func(w http.ResponseWriter, r *http.Request, v *people.Visit) error {
		id := r.PathValue("user")
		err := change(r.Context(), v.By, id)
		return (&form{}).followed(w, r, v, usersPath+"/"+id+"?done="+word, err, h.one)
	}
}

func (h *peopleHandlers) remove(w http.ResponseWriter, r *http.Request, v *people.Visit) error {
	err := h.people.RemoveUser(r.Context(), v.By, r.PathValue("user"))
	return (&form{}).followed(w, r, v, usersPath+"?done=user-removed", err, h.one)
}

func (h *peopleHandlers) disable(ctx context.Context, by audit.Actor, userID string) error {
	return h.people.SetDisabled(ctx, by, userID, true)
}

func (h *peopleHandlers) enable(ctx context.Context, by audit.Actor, userID string) error {
	return h.people.SetDisabled(ctx, by, userID, false)
}

// userChanges are what can be done with a user.
func userChanges(u *people.User, name string) []Confirm {
	path := usersPath + "/" + u.ID
	var all []Confirm
	if u.SecondFactor {
		all = append(all, Confirm{
			Ident: "factor-" + u.ID, Button: "Remove second factor", Object: "of " + name,
			Title: "Remove the second factor of " + name + "?", Keep: "Leave it",
			Text: "For somebody who has lost the app and the recovery codes. Make sure that it is them who asks: then " +
				"the password alone lets them in. Their sessions end.",
			Action: path + "/second-factor/remove", Verb: "Remove the second factor",
		})
	}
	switch {
	case u.Operator:
	case u.Disabled == nil:
		all = append(all, Confirm{
			Ident: "disable-" + u.ID, Button: "Disable", Object: name, Title: "Disable " + name + "?", Keep: "Leave it",
			Text:   "Their sessions end, and nobody signs in as them. Roles, keys and the audit log stay as they are.",
			Action: path + "/disable", Verb: "Disable the user",
		})
	default:
		all = append(all, Confirm{
			Ident: "enable-" + u.ID, Button: "Enable", Object: name, Title: "Enable " + name + "?", Keep: "Leave it",
			Text: "They sign in again, with the roles that they had.", Action: path + "/enable", Verb: "Enable the user",
		}, Confirm{
			Ident: "remove-" + u.ID, Button: "Remove", Object: name, Title: "Remove " + name + "?", Keep: "Leave it",
			Text: "Their name, address, password and roles are deleted. Keys of accounts stay. The audit log knows them " +
				"by their id alone from then on, but in older entries. This cannot be undone.",
			Action: path + "/remove", Verb: "Remove the user",
		})
	}
	return all
}
