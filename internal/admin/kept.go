package admin

import (
	"context"
	"time"

	"weir/internal/account"
	"weir/internal/audit"
	"weir/internal/store"
	"weir/internal/stored"
)

// Kept lists and deletes replies and responses that are stored for clients.
type Kept struct {
	store    *store.DB
	accounts *account.Service
}

// KeptAccount holds how much is stored for an account's clients.
type KeptAccount struct {
	Name string `json:"account,omitempty"` // of the account; empty for the replies of the administration API
	stored.Usage
}

// List returns the stored amounts of each account that has any.
func (k *Kept) List(ctx context.Context) ([]KeptAccount, error) {
	all, err := k.store.Kept.Usage(ctx)
	if err != nil {
		return nil, err
	}
	names, err := k.store.Reports.AccountNames(ctx)
	if err != nil {
		return nil, err
	}
	list := make([]KeptAccount, len(all))
	for i, u := range all {
		list[i] = KeptAccount{names[u.Account], u}
	}
	return list, nil
}

// Purge deletes replies and responses that were stored before a time: see store.Kept.Purge. An empty account name
// means every account.
func (k *Kept) Purge(ctx context.Context, by audit.Actor, accountName string, before time.Time) (sum stored.Usage,
	err error,
) {
	var only string
	if accountName != "" {
		acc, err := k.accounts.Account(ctx, accountName)
		if err != nil {
			return sum, err
		}
		only = acc.ID
	}
	all, err := k.List(ctx)
	if err != nil {
		return sum, err
	}
	for _, a := range all {
		if only != "" && a.Account != only {
			continue
		}
		gone, err := k.store.Kept.Purge(ctx, by, audit.Object{Kind: "account", ID: a.Account, Name: a.Name}, before)
		sum.Add(&gone)
		if err != nil {
			return sum, err
		}
	}
	return sum, nil
}
