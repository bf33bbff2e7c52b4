package dashboard

import (
	"context"
	"net/http"

	"weir/internal/audit"
	"weir/internal/people"
)

// userPage shows a user and an operator's actions.
type userPage struct {
	userRow
	Changes  []Confirm
	Problems []Problem
}

func (h *peopleHandlers) one(w http.ResponseWriter, r *http.Request, v *people.Visit, f *form) error {
	u, err := h.admin.People.User(r.Context(), r.PathValue("user"))
	if err != nil {
		return err
	}
	p := userPage{userRow: userRowOf(v, &u, nil), Problems: f.problems()}
	p.Changes = append(userChanges(&u, p.Name), p.Change)
	return h.site.show(w, r, v, page{name: "operator-user", title: p.Name, status: f.status(), data: p})
}

// change executes a change of a user, and shows the confirmation with that word.
func (h *peopleHandlers) change(word string, change func(ctx context.Context, by audit.Actor, userID string) error,
) serve {
	return func(w http.ResponseWriter, r *http.Request, v *people.Visit) error {
		id := r.PathValue("user")
		err := change(r.Context(), v.By, id)
		return (&form{}).followed(w, r, v, usersPath+"/"+id+"?done="+word, err, h.one)
	}
}

func (h *peopleHandlers) remove(w http.ResponseWriter, r *http.Request, v *people.Visit) error {
	err := h.admin.People.RemoveUser(r.Context(), v.By, r.PathValue("user"))
	return (&form{}).followed(w, r, v, usersPath+"?done=user-removed", err, h.one)
}

func (h *peopleHandlers) disable(ctx context.Context, by audit.Actor, userID string) error {
	return h.admin.People.SetDisabled(ctx, by, userID, true)
}

func (h *peopleHandlers) enable(ctx context.Context, by audit.Actor, userID string) error {
	return h.admin.People.SetDisabled(ctx, by, userID, false)
}

// userChanges returns the actions that are possible for a user.
func userChanges(u *people.User, name string) []Confirm {
	path := usersPath + "/" + u.ID
	var all []Confirm
	if u.SecondFactor {
		all = append(all, Confirm{
			Ident: "factor-" + u.ID, Button: "Remove second factor", Object: "of " + name,
			Title: "Remove the second factor of " + name + "?", Keep: "Leave it",
			Text: "For a user who has lost the app and the recovery codes. Verify that the request is from them: " +
				"after this, " +
				"the password alone is enough to sign in. Their sessions end.",
			Action: path + "/second-factor/remove", Verb: "Remove the second factor",
		})
	}
	switch {
	case u.Operator:
	case u.Disabled == nil:
		all = append(all, Confirm{
			Ident: "disable-" + u.ID, Button: "Disable", Object: name, Title: "Disable " + name + "?", Keep: "Leave it",
			Text:   "Their sessions end, and they cannot sign in. Roles, keys and the audit log stay unchanged.",
			Action: path + "/disable", Verb: "Disable the user",
		})
	default:
		all = append(all, Confirm{
			Ident: "enable-" + u.ID, Button: "Enable", Object: name, Title: "Enable " + name + "?", Keep: "Leave it",
			Text: "They can sign in again, with the same roles.", Action: path + "/enable", Verb: "Enable the user",
		}, Confirm{
			Ident: "remove-" + u.ID, Button: "Remove", Object: name, Title: "Remove " + name + "?", Keep: "Leave it",
			Text: "Their name, address, password and roles are deleted. Keys of accounts stay. New entries of " +
				"the audit log " +
				"name them only by their id. This cannot be undone.",
			Action: path + "/remove", Verb: "Remove the user",
		})
	}
	return all
}
