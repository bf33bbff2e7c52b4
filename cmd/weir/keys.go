package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"weir/internal/account"
	"weir/internal/admin"
	"weir/internal/llm"
	"weir/internal/route"
	"weir/internal/upstream"
)

// keyView holds a key as listings show it.
type keyView struct {
	ID          string   `json:"id"`
	Label       string   `json:"label"`
	Account     string   `json:"account"`
	Created     string   `json:"created"`
	Last4       string   `json:"last4"`
	Status      string   `json:"status"`
	Permissions []string `json:"permissions"`
	Models      []string `json:"models,omitempty"`
	Expires     string   `json:"expires,omitempty"`
	Revoked     string   `json:"revoked,omitempty"`
	Creator     string   `json:"creator,omitempty"`
	Service     bool     `json:"service"`        // whether it belongs to no person
	Tags        string   `json:"tags,omitempty"` // name=value, separated by commas
	Required    []string `json:"required_tags,omitempty"`
	AnswerCache int64    `json:"answer_cache_seconds,omitempty"` // greatest age of stored answers
	// Per holds the limits and the budget of each end user and each tag value, by "user" and "tag:NAME".
	Per map[string]perView `json:"per,omitempty"`
	limitsView
	FormerLast4 string `json:"former_last4,omitempty"`
	FormerUntil string `json:"former_until,omitempty"`
	BudgetUSD   string `json:"budget_usd,omitempty"`
	Period      string `json:"budget_period,omitempty"`
	SpentUSD    string `json:"budget_spent_usd,omitempty"`
}

func viewKey(accountName string, k *account.Key, spent llm.Money, now time.Time) keyView {
	v := keyView{
		ID: k.ID, Label: k.Label, Account: accountName, Created: k.Created.Format(time.RFC3339), Last4: k.Last4,
		Status: string(k.State(now)), Models: k.Models, Creator: k.Creator, Service: k.Creator == "",
		limitsView: limitsView(k.Limits),
		Tags:       llm.FormatTags(k.Tags.Defaults), Required: k.Tags.Required, Per: viewPer(k.Per),
		AnswerCache: int64(k.AnswerCache / time.Second),
	}
	for _, p := range k.Permissions {
		v.Permissions = append(v.Permissions, string(p))
	}
	if k.Expires != nil {
		v.Expires = k.Expires.Format(time.RFC3339)
	}
	if k.FormerUntil != nil {
		v.FormerLast4, v.FormerUntil = k.FormerLast4, k.FormerUntil.Format(time.RFC3339)
	}
	if k.Budget.Limit > 0 {
		v.BudgetUSD, v.Period, v.SpentUSD = k.Budget.Limit.String(), string(k.Budget.Period), spent.String()
	}
	if k.Revoked != nil {
		v.Revoked = k.Revoked.Format(time.RFC3339)
	}
	return v
}

func (v *keyView) row() []string {
	models := "all"
	if len(v.Models) > 0 {
		models = strings.Join(v.Models, ",")
	}
	limits, budgets := perCells(v.Per, v.cell(), budgetText(v.BudgetUSD, v.Period, v.SpentUSD))
	tags := v.Tags
	if len(v.Required) > 0 {
		tags = strings.TrimPrefix(tags+"; requires "+strings.Join(v.Required, ", "), "; ")
	}
	return []string{
		v.ID, v.Label, "…" + v.Last4, v.Status, strings.Join(v.Permissions, ","), models, limits, budgets,
		cmp.Or(tags, "none"), v.Expires, v.Created,
	}
}

var keyHeads = []string{
	"ID", "LABEL", "KEY", "STATUS", "PERMISSIONS", "MODELS", "LIMITS", "BUDGET", "TAGS", "EXPIRES", "CREATED",
}

func newKeys(env *environment) *cobra.Command {
	return group("keys", "Manage the API keys of an account", newKeysCreate(env), newKeysList(env), newKeysChange(env),
		newKeysRotate(env), newKeysRevoke(env))
}

func newKeysCreate(env *environment) *cobra.Command {
	var o account.KeyOptions
	var permissions, tags []string
	var usd, period string
	cmd := &cobra.Command{
		Use: "create", Short: "Create a key and print it, only this once",
		Example: "  weir keys create --account default --label laptop\n" +
			"  weir keys create --account research --label nightly --permission chat --model 'openai/*' --expires 30d",
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			for _, p := range permissions {
				o.Permissions = append(o.Permissions, account.Permission(p))
			}
			budget, err := parseBudget(usd, period)
			if err != nil {
				return err
			}
			o.Budget = budget
			if o.Tags.Defaults, err = parseTags(tags); err != nil {
				return err
			}
			return env.withData(cmd, func(d *admin.Admin) error {
				_, token, err := d.Accounts.CreateKey(cmd.Context(), actor(), o)
				if err != nil {
					return err
				}
				env.warnUnmatched(cmd, o.Models)
				_, err = fmt.Fprintln(env.stdout, token.Reveal())
				return err
			})
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.Account, "account", "", "name of the account")
	flags.StringVar(&o.Label, "label", "", "name of the key, such as its purpose")
	flags.StringSliceVar(&permissions, "permission", nil,
		"permission: chat, uses (default both), tools, or admin for the whole installation")
	flags.StringArrayVar(&o.Models, "model", nil, "pattern of the models that the key may use; may be repeated "+
		"(default all)")
	durationFlag(cmd, &o.ExpiresIn, "expires", 0, "lifetime, such as 30d or 12h (default unlimited)")
	limitFlags(cmd, &o.Limits, " (default no limit)")
	flags.StringArrayVar(&tags, "tag", nil, "default tag of requests without a tag of that name, NAME=VALUE; may "+
		"be repeated")
	flags.StringArrayVar(&o.Tags.Required, "required-tag", nil,
		"name of a tag that every request must have; may be repeated")
	flags.StringVar(&usd, "budget-usd", "", "budget, in US dollars")
	flags.StringVar(&period, "budget-period", "", "period of the budget: day, month or total")
	_ = cmd.MarkFlagRequired("account") // the flags are defined above
	_ = cmd.MarkFlagRequired("label")
	return cmd
}

// warnUnmatched warns of patterns that match no model, with which a key can use nothing.
func (env *environment) warnUnmatched(cmd *cobra.Command, patterns []string) {
	if len(patterns) == 0 {
		return
	}
	o, _, err := env.managedOptions(cmd)
	if err != nil {
		return
	}
	_ = o.With(cmd.Context(), func(_ *upstream.Builder, table *route.Table) error { // a warning less is no failure
		if none := route.Unmatched(table, patterns, time.Now()); len(none) > 0 {
			_, _ = fmt.Fprintf(env.stderr, "warning: no model or alias matches %s; weir models lists them\n",
				strings.Join(none, ", "))
		}
		return nil
	})
}

// parseTags parses tags of the form NAME=VALUE.
func parseTags(list []string) (tags []llm.Tag, err error) {
	for _, text := range list {
		name, value, ok := strings.Cut(text, "=")
		if !ok || name == "" {
			return nil, usageError{fmt.Errorf("a tag is NAME=VALUE, such as project=alpha; got %q", text)}
		}
		tags = append(tags, llm.Tag{Name: name, Value: value})
	}
	return tags, nil
}

func newKeysList(env *environment) *cobra.Command {
	var name string
	cmd := env.jsonFlag(&cobra.Command{
		Use: "list", Short: "List the keys of an account, or of all accounts, without their secrets",
		Example: "  weir keys list --account default\n  weir keys list", Args: noArgs,
		RunE: env.data(func(ctx context.Context, d *admin.Admin, _ []string) error {
			if name != "" {
				views, err := viewKeys(ctx, d, name)
				if err != nil {
					return err
				}
				return list(&env.output, views, keyHeads, (*keyView).row)
			}
			all, err := d.Accounts.Accounts(ctx)
			if err != nil {
				return err
			}
			var views []keyView
			for i := range all {
				more, err := viewKeys(ctx, d, all[i].Name)
				if err != nil {
					return err
				}
				views = append(views, more...)
			}
			return list(&env.output, views, append([]string{"ACCOUNT"}, keyHeads...), func(v *keyView) []string {
				return append([]string{v.Account}, v.row()...)
			})
		}),
	})
	cmd.Flags().StringVar(&name, "account", "", "name of the account (default all)")
	return cmd
}

// viewKeys returns the keys of an account.
func viewKeys(ctx context.Context, d *admin.Admin, account string) ([]keyView, error) {
	keys, err := d.Accounts.Keys(ctx, account)
	if err != nil {
		return nil, err
	}
	views := make([]keyView, 0, len(keys))
	for i := range keys {
		v, err := viewKeySpent(ctx, d, account, &keys[i])
		if err != nil {
			return nil, err
		}
		views = append(views, v)
	}
	return views, nil
}

func viewKeySpent(ctx context.Context, d *admin.Admin, account string, k *account.Key) (keyView, error) {
	spent, err := k.BudgetSpent(ctx, d.Now(), d.Ledger.Spent)
	return viewKey(account, k, spent, d.Now()), err
}

// keyRef names a key by its id, or by its label with the flag --account.
type keyRef struct{ account string }

// define adds the flag, and the argument of the command.
func (r *keyRef) define(cmd *cobra.Command) {
	cmd.Args = oneArg("the key's id or label")
	cmd.Flags().StringVar(&r.account, "account", "", "name of the account, if keys of several have the label")
}

func newKeysRevoke(env *environment) *cobra.Command {
	var ref keyRef
	cmd := env.jsonFlag(&cobra.Command{
		Use: "revoke ID|LABEL", Short: "Revoke a key for good, within a second",
		Example: "  weir keys revoke laptop --account default",
		RunE: func(cmd *cobra.Command, args []string) error {
			return env.withData(cmd, func(d *admin.Admin) error {
				k, err := d.Accounts.FindKey(cmd.Context(), ref.account, args[0])
				if err != nil {
					return err
				}
				return env.showKey(cmd, d, func() (account.Key, error) {
					return d.Accounts.RevokeKey(cmd.Context(), actor(), k.ID)
				})
			})
		},
	})
	ref.define(cmd)
	return cmd
}
