package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"weir/internal/admin"
	"weir/internal/budget"
	"weir/internal/report"
)

func newStatements(env *environment) *cobra.Command {
	return group("statements", "Close, list, print and verify monthly statements of charges",
		newStatementsClose(env), newStatementsList(env), newStatementsShow(env), newStatementsVerify(env))
}

// statementView holds a statement as listings show it.
type statementView struct {
	Account     string              `json:"account"` // id
	Name        string              `json:"account_name"`
	Number      int64               `json:"number"`
	Month       string              `json:"month"`
	Closed      string              `json:"closed"`
	Charge      string              `json:"charge_usd"`
	AtMost      string              `json:"charge_at_most_usd"`
	Unpriced    int64               `json:"unpriced_attempts"`
	Corrections string              `json:"corrections_usd"` // corrections of earlier months, included in the charge
	Hash        string              `json:"hash"`
	Lines       []statementLineView `json:"lines,omitzero"`
}

type statementLineView struct {
	Date      string `json:"date"`
	Model     string `json:"model"`
	Requests  int64  `json:"requests"`
	Tokens    int64  `json:"tokens"`
	Charge    string `json:"charge_usd"`
	AtMost    string `json:"charge_at_most_usd"`
	Corrected bool   `json:"correction"`
	Unpriced  int64  `json:"unpriced_attempts"`
}

func viewStatement(st *admin.Statement) statementView {
	all, corrections := st.Totals()
	return statementView{
		Account: st.Account, Name: st.AccountName, Number: st.Number, Month: st.Month,
		Closed: st.Closed.Format(time.RFC3339Nano), Charge: all.Cost.String(),
		AtMost: all.AtMost().String(), Unpriced: all.Unpriced, Corrections: corrections.Cost.String(), Hash: st.Hash,
	}
}

func viewStatementLine(st *report.Statement, l *report.StatementLine) statementLineView {
	return statementLineView{
		Date: l.Date, Model: l.Model, Requests: l.Requests, Tokens: l.Tokens, Charge: l.Charge.String(),
		AtMost: l.AtMost().String(), Corrected: st.IsCorrection(l), Unpriced: l.Unpriced,
	}
}

var statementHeads = []string{"ACCOUNT", "NUMBER", "MONTH", "CLOSED", "CHARGE", "CORRECTIONS", "UNPRICED " +
	"ATTEMPTS", "HASH"}

func (v *statementView) row() []string {
	charge := "$" + v.Charge
	if v.AtMost != v.Charge {
		charge += ", at most $" + v.AtMost
	}
	return []string{v.Name, count(v.Number), v.Month, v.Closed, charge, "$" + v.Corrections, count(v.Unpriced), v.Hash}
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
			at, err := time.Parse("2006-01", month)
			if err != nil {
				return usageError{fmt.Errorf("--month is a month such as 2026-11; got %q", month)}
			}
			number := budget.PeriodMonth.Number(at)
			var closed []admin.Statement
			if all {
				closed, err = d.Statements.CloseAll(ctx, actor(), number)
			} else {
				closed, err = d.Statements.Close(ctx, actor(), args[0], number)
			}
			if err != nil && len(closed) == 0 {
				return err
			}
			if len(closed) == 0 && !env.asJSON {
				return env.printLines([]string{"All statements up to " + month + " are closed."})
			}
			return errors.Join(listViews(env, closed, nil, viewStatement, statementHeads, (*statementView).row), err)
		}),
	})
	cmd.Flags().StringVar(&month, "month", "", "month, such as 2026-11")
	cmd.Flags().BoolVar(&all, "all", false, "close the statements of all accounts, for this month and all months "+
		"before it")
	_ = cmd.MarkFlagRequired("month") // the flag is defined one line above
	return cmd
}

func newStatementsList(env *environment) *cobra.Command {
	return env.jsonFlag(&cobra.Command{
		Use: "list NAME", Short: "List the statements of an account", Example: "  weir statements list research --json",
		Args: oneArg("the account's name"),
		RunE: env.data(func(ctx context.Context, d *admin.Admin, args []string) error {
			all, err := d.Statements.List(ctx, args[0])
			return listViews(env, all, err, viewStatement, statementHeads, (*statementView).row)
		}),
	})
}

func newStatementsShow(env *environment) *cobra.Command {
	var number int64
	cmd := env.jsonFlag(&cobra.Command{
		Use: "show NAME", Short: "Print a statement with its lines: CSV, or JSON",
		Example: "  weir statements show research --number 1 > statement.csv\n  weir statements show research " +
			"--number 1 --json",
		Args: oneArg("the account's name"),
		RunE: env.data(func(ctx context.Context, d *admin.Admin, args []string) error {
			st, err := d.Statements.Get(ctx, args[0], number)
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

func (env *environment) printStatement(st *admin.Statement) error {
	if !env.asJSON {
		return st.WriteCSV(env.stdout)
	}
	v := viewStatement(st)
	v.Lines = []statementLineView{}
	for i := range st.Lines {
		v.Lines = append(v.Lines, viewStatementLine(&st.Statement, &st.Lines[i]))
	}
	return printJSON(env.stdout, v)
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
