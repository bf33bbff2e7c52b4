package main

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"weir/internal/admin"
	"weir/internal/alert"
)

func newAlerts(env *environment) *cobra.Command {
	return group("alerts", "List alerts, set limits of an account, and test their delivery", newAlertsList(env),
		newAlertsKinds(env), newAlertsSet(env), newAlertsTest(env))
}

func newAlertsList(env *environment) *cobra.Command {
	var name string
	cmd := env.jsonFlag(&cobra.Command{
		Use: "list", Short: "List the alerts that fired last",
		Long: "List the alerts that fired last, newest first. A running gateway evaluates them every minute.\n" +
			"Alerts are stored for 90 days after their end.",
		Example: "  weir alerts list\n  weir alerts list --account default --json", Args: noArgs,
		RunE: env.data(func(ctx context.Context, d *admin.Admin, _ []string) error {
			v, err := alertsOf(ctx, d, name)
			if err != nil {
				return err
			}
			heads := []string{"FIRED", "ENDED", "ALERT", "ACCOUNT", "SUBJECT", "TEXT"}
			return list(&env.output, v.Alerts, heads, alertRow)
		}),
	})
	cmd.Flags().StringVar(&name, "account", "", "only this account")
	return cmd
}

// alertsOf returns the alerts of an account, or of everything without a name.
func alertsOf(ctx context.Context, d *admin.Admin, name string) (admin.AlertReport, error) {
	if name == "" {
		return d.Alerts.List(ctx)
	}
	a, err := d.Accounts.Account(ctx, name)
	if err != nil {
		return admin.AlertReport{}, err
	}
	return d.Alerts.ListOf(ctx, &a)
}

func alertRow(a *admin.AlertView) []string {
	return []string{
		a.Fired.Format(time.RFC3339), orNone(timeText(a.Ended)), string(a.Kind), orNone(a.AccountName),
		orNone(cmp.Or(a.KeyLabel, a.Subject)), a.Text,
	}
}

func newAlertsKinds(env *environment) *cobra.Command {
	var name string
	cmd := env.jsonFlag(&cobra.Command{
		Use: "kinds", Short: "List the kinds of alerts with their limits, and when each last fired",
		Example: "  weir alerts kinds\n  weir alerts kinds --account research", Args: noArgs,
		RunE: env.data(func(ctx context.Context, d *admin.Admin, _ []string) error {
			v, err := alertsOf(ctx, d, name)
			if err != nil {
				return err
			}
			return listAlertKinds(env, &v)
		}),
	})
	cmd.Flags().StringVar(&name, "account", "", "the limits in force for this account")
	return cmd
}

func listAlertKinds(env *environment, v *admin.AlertReport) error {
	return list(&env.output, v.Kinds, []string{"ALERT", "LIMIT", "LAST FIRED", "FIRES WHEN"}, alertKindRow)
}

func newAlertsSet(env *environment) *cobra.Command {
	var name string
	cmd := env.jsonFlag(&cobra.Command{
		Use: "set KIND LIMIT", Short: "Set the limit of a kind of alert for an account",
		Long: "Set the limit at which an account gets alerts of a kind, in the unit that weir alerts kinds shows.\n" +
			"off switches the kind off, default returns to the limit of the installation. The alerts of the\n" +
			"installation keep its own limits, from weir.yaml.",
		Example: "  weir alerts set error_rate 10 --account research\n" +
			"  weir alerts set key_refusals off --account research\n" +
			"  weir alerts set error_rate default --account research",
		Args: kindAndLimit, ValidArgs: alertKindNames(),
		RunE: env.data(func(ctx context.Context, d *admin.Admin, args []string) error {
			c, err := alertChange(args[0], args[1])
			if err != nil {
				return err
			}
			a, err := d.Accounts.Account(ctx, name)
			if err != nil {
				return err
			}
			v, err := d.Alerts.SetLimits(ctx, actor(), &a, c)
			if err != nil {
				return err
			}
			return listAlertKinds(env, &v)
		}),
	})
	cmd.Flags().StringVar(&name, "account", "", "name of the account")
	_ = cmd.MarkFlagRequired("account") // the flag is defined one line above
	return cmd
}

func kindAndLimit(cmd *cobra.Command, args []string) error {
	if len(args) != 2 {
		return usageError{fmt.Errorf("%s needs a kind of alert and a limit", cmd.CommandPath())}
	}
	return nil
}

// alertChange parses a kind and its limit: a whole number, off or default.
func alertChange(name, limit string) (alert.Changes, error) {
	k, err := alert.ParseKind(name)
	if err != nil {
		return nil, err
	}
	switch limit {
	case "default":
		return alert.Changes{k: nil}, nil
	case "off":
		return alert.Changes{k: new(int64)}, nil
	}
	n, err := strconv.ParseInt(strings.TrimSuffix(limit, "%"), 10, 64)
	if err != nil || n <= 0 {
		return nil, fmt.Errorf("the limit %q is not a whole number above 0: write one such as 20, or off, or default",
			limit)
	}
	return alert.Changes{k: &n}, nil
}

func alertKindRow(k *admin.AlertKind) []string {
	limit := "off"
	if k.Limit > 0 {
		limit = count(k.Limit) + " " + k.Unit
		if k.Limit == 1 {
			limit = strings.TrimSuffix(limit, "s")
		}
	}
	if k.Own {
		limit += ", set by the account"
	}
	return []string{string(k.Kind), limit, orNone(timeText(k.LastFired)), k.About}
}

// alertKindNames returns the names of all kinds.
func alertKindNames() (names []string) {
	for _, k := range alert.Kinds() {
		names = append(names, string(k))
	}
	return names
}

func newAlertsTest(env *environment) *cobra.Command {
	names := alertKindNames()
	return env.jsonFlag(&cobra.Command{
		Use: "test KIND", Short: "Send a test of an alert to the endpoints of the installation that receive alerts",
		Long: "Send a test of an alert to the endpoints of the installation that receive the event alert.fired.\n" +
			"A running gateway sends it; weir webhooks delivery ID shows the result. Kinds: " +
			strings.Join(names[:3], ", ") + ",\n" + strings.Join(names[3:], ", ") + ".",
		Example: "  weir alerts test spend_jump", Args: oneArg("the kind of alert"), ValidArgs: names,
		RunE: func(cmd *cobra.Command, args []string) error {
			return env.withData(cmd, func(d *admin.Admin) error {
				t, err := d.Alerts.Test(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				if env.asJSON {
					return printJSON(env.stdout, t)
				}
				for _, id := range t.Deliveries {
					if _, err := fmt.Fprintln(env.stdout, "queued delivery", id); err != nil {
						return err
					}
				}
				return nil
			})
		},
	})
}
