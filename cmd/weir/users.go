package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"weir/internal/admin"
	"weir/internal/audit"
	"weir/internal/people"
)

// userView is a user as listings show it.
type userView struct {
	ID           string `json:"id"`
	Email        string `json:"email"`
	Name         string `json:"name,omitempty"`
	Operator     bool   `json:"operator"`
	SecondFactor bool   `json:"second_factor"`
	Disabled     string `json:"disabled_since,omitempty"`
	Created      string `json:"created"`
	Seen         string `json:"seen,omitempty"`
}

var userHeads = []string{"E-MAIL", "ID", "NAME", "OPERATOR", "SECOND FACTOR", "DISABLED", "LAST SEEN"}

func (v *userView) row() []string {
	yes := map[bool]string{true: "yes"}
	return []string{v.Email, v.ID, v.Name, yes[v.Operator], yes[v.SecondFactor], v.Disabled, v.Seen}
}

func viewUser(u *people.User) userView {
	v := userView{
		ID: u.ID, Email: u.Email, Name: u.Name, Operator: u.Operator, SecondFactor: u.SecondFactor,
		Created: u.Created.Format(time.RFC3339),
	}
	if u.Disabled != nil {
		v.Disabled = u.Disabled.Format(time.RFC3339)
	}
	if u.Seen != nil {
		v.Seen = u.Seen.Format(time.RFC3339)
	}
	return v
}

func newUsers(env *environment) *cobra.Command {
	list := env.jsonFlag(&cobra.Command{
		Use: "list", Short: "List all users", Example: "  weir users list", Args: noArgs,
		RunE: env.data(func(ctx context.Context, d *admin.Admin, _ []string) error {
			users, err := d.People.Users(ctx)
			return listViews(&env.output, users, err, viewUser, userHeads, (*userView).row)
		}),
	})
	return group("users", "Manage the people who sign in", list,
		env.userCommand("disable", "Block a user from signing in, and end their sessions",
			func(ctx context.Context, d *admin.Admin, by audit.Actor, id string) error {
				return d.People.SetDisabled(ctx, by, id, true)
			}),
		env.userCommand("enable", "Let a disabled user sign in again",
			func(ctx context.Context, d *admin.Admin, by audit.Actor, id string) error {
				return d.People.SetDisabled(ctx, by, id, false)
			}),
		env.userCommand("remove", "Delete a user: name, address, password and roles; keys of accounts stay",
			func(ctx context.Context, d *admin.Admin, by audit.Actor, id string) error {
				return d.People.RemoveUser(ctx, by, id)
			}),
		env.userCommand("reset-second-factor", "Remove the second factor of a user who has lost it",
			func(ctx context.Context, d *admin.Admin, by audit.Actor, id string) error {
				return d.People.RemoveFactor(ctx, by, id)
			}))
}

// userCommand returns a command that changes one user.
func (env *environment) userCommand(name, short string,
	do func(ctx context.Context, d *admin.Admin, by audit.Actor, id string) error,
) *cobra.Command {
	return &cobra.Command{
		Use: name + " EMAIL", Short: short, Example: "  weir users " + name + " ada@example.com",
		Args: oneArg("the e-mail address"),
		RunE: env.data(func(ctx context.Context, d *admin.Admin, args []string) error {
			u, err := d.People.User(ctx, args[0])
			if err != nil {
				return err
			}
			return do(ctx, d, actor(), u.ID)
		}),
	}
}
