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
			"  weir keys create --account research --label nightly --permission chat --model 'openai/*' --expires 720h",
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
				_, err = fmt.Fprintln(env.stdout, token.Reveal())
				return err
			})
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.Account, "account", "", "name of the account")
	flags.StringVar(&o.Label, "label", "", "name of the key, such as its purpose")
	flags.StringSliceVar(&permissions, "permission", nil,
		"permission: chat, uses (default both), or admin for the whole installation")
	flags.StringArrayVar(&o.Models, "model", nil, "pattern of the models that the key may use; may be repeated "+
		"(default all)")
	flags.DurationVar(&o.ExpiresIn, "expires", 0, "lifetime, such as 720h (default unlimited)")
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
		Use: "list", Short: "List the keys of an account, without their secrets",
		Example: "  weir keys list --account default", Args: noArgs,
		RunE: env.data(func(ctx context.Context, d *admin.Admin, _ []string) error {
			keys, err := d.Accounts.Keys(ctx, name)
			if err != nil {
				return err
			}
			return env.printKeys(ctx, d, name, keys...)
		}),
	})
	cmd.Flags().StringVar(&name, "account", "", "name of the account")
	_ = cmd.MarkFlagRequired("account") // the flag is defined one line above
	return cmd
}

func (o *output) printKeys(ctx context.Context, d *admin.Admin, account string, keys ...account.Key) error {
	views := make([]keyView, 0, len(keys))
	for i := range keys {
		spent, err := keys[i].BudgetSpent(ctx, d.Now(), d.Ledger.Spent)
		if err != nil {
			return err
		}
		views = append(views, viewKey(account, &keys[i], spent, d.Now()))
	}
	return list(o, views, keyHeads, (*keyView).row)
}

func newKeysRevoke(env *environment) *cobra.Command {
	return env.jsonFlag(&cobra.Command{
		Use: "revoke ID", Short: "Revoke a key for good, within a second",
		Example: "  weir keys revoke " + "ID", Args: oneArg("the key's id"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return env.withData(cmd, func(d *admin.Admin) error {
				return env.showKey(cmd, d, func() (account.Key, error) {
					return d.Accounts.RevokeKey(cmd.Context(), actor(), args[0])
				})
			})
		},
	})
}
