package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"weir/internal/account"
	"weir/internal/app"
)

// perFlags say that a limit is of each end user, or of each value of a tag, and not of all.
type perFlags struct {
	user bool
	tag  string
}

func (p *perFlags) define(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&p.user, "per-user", false, "of each end user")
	cmd.Flags().Func("per-tag", "of each value of the tag of that `name`", func(name string) error {
		if name == "" { // as of a variable that is not set: the limit would be the account's own
			return errors.New("give the name of a tag, such as team")
		}
		p.tag = name
		return nil
	})
	cmd.MarkFlagsMutuallyExclusive("per-user", "per-tag")
}

func (p *perFlags) given() bool { return p.user || p.tag != "" }

// change changes what each end user of an account, or each value of a tag, may use.
func (p *perFlags) change(ctx context.Context, d *app.Data, name string, change func(*account.Per)) (account.Account, error) {
	a, err := d.Accounts.Account(ctx, name)
	if err != nil {
		return a, err
	}
	per := account.PerOf(a.Per, p.tag)
	change(&per)
	list := account.WithPer(a.Per, per)
	return d.Accounts.UpdateAccount(ctx, actor(), a.ID, account.Update{Per: &list})
}

// perView is what each end user, or each value of a tag, may use.
type perView struct {
	BudgetUSD string `json:"budget_usd,omitempty"`
	Period    string `json:"budget_period,omitempty"`
	limitsView
}

// viewPer are those of an account, by "user" and "tag:NAME".
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

// perText adds to a cell of a table what is of each end user and each value of a tag.
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
