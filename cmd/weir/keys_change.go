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
	per                perFlags
	tags, required     []string
	noTags, noRequired bool
}

func newKeysChange(env *environment) *cobra.Command {
	var c keyChange
	cmd := env.jsonFlag(&cobra.Command{
		Use: "change ID", Short: "Change a key, within a second; what is not given stays",
		Long: "Change a key, within a second; what is not given stays. With --per-user or --per-tag, limits and the budget\n" +
			"are of each end user, or of each value of the tag.",
		Example: "  weir keys change ID --label nightly --rpm 60 --budget-usd 5 --budget-period month\n" +
			"  weir keys change ID --per-user --rpm 10\n  weir keys change ID --tag team=search --required-tag project",
		Args: oneArg("the key's id"),
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
	c.per.define(cmd)
	flags.StringArrayVar(&c.tags, "tag", nil,
		"tag of requests that have none of that name, NAME=VALUE, in place of those it has; may be repeated")
	flags.BoolVar(&c.noTags, "no-tags", false, "it has no tags")
	flags.StringArrayVar(&c.required, "required-tag", nil,
		"name of a tag without which a request is refused, in place of those it has; may be repeated")
	flags.BoolVar(&c.noRequired, "no-required-tags", false, "it requires no tags")
	cmd.MarkFlagsMutuallyExclusive("tag", "no-tags")
	cmd.MarkFlagsMutuallyExclusive("required-tag", "no-required-tags")
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
	if given("tag") || c.noTags {
		tags, err := parseTags(c.tags)
		if err != nil {
			return u, err
		}
		u.Tags = &tags
	}
	if given("required-tag") || c.noRequired {
		u.Required = &c.required
	}
	err = c.updateBounds(cmd, k, &u)
	return u, err
}

// updateBounds is what the flags change of limits and a budget, of the key or of each of its parts.
func (c *keyChange) updateBounds(cmd *cobra.Command, k *account.Key, u *account.KeyUpdate) error {
	before := account.Per{Limits: k.Limits, Budget: k.Budget}
	if c.per.given() {
		before = account.PerOf(k.Per, c.per.tag)
	}
	after := before
	keepLimits(cmd, &c.limits, &before.Limits)
	after.Limits = c.limits
	ofBudget := cmd.Flags().Changed("budget-usd") || cmd.Flags().Changed("budget-period")
	if ofBudget {
		b, err := c.budget(&before.Budget)
		if err != nil {
			return err
		}
		after.Budget = *b
	}
	switch {
	case c.per.given() && !ofBudget && !limitsGiven(cmd):
		return usageError{errors.New("say what each of them may use: --rpm, --tpm, --concurrency or --budget-usd")}
	case c.per.given():
		u.Per = new(c.per.changed(k.Per, func(p *account.Per) { *p = after }))
	default:
		if after.Limits != before.Limits {
			u.Limits = &after.Limits
		}
		if after.Budget != before.Budget {
			u.Budget = &after.Budget
		}
	}
	return nil
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
	if before.Limit == 0 && (c.usd == "" || c.period == "") {
		return nil, usageError{errors.New("there is no budget yet: give --budget-usd and --budget-period, which is day, month, or, of a whole key, total")}
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
	return env.printKeys(cmd.Context(), d, a.Name, k)
}
