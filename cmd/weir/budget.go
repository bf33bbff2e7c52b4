package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"weir/internal/account"
	"weir/internal/admin"
	"weir/internal/budget"
	"weir/internal/llm"
)

func newAccountsBudget(env *environment) *cobra.Command {
	var usd, period string
	var none bool
	var per perFlags
	cmd := accountChange(env, "budget NAME", "Set an account's budget, which Weir never exceeds",
		func(ctx context.Context, d *admin.Admin, name string) (account.Account, error) {
			var b account.Budget
			if !none && (usd == "" || period == "") {
				return account.Account{},
					usageError{errors.New(
						"a budget has an amount and a period, such as --usd 5 --period month; --none removes the " +
							"budget")}
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
	cmd.Long = "Give an account a budget in US dollars for each UTC day, each UTC month, or in total. Weir reserves\n" +
		"the most that a request can cost before it sends the request, so spending never exceeds the budget,\n" +
		"on any number of nodes. The amount that was already spent in the period counts. With --per-user each\n" +
		"end user has this budget, and with --per-tag each value of a tag. For these, only spending since the\n" +
		"budget was set counts."
	cmd.Example = "  weir accounts budget research --usd 5 --period day\n  weir accounts budget research --none\n" +
		"  weir accounts budget research --per-user --usd 5 --period month"
	per.define(cmd)
	cmd.Flags().StringVar(&usd, "usd", "", "US dollars, such as 5 or 0.25")
	cmd.Flags().StringVar(&period, "period", "", "day, month or total")
	cmd.Flags().BoolVar(&none, "none", false, "remove the budget")
	cmd.MarkFlagsMutuallyExclusive("none", "usd")
	cmd.MarkFlagsMutuallyExclusive("none", "period")
	return cmd
}

func newAccountsCredit(env *environment) *cobra.Command {
	var usd string
	var end, goodwill bool
	cmd := accountChange(env, "credit NAME", "Add prepaid credit to an account",
		func(ctx context.Context, d *admin.Admin, name string) (account.Account, error) {
			if end {
				return d.Accounts.EndCredit(ctx, actor(), name)
			}
			amount, err := llm.ParseMoney(usd)
			if err != nil || amount == 0 {
				return account.Account{},
					usageError{fmt.Errorf(
						"credit is an amount of US dollars such as 20, or -5 to remove some; got %q", usd)}
			}
			if goodwill {
				return d.Accounts.AddGoodwill(ctx, actor(), name, amount)
			}
			return d.Accounts.AddCredit(ctx, actor(), name, amount)
		})
	cmd.Long = "Add prepaid credit to an account. From the first credit on, the account can spend only its credit.\n" +
		"Its earlier spending does not count. A budget applies in addition to the credit. With --goodwill the\n" +
		"amount is granted, not paid: it adds to the credit of an account that has credit, and reduces the\n" +
		"amount due of an account without credit, which can still spend without paying beforehand."
	cmd.Example = "  weir accounts credit research --usd 20\n  weir accounts credit research --usd 5 --goodwill\n  " +
		"weir accounts credit research --end"
	cmd.Flags().StringVar(&usd, "usd", "", "US dollars; a negative amount removes credit")
	cmd.Flags().BoolVar(&end, "end", false, "let the account spend without credit again")
	cmd.Flags().BoolVar(&goodwill, "goodwill", false, "the amount is granted, not paid")
	cmd.MarkFlagsMutuallyExclusive("end", "usd")
	cmd.MarkFlagsMutuallyExclusive("end", "goodwill")
	cmd.MarkFlagsOneRequired("end", "usd")
	return cmd
}

// spendView holds the spending and the credit of an account.
type spendView struct {
	SpentUSD  string `json:"budget_spent_usd,omitempty"`
	CreditUSD string `json:"credit_usd,omitempty"`
	LeftUSD   string `json:"credit_left_usd,omitempty"`
	// GoodwillUSD reduces the amount due of an account that does not pay beforehand.
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

// budgetText formats a budget for a table.
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
