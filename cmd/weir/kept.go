package main

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"weir/internal/admin"
	"weir/internal/config"
	"weir/internal/kept"
)

// keptView holds how much is stored for an account's clients, as listings show it.
type keptView struct {
	Account       string `json:"account,omitempty"` // empty for the replies of the administration API
	Replies       int64  `json:"replies"`
	ReplyBytes    int64  `json:"reply_bytes"`
	Responses     int64  `json:"responses"`
	ResponseBytes int64  `json:"response_bytes"`
}

func viewKept(name string, u *kept.Usage) keptView {
	return keptView{name, u.Replies, u.ReplyBytes, u.Responses, u.ResponseBytes}
}

func (v *keptView) row() []string {
	n := func(n int64) string { return strconv.FormatInt(n, 10) }
	return []string{cmp.Or(v.Account, none), n(v.Replies), n(v.ReplyBytes), n(v.Responses), n(v.ResponseBytes)}
}

func newKept(env *environment) *cobra.Command {
	cmd := env.jsonFlag(&cobra.Command{
		Use: "kept", Short: "List or delete the replies and responses that are stored for clients",
		Long: "List how much is stored for the clients of each account: replies of requests with an\n" +
			"Idempotency-Key, and responses of the Responses API. Replies of the administration API belong to no\n" +
			"account and appear under \"-\".",
		Example: "  weir kept\n  weir kept purge --account research --older 7d", Args: noArgs,
		RunE: env.data(func(ctx context.Context, d *admin.Admin, _ []string) error {
			all, err := d.Kept.List(ctx)
			view := func(k *admin.KeptAccount) keptView { return viewKept(k.Name, &k.Usage) }
			heads := []string{"ACCOUNT", "REPLIES", "BYTES", "RESPONSES", "BYTES"}
			return listViews(env, all, err, view, heads, (*keptView).row)
		}),
	})
	cmd.AddCommand(newKeptPurge(env))
	return cmd
}

func newKeptPurge(env *environment) *cobra.Command {
	var name, older string
	cmd := env.jsonFlag(&cobra.Command{
		Use: "purge", Short: "Delete replies and responses that are stored for clients",
		Long: "Delete the replies and responses that are stored for the clients of one account, or of all. A\n" +
			"request whose reply is deleted is not sent again: a retry with its Idempotency-Key gets 409 until\n" +
			"the key's 24 hours are over. A conversation cannot continue from a deleted response.",
		Example: "  weir kept purge --account research --older 7d", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			age := time.Duration(0)
			if older != "" {
				var ok bool
				if age, ok = config.ParseDuration(older); !ok || age <= 0 {
					return usageError{fmt.Errorf("--older is an age such as 7d or 36h; got %q", older)}
				}
			}
			return env.withData(cmd, func(d *admin.Admin) error {
				gone, err := d.Kept.Purge(cmd.Context(), actor(), name, d.Now().Add(-age))
				if err != nil {
					return err
				}
				if env.asJSON {
					return printJSON(env.stdout, viewKept(name, &gone))
				}
				_, err = fmt.Fprintf(env.stdout, "deleted %d replies of %d bytes and %d responses of %d bytes\n",
					gone.Replies, gone.ReplyBytes, gone.Responses, gone.ResponseBytes)
				return err
			})
		},
	})
	cmd.Flags().StringVar(&name, "account", "", "only this account")
	cmd.Flags().StringVar(&older, "older", "", "only what was stored longer ago than this, such as 7d or 36h")
	return cmd
}
