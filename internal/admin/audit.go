package admin

import (
	"context"

	"weir/internal/account"
	"weir/internal/audit"
	"weir/internal/store"
)

// Audit reads and verifies the audit log.
type Audit struct {
	store    *store.DB
	accounts *account.Service
}

// Entries returns the entries of the audit log that a query selects, newest first. The query's account may be a name.
func (a *Audit) Entries(ctx context.Context, q audit.Query) ([]audit.Entry, error) {
	if err := a.findAccount(ctx, &q); err != nil {
		return nil, err
	}
	return a.store.Audit.Entries(ctx, q)
}

// Export calls fn with each entry of the audit log that a query selects, oldest first. The query's account may
// be a name; its limit is ignored.
func (a *Audit) Export(ctx context.Context, q audit.Query, fn func(*audit.Entry) error) error {
	if err := a.findAccount(ctx, &q); err != nil {
		return err
	}
	return a.store.Audit.Export(ctx, q, fn)
}

// findAccount replaces an account's name by its id.
func (a *Audit) findAccount(ctx context.Context, q *audit.Query) error {
	if q.Account == "" {
		return nil
	}
	acc, err := a.accounts.Account(ctx, q.Account)
	q.Account = acc.ID
	return err
}

// Verify verifies the whole chain of the audit log, and searches it for the head of an earlier verification, if
// from is not zero.
func (a *Audit) Verify(ctx context.Context, from audit.Hash) (audit.Verification, error) {
	return a.store.Audit.Verify(ctx, from)
}
