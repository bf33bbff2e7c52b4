package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"weir/internal/account"
	"weir/internal/admin"
	"weir/internal/audit"
	"weir/internal/budget"
	"weir/internal/config"
	"weir/internal/llm"
)

// withData opens the existing data of the configuration that the flags select, calls do with it, and closes it.
func (env *environment) withData(cmd *cobra.Command, do func(*admin.Admin) error) error {
	cfg, err := env.loadConfig("")
	if err == nil {
		err = admin.RequireData(&cfg)
	}
	if err != nil {
		return err
	}
	return env.open(cmd, cfg, do)
}

// withNewData is withData for commands that may be the first ones: it creates the data. A dry run writes a note and
// opens empty data in a temporary directory instead.
func (env *environment) withNewData(cmd *cobra.Command, dryRun bool, do func(*admin.Admin) error) error {
	cfg, err := env.loadConfig("")
	if err != nil {
		return err
	}
	if missing := admin.RequireData(&cfg); missing != nil && dryRun {
		fmt.Fprintln(env.stderr, "note: the changes are those of a new installation:", missing)
		if cfg.Data, err = os.MkdirTemp("", "weir-dry-run-"); err != nil {
			return err
		}
		defer os.RemoveAll(cfg.Data) //nolint:errcheck // it is empty but for a new database
	}
	return env.open(cmd, cfg, do)
}

func (env *environment) open(cmd *cobra.Command, cfg config.Config, do func(*admin.Admin) error) error {
	data, err := admin.Open(cmd.Context(), cfg, env.configOptions(""), env.logger(&cfg))
	if err != nil {
		return err
	}
	defer data.Close() //nolint:errcheck // what was written is committed by now
	return do(data)
}

// runE is the function that cobra runs for a command.
type runE = func(cmd *cobra.Command, args []string) error

// data returns a command function that opens the data and calls do with it.
func (env *environment) data(do func(ctx context.Context, d *admin.Admin, args []string) error) runE {
	return func(cmd *cobra.Command, args []string) error {
		return env.withData(cmd, func(d *admin.Admin) error { return do(cmd.Context(), d, args) })
	}
}

// newData is data for commands that may be the first ones.
func (env *environment) newData(do func(ctx context.Context, d *admin.Admin, args []string) error) runE {
	return func(cmd *cobra.Command, args []string) error {
		return env.withNewData(cmd, false, func(d *admin.Admin) error { return do(cmd.Context(), d, args) })
	}
}

// accountView holds an account as listings show it.
type accountView struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Status    string `json:"status"`
	OnHangup  string `json:"on_hangup"`
	Content   int64  `json:"content_percent"`
	BudgetUSD string `json:"budget_usd,omitempty"`
	Period    string `json:"budget_period,omitempty"`
	// Per holds the limits and the budget of each end user and each tag value, by "user" and "tag:NAME".
	Per map[string]perView `json:"per,omitempty"`
	limitsView
	spendView
	Created string `json:"created"`
}

func viewAccount(a *account.Account, s account.BudgetStatus) accountView {
	v := accountView{
		ID: a.ID, Name: a.Name, Status: "active", OnHangup: string(a.OnDisconnect), Content: a.ContentPercent,
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
	content := "none"
	if v.Content > 0 {
		content = count(v.Content) + " % of requests"
	}
	return []string{v.Name, v.ID, v.Status, v.OnHangup, limits, budgets, credit, content, v.Created}
}

var accountHeads = []string{
	"NAME", "ID", "STATUS", "ON HANG-UP", "LIMITS", "BUDGET", "CREDIT LEFT", "CONTENT LOG", "CREATED",
}

func (o *output) printAccounts(ctx context.Context, d *admin.Admin, all ...account.Account) error {
	views := make([]accountView, 0, len(all))
	for i := range all {
		status, err := all[i].BudgetStatus(ctx, d.Now(), d.Ledger.Spent)
		if err != nil {
			return err
		}
		views = append(views, viewAccount(&all[i], status))
	}
	heads, row := accountHeads, (*accountView).row
	if !slices.ContainsFunc(views, func(v accountView) bool { return v.Content > 0 }) { // the table is wide
		const column = 7
		heads = slices.Delete(slices.Clone(heads), column, column+1)
		row = func(v *accountView) []string { return slices.Delete(v.row(), column, column+1) }
	}
	return list(o, views, heads, row)
}

func (o *output) printAccount(ctx context.Context, d *admin.Admin, a account.Account) error {
	if !o.asJSON {
		return o.printAccounts(ctx, d, a)
	}
	status, err := a.BudgetStatus(ctx, d.Now(), d.Ledger.Spent)
	if err != nil {
		return err
	}
	return printJSON(o.stdout, viewAccount(&a, status))
}

func newAccounts(env *environment) *cobra.Command {
	return group("accounts", "Manage accounts: their limits, budgets, credit and prices",
		newAccountsCreate(env), newAccountsList(env),
		newAccountsShow(env),
		accountDo(env, "suspend NAME", "Refuse all requests of an account within a second",
			(*account.Service).Suspend),
		accountDo(env, "resume NAME", "Accept requests of a suspended account again", (*account.Service).Resume),
		newAccountsClose(env), newAccountsHangup(env), newAccountsContent(env), newAccountsLimits(env),
		newAccountsBudget(env),
		newAccountsCredit(env), newAccountsPrices(env),
	)
}

func newAccountsShow(env *environment) *cobra.Command {
	return env.jsonFlag(&cobra.Command{
		Use: "show NAME", Short: "Show one account", Example: "  weir accounts show research",
		Args: oneArg("the account's name"),
		RunE: env.data(func(ctx context.Context, d *admin.Admin, args []string) error {
			a, err := d.Accounts.Account(ctx, args[0])
			if err != nil {
				return err
			}
			if env.asJSON {
				return env.printAccount(ctx, d, a)
			}
			status, err := a.BudgetStatus(ctx, d.Now(), d.Ledger.Spent)
			if err != nil {
				return err
			}
			v := viewAccount(&a, status)
			return printCard(env.stdout, accountHeads, v.row())
		}),
	})
}

func newAccountsClose(env *environment) *cobra.Command {
	cmd := accountDo(env, "close NAME", "Close an account for good: delete its keys, members and names, retain "+
		"its usage",
		(*account.Service).Close)
	cmd.Long = "Close an account for good. This cannot be undone. Weir revokes its keys and deletes its members,\n" +
		"invitations, webhooks, stored replies and stored responses. It also deletes the account's name and\n" +
		"the labels and tags of its keys, in the audit log too. Usage, credit and statements remain, under\n" +
		"the name closed- and the account's id."
	return cmd
}

// onAccount runs a command on the account with that name or id, and returns the account afterwards.
type onAccount = func(ctx context.Context, d *admin.Admin, name string) (account.Account, error)

// accountDo returns a command that needs only the account's name.
func accountDo(
	env *environment, use, short string,
	do func(*account.Service, context.Context, audit.Actor, string) (account.Account, error),
) *cobra.Command {
	return accountChange(env, use, short, func(ctx context.Context, d *admin.Admin, name string) (account.Account,
		error,
	) {
		return do(d.Accounts, ctx, actor(), name)
	})
}

// accountChange returns a command that runs do on the account and prints the account afterwards.
func accountChange(env *environment, use, short string, do onAccount) *cobra.Command {
	verb, _, _ := strings.Cut(use, " ")
	return env.jsonFlag(&cobra.Command{
		Use: use, Short: short, Example: "  weir accounts " + verb + " research", Args: oneArg("the account's name"),
		RunE: env.data(func(ctx context.Context, d *admin.Admin, args []string) error {
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
		RunE: env.data(func(ctx context.Context, d *admin.Admin, _ []string) error {
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
	cmd := accountChange(env, "hangup NAME", "Set what happens to an answer when its client disconnects",
		func(ctx context.Context, d *admin.Admin, name string) (account.Account, error) {
			return d.Accounts.SetOnDisconnect(ctx, actor(), name, account.OnDisconnect(what))
		})
	cmd.Long = "Set what happens to a provider's answer when its client disconnects before the end: drain reads it\n" +
		"to its end, so that the provider's usage is known; cancel aborts it, and budgets count the most that\n" +
		"it can have cost; default drains whole answers and cancels streams, except where the provider\n" +
		"charges for the whole stream anyway."
	cmd.Example = "  weir accounts hangup research --set drain"
	cmd.Flags().StringVar(&what, "set", "", "default, cancel or drain")
	_ = cmd.MarkFlagRequired("set") // the flag is defined one line above
	return cmd
}

func newAccountsContent(env *environment) *cobra.Command {
	var percent int64
	cmd := accountChange(env, "content NAME", "Set how many of the account's requests have their content logged",
		func(ctx context.Context, d *admin.Admin, name string) (account.Account, error) {
			return d.Accounts.UpdateAccount(ctx, actor(), name, account.Update{ContentPercent: &percent})
		})
	cmd.Long = "Set the percentage of requests whose content, and that of their answers, is logged: 0 for none, as\n" +
		"at first, 100 for all. Content is redacted, encrypted and deleted after retention.content. To leave a key\n" +
		"out: weir keys change ID --no-content"
	cmd.Example = "  weir accounts content research --percent 100"
	cmd.Flags().Int64Var(&percent, "percent", 0, "percentage of requests, 0 to 100")
	_ = cmd.MarkFlagRequired("percent") // the flag is defined one line above
	return cmd
}

// parseBudget parses the amount and the period of a budget; both are empty for no budget.
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
	if period == "" {
		return account.Budget{}, usageError{errors.New("a budget needs its period: day, month or total")}
	}
	return account.Budget{}, usageError{fmt.Errorf("a budget's period is day, month or total; got %q", period)}
}
