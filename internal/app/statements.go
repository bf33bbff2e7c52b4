package app

import (
	"context"
	"fmt"

	"weir/internal/audit"
	"weir/internal/report"
)

// CloseStatement closes the statement of an account for a month, yyyymm.
func (d *Data) CloseStatement(ctx context.Context, by audit.Actor, nameOrID string, month int64) (report.Statement, error) {
	a, err := d.Accounts.Account(ctx, nameOrID)
	if err != nil {
		return report.Statement{}, err
	}
	return d.store.Ledger.CloseStatement(ctx, by, a.ID, month)
}

// Statements are the statements of an account.
func (d *Data) Statements(ctx context.Context, nameOrID string) ([]report.Statement, error) {
	a, err := d.Accounts.Account(ctx, nameOrID)
	if err != nil {
		return nil, err
	}
	return d.store.Reports.Statements(ctx, a.ID)
}

// Statement is a statement of an account by its number.
func (d *Data) Statement(ctx context.Context, nameOrID string, number int64) (report.Statement, error) {
	list, err := d.Statements(ctx, nameOrID)
	if err != nil {
		return report.Statement{}, err
	}
	if number < 1 || number > int64(len(list)) {
		return report.Statement{}, fmt.Errorf("the account has no statement %d: it has %d", number, len(list))
	}
	return list[number-1], nil
}

// VerifyStatements recomputes the hashes of all statements.
func (d *Data) VerifyStatements(ctx context.Context) (n int, faults []report.StatementFault, err error) {
	return d.store.Reports.VerifyStatements(ctx)
}
