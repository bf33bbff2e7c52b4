package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"weir/internal/admin"
	"weir/internal/llm"
	"weir/internal/people"
)

// memberView holds a member as listings show it.
type memberView struct {
	ID      string `json:"id"`
	Email   string `json:"email"`
	Name    string `json:"name,omitempty"`
	Account string `json:"account,omitempty"`
	Role    string `json:"role"`
	Created string `json:"created"`
	Seen    string `json:"seen,omitempty"`
	// Invited reports that the person has not accepted the invitation yet, which ID names.
	Invited bool   `json:"invited,omitempty"`
	Expires string `json:"expires,omitempty"`
}

var memberHeads = []string{"E-MAIL", "ID", "NAME", "ROLE", "SINCE"}

func (v *memberView) row() []string {
	role := v.Role
	if v.Invited {
		role += ", invited until " + v.Expires
	}
	return []string{v.Email, v.ID, v.Name, role, v.Created}
}

func viewInvitation(i *people.Invitation) memberView {
	return memberView{
		ID: i.ID, Email: i.Email, Account: i.AccountName, Role: string(i.Role), Invited: true,
		Created: i.Created.Format(time.RFC3339), Expires: i.Expires.Format(time.RFC3339),
	}
}

func viewMember(m *people.Membership) memberView {
	return memberView{
		ID: m.UserID, Email: m.Email, Name: m.Name, Account: m.AccountName, Role: string(m.Role),
		Created: m.Since.Format(time.RFC3339),
	}
}

func viewOperator(u *people.User) memberView {
	v := memberView{ID: u.ID, Email: u.Email, Name: u.Name, Role: "operator", Created: u.Created.Format(time.RFC3339)}
	if u.Seen != nil {
		v.Seen = u.Seen.Format(time.RFC3339)
	}
	return v
}

func newMembers(env *environment) *cobra.Command {
	return group("members", "Manage the people of an account and their roles", newMembersInvite(env),
		newMembersList(env), newMembersRemove(env))
}

// accountFlag defines the required flag for an account's name.
func accountFlag(cmd *cobra.Command, name *string) *cobra.Command {
	cmd.Flags().StringVar(name, "account", "", "name of the account")
	_ = cmd.MarkFlagRequired("account") // the flag is defined one line above
	return cmd
}

func newMembersInvite(env *environment) *cobra.Command {
	var account, role string
	cmd := &cobra.Command{
		Use: "invite EMAIL", Short: "Invite a person to an account and print the link, which is valid once, for 7 days",
		Example: "  weir members invite ada@example.com --account default --role owner",
		Args:    oneArg("the e-mail address"),
		RunE: env.data(func(ctx context.Context, d *admin.Admin, args []string) error {
			a, err := d.Accounts.Account(ctx, account)
			if err != nil {
				return err
			}
			return env.invite(ctx, d, people.Invitation{
				Email: args[0], AccountID: a.ID, Role: people.Role(role),
			})
		}),
	}
	cmd.Flags().StringVar(&role, "role", string(people.Member),
		"owner (manages members and keys), member (creates keys) or viewer (sees usage)")
	return accountFlag(cmd, &account)
}

// invite prints only the link of an invitation.
func (env *environment) invite(ctx context.Context, d *admin.Admin, i people.Invitation) error {
	one, err := d.People.Invite(ctx, actor(), i, "")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(env.stdout, one.Link.Reveal())
	return err
}

func newMembersList(env *environment) *cobra.Command {
	var account string
	cmd := env.jsonFlag(&cobra.Command{
		Use: "list", Short: "List the members of an account, and those who are invited",
		Example: "  weir members list --account default",
		Args:    noArgs,
		RunE: env.data(func(ctx context.Context, d *admin.Admin, _ []string) error {
			a, err := d.Accounts.Account(ctx, account)
			if err != nil {
				return err
			}
			members, err := d.People.Members(ctx, a.ID)
			if err != nil {
				return err
			}
			invitations, err := d.People.Invitations(ctx, a.ID)
			var views []memberView
			for i := range members {
				views = append(views, viewMember(&members[i]))
			}
			for i := range invitations {
				views = append(views, viewInvitation(&invitations[i]))
			}
			return listViews(&env.output, views, err, func(v *memberView) memberView { return *v }, memberHeads,
				(*memberView).row)
		}),
	})
	return accountFlag(cmd, &account)
}

func newMembersRemove(env *environment) *cobra.Command {
	var account string
	cmd := &cobra.Command{
		Use: "remove EMAIL", Short: "Remove a person from an account, at once",
		Example: "  weir members remove ada@example.com --account default", Args: oneArg("the e-mail address"),
		RunE: env.data(func(ctx context.Context, d *admin.Admin, args []string) error {
			a, err := d.Accounts.Account(ctx, account)
			if err != nil {
				return err
			}
			u, err := d.People.User(ctx, args[0])
			if err != nil {
				return err
			}
			return d.People.RemoveMember(ctx, actor(), a.ID, u.ID)
		}),
	}
	return accountFlag(cmd, &account)
}

func newOperators(env *environment) *cobra.Command {
	return group("operators", "Manage the people who administer the installation", newOperatorsAdd(env),
		newOperatorsLink(env), newOperatorsList(env), newOperatorsRemove(env))
}

func newOperatorsAdd(env *environment) *cobra.Command {
	var invite bool
	cmd := &cobra.Command{
		Use: "add EMAIL", Short: "Make a person an operator; invite a new person and print the link",
		Long: "Make a person an operator. A person who is not a user yet is invited, and the link printed. A user\n" +
			"with an unverified address is refused, because an account's owner may have invited the address and\n" +
			"accepted the invitation instead of its owner. With --invite such a user gets a link, which verifies\n" +
			"the address.",
		Example: "  weir operators add ada@example.com", Args: oneArg("the e-mail address"),
		RunE: env.newData(func(ctx context.Context, d *admin.Admin, args []string) error {
			u, err := d.People.User(ctx, args[0])
			if invite || err != nil && llm.AsError(err).Code == llm.CodeNotFound {
				return env.invite(ctx, d, people.Invitation{Email: args[0], Operator: true})
			}
			if err != nil {
				return err
			}
			return d.People.SetOperator(ctx, actor(), u.ID, true)
		}),
	}
	cmd.Flags().BoolVar(&invite, "invite", false, "print a link even for a person who is a user already")
	return cmd
}

func newOperatorsLink(env *environment) *cobra.Command {
	return &cobra.Command{
		Use: "link EMAIL", Short: "Print a link that signs an operator in, once, within an hour",
		Long: "Print a link that signs an operator in, once, within an hour, regardless of the settings for\n" +
			"passwords and groups of single sign-on. Use it if single sign-on fails. The audit log records who\n" +
			"created the link and that it was used.",
		Example: "  weir operators link ada@example.com", Args: oneArg("the e-mail address"),
		RunE: env.data(func(ctx context.Context, d *admin.Admin, args []string) error {
			u, err := d.People.User(ctx, args[0])
			if err != nil {
				return err
			}
			link, err := d.People.SignInLink(ctx, actor(), u.ID)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(env.stdout, link.Reveal())
			return err
		}),
	}
}

func newOperatorsList(env *environment) *cobra.Command {
	return env.jsonFlag(&cobra.Command{
		Use: "list", Short: "List the operators", Example: "  weir operators list", Args: noArgs,
		RunE: env.data(func(ctx context.Context, d *admin.Admin, _ []string) error {
			users, err := d.People.Users(ctx)
			users = slices.DeleteFunc(users, func(u people.User) bool { return !u.Operator })
			return listViews(&env.output, users, err, viewOperator, memberHeads, (*memberView).row)
		}),
	})
}

func newOperatorsRemove(env *environment) *cobra.Command {
	return &cobra.Command{
		Use: "remove EMAIL", Short: "Revoke an operator's rights, at once",
		Example: "  weir operators remove ada@example.com", Args: oneArg("the e-mail address"),
		RunE: env.data(func(ctx context.Context, d *admin.Admin, args []string) error {
			u, err := d.People.User(ctx, args[0])
			if err != nil {
				return err
			}
			return d.People.SetOperator(ctx, actor(), u.ID, false)
		}),
	}
}
