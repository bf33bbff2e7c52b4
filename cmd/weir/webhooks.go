package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"weir/internal/admin"
	"weir/internal/llm"
	"weir/internal/webhook"
)

func newWebhooks(env *environment) *cobra.Command {
	return group("webhooks", "Manage webhook endpoints and their deliveries",
		newWebhooksAdd(env), newWebhooksList(env), newWebhooksChange(env),
		webhookSwitch(env, "enable", "Enable an endpoint again; waiting events are sent first", false),
		webhookSwitch(env, "disable", "Disable an endpoint; waiting events are retained", true),
		newWebhooksRemove(env), newWebhooksRotate(env), newWebhooksTest(env),
		newWebhooksDeliveries(env), newWebhooksDelivery(env), newWebhooksRedeliver(env), newWebhooksRecover(env),
	)
}

// webhookView holds an endpoint as listings show it.
type webhookView struct {
	ID                string   `json:"id"`
	AccountID         *string  `json:"account_id"` // null for an endpoint of the installation, like the name
	Account           *string  `json:"account"`
	URL               string   `json:"url"`
	Events            []string `json:"events"` // empty for all events
	Format            string   `json:"format"`
	AllowPrivate      bool     `json:"allow_private"`
	State             string   `json:"state"`
	FailingSince      string   `json:"failing_since,omitempty"`
	DisabledAt        string   `json:"disabled_at,omitempty"`
	DisabledWhy       string   `json:"disabled_why,omitempty"`
	FormerSecretUntil string   `json:"former_secret_until,omitempty"`
	DroppedEvents     int64    `json:"dropped_events,omitempty"`
	Created           string   `json:"created"`
	Secret            string   `json:"secret,omitempty"` // set only when it is created
}

// viewWebhook returns the view of an endpoint. The name of the account is empty for an endpoint of the installation.
func viewWebhook(e *webhook.Endpoint, account string) webhookView {
	v := webhookView{
		ID: e.ID, URL: e.URL, Events: []string{}, Format: string(e.Format), AllowPrivate: e.AllowPrivate,
		State: string(e.Health()), FailingSince: timeText(e.Failing), DisabledAt: timeText(e.Disabled),
		DisabledWhy: e.Why, FormerSecretUntil: timeText(e.Rotated), DroppedEvents: e.Dropped,
		Created: e.Created.Format(time.RFC3339),
	}
	if e.Account != "" {
		v.AccountID, v.Account = &e.Account, &account
	}
	for _, t := range e.Types {
		v.Events = append(v.Events, string(t))
	}
	return v
}

// timeText formats a time for listings; it is empty for nil.
func timeText(t *time.Time) string {
	if t == nil {
		return ""
	}
	return t.Format(time.RFC3339)
}

var webhookHeads = []string{"ID", "OWNER", "URL", "EVENTS", "FORMAT", "PRIVATE", "STATE", "CREATED"}

func (v *webhookView) row() []string {
	of, events, private, state := "the installation", allEvents, "no", v.State
	if v.Account != nil {
		of = "account " + *v.Account
	}
	if len(v.Events) > 0 {
		events = strings.Join(v.Events, ",")
	}
	if v.AllowPrivate {
		private = "allowed"
	}
	switch {
	case v.DisabledAt != "":
		state += " since " + v.DisabledAt + ": " + v.DisabledWhy
	case v.FailingSince != "":
		state += " since " + v.FailingSince
	}
	if v.DroppedEvents > 0 {
		state += fmt.Sprintf("; %d events dropped because too many waited", v.DroppedEvents)
	}
	return []string{v.ID, of, v.URL, events, v.Format, private, state, v.Created}
}

// viewOf returns the view of an endpoint, with the name of its account.
func viewOf(ctx context.Context, d *admin.Admin, e *webhook.Endpoint) (webhookView, error) {
	if e.Account == "" {
		return viewWebhook(e, ""), nil
	}
	a, err := d.Accounts.Account(ctx, e.Account)
	return viewWebhook(e, a.Name), err
}

// allEvents selects every event.
const allEvents = "all"

// eventTypes parses the selected events; it returns nil for all.
func eventTypes(names []string) ([]webhook.Type, error) {
	if slices.Contains(names, allEvents) {
		if len(names) > 1 {
			return nil, usageError{
				fmt.Errorf("--event %s excludes other events; got %s", allEvents, strings.Join(names, ", ")),
			}
		}
		return nil, nil
	}
	var types []webhook.Type
	for _, name := range names {
		types = append(types, webhook.Type(name))
	}
	return types, nil
}

// endpointFlags defines the flags that create or change an endpoint.
func endpointFlags(cmd *cobra.Command, events *[]string, private *bool) {
	cmd.Flags().StringSliceVar(events, "event", nil, "event to send, or all for every event; may be repeated")
	cmd.Flags().BoolVar(private, "allow-private", false,
		"allow a loopback or private address, and plain http there")
	var known []cobra.Completion
	for _, k := range webhook.Kinds() {
		known = append(known, cobra.CompletionWithDesc(string(k.Type), k.About))
	}
	complete(cmd, "event", append(known, allEvents)...)
}

// complete offers words for a flag.
func complete(cmd *cobra.Command, flag string, words ...cobra.Completion) {
	// The caller has just defined the flag, so this cannot fail.
	_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
}

func newWebhooksAdd(env *environment) *cobra.Command {
	var account, format string
	var events []string
	var private bool
	cmd := env.jsonFlag(&cobra.Command{
		Use: "add URL", Short: "Create an endpoint and print its secret, only this once",
		Long: "Create an endpoint and print the secret that signs its events, only this once. Its URL must be\n" +
			"https on a public address, unless --allow-private permits another. With --format mail it is\n" +
			"mailto: and an e-mail address. Without --account the endpoint belongs to the installation and\n" +
			"receives the events of all accounts and of the installation.",
		Example: "  weir webhooks add https://example.com/hooks/weir --account research --event budget.exceeded " +
			"--event key.created\n" +
			"  weir webhooks add https://example.com/hooks/weir\n" +
			"  weir webhooks add mailto:ops@example.com --format mail --event alert.fired --event alert.ended",
		Args: oneArg("the endpoint's URL"),
		RunE: func(cmd *cobra.Command, args []string) error {
			types, err := eventTypes(events)
			if err != nil {
				return err
			}
			return env.withNewData(cmd, false, func(d *admin.Admin) error {
				ctx := cmd.Context()
				e := webhook.Endpoint{
					URL: args[0], Types: types, Format: webhook.Format(format), AllowPrivate: private,
				}
				if cmd.Flags().Changed("account") {
					a, err := d.Accounts.Account(ctx, account)
					if err != nil {
						return err
					}
					e.Account = a.ID
				}
				e, secret, err := d.Webhooks.Add(ctx, actor(), e)
				if err != nil {
					return err
				}
				return env.printSecret(ctx, d, &e, secret)
			})
		},
	})
	cmd.Flags().StringVar(&account, "account", "", "name of the account that owns the endpoint")
	cmd.Flags().StringVar(&format, "format", string(webhook.JSON), "form of events: json, slack, teams or mail")
	complete(cmd, "format", "json", "slack", "teams", "mail")
	endpointFlags(cmd, &events, &private)
	return cmd
}

// printSecret prints only the new secret of an endpoint to stdout, and describes the endpoint on stderr.
func (o *output) printSecret(ctx context.Context, d *admin.Admin, e *webhook.Endpoint, secret llm.Secret) error {
	v, err := viewOf(ctx, d, e)
	if err != nil {
		return err
	}
	if o.asJSON {
		v.Secret = secret.Reveal()
		return printJSON(o.stdout, v)
	}
	row := v.row()
	fmt.Fprintf(o.stderr, "webhook endpoint %s of %s; events: %s\n", row[0], row[1], row[3])
	if v.FormerSecretUntil != "" {
		fmt.Fprintf(o.stderr, "until %s the former secret signs, too\n", v.FormerSecretUntil)
	}
	if strings.HasPrefix(e.URL, "http:") {
		fmt.Fprintln(o.stderr, "plain http: events are signed but not encrypted")
	}
	_, err = fmt.Fprintln(o.stdout, secret.Reveal())
	return err
}

func newWebhooksList(env *environment) *cobra.Command {
	var account string
	cmd := env.jsonFlag(&cobra.Command{
		Use: "list", Short: "List endpoints, without their secrets: the installation's, then those of all accounts",
		Example: "  weir webhooks list\n  weir webhooks list --account research --json", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return env.withData(cmd, func(d *admin.Admin) error {
				ctx := cmd.Context()
				names, err := d.AccountNames(ctx)
				if err != nil {
					return err
				}
				all, err := d.Webhooks.All(ctx)
				if cmd.Flags().Changed("account") {
					all, err = webhooksOf(ctx, d, account)
				}
				view := func(e *webhook.Endpoint) webhookView { return viewWebhook(e, names[e.Account]) }
				return listViews(&env.output, all, err, view, webhookHeads, (*webhookView).row)
			})
		},
	})
	cmd.Flags().StringVar(&account, "account", "", "only this account")
	return cmd
}

func webhooksOf(ctx context.Context, d *admin.Admin, account string) ([]webhook.Endpoint, error) {
	a, err := d.Accounts.Account(ctx, account)
	if err != nil {
		return nil, err
	}
	return d.Webhooks.List(ctx, a.ID)
}

// webhookChange returns a command that changes an endpoint and prints it afterwards.
func webhookChange(env *environment, use, short string, change func(*cobra.Command) (webhook.Update, error),
) *cobra.Command {
	return env.jsonFlag(&cobra.Command{
		Use: use + " ID", Short: short, Example: "  weir webhooks " + use + " ID", Args: oneArg("the endpoint's id"),
		RunE: func(cmd *cobra.Command, args []string) error {
			u, err := change(cmd)
			if err != nil {
				return err
			}
			return env.withData(cmd, func(d *admin.Admin) error {
				ctx := cmd.Context()
				e, err := d.Webhooks.Change(ctx, actor(), args[0], u)
				if err != nil {
					return err
				}
				v, err := viewOf(ctx, d, &e)
				if err != nil {
					return err
				}
				return list(&env.output, []webhookView{v}, webhookHeads, (*webhookView).row)
			})
		},
	})
}

func webhookSwitch(env *environment, use, short string, disabled bool) *cobra.Command {
	return webhookChange(env, use, short, func(*cobra.Command) (webhook.Update, error) {
		return webhook.Update{Disabled: &disabled}, nil
	})
}

func newWebhooksChange(env *environment) *cobra.Command {
	var address string
	var events []string
	var private bool
	cmd := webhookChange(env, "change", "Change an endpoint's address or its events",
		func(cmd *cobra.Command) (u webhook.Update, err error) {
			given := cmd.Flags().Changed
			if given("url") {
				u.URL = &address
			}
			if given("event") {
				types, err := eventTypes(events)
				if err != nil {
					return u, err
				}
				u.Types = &types
			}
			if given("allow-private") {
				u.AllowPrivate = &private
			}
			if u == (webhook.Update{}) {
				return u, usageError{errors.New("nothing to change: give --url, --event or --allow-private")}
			}
			return u, nil
		})
	cmd.Long = "Change an endpoint. Its secret stays. The permission for a private address applies to one address:\n" +
		"give --allow-private again with a new one."
	cmd.Example = "  weir webhooks change ID --url https://example.com/hooks/other\n  weir webhooks change ID " +
		"--event all"
	cmd.Flags().StringVar(&address, "url", "", "URL that receives the events")
	endpointFlags(cmd, &events, &private)
	return cmd
}

func newWebhooksRemove(env *environment) *cobra.Command {
	return &cobra.Command{
		Use: "remove ID", Short: "Remove an endpoint with its deliveries, for good",
		Example: "  weir webhooks remove ID", Args: oneArg("the endpoint's id"),
		RunE: env.data(func(ctx context.Context, a *admin.Admin, args []string) error {
			return a.Webhooks.Remove(ctx, actor(), args[0])
		}),
	}
}

func newWebhooksRotate(env *environment) *cobra.Command {
	return env.jsonFlag(&cobra.Command{
		Use:     "rotate-secret ID",
		Short:   "Replace an endpoint's secret and print the new one, only this once; for 24 hours both sign",
		Example: "  weir webhooks rotate-secret ID", Args: oneArg("the endpoint's id"),
		RunE: env.data(func(ctx context.Context, d *admin.Admin, args []string) error {
			e, secret, err := d.Webhooks.RotateSecret(ctx, actor(), args[0])
			if err != nil {
				return err
			}
			return env.printSecret(ctx, d, &e, secret)
		}),
	})
}
