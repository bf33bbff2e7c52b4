package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"weir/internal/account"
	"weir/internal/app"
)

// keyChange is what the flags of weir keys change say.
type keyChange struct {
	label              string
	permissions        []string
	models             []string
	expires            time.Duration
	limits             account.Limits
	usd, period        string
	allModels, forever bool
}

func newKeysChange(env *environment) *cobra.Command {
	var c keyChange
	cmd := env.jsonFlag(&cobra.Command{
		Use: "change ID", Short: "Change a key, within a second; what is not given stays",
		Example: "  weir keys change ID --label nightly --rpm 60 --budget-usd 5 --budget-period month",
		Args:    oneArg("the key's id"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return env.withData(cmd, func(d *app.Data) error {
				k, err := d.Accounts.Key(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				u, err := c.update(cmd, &k, d.Now())
				if err != nil {
					return err
				}
				return env.showKey(cmd, d, func() (account.Key, error) {
					return d.Accounts.UpdateKey(cmd.Context(), actor(), k.ID, u)
				})
			})
		},
	})
	flags := cmd.Flags()
	flags.StringVar(&c.label, "label", "", "what the key is for")
	flags.StringSliceVar(&c.permissions, "permission", nil, "what it may do: chat, uses, admin")
	flags.StringArrayVar(&c.models, "model", nil, "pattern of models it may use, may be repeated")
	flags.BoolVar(&c.allModels, "all-models", false, "it may use all models")
	flags.DurationVar(&c.expires, "expires", 0, "how long it lives from now, such as 720h")
	flags.BoolVar(&c.forever, "no-expiry", false, "it lives for ever")
	limitFlags(cmd, &c.limits, "; 0 for no limit")
	flags.StringVar(&c.usd, "budget-usd", "", "budget in US dollars; 0 for none")
	flags.StringVar(&c.period, "budget-period", "", "of the budget: day, month or total")
	return cmd
}

// update is what the flags that were given change.
func (c *keyChange) update(cmd *cobra.Command, k *account.Key, now time.Time) (u account.KeyUpdate, err error) {
	given := cmd.Flags().Changed
	if given("model") && c.allModels || given("expires") && c.forever {
		return u, usageError{errors.New("--model and --all-models do not go together, nor do --expires and " +
			"--no-expiry")}
	}
	if given("label") {
		u.Label = &c.label
	}
	if given("permission") {
		list := make([]account.Permission, len(c.permissions))
		for i, p := range c.permissions {
			list[i] = account.Permission(p)
		}
		u.Permissions = &list
	}
	if given("model") || c.allModels {
		u.Models = &c.models
	}
	switch {
	case c.forever:
		u.Expires = new(time.Time)
	case given("expires"):
		u.Expires = new(now.Add(c.expires).UTC().Truncate(time.Microsecond))
	}
	if keepLimits(cmd, &c.limits, &k.Limits); c.limits != k.Limits {
		u.Limits = &c.limits
	}
	if given("budget-usd") || given("budget-period") {
		u.Budget, err = c.budget(&k.Budget)
	}
	return u, err
}

// budget is the budget as the flags change it.
func (c *keyChange) budget(before *account.Budget) (*account.Budget, error) {
	usd, period := c.usd, c.period
	if usd == "" {
		usd = before.Limit.String()
	}
	if period == "" {
		period = string(before.Period)
	}
	if usd == "0" {
		return &account.Budget{}, nil
	}
	b, err := parseBudget(usd, period)
	return &b, err
}

func newKeysRotate(env *environment) *cobra.Command {
	overlap := 24 * time.Hour
	cmd := &cobra.Command{
		Use: "rotate ID", Short: "Replace the secret of a key, and print the new one, this once",
		Long: "Limits, budget and usage stay with the key. The former secret stays good for the overlap; one from an " +
			"earlier rotation does not.",
		Example: "  weir keys rotate ID --overlap 1h", Args: oneArg("the key's id"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return env.withData(cmd, func(d *app.Data) error {
				_, token, err := d.Accounts.RotateKey(cmd.Context(), actor(), args[0], overlap)
				if err != nil {
					return err
				}
				_, err = fmt.Fprintln(env.stdout, token.Reveal())
				return err
			})
		},
	}
	cmd.Flags().DurationVar(&overlap, "overlap", overlap, "how long the former secret stays good, 0 to 720h")
	return cmd
}

// showKey prints the key that do gives.
func (env *environment) showKey(cmd *cobra.Command, d *app.Data, do func() (account.Key, error)) error {
	k, err := do()
	if err != nil {
		return err
	}
	a, err := d.Accounts.Account(cmd.Context(), k.AccountID)
	if err != nil {
		return err
	}
	return list(env, []keyView{viewKey(a.Name, &k, d.Now())}, keyHeads, (*keyView).row)
}
