package main

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"weir/internal/admin"
	"weir/internal/config"
)

func keptRow(k *admin.KeptAccount) []string {
	return []string{
		cmp.Or(k.Name, none), count(k.Replies), count(k.ReplyBytes), count(k.Responses), count(k.ResponseBytes),
	}
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
			if err != nil {
				return err
			}
			return list(&env.output, all, []string{"ACCOUNT", "REPLIES", "BYTES", "RESPONSES", "BYTES"}, keptRow)
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
				var err error
				if age, err = parseAge(older); err != nil {
					return err
				}
			}
			return env.withData(cmd, func(d *admin.Admin) error {
				gone, err := d.Kept.Purge(cmd.Context(), actor(), name, d.Now().Add(-age))
				if err != nil {
					return err
				}
				if env.asJSON {
					return printJSON(env.stdout, admin.KeptAccount{Name: name, Usage: gone})
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

// parseAge parses the flag --older.
func parseAge(text string) (time.Duration, error) {
	age, ok := config.ParseDuration(text)
	if !ok || age <= 0 {
		return 0, usageError{fmt.Errorf("--older is an age such as 7d or 36h; got %q", text)}
	}
	return age, nil
}
