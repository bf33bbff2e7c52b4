package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"weir/internal/account"
	"weir/internal/app"
	"weir/internal/budget"
	"weir/internal/llm"
)

func newAccountsBudget(env *environment) *cobra.Command {
	var usd, period string
	var none bool
	var per perFlags
	cmd := accountChange(env, "budget NAME", "Give an account a budget, which is never passed",
		func(ctx context.Context, d *app.Data, name string) (account.Account, error) {
			var b account.Budget
			if !none && (usd == "" || period == "") {
				return account.Account{},
					usageError{errors.New(
						"a budget is an amount and a period, such as --usd 5 --period month; --none takes it away")}
			}
			if !none {
				var err error
				if b, err = parseBudget(usd, period); err != nil {
					return account.Account{}, err
				}
			}
			if per.given() {
				return per.change(ctx, d, name, func(p *account.Per) { p.Budget = b })
			}
			return d.Accounts.SetBudget(ctx, actor(), name, b)
		})
	cmd.Long = "Give an account a budget in US dollars for each UTC day, each UTC month, or in total.\n" +
		"What a request may cost is held before it is sent, so that the sum of what was spent\n" +
		"never passes the budget, on however many nodes. What was spent in the period already counts.\n" +
		"With --per-user it is what each end user may spend, and with --per-tag what may be spent for each\n" +
		"value of a tag: of that, what was spent since it was set counts."
	cmd.Example = "  weir accounts budget research --usd 5 --period day\n  weir accounts budget research --none\n" +
		"  weir accounts budget research --per-user --usd 5 --period month"
	per.define(cmd)
	cmd.Flags().StringVar(&usd, "usd", "", "US dollars, such as 5 or 0.25")
	cmd.Flags().StringVar(&period, "period", "", "day, month or total")
	cmd.Flags().BoolVar(&none, "none", false, "take the budget away")
	cmd.MarkFlagsMutuallyExclusive("none", "usd")
	cmd.MarkFlagsMutuallyExclusive("none", "period")
	return cmd
}

func newAccountsCredit(env *environment) *cobra.Command {
	var usd string
	var end, goodwill bool
	cmd := accountChange(env, "credit NAME", "Add credit that an account has paid beforehand",
		func(ctx context.Context, d *app.Data, name string) (account.Account, error) {
			if end {
				return d.Accounts.EndCredit(ctx, actor(), name)
			}
			amount, err := llm.ParseMoney(usd)
			if err != nil || amount == 0 {
				return account.Account{},
					usageError{fmt.Errorf(
						"credit is an amount of US dollars such as 20, or -5 to take some away; got %q", usd)}
			}
			if goodwill {
				return d.Accounts.AddGoodwill(ctx, actor(), name, amount)
			}
			return d.Accounts.AddCredit(ctx, actor(), name, amount)
		})
	cmd.Long = "Add credit that an account has paid beforehand. From the first of it on the account\n" +
		"spends its credit and no more; what it had spent before does not count. A budget counts beside it.\n" +
		"With --goodwill the amount is given, and not paid: an account with credit has so much more of\n" +
		"it; any other owes so much less for what it uses, and does not have to pay beforehand."
	cmd.Example = "  weir accounts credit research --usd 20\n  weir accounts credit research --usd 5 --goodwill\n  " +
		"weir accounts credit research --end"
	cmd.Flags().StringVar(&usd, "usd", "", "US dollars; less than 0 takes some away")
	cmd.Flags().BoolVar(&end, "end", false, "let the account spend without credit, as before the first")
	cmd.Flags().BoolVar(&goodwill, "goodwill", false, "the amount is given, and not paid")
	cmd.MarkFlagsMutuallyExclusive("end", "usd")
	cmd.MarkFlagsMutuallyExclusive("end", "goodwill")
	cmd.MarkFlagsOneRequired("end", "usd")
	return cmd
}

// spendView is how an account's budgets stand.
type spendView struct {
	SpentUSD  string `json:"budget_spent_usd,omitempty"`
	CreditUSD string `json:"credit_usd,omitempty"`
	LeftUSD   string `json:"credit_left_usd,omitempty"`
	// GoodwillUSD is what an account that does not pay beforehand owes less.
	GoodwillUSD string `json:"goodwill_usd,omitempty"`
}

func viewSpend(a *account.Account, s account.BudgetStatus) spendView {
	var v spendView
	if a.Budget.Limit > 0 {
		v.SpentUSD = s.Spent.String()
	}
	if a.Credit != nil {
		v.CreditUSD, v.LeftUSD = a.Credit.Paid.String(), s.CreditLeft.String()
	}
	if a.Goodwill != 0 {
		v.GoodwillUSD = a.Goodwill.String()
	}
	return v
}

// budgetText is a budget for people.
func budgetText(limit, period, spent string) string {
	if limit == "" {
		return "none"
	}
	text := "$" + limit
	if period != string(budget.PeriodTotal) {
		text += " per " + period
	}
	if spent != "" {
		text += ", $" + spent + " spent"
	}
	return text
}
