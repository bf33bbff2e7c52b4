package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"weir/internal/admin"
)

func answersRow(c *admin.AnswerAmount) []string {
	return []string{orNone(c.Name), count(c.Items), count(c.Bytes)}
}

func newCache(env *environment) *cobra.Command {
	cmd := env.jsonFlag(&cobra.Command{
		Use: "cache", Short: "List or delete the answers of the answer cache",
		Long: "List how many answers are stored for each account. Answers are stored only for requests, keys and\n" +
			"aliases that ask for it.",
		Example: "  weir cache\n  weir cache purge --account research --older 1h", Args: noArgs,
		RunE: env.data(func(ctx context.Context, d *admin.Admin, _ []string) error {
			all, err := d.Answers.List(ctx)
			if err != nil {
				return err
			}
			return list(&env.output, all, []string{"ACCOUNT", "ANSWERS", "BYTES"}, answersRow)
		}),
	})
	cmd.AddCommand(newCachePurge(env))
	return cmd
}

func newCachePurge(env *environment) *cobra.Command {
	var name, older string
	cmd := env.jsonFlag(&cobra.Command{
		Use: "purge", Short: "Delete the stored answers of an account",
		Long:    "Delete the answers that are stored for an account. Its next requests go to providers again.",
		Example: "  weir cache purge --account research --older 1h", Args: noArgs,
		RunE: env.data(func(ctx context.Context, d *admin.Admin, _ []string) error {
			a, err := d.Accounts.Account(ctx, name)
			if err != nil {
				return err
			}
			var before time.Time
			if older != "" {
				age, err := parseAge(older)
				if err != nil {
					return err
				}
				before = d.Now().Add(-age)
			}
			gone, err := d.Answers.Purge(ctx, actor(), &a, before)
			if err != nil {
				return err
			}
			if env.asJSON {
				return printJSON(env.stdout, gone)
			}
			_, err = fmt.Fprintf(env.stdout, "deleted %d answers, %d bytes\n", gone.Items, gone.Bytes)
			return err
		}),
	})
	accountFlag(cmd, &name)
	cmd.Flags().StringVar(&older, "older", "", "only what was stored longer ago than this, such as 7d or 36h")
	return cmd
}
