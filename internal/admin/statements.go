package admin

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"weir/internal/account"
	"weir/internal/audit"
	"weir/internal/budget"
	"weir/internal/llm"
	"weir/internal/report"
	"weir/internal/store"
)

// Statements lists, closes and verifies statements.
type Statements struct {
	store    *store.DB
	accounts *account.Service
}

// Statement holds a statement and the name of its account.
type Statement struct {
	AccountName string
	report.Statement
}

// Close closes the statement of an account for a month, yyyymm.
func (s *Statements) Close(ctx context.Context, by audit.Actor, nameOrID string, month int64) (Statement, error) {
	a, err := s.accounts.Account(ctx, nameOrID)
	if err != nil {
		return Statement{}, err
	}
	st, err := s.store.Ledger.CloseStatement(ctx, by, a.ID, month)
	return Statement{a.Name, st}, err
}

// CloseAll closes the statements of all accounts up to a month, yyyymm. It starts after each account's last
// statement, or in the month in which the account was created. A failure does not stop the others.
func (s *Statements) CloseAll(ctx context.Context, by audit.Actor, month int64) (closed []Statement, errs error) {
	if err := store.CheckOver(month, s.store.Now()); err != nil {
		return nil, err
	}
	accounts, err := s.accounts.Accounts(ctx)
	if err != nil {
		return nil, err
	}
	for i := range accounts {
		a := &accounts[i]
		have, err := s.store.Reports.Statements(ctx, a.ID)
		first := budget.PeriodMonth.Starts(a.Created)
		if n := len(have); n > 0 && err == nil {
			first, err = time.Parse("2006-01", have[n-1].Month)
			first = first.AddDate(0, 1, 0)
		}
		for ; err == nil && budget.PeriodMonth.Number(first) <= month; first = first.AddDate(0, 1, 0) {
			next := budget.PeriodMonth.Number(first)
			if next < store.OldestStatement {
				continue
			}
			var one Statement
			if one, err = s.Close(ctx, by, a.ID, next); err == nil {
				closed = append(closed, one)
			}
		}
		if err != nil {
			errs = errors.Join(errs, fmt.Errorf("account %s: %w", a.Name, err))
		}
	}
	return closed, errs
}

// List returns the statements of an account.
func (s *Statements) List(ctx context.Context, nameOrID string) (all []Statement, err error) {
	a, err := s.accounts.Account(ctx, nameOrID)
	if err != nil {
		return nil, err
	}
	list, err := s.store.Reports.Statements(ctx, a.ID)
	for i := range list {
		all = append(all, Statement{a.Name, list[i]})
	}
	return all, err
}

// Get returns a statement of an account by its number.
func (s *Statements) Get(ctx context.Context, nameOrID, number string) (Statement, error) {
	list, err := s.List(ctx, nameOrID)
	if err != nil {
		return Statement{}, err
	}
	n, err := strconv.Atoi(number)
	if err != nil || n < 1 || n > len(list) {
		return Statement{}, llm.Errorf(llm.CodeNotFound, "The account has no such statement: it has %d statements.",
			len(list)).At("number")
	}
	return list[n-1], nil
}

// OfMonth returns the statements of all accounts for a month, yyyymm, by account name. Names of deleted accounts are
// empty.
func (s *Statements) OfMonth(ctx context.Context, month int64) (all []Statement, err error) {
	list, err := s.store.Reports.StatementsOf(ctx, month)
	if err != nil {
		return nil, err
	}
	names, err := s.store.Reports.AccountNames(ctx)
	for i := range list {
		all = append(all, Statement{names[list[i].Account], list[i]})
	}
	slices.SortStableFunc(all, func(a, b Statement) int { return strings.Compare(a.AccountName, b.AccountName) })
	return all, err
}

// Draft returns the statement that an account would get for a month, yyyymm, if it were closed now; 0 means the month
// that is closed next or, if there is no statement yet, the running month.
func (s *Statements) Draft(ctx context.Context, nameOrID string, month int64) (Statement, error) {
	a, err := s.accounts.Account(ctx, nameOrID)
	if err != nil {
		return Statement{}, err
	}
	if month == 0 {
		month = budget.PeriodMonth.Number(s.store.Now())
		have, err := s.store.Reports.Statements(ctx, a.ID)
		if err != nil {
			return Statement{}, err
		}
		if n := len(have); n > 0 {
			last, err := time.Parse("2006-01", have[n-1].Month)
			if err != nil {
				return Statement{}, err
			}
			month = budget.PeriodMonth.Number(last.AddDate(0, 1, 0))
		}
	}
	st, err := s.store.Reports.DraftStatement(ctx, a.ID, month)
	return Statement{a.Name, st}, err
}

// Verify recomputes the hashes of all statements.
func (s *Statements) Verify(ctx context.Context) (n int, faults []report.StatementFault, err error) {
	return s.store.Reports.VerifyStatements(ctx)
}
