package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"weir/internal/admin"
	"weir/internal/alert"
)

func newAlerts(env *environment) *cobra.Command {
	return group("alerts", "List alerts and test their delivery", newAlertsList(env), newAlertsKinds(env),
		newAlertsTest(env))
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
		orNone(a.Subject), a.Text,
	}
}

func newAlertsKinds(env *environment) *cobra.Command {
	return env.jsonFlag(&cobra.Command{
		Use: "kinds", Short: "List the kinds of alerts with their limits, and when each last fired",
		Example: "  weir alerts kinds", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return env.withData(cmd, func(d *admin.Admin) error {
				v, err := d.Alerts.List(cmd.Context())
				if err != nil {
					return err
				}
				return list(&env.output, v.Kinds, []string{"ALERT", "LIMIT", "LAST FIRED", "FIRES WHEN"}, alertKindRow)
			})
		},
	})
}

func alertKindRow(k *admin.AlertKind) []string {
	limit := "off"
	if k.Limit > 0 {
		limit = count(k.Limit) + " " + k.Unit
	}
	return []string{string(k.Kind), limit, orNone(timeText(k.LastFired)), k.About}
}

func newAlertsTest(env *environment) *cobra.Command {
	var names []string
	for _, k := range alert.Kinds() {
		names = append(names, string(k))
	}
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
