package app

import (
	"context"

	"weir/internal/audit"
)

// Audit is the entries of the audit log that a query selects, the newest first.
// The query's account may be a name.
func (d *Data) Audit(ctx context.Context, q audit.Query) ([]audit.Entry, error) {
	if err := d.findAccount(ctx, &q); err != nil {
		return nil, err
	}
	return d.store.Audit.Entries(ctx, q)
}

// ExportAudit calls fn with every entry of the audit log that a query selects, the
// oldest first. The query's account may be a name; its limit does not count.
func (d *Data) ExportAudit(ctx context.Context, q audit.Query, fn func(*audit.Entry) error) error {
	if err := d.findAccount(ctx, &q); err != nil {
		return err
	}
	return d.store.Audit.Export(ctx, q, fn)
}

// findAccount puts the id in the place of an account's name.
func (d *Data) findAccount(ctx context.Context, q *audit.Query) error {
	if q.Account == "" {
		return nil
	}
	a, err := d.Accounts.Account(ctx, q.Account)
	q.Account = a.ID
	return err
}

// VerifyAudit looks at the whole chain of the audit log, and for the head of an
// earlier look; zero for none.
func (d *Data) VerifyAudit(ctx context.Context, from audit.Hash) (audit.Verification, error) {
	return d.store.Audit.Verify(ctx, from)
}
