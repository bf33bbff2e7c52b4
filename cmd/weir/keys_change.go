package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"weir/internal/account"
	"weir/internal/admin"
)

// keyChange holds the flags of weir keys change.
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
	noContent          bool
	answerCache        time.Duration
}

func newKeysChange(env *environment) *cobra.Command {
	var c keyChange
	var ref keyRef
	cmd := env.jsonFlag(&cobra.Command{
		Use: "change ID|LABEL", Short: "Change a key; the change is in force within a second",
		Long: "Change a key. The change is in force within a second. Settings without a flag stay unchanged. With\n" +
			"--per-user or --per-tag, the limits and the budget apply to each end user, or to each value of the\n" +
			"tag.",
		Example: "  weir keys change laptop --label nightly --rpm 60 --budget-usd 5 --budget-period month\n" +
			"  weir keys change ID --per-user --rpm 10\n  weir keys change ID --tag team=search --required-tag project",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := requireChange(cmd); err != nil {
				return err
			}
			return env.withData(cmd, func(d *admin.Admin) error {
				k, err := d.Accounts.FindKey(cmd.Context(), ref.account, args[0])
				if err != nil {
					return err
				}
				u, err := c.update(cmd, &k, d.Now())
				if err != nil {
					return err
				}
				env.warnUnmatched(cmd, c.models)
				return env.showKey(cmd, d, func() (account.Key, error) {
					return d.Accounts.UpdateKey(cmd.Context(), actor(), k.ID, u)
				})
			})
		},
	})
	ref.define(cmd)
	flags := cmd.Flags()
	flags.StringVar(&c.label, "label", "", "name of the key, such as its purpose")
	flags.StringSliceVar(&c.permissions, "permission", nil, "permission: chat, uses, tools or admin")
	flags.StringArrayVar(&c.models, "model", nil, "pattern of the models that the key may use; may be repeated")
	flags.BoolVar(&c.allModels, "all-models", false, "the key may use all models")
	durationFlag(cmd, &c.expires, "expires", 0, "lifetime from now, such as 30d or 12h")
	flags.BoolVar(&c.forever, "no-expiry", false, "the key does not expire")
	limitFlags(cmd, &c.limits, "; 0 for no limit")
	flags.StringVar(&c.usd, "budget-usd", "", "budget, in US dollars; 0 for none")
	flags.StringVar(&c.period, "budget-period", "", "period of the budget: day, month or total")
	c.per.define(cmd)
	flags.StringArrayVar(&c.tags, "tag", nil,
		"default tag of requests without a tag of that name, NAME=VALUE; replaces the present ones; may be repeated")
	flags.BoolVar(&c.noTags, "no-tags", false, "remove the default tags")
	flags.StringArrayVar(&c.required, "required-tag", nil,
		"name of a tag that every request must have; replaces the present ones; may be repeated")
	flags.BoolVar(&c.noRequired, "no-required-tags", false, "require no tags")
	flags.BoolVar(&c.noContent, "no-content", false,
		"never log the content of its requests; with =false, log it as the account's setting says")
	durationFlag(cmd, &c.answerCache, "answer-cache", 0,
		"greatest age of stored answers to its requests, such as 1h or 7d; 0s for no stored answers")
	cmd.MarkFlagsMutuallyExclusive("tag", "no-tags")
	cmd.MarkFlagsMutuallyExclusive("required-tag", "no-required-tags")
	return cmd
}

// update returns the changes that the flags ask for.
func (c *keyChange) update(cmd *cobra.Command, k *account.Key, now time.Time) (u account.KeyUpdate, err error) {
	given := cmd.Flags().Changed
	if given("model") && c.allModels || given("expires") && c.forever {
		return u, usageError{errors.New("give only one of --model and --all-models, and only one of --expires and " +
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
	if given("no-content") {
		u.NoContent = &c.noContent
	}
	if given("answer-cache") {
		u.AnswerCache = &c.answerCache
	}
	if given("required-tag") || c.noRequired {
		u.Required = &c.required
	}
	err = c.updateBounds(cmd, k, &u)
	return u, err
}

// updateBounds sets the changed limits and budget, of the key or of each of its end users or tag values.
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
		return usageError{errors.New("give a limit for each of them: --rpm, --tpm, --concurrency or --budget-usd")}
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

// budget returns the budget with the changes of the flags.
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
		return nil, usageError{errors.New("there is no budget yet: give --budget-usd and --budget-period (day, " +
			"month or, for a whole key, total)")}
	}
	b, err := parseBudget(usd, period)
	return &b, err
}

func newKeysRotate(env *environment) *cobra.Command {
	var overlap time.Duration
	var ref keyRef
	cmd := &cobra.Command{
		Use: "rotate ID|LABEL", Short: "Replace the secret of a key, and print the new one, only this once",
		Long: "Replace the secret of a key, and print the new one. Limits, budget and usage of the key stay. The\n" +
			"former secret stays valid for the overlap, but a secret from an earlier rotation does not.",
		Example: "  weir keys rotate laptop --overlap 1h",
		RunE: func(cmd *cobra.Command, args []string) error {
			return env.withData(cmd, func(d *admin.Admin) error {
				k, err := d.Accounts.FindKey(cmd.Context(), ref.account, args[0])
				if err != nil {
					return err
				}
				_, token, err := d.Accounts.RotateKey(cmd.Context(), actor(), k.ID, overlap)
				if err != nil {
					return err
				}
				_, err = fmt.Fprintln(env.stdout, token.Reveal())
				return err
			})
		},
	}
	ref.define(cmd)
	durationFlag(cmd, &overlap, "overlap", 24*time.Hour, "how long the former secret stays valid, 0 to 30d")
	return cmd
}

// showKey calls do and prints the key that it returns.
func (o *output) showKey(cmd *cobra.Command, d *admin.Admin, do func() (account.Key, error)) error {
	k, err := do()
	if err != nil {
		return err
	}
	a, err := d.Accounts.Account(cmd.Context(), k.AccountID)
	if err != nil {
		return err
	}
	v, err := viewKeySpent(cmd.Context(), d, a.Name, &k)
	if err != nil {
		return err
	}
	return list(o, []keyView{v}, keyHeads, (*keyView).row)
}
