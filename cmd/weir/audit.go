package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"weir/internal/admin"
	"weir/internal/audit"
	"weir/internal/config"
)

const mostAudit = 1000 // entries of one listing

func newAudit(env *environment) *cobra.Command {
	return group("audit", "Read and verify the audit log: who changed what",
		newAuditList(env), newAuditExport(env), newAuditVerify(env))
}

// auditFlags holds the flags that select entries.
type auditFlags struct {
	account, actor, action, object, since string
}

func (f *auditFlags) define(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.account, "account", "", "only entries of this account")
	flags.StringVar(&f.actor, "actor", "", "only entries of this actor, a name or an id")
	flags.StringVar(&f.action, "action", "", "only this action, or all actions with this prefix, such as key.")
	flags.StringVar(&f.object, "object", "", "only entries about the object with this id")
	flags.StringVar(&f.since, "since", "", "only entries since a UTC date or time, or of the last duration such as 24h")
}

func (f *auditFlags) query(now time.Time) (audit.Query, error) {
	from, err := parseTime("since", f.since, now)
	return audit.Query{
		Account: f.account, Actor: f.actor, Action: audit.Action(f.action), Object: f.object, From: from,
	}, err
}

// parseTime parses the value of a flag: a UTC date, a time, or a duration that ends now, also in days.
func parseTime(flag, text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if d, ok := config.ParseDuration(text); ok && d > 0 {
		return now.Add(-d), nil
	}
	for _, layout := range []string{time.DateOnly, time.RFC3339} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, nil
		}
	}
	return time.Time{},
		usageError{fmt.Errorf("--%s is a UTC date such as 2026-01-31, a time such as 2026-01-31T12:00:00Z, or a "+
			"duration until now such as 24h or 7d; got %q", flag, text)}
}

func newAuditList(env *environment) *cobra.Command {
	var f auditFlags
	var limit int
	cmd := env.jsonFlag(&cobra.Command{
		Use: "list", Short: "List the entries, newest first",
		Example: "  weir audit list --account default --since 24h\n  weir audit list --action key. --limit 10 --json",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if limit < 1 || limit > mostAudit {
				return usageError{fmt.Errorf("--limit is from 1 to %d; got %d", mostAudit, limit)}
			}
			return env.withData(cmd, func(d *admin.Admin) error {
				q, err := f.query(d.Now())
				if err != nil {
					return err
				}
				q.Limit = limit
				entries, err := d.Audit.Entries(cmd.Context(), q)
				if err != nil {
					return err
				}
				return list(&env.output, entries, auditHeads, auditRow)
			})
		},
	})
	f.define(cmd)
	cmd.Flags().IntVar(&limit, "limit", 50, fmt.Sprintf("maximum number of entries, 1 to %d", mostAudit))
	return cmd
}

var auditHeads = []string{"N", "TIME", "BY", "FROM", "ACTION", "OBJECT", "BEFORE", "AFTER"}

func auditRow(e *audit.Entry) []string {
	return []string{
		count(e.Seq), e.At.Format(time.RFC3339), e.Actor.String(), orNone(e.Actor.Address), string(e.Action),
		objectText(&e.Object), orNone(string(e.Before)), orNone(string(e.After)),
	}
}

func objectText(o *audit.Object) string {
	return strings.Join(strings.Fields(o.Kind+" "+o.Name+" "+o.ID), " ")
}

func orNone(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

func newAuditExport(env *environment) *cobra.Command {
	var f auditFlags
	var format string
	cmd := &cobra.Command{
		Use: "export", Short: "Print all entries, oldest first",
		Example: "  weir audit export --format jsonl > audit.jsonl", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			write, ok := audit.Exporters()[format]
			if !ok {
				return usageError{fmt.Errorf("the format is csv or jsonl; got %q", format)}
			}
			return env.withData(cmd, func(d *admin.Admin) error {
				q, err := f.query(d.Now())
				if err != nil {
					return err
				}
				return write(env.stdout, func(fn func(*audit.Entry) error) error {
					return d.Audit.Export(cmd.Context(), q, fn)
				})
			})
		},
	}
	f.define(cmd)
	cmd.Flags().StringVar(&format, "format", "csv", "csv, or jsonl: one JSON object per line")
	return cmd
}

func newAuditVerify(env *environment) *cobra.Command {
	var head string
	cmd := env.jsonFlag(&cobra.Command{
		Use: "verify", Short: "Check that no entry was changed or removed, and print the head of the chain",
		Long: "Check that the hash of each entry follows from the entry before it, and print the hash of the last\n" +
			"one, the head. Store the head where nobody with write access to the database can change it. With\n" +
			"--head, a later check reports whether the log still contains that entry, or was truncated or\n" +
			"rewritten.",
		Example: "  weir audit verify", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var from audit.Hash
			if head != "" {
				if err := from.UnmarshalText([]byte(head)); err != nil {
					return usageError{
						fmt.Errorf("--head is the hash that weir audit verify printed, 64 hexadecimal digits; got %q",
							head),
					}
				}
			}
			return env.withData(cmd, func(d *admin.Admin) error {
				v, err := d.Audit.Verify(cmd.Context(), from)
				if err != nil {
					return err
				}
				if err := env.printAudit(&v); err != nil {
					return err
				}
				if !v.Whole() {
					return errQuiet
				}
				return nil
			})
		},
	})
	cmd.Flags().StringVar(&head, "head", "", "head that an earlier check printed")
	return cmd
}

func (o *output) printAudit(v *audit.Verification) error {
	if o.asJSON {
		return printJSON(o.stdout, map[string]any{
			"whole": v.Whole(), "entries": v.Entries, "head": v.Head, "broken_at": v.Broken, "goes_on": v.GoesOn,
		})
	}
	if v.Broken > 0 {
		fmt.Fprintf(o.stdout,
			"the chain is broken at entry %d: it, or an entry before it, was changed or removed\n", v.Broken)
	}
	if !v.GoesOn && v.Broken == 0 {
		fmt.Fprintln(o.stdout,
			"no entry has the hash of --head: entries were removed from the end, or the log was rewritten")
	}
	_, err := fmt.Fprintf(o.stdout, "%d entries, head %s\n", v.Entries, v.Head)
	return err
}
