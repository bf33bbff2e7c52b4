package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"weir/internal/account"
	"weir/internal/admin"
)

// perFlags holds the flags that make a limit or a budget one of each end user, or of each value of a tag.
type perFlags struct {
	user bool
	tag  string
}

func (p *perFlags) define(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&p.user, "per-user", false, "apply it to each end user separately")
	cmd.Flags().Func("per-tag", "apply it to each value of the tag `name` separately", func(name string) error {
		if name == "" { // such as an unset variable: the limit would be the account's own
			return errors.New("give the name of a tag, such as team")
		}
		p.tag = name
		return nil
	})
	cmd.MarkFlagsMutuallyExclusive("per-user", "per-tag")
}

func (p *perFlags) given() bool { return p.user || p.tag != "" }

// changed returns the list with a change of the limits and budget of each end user, or of each value of the tag.
func (p *perFlags) changed(list []account.Per, change func(*account.Per)) []account.Per {
	per := account.PerOf(list, p.tag)
	change(&per)
	return account.WithPer(list, per)
}

// change changes the limits and the budget of each end user of an account, or of each value of a tag.
func (p *perFlags) change(ctx context.Context, d *admin.Admin, name string, change func(*account.Per)) (
	account.Account, error,
) {
	a, err := d.Accounts.Account(ctx, name)
	if err != nil {
		return a, err
	}
	list := p.changed(a.Per, change)
	return d.Accounts.UpdateAccount(ctx, actor(), a.ID, account.Update{Per: &list})
}

// perView holds the limits and the budget of each end user, or of each value of a tag.
type perView struct {
	BudgetUSD string `json:"budget_usd,omitempty"`
	Period    string `json:"budget_period,omitempty"`
	limitsView
}

// viewPer returns the views of a list, by "user" and "tag:NAME".
func viewPer(list []account.Per) map[string]perView {
	all := map[string]perView{}
	for i := range list {
		p := &list[i]
		v := perView{limitsView: limitsView(p.Limits)}
		if p.Budget.Limit > 0 {
			v.BudgetUSD, v.Period = p.Budget.Limit.String(), string(p.Budget.Period)
		}
		of := "user"
		if p.Tag != "" {
			of = "tag:" + p.Tag
		}
		all[of] = v
	}
	return all
}

// perCells adds the limits and budgets of each end user and each tag value to the cells of a table.
func perCells(per map[string]perView, limits, budget string) (limitsCell, budgetCell string) {
	for _, of := range slices.Sorted(maps.Keys(per)) {
		p := per[of]
		limits = perText(limits, of, p.cell())
		budget = perText(budget, of, budgetText(p.BudgetUSD, p.Period, ""))
	}
	return limits, budget
}

// perText adds one of them to a cell.
func perText(cell string, of string, part string) string {
	if part == "none" {
		return cell
	}
	each := fmt.Sprintf("each %s %s", of, part)
	if cell == "none" {
		return each
	}
	return cell + "; " + each
}
