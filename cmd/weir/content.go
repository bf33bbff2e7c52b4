package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"weir/internal/admin"
)

func contentRow(c *admin.ContentAmount) []string {
	return []string{orNone(c.Name), count(c.Items), count(c.Bytes)}
}

func newContent(env *environment) *cobra.Command {
	cmd := env.jsonFlag(&cobra.Command{
		Use: "content", Short: "List, show, export or delete the logged content of requests",
		Long: "List how much content of requests and answers is logged for each account. Content is logged only for\n" +
			"accounts that have that switched on, with: weir accounts content. It needs the master key.",
		Example: "  weir content\n  weir content export --account research --since 24h > content.jsonl", Args: noArgs,
		RunE: env.data(func(ctx context.Context, d *admin.Admin, _ []string) error {
			all, err := d.Content.List(ctx)
			if err != nil {
				return err
			}
			return list(&env.output, all, []string{"ACCOUNT", "REQUESTS", "BYTES"}, contentRow)
		}),
	})
	cmd.AddCommand(newContentShow(env), newContentExport(env), newContentPurge(env))
	return cmd
}

func newContentShow(env *environment) *cobra.Command {
	var name string
	cmd := &cobra.Command{
		Use: "show REQUEST", Short: "Print the content of a request and its answer as JSON",
		Long:    "Print the content of a request and its answer as JSON. The audit log records it.",
		Example: "  weir content show 0199a0b0-0000-7000-8000-000000000001 --account research",
		Args:    oneArg("the request's id"),
		RunE: env.data(func(ctx context.Context, d *admin.Admin, args []string) error {
			id, err := uuid.Parse(args[0])
			if err != nil {
				return usageError{fmt.Errorf("a request's id is a UUID; got %q", args[0])}
			}
			a, err := d.Accounts.Account(ctx, name)
			if err != nil {
				return err
			}
			c, err := d.Content.Read(ctx, actor(), a.ID, id)
			if err != nil {
				return err
			}
			return printJSON(env.stdout, c)
		}),
	}
	return accountFlag(cmd, &name)
}

func newContentExport(env *environment) *cobra.Command {
	var name, since string
	cmd := &cobra.Command{
		Use: "export", Short: "Print the content of an account's requests as JSON Lines",
		Long: "Print the content of an account's requests and answers as JSON Lines, oldest first. The audit log\n" +
			"records the export. Content that cannot be decrypted has a line with an error; the exit code is then 1.",
		Example: "  weir content export --account research --since 24h > content.jsonl", Args: noArgs,
		RunE: env.data(func(ctx context.Context, d *admin.Admin, _ []string) error {
			from, err := parseTime("since", since, d.Now())
			if err != nil {
				return err
			}
			a, err := d.Accounts.Account(ctx, name)
			if err != nil {
				return err
			}
			lines := json.NewEncoder(harmless{env.stdout})
			return d.Content.Export(ctx, actor(), &a, from, time.Time{}, func(c *admin.LoggedContent) error {
				return lines.Encode(c)
			})
		}),
	}
	accountFlag(cmd, &name)
	cmd.Flags().StringVar(&since, "since", "", "only since a UTC date or time, or of the last duration")
	return cmd
}

func newContentPurge(env *environment) *cobra.Command {
	var name, older, request string
	cmd := env.jsonFlag(&cobra.Command{
		Use: "purge", Short: "Delete logged content",
		Long: "Delete the logged content of an account, or of one request. The requests themselves stay, with their\n" +
			"cost.",
		Example: "  weir content purge --account research --older 7d", Args: noArgs,
		RunE: env.data(func(ctx context.Context, d *admin.Admin, _ []string) error {
			a, err := d.Accounts.Account(ctx, name)
			if err != nil {
				return err
			}
			if request != "" {
				id, err := uuid.Parse(request)
				if err != nil {
					return usageError{fmt.Errorf("a request's id is a UUID; got %q", request)}
				}
				return d.Content.Remove(ctx, actor(), &a, id)
			}
			before := d.Now()
			if older != "" {
				age, err := parseAge(older)
				if err != nil {
					return err
				}
				before = before.Add(-age)
			}
			gone, err := d.Content.Purge(ctx, actor(), &a, before)
			if err != nil {
				return err
			}
			if env.asJSON {
				return printJSON(env.stdout, gone)
			}
			_, err = fmt.Fprintf(env.stdout, "deleted the content of %d requests, %d bytes\n", gone.Items,
				gone.Bytes)
			return err
		}),
	})
	accountFlag(cmd, &name)
	cmd.Flags().StringVar(&older, "older", "", "only what was logged longer ago than this, such as 7d or 36h")
	cmd.Flags().StringVar(&request, "request", "", "only the content of the request with this id")
	cmd.MarkFlagsMutuallyExclusive("older", "request")
	return cmd
}
