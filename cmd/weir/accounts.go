package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"weir/internal/account"
	"weir/internal/app"
	"weir/internal/audit"
	"weir/internal/budget"
	"weir/internal/llm"
)

// withData runs do over the data that the command line points to.
func (env *environment) withData(cmd *cobra.Command, do func(*app.Data) error) error {
	cfg, err := env.loadConfig("")
	if err != nil {
		return err
	}
	data, err := app.OpenData(cmd.Context(), cfg, env.logger(&cfg))
	if err != nil {
		return err
	}
	defer data.Close() //nolint:errcheck // what was written is committed by now
	return do(data)
}

// runE is what a command does.
type runE = func(cmd *cobra.Command, args []string) error

// data is a command that works on the data that the command line points to.
func (env *environment) data(do func(ctx context.Context, d *app.Data, args []string) error) runE {
	return func(cmd *cobra.Command, args []string) error {
		return env.withData(cmd, func(d *app.Data) error { return do(cmd.Context(), d, args) })
	}
}

// accountView is an account as listings show it.
type accountView struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Status    string `json:"status"`
	OnHangup  string `json:"on_hangup"`
	BudgetUSD string `json:"budget_usd,omitempty"`
	Period    string `json:"budget_period,omitempty"`
	// Per is what each end user and each value of a tag may use, by "user" and "tag:NAME".
	Per map[string]perView `json:"per,omitempty"`
	limitsView
	spendView
	Created string `json:"created"`
}

func viewAccount(a *account.Account, s account.BudgetStatus) accountView {
	v := accountView{
		ID: a.ID, Name: a.Name, Status: "active", OnHangup: string(a.OnDisconnect),
		Created: a.Created.Format(time.RFC3339), limitsView: limitsView(a.Limits), spendView: viewSpend(a, s),
		Per: viewPer(a.Per),
	}
	switch {
	case a.Closed != nil:
		v.Status = "closed"
	case a.Suspended:
		v.Status = "suspended"
	}
	if a.Budget.Limit > 0 {
		v.BudgetUSD, v.Period = a.Budget.Limit.String(), string(a.Budget.Period)
	}
	return v
}

func (v *accountView) row() []string {
	credit := "none"
	if v.CreditUSD != "" {
		credit = "$" + v.LeftUSD + " of $" + v.CreditUSD
	}
	if v.GoodwillUSD != "" {
		credit += ", $" + v.GoodwillUSD + " goodwill"
	}
	limits, budgets := perCells(v.Per, v.cell(), budgetText(v.BudgetUSD, v.Period, v.SpentUSD))
	return []string{v.Name, v.ID, v.Status, v.OnHangup, limits, budgets, credit, v.Created}
}

var accountHeads = []string{"NAME", "ID", "STATUS", "ON HANG-UP", "LIMITS", "BUDGET", "CREDIT LEFT", "CREATED"}

func (env *environment) printAccounts(ctx context.Context, d *app.Data, all ...account.Account) error {
	views := make([]accountView, 0, len(all))
	for i := range all {
		status, err := all[i].BudgetStatus(ctx, d.Now(), d.Spent)
		if err != nil {
			return err
		}
		views = append(views, viewAccount(&all[i], status))
	}
	return list(env, views, accountHeads, (*accountView).row)
}

func (env *environment) printAccount(ctx context.Context, d *app.Data, a account.Account) error {
	if !env.asJSON {
		return env.printAccounts(ctx, d, a)
	}
	status, err := a.BudgetStatus(ctx, d.Now(), d.Spent)
	if err != nil {
		return err
	}
	return printJSON(env.stdout, viewAccount(&a, status))
}

func newAccounts(env *environment) *cobra.Command {
	return group("accounts", "Accounts: what usage belongs to",
		newAccountsCreate(env), newAccountsList(env),
		accountChange(env, "show NAME", "Show one account",
			func(ctx context.Context, d *app.Data, name string) (account.Account, error) {
				return d.Accounts.Account(ctx, name)
			}),
		accountDo(env, "suspend NAME", "Refuse all requests of an account, within a second",
			(*account.Service).Suspend),
		accountDo(env, "resume NAME", "Let a suspended account go on", (*account.Service).Resume),
		newAccountsClose(env), newAccountsHangup(env), newAccountsLimits(env), newAccountsBudget(env), newAccountsCredit(env),
		newAccountsPrices(env),
	)
}

func newAccountsClose(env *environment) *cobra.Command {
	cmd := accountDo(env, "close NAME", "Close an account for good: its keys, members and names go, its sums stay",
		(*account.Service).Close)
	cmd.Long = "Closes an account for good, which cannot be undone. Its keys are revoked; its members, invitations, webhooks " +
		"and what is kept for its clients are deleted, and so are its name and the labels and tags of its keys, in the audit " +
		"log too. What it used, its credit and its statements stay, under the name closed- and its id."
	return cmd
}

// onAccount is what a command does to the account of that name, or id, and the account as it is then.
type onAccount = func(ctx context.Context, d *app.Data, name string) (account.Account, error)

// accountDo is a command that needs to know no more than the account's name.
func accountDo(
	env *environment, use, short string,
	do func(*account.Service, context.Context, audit.Actor, string) (account.Account, error),
) *cobra.Command {
	return accountChange(env, use, short, func(ctx context.Context, d *app.Data, name string) (account.Account, error) {
		return do(d.Accounts, ctx, actor(), name)
	})
}

// accountChange is a command that does something to the account it names and shows it as it is then.
func accountChange(env *environment, use, short string, do onAccount) *cobra.Command {
	verb, _, _ := strings.Cut(use, " ")
	return env.jsonFlag(&cobra.Command{
		Use: use, Short: short, Example: "  weir accounts " + verb + " research", Args: oneArg("the account's name"),
		RunE: env.data(func(ctx context.Context, d *app.Data, args []string) error {
			a, err := do(ctx, d, args[0])
			if err != nil {
				return err
			}
			return env.printAccount(ctx, d, a)
		}),
	})
}

func newAccountsList(env *environment) *cobra.Command {
	return env.jsonFlag(&cobra.Command{
		Use: "list", Short: "List all accounts", Example: "  weir accounts list --json", Args: noArgs,
		RunE: env.data(func(ctx context.Context, d *app.Data, _ []string) error {
			all, err := d.Accounts.Accounts(ctx)
			if err != nil {
				return err
			}
			return env.printAccounts(ctx, d, all...)
		}),
	})
}

func newAccountsHangup(env *environment) *cobra.Command {
	var what string
	cmd := accountChange(env, "hangup NAME", "Say what happens to an answer when its client leaves",
		func(ctx context.Context, d *app.Data, name string) (account.Account, error) {
			return d.Accounts.SetOnDisconnect(ctx, actor(), name, account.OnDisconnect(what))
		})
	cmd.Long = "Say what happens to a provider's answer when its client leaves before the end:\n" +
		"drain reads it to its end, so that the provider's own numbers are known; cancel stops it,\n" +
		"and budgets count the most that it can have cost; default drains whole answers and\n" +
		"cancels streams, unless the provider charges for all of a stream anyway."
	cmd.Example = "  weir accounts hangup research --set drain"
	cmd.Flags().StringVar(&what, "set", "", "default, cancel or drain")
	_ = cmd.MarkFlagRequired("set") // the flag is defined one line above
	return cmd
}

// parseBudget reads the two flags of a budget, which go together.
func parseBudget(usd, period string) (account.Budget, error) {
	if usd == "" && period == "" {
		return account.Budget{}, nil
	}
	limit, err := llm.ParseMoney(usd)
	if err != nil || limit <= 0 {
		return account.Budget{},
			usageError{fmt.Errorf("a budget is a positive amount of US dollars such as 5 or 0.25; got %q", usd)}
	}
	switch p := budget.Period(period); p {
	case budget.PeriodDay, budget.PeriodMonth, budget.PeriodTotal:
		return account.Budget{Limit: limit, Period: p}, nil
	}
	return account.Budget{}, usageError{fmt.Errorf("a budget's period is day, month or total; got %q", period)}
}
