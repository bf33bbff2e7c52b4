package app

import (
	"context"

	"weir/internal/audit"
)

// Audit returns the entries of the audit log that a query selects, newest first. The query's account may be a name.
func (d *Data) Audit(ctx context.Context, q audit.Query) ([]audit.Entry, error) {
	if err := d.findAccount(ctx, &q); err != nil {
		return nil, err
	}
	return d.store.Audit.Entries(ctx, q)
}

// ExportAudit calls fn with each entry of the audit log that a query selects, oldest first. The query's account may
// be a name; its limit is ignored.
func (d *Data) ExportAudit(ctx context.Context, q audit.Query, fn func(*audit.Entry) error) error {
	if err := d.findAccount(ctx, &q); err != nil {
		return err
	}
	return d.store.Audit.Export(ctx, q, fn)
}

// findAccount replaces an account's name by its id.
func (d *Data) findAccount(ctx context.Context, q *audit.Query) error {
	if q.Account == "" {
		return nil
	}
	a, err := d.Accounts.Account(ctx, q.Account)
	q.Account = a.ID
	return err
}

// VerifyAudit verifies the whole chain of the audit log, and searches it for the head of an earlier verification, if
// from is not zero.
func (d *Data) VerifyAudit(ctx context.Context, from audit.Hash) (audit.Verification, error) {
	return d.store.Audit.Verify(ctx, from)
}
