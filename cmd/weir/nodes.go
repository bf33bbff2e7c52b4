package main

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"weir/internal/admin"
	"weir/internal/budget"
)

// nodeView holds a node as listings show it.
type nodeView struct {
	ID      string `json:"id"`
	Host    string `json:"host"`
	Address string `json:"address"`
	Version string `json:"version"`
	Status  string `json:"status"`
	Started string `json:"started"`
	Seen    string `json:"seen"`
}

func viewNode(n *budget.KnownNode) nodeView {
	return nodeView{
		ID: n.Journal.String(), Host: n.Name, Address: n.Address, Version: n.Version, Status: string(n.State()),
		Started: n.Started.Format(time.RFC3339), Seen: n.Seen.Format(time.RFC3339),
	}
}

func (v *nodeView) row() []string {
	return []string{v.ID, v.Host, v.Address, v.Version, v.Status, v.Started, v.Seen}
}

func newNodes(env *environment) *cobra.Command {
	return group("nodes", "List the nodes that share the database, and forget lost ones",
		newNodesList(env), newNodesForget(env))
}

func newNodesList(env *environment) *cobra.Command {
	return env.jsonFlag(&cobra.Command{
		Use: "list", Short: "List the nodes, and when each was last seen", Example: "  weir nodes list --json",
		Args: noArgs,
		RunE: env.data(func(ctx context.Context, d *admin.Admin, _ []string) error {
			all, err := d.Nodes.List(ctx)
			heads := []string{"ID", "HOST", "ADDRESS", "VERSION", "STATUS", "STARTED", "LAST SEEN"}
			return listViews(&env.output, all, err, viewNode, heads, (*nodeView).row)
		}),
	})
}

func newNodesForget(env *environment) *cobra.Command {
	return &cobra.Command{
		Use: "forget ID", Short: "Forget a node with a lost disk, and free its budget leases",
		Long: "Forget a node that will never come back with its data directory. Its budget leases become free\n" +
			"again, except for the spending that it reported. Spending that it did not report is missing from\n" +
			"the ledger. A node that starts again with its data directory need not be forgotten.",
		Example: "  weir nodes forget 01a2b3c4-0000-7000-8000-000000000000", Args: oneArg("the node's id"),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := uuid.Parse(args[0])
			if err != nil {
				return usageError{fmt.Errorf("%q is not a node's id: weir nodes list shows them", args[0])}
			}
			return env.withData(cmd, func(d *admin.Admin) error {
				return d.Nodes.Forget(cmd.Context(), actor(), id)
			})
		},
	}
}
