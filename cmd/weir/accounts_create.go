package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"weir/internal/account"
	"weir/internal/admin"
	"weir/internal/llm"
	"weir/internal/people"
)

// newAccount holds the flags of "weir accounts create".
type newAccount struct {
	limits              account.Limits
	usd, period, credit string
	members             []string
}

func newAccountsCreate(env *environment) *cobra.Command {
	var n newAccount
	cmd := env.jsonFlag(&cobra.Command{
		Use: "create NAME", Short: "Create an account",
		Long: "Create an account with its limits, budget and credit, and invite its members: all of it or nothing.\n" +
			"The links of the invitations are printed to stderr. Each link is valid once, for 7 days.",
		Example: "  weir accounts create research\n  weir accounts create research --rpm 600 --budget-usd 250 " +
			"--budget-period month --member ada@example.com=owner",
		Args: oneArg("the account's name"),
		RunE: env.newData(func(ctx context.Context, d *admin.Admin, args []string) error {
			draft, members, err := n.read(d.Accounts, args[0])
			if err != nil {
				return err
			}
			a, invited, err := d.People.CreateAccount(ctx, actor(), draft, members, "")
			if err != nil {
				return err
			}
			for i := range invited {
				fmt.Fprintf(env.stderr, "%s %s\n", invited[i].Email, invited[i].Link.Reveal())
			}
			return env.printAccount(ctx, d, a)
		}),
	})
	flags := cmd.Flags()
	limitFlags(cmd, &n.limits, " (default no limit)")
	flags.StringVar(&n.usd, "budget-usd", "", "budget, in US dollars")
	flags.StringVar(&n.period, "budget-period", "", "period of the budget: day, month or total")
	flags.StringVar(&n.credit, "credit-usd", "", "prepaid credit, in US dollars")
	flags.StringArrayVar(&n.members, "member", nil,
		"person to invite: EMAIL, or EMAIL=ROLE with the role owner, member (default) or viewer; may be repeated")
	return cmd
}

// read builds the account and the invitations from the flags.
func (n *newAccount) read(accounts *account.Service, name string) (d account.Draft, members []people.Invitation,
	err error,
) {
	b, err := parseBudget(n.usd, n.period)
	if err != nil {
		return d, nil, err
	}
	var credit llm.Money
	if n.credit != "" {
		if credit, err = llm.ParseMoney(n.credit); err != nil {
			return d, nil, usageError{fmt.Errorf("credit is an amount of US dollars such as 20; got %q", n.credit)}
		}
	}
	for _, text := range n.members {
		one := people.Invitation{Email: text, Role: people.Member}
		// The address may contain "=" too.
		if i := strings.LastIndexByte(text, '='); i > strings.LastIndexByte(text, '@') {
			one.Email, one.Role = text[:i], people.Role(text[i+1:])
		}
		members = append(members, one)
	}
	d, err = accounts.Draft(name, account.Update{Limits: &n.limits, Budget: &b}, credit)
	return d, members, err
}
