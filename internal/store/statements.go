package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"weir/internal/audit"
	"weir/internal/budget"
	"weir/internal/llm"
	"weir/internal/report"
)

// OldestStatement is the first month, yyyymm, that a statement can have. No ledger has earlier entries.
const OldestStatement = 2025_01

// CloseStatement closes the statement of an account for a month, yyyymm, and returns it. It contains the charges of
// the days of the month, and changes since the previous statement to earlier days, from the month of the first
// statement on. The error is a *llm.Error with CodeInvalidRequest if the month is not over, is not the next one, or
// is the first and too long ago.
func (s *Ledger) CloseStatement(ctx context.Context, by audit.Actor, account string, month int64) (
	st report.Statement, err error,
) {
	if budget.PeriodOf(month) != budget.PeriodMonth {
		return st, fmt.Errorf("close statement: %d: %w", month, errMonth)
	}
	err = s.write(ctx, s.sure, "close statement", func(tx *sql.Tx) error {
		if err := s.lock(ctx, tx, "statements "+account); err != nil {
			return err
		}
		now := s.clock.now().UTC().Truncate(time.Microsecond)
		if err := CheckOver(month, now); err != nil {
			return err
		}
		first, last, before, err := lastStatement(ctx, tx, account)
		if err != nil {
			return err
		}
		if next := timeOfDay(last.month*100 + 101); last.number > 0 && dayOf(next)/100 != month {
			return llm.Invalidf("month", "Statements are closed month after month: the next one is for %s, "+
				"after number %d for %s.",
				next.Format("2006-01"), last.number, periodText(last.month))
		}
		if last.number == 0 && month < OldestStatement {
			return llm.Invalidf("month", "The first statement is for %s at the earliest. Check the year.",
				periodText(OldestStatement))
		} else if last.number == 0 {
			first = month
		}
		st = report.Statement{
			Account: account, Number: last.number + 1, Month: periodText(month), Closed: now,
		}
		if st.Lines, err = statementLines(ctx, tx, account, first, month); err != nil {
			return err
		}
		st.Hash = st.Sum(before)
		return s.insertStatement(ctx, tx, by, &st, month)
	})
	return st, err
}

// DraftStatement returns the statement that an account would get for a month, yyyymm, if it were closed now. It has no
// number, no hash and nothing of earlier months without a statement. The error is a *llm.Error with CodeInvalidRequest
// if the month has a statement, or has not begun.
func (s *Reports) DraftStatement(ctx context.Context, account string, month int64) (st report.Statement, err error) {
	now := s.clock.now().UTC().Truncate(time.Microsecond)
	st = report.Statement{Account: account, Month: periodText(month), Closed: now}
	err = s.report(ctx, account, "draft statement", func(tx *sql.Tx) error {
		first, last, _, err := lastStatement(ctx, tx, account)
		switch {
		case err != nil:
			return err
		case month > dayOf(now)/100:
			return llm.Invalidf("month", "The month %s has not begun. Use %s or an earlier one.", periodText(month),
				periodText(dayOf(now)/100))
		case last.number > 0 && month <= last.month:
			return llm.Invalidf("month", "The month %s is closed. Read its statement, or use a later month.",
				periodText(month))
		case last.number == 0:
			first = month
		}
		st.Lines, err = statementLines(ctx, tx, account, first, month)
		st.Lines = slices.DeleteFunc(st.Lines, func(l report.StatementLine) bool {
			return l.Date > periodText(last.month)+"-31" && l.Date < st.Month
		})
		return err
	})
	return st, err
}

// CheckOver returns an error if a month, yyyymm, is not over.
func CheckOver(month int64, now time.Time) error {
	if dayOf(now)/100 <= month {
		return llm.Invalidf("month", "The month %s is not over. Close its statement after it has ended.",
			periodText(month))
	}
	return nil
}

// statementOf identifies a statement by its number and month.
type statementOf struct{ number, month int64 }

// lastStatement returns the month of an account's first statement, and its last one with the hash; 0 for none.
func lastStatement(ctx context.Context, tx *sql.Tx, account string) (first int64, last statementOf, hash string,
	err error,
) {
	err = tx.QueryRowContext(ctx, "SELECT number, month, hash, (SELECT min(month) FROM statements WHERE account = ?)"+
		" FROM statements WHERE account = ? ORDER BY number DESC LIMIT 1", account, account).
		Scan(&last.number, &last.month, &hash, &first)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return first, last, hash, err
}

// statementLines returns the sums of the days of some months minus the closed statements.
func statementLines(ctx context.Context, tx *sql.Tx, account string, first, month int64) (
	[]report.StatementLine, error,
) {
	const sums = "SELECT period AS day, model, requests, tokens, cost + margin AS charge, " +
		"uncertain + margin_uncertain AS uncertain, unpriced + margin_unpriced AS unpriced FROM rollup_uses" +
		" WHERE account = ? AND period BETWEEN ? AND ? AND "
	const closed = "SELECT day, model, -requests, -tokens, -charge, -uncertain, -unpriced FROM statement_lines" +
		" WHERE account = ?"
	rows, err := tx.QueryContext(ctx, "SELECT day, model, sum(requests), sum(tokens), sum(charge), sum(uncertain),"+
		" sum(unpriced) FROM ("+
		sums+used("", "")+" UNION ALL "+closed+") AS u GROUP BY day, model HAVING sum(requests) <> 0 OR"+
		" sum(tokens) <> 0 OR "+
		"sum(charge) <> 0 OR sum(uncertain) <> 0 OR sum(unpriced) <> 0 ORDER BY day, model",
		account, first*100, month*100+99, account)
	return collect(rows, err, scanStatementLine)
}

func scanStatementLine(row scanner) (l report.StatementLine, err error) {
	var day int64
	err = row.Scan(&day, &l.Model, &l.Requests, &l.Tokens, &l.Charge, &l.Uncertain, &l.Unpriced)
	l.Date = dateText(day)
	return l, err
}

func (s *Ledger) insertStatement(ctx context.Context, tx *sql.Tx, by audit.Actor, st *report.Statement,
	month int64,
) error {
	_, err := tx.ExecContext(ctx, "INSERT INTO statements (account, number, month, closed, hash)"+
		" VALUES (?, ?, ?, ?, ?)", st.Account, st.Number, month, micros(st.Closed), st.Hash)
	for i := 0; i < len(st.Lines) && err == nil; i++ {
		l := &st.Lines[i]
		var day int64
		if day, err = parseDate(l.Date, 0); err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, "INSERT INTO statement_lines (account, number, day, model, requests,"+
			" tokens, charge,"+
			" uncertain, unpriced) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", st.Account, st.Number, day, l.Model,
			l.Requests, l.Tokens,
			int64(l.Charge), int64(l.Uncertain), l.Unpriced)
	}
	if err != nil {
		return err
	}
	all, _ := st.Totals()
	e := audit.Entry{
		Actor: by, Action: audit.StatementClosed, Account: st.Account,
		Object: audit.Object{Kind: "statement", ID: fmt.Sprint(st.Number), Name: st.Month},
	}
	_, err = s.note(ctx, tx, e, nil, facts{"charge_usd": all.Cost.String(), "hash": st.Hash})
	return err
}

// Statements returns the statements of an account, by number.
func (s *Reports) Statements(ctx context.Context, account string) ([]report.Statement, error) {
	return s.statements(ctx, account, "account = ? ORDER BY number", account)
}

// StatementsOf returns the statements of all accounts for a month, yyyymm, by account.
func (s *Reports) StatementsOf(ctx context.Context, month int64) ([]report.Statement, error) {
	return s.statements(ctx, "", "month = ? ORDER BY account", month)
}

// statements returns the statements that meet a condition. Account is the one that they are read for; empty for all.
func (s *Reports) statements(ctx context.Context, account, where string, arg any) (list []report.Statement, err error) {
	err = s.report(ctx, account, "read statements", func(tx *sql.Tx) error {
		rows, err := tx.QueryContext(ctx, "SELECT account, number, month, closed, hash FROM statements"+
			" WHERE "+where, arg)
		list, err = collect(rows, err, func(row scanner) (st report.Statement, err error) {
			var month, closed int64
			err = row.Scan(&st.Account, &st.Number, &month, &closed, &st.Hash)
			st.Month, st.Closed = periodText(month), fromMicros(closed)
			return st, err
		})
		for i := 0; i < len(list) && err == nil; i++ {
			rows, err = tx.QueryContext(ctx, "SELECT day, model, requests, tokens, charge, uncertain, unpriced"+
				" FROM statement_lines"+
				" WHERE account = ? AND number = ? ORDER BY day, model", list[i].Account, list[i].Number)
			list[i].Lines, err = collect(rows, err, scanStatementLine)
		}
		return err
	})
	return list, err
}

// VerifyStatements recomputes the hashes of all statements, and finds missing ones.
func (s *Reports) VerifyStatements(ctx context.Context) (n int, faults []report.StatementFault, err error) {
	accounts, err := reportList(ctx, s.conn, "", "read statements", scanOne[string], "SELECT DISTINCT account"+
		" FROM statements ORDER BY account")
	for i := 0; i < len(accounts) && err == nil; i++ {
		var list []report.Statement
		list, err = s.Statements(ctx, accounts[i])
		n += len(list)
		faults = append(faults, verifyStatements(list)...)
	}
	return n, faults, err
}

// verifyStatements recomputes the hashes of an account's statements.
func verifyStatements(list []report.Statement) (faults []report.StatementFault) {
	before := &report.Statement{}
	for i := range list {
		st := &list[i]
		fault := func(what string) {
			faults = append(faults, report.StatementFault{Account: st.Account, Number: st.Number, What: what})
		}
		if st.Number != before.Number+1 {
			fault("the previous statement is missing")
		}
		if st.Sum(before.Hash) != st.Hash {
			fault("its lines have changed since it was closed")
		}
		before = st
	}
	return faults
}
