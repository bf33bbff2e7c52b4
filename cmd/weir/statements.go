package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"weir/internal/admin"
	"weir/internal/budget"
)

func newStatements(env *environment) *cobra.Command {
	return group("statements", "Close, list, print and verify monthly statements of charges",
		newStatementsClose(env), newStatementsList(env), newStatementsShow(env), newStatementsDraft(env),
		newStatementsVerify(env))
}

var statementHeads = []string{
	"ACCOUNT", "NUMBER", "MONTH", "CLOSED", "PAYABLE", "CHARGE", "CORRECTIONS", "UNPRICED ATTEMPTS", "HASH",
}

func statementRow(v *admin.StatementView) []string {
	charge := "$" + v.ChargeUSD
	if v.AtMostUSD != v.ChargeUSD {
		charge += ", at most $" + v.AtMostUSD
	}
	return []string{
		v.AccountName, count(v.Number), v.Month, orNone(timeText(v.Closed)), "$" + cents(v.PayableUSD), charge,
		"$" + v.Corrections,
		count(v.Unpriced), v.Hash,
	}
}

// cents writes an amount that is rounded to cents with two decimals.
func cents(amount string) string {
	whole, rest, _ := strings.Cut(amount, ".")
	return whole + "." + rest + "00"[min(len(rest), 2):]
}

func newStatementsClose(env *environment) *cobra.Command {
	var month string
	var all bool
	cmd := env.jsonFlag(&cobra.Command{
		Use: "close NAME | --all", Short: "Close the statement of an account for a month",
		Long: "Close the statement of an account for a past month, by UTC days. A statement has a number and never\n" +
			"changes. Its hash covers its lines and the statement before it. Usage that arrives later for its\n" +
			"days, and later corrections, go into the next statement. The first statement may be of any month\n" +
			"since 2025-01; each further one is of the month after it. Usage before the first statement is in no\n" +
			"statement: --all starts with the month in which the account was created.",
		Example: "  weir statements close research --month 2026-11\n  weir statements close --all --month 2026-11",
		Args: func(cmd *cobra.Command, args []string) error {
			if all {
				return noArgs(cmd, args)
			}
			return oneArg("the account's name, or --all")(cmd, args)
		},
		RunE: env.data(func(ctx context.Context, d *admin.Admin, args []string) error {
			number, err := parseMonth(month)
			if err != nil {
				return err
			}
			var closed []admin.Statement
			if all {
				closed, err = d.Statements.CloseAll(ctx, actor(), number)
			} else if one, err := d.Statements.Close(ctx, actor(), args[0], number); err != nil {
				return err
			} else {
				closed = append(closed, one)
			}
			if err != nil && len(closed) == 0 {
				return err
			}
			if len(closed) == 0 && !env.asJSON {
				return env.printLines([]string{"All statements up to " + month + " are closed."})
			}
			return errors.Join(
				listViews(&env.output, closed, nil, admin.ViewStatement, statementHeads, statementRow), err)
		}),
	})
	cmd.Flags().StringVar(&month, "month", "", "month, such as 2026-11")
	cmd.Flags().BoolVar(&all, "all", false, "close the statements of all accounts, for this month and all months "+
		"before it")
	_ = cmd.MarkFlagRequired("month") // the flag is defined one line above
	return cmd
}

func newStatementsList(env *environment) *cobra.Command {
	var month string
	cmd := env.jsonFlag(&cobra.Command{
		Use: "list NAME | --month MONTH", Short: "List the statements of an account, or of all accounts for a month",
		Example: "  weir statements list research --json\n  weir statements list --month 2026-10",
		Args: func(cmd *cobra.Command, args []string) error {
			if month != "" {
				return noArgs(cmd, args)
			}
			return oneArg("the account's name, or --month")(cmd, args)
		},
		RunE: env.data(func(ctx context.Context, d *admin.Admin, args []string) error {
			if month != "" {
				number, err := parseMonth(month)
				if err != nil {
					return err
				}
				all, err := d.Statements.OfMonth(ctx, number)
				return listViews(&env.output, all, err, admin.ViewStatement, statementHeads, statementRow)
			}
			all, err := d.Statements.List(ctx, args[0])
			return listViews(&env.output, all, err, admin.ViewStatement, statementHeads, statementRow)
		}),
	})
	cmd.Flags().StringVar(&month, "month", "", "list the statements of all accounts for this month, such as 2026-10")
	return cmd
}

// parseMonth parses a month, and returns yyyymm.
func parseMonth(text string) (int64, error) {
	at, err := time.Parse("2006-01", text)
	if err != nil {
		return 0, usageError{fmt.Errorf("--month is a month such as 2026-11; got %q", text)}
	}
	return budget.PeriodMonth.Number(at), nil
}

func newStatementsDraft(env *environment) *cobra.Command {
	var month string
	cmd := env.jsonFlag(&cobra.Command{
		Use: "draft NAME", Short: "Print the statement that an account would get now: CSV, or JSON",
		Long: "Print the statement that an account would get if its month were closed now: the month that is closed\n" +
			"next or, before the first statement, the running one. It has no number, and nothing of earlier months\n" +
			"without a statement.",
		Example: "  weir statements draft research > draft.csv\n" +
			"  weir statements draft research --month 2026-11 --json",
		Args: oneArg("the account's name"),
		RunE: env.data(func(ctx context.Context, d *admin.Admin, args []string) error {
			var number int64
			if month != "" {
				var err error
				if number, err = parseMonth(month); err != nil {
					return err
				}
			}
			st, err := d.Statements.Draft(ctx, args[0], number)
			if err != nil {
				return err
			}
			return env.printStatement(&st)
		}),
	})
	cmd.Flags().StringVar(&month, "month", "", "month, such as 2026-11")
	return cmd
}

// printStatement prints a statement with its lines.
func (o *output) printStatement(st *admin.Statement) error {
	if o.asJSON {
		return printJSON(o.stdout, admin.ViewWholeStatement(st))
	}
	return st.WriteCSV(o.stdout, st.AccountName)
}

func newStatementsShow(env *environment) *cobra.Command {
	var number int64
	cmd := env.jsonFlag(&cobra.Command{
		Use: "show NAME", Short: "Print a statement with its lines: CSV, or JSON",
		Example: "  weir statements show research --number 1 > statement.csv\n  weir statements show research " +
			"--number 1 --json",
		Args: oneArg("the account's name"),
		RunE: env.data(func(ctx context.Context, d *admin.Admin, args []string) error {
			st, err := d.Statements.Get(ctx, args[0], count(number))
			if err != nil {
				return err
			}
			return env.printStatement(&st)
		}),
	})
	cmd.Flags().Int64Var(&number, "number", 0, "number of the statement")
	_ = cmd.MarkFlagRequired("number") // the flag is defined one line above
	return cmd
}

func newStatementsVerify(env *environment) *cobra.Command {
	return &cobra.Command{
		Use: "verify", Short: "Recompute the hashes of all statements",
		Example: "  weir statements verify", Args: noArgs,
		RunE: env.data(func(ctx context.Context, d *admin.Admin, _ []string) error {
			n, faults, err := d.Statements.Verify(ctx)
			if err != nil {
				return err
			}
			for _, f := range faults {
				fmt.Fprintf(env.stderr, "account %s, statement %d: %s\n", f.Account, f.Number, f.What)
			}
			if len(faults) > 0 {
				return errQuiet
			}
			_, err = fmt.Fprintf(env.stdout, "%d statements verified\n", n)
			return err
		}),
	}
}
