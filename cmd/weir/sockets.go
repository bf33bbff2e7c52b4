package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"weir/internal/admin"
)

// mostSockets is how many open WebSockets are listed.
const mostSockets = 1000

func newSockets(env *environment) *cobra.Command {
	return group("sockets", "List the open WebSockets of clients, and end them", newSocketsList(env),
		newSocketsEnd(env))
}

func newSocketsList(env *environment) *cobra.Command {
	var account string
	cmd := env.jsonFlag(&cobra.Command{
		Use: "list", Short: "List open WebSockets with their requests and charge so far, the oldest first",
		Long: fmt.Sprintf("List the open WebSockets of all nodes, the oldest first, at most %d. Numbers are a few "+
			"seconds old.\nThe requests of one: weir requests list --account NAME --socket ID", mostSockets),
		Example: "  weir sockets list\n  weir sockets list --account default --json", Args: noArgs,
		RunE: env.data(func(ctx context.Context, d *admin.Admin, _ []string) error {
			all, err := d.Sockets.ListNamed(ctx, account, mostSockets)
			if err != nil {
				return err
			}
			heads := []string{"ID", "API", "ACCOUNT", "MODEL", "NODE", "OPENED", "DONE", "RUNNING", "CHARGE"}
			return list(&env.output, all, heads, socketRow)
		}),
	})
	cmd.Flags().StringVar(&account, "account", "", "only those of this account")
	return cmd
}

func socketRow(v *admin.SocketView) []string {
	charge := "$" + v.ChargeUSD
	if v.Uncertain {
		charge += " or more"
	}
	return []string{
		v.ID, v.API, orNone(v.Account), orNone(v.Model), orNone(v.Node), v.Began.Format(time.RFC3339),
		count(v.Requests), count(v.Running), charge,
	}
}

func newSocketsEnd(env *environment) *cobra.Command {
	return &cobra.Command{
		Use: "end ID", Short: "End an open WebSocket",
		Long: "End an open WebSocket. Its node closes it within seconds, and cancels its requests in flight. Its\n" +
			"client may open another one: revoke its key to prevent that.",
		Example: "  weir sockets end 0198c2f0-7a54-7c31-9b1e-0242ac120002", Args: oneArg("the id of a WebSocket"),
		RunE: env.data(func(ctx context.Context, d *admin.Admin, args []string) error {
			return d.Sockets.End(ctx, actor(), "", args[0])
		}),
	}
}
