package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"weir/internal/app"
	"weir/internal/audit"
)

const mostAudit = 1000 // entries in one listing

func newAudit(env *environment) *cobra.Command {
	return group("audit", "The log of who changed what", newAuditList(env), newAuditExport(env), newAuditVerify(env))
}

// auditFlags are the flags that select entries.
type auditFlags struct {
	account, actor, action, object, since string
}

func (f *auditFlags) define(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.account, "account", "", "that concern this account")
	flags.StringVar(&f.actor, "actor", "", "of this actor: a name or an id")
	flags.StringVar(&f.action, "action", "", "of this action, or of all that begin so, such as key.")
	flags.StringVar(&f.object, "object", "", "about what has this id")
	flags.StringVar(&f.since, "since", "", "from this UTC date or time on, or of so long until now, such as 24h")
}

func (f *auditFlags) query(now time.Time) (audit.Query, error) {
	from, err := parseSince(f.since, now)
	return audit.Query{
		Account: f.account, Actor: f.actor, Action: audit.Action(f.action), Object: f.object, From: from,
	}, err
}

// parseSince reads a UTC date, a time, or how long ago something was.
func parseSince(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if d, err := time.ParseDuration(text); err == nil && d > 0 {
		return now.Add(-d), nil
	}
	for _, layout := range []string{time.DateOnly, time.RFC3339} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, nil
		}
	}
	return time.Time{},
		usageError{fmt.Errorf("--since is a UTC date such as 2026-01-31, a time such as 2026-01-31T12:00:00Z, or how "+
			"long until now, such as 24h; got %q", text)}
}

func newAuditList(env *environment) *cobra.Command {
	var f auditFlags
	var limit int
	cmd := env.jsonFlag(&cobra.Command{
		Use: "list", Short: "List what was changed, the newest first",
		Example: "  weir audit list --account default --since 24h\n  weir audit list --action key. --limit 10 --json",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if limit < 1 || limit > mostAudit {
				return usageError{fmt.Errorf("--limit is from 1 to %d; got %d", mostAudit, limit)}
			}
			return env.withData(cmd, func(d *app.Data) error {
				q, err := f.query(d.Now())
				if err != nil {
					return err
				}
				q.Limit = limit
				entries, err := d.Audit(cmd.Context(), q)
				if err != nil {
					return err
				}
				return list(env, entries, auditHeads, auditRow)
			})
		},
	})
	f.define(cmd)
	cmd.Flags().IntVar(&limit, "limit", 50, fmt.Sprintf("at most so many entries, 1 to %d", mostAudit))
	return cmd
}

var auditHeads = []string{"N", "TIME", "BY", "FROM", "ACTION", "WHAT", "BEFORE", "AFTER"}

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
		Use: "export", Short: "Print every entry, the oldest first",
		Example: "  weir audit export --format jsonl > audit.jsonl", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			write, ok := audit.Exporters()[format]
			if !ok {
				return usageError{fmt.Errorf("the format is csv or jsonl; got %q", format)}
			}
			return env.withData(cmd, func(d *app.Data) error {
				q, err := f.query(d.Now())
				if err != nil {
					return err
				}
				return write(env.stdout, func(fn func(*audit.Entry) error) error {
					return d.ExportAudit(cmd.Context(), q, fn)
				})
			})
		},
	}
	f.define(cmd)
	cmd.Flags().StringVar(&format, "format", "csv", "csv, or jsonl: a JSON object a line")
	return cmd
}

func newAuditVerify(env *environment) *cobra.Command {
	var head string
	cmd := env.jsonFlag(&cobra.Command{
		Use: "verify", Short: "Check that no entry was changed or taken out, and print the head of the chain",
		Long: "Check that each entry follows from the one before it, and print the hash of the last one, the head.\n" +
			"Keep it where nobody who can write to the database can: with --head, a later check tells whether\n" +
			"the log goes on from there, or has been cut short or written anew.",
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
			return env.withData(cmd, func(d *app.Data) error {
				v, err := d.VerifyAudit(cmd.Context(), from)
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
	cmd.Flags().StringVar(&head, "head", "", "hash that an earlier check has printed")
	return cmd
}

func (env *environment) printAudit(v *audit.Verification) error {
	if env.asJSON {
		return printJSON(env.stdout, map[string]any{
			"whole": v.Whole(), "entries": v.Entries, "head": v.Head, "broken_at": v.Broken, "goes_on": v.GoesOn,
		})
	}
	if v.Broken > 0 {
		fmt.Fprintf(env.stdout,
			"the chain is broken at entry %d: it was changed, or one before it was changed or taken out\n", v.Broken)
	}
	if !v.GoesOn && v.Broken == 0 {
		fmt.Fprintln(env.stdout,
			"no entry has the hash that was given: entries were taken from the end, or the log was written anew")
	}
	_, err := fmt.Fprintf(env.stdout, "%d entries, head %s\n", v.Entries, v.Head)
	return err
}
