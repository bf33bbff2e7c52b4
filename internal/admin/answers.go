package admin

import (
	"context"
	"time"

	"weir/internal/account"
	"weir/internal/audit"
	"weir/internal/store"
)

// Answers holds the operations on the answer cache.
type Answers struct {
	store    *store.DB
	accounts *account.Service
	keys     *KeyRing
}

// AnswerUsage is the amount of answers that is stored for an account.
type AnswerUsage struct {
	Account string `json:"account_id"` // id
	Items   int64  `json:"answers"`
	Bytes   int64  `json:"bytes"`
}

// AnswerAmount is that of the account of a name.
type AnswerAmount struct {
	Name string `json:"account"`
	AnswerUsage
}

// Seal encrypts an answer with the installation's master key, and creates that if there is none.
func (a *Answers) Seal(ctx context.Context, text []byte, about string) (string, error) {
	return a.keys.Sealed(ctx, text, about)
}

// Open decrypts an answer.
func (a *Answers) Open(sealed, about string) ([]byte, error) { return a.keys.Open(sealed, about) }

// List returns the amount of each account with stored answers.
func (a *Answers) List(ctx context.Context) ([]AnswerAmount, error) {
	all, err := a.store.Answers.Usage(ctx)
	if err != nil {
		return nil, err
	}
	names, err := a.store.Reports.AccountNames(ctx)
	list := make([]AnswerAmount, len(all))
	for i, u := range all {
		list[i] = AnswerAmount{names[u.Account], AnswerUsage(u)}
	}
	return list, err
}

// Of returns the amount of an account, whose id is given.
func (a *Answers) Of(ctx context.Context, id string) (u AnswerUsage, err error) {
	all, err := a.store.Answers.Usage(ctx)
	u.Account = id
	for i := range all {
		if all[i].Account == id {
			u = AnswerUsage(all[i])
		}
	}
	return u, err
}

// Purge deletes the answers of an account that were stored before a time; zero for all of them. The amount is that of
// the deleted answers.
func (a *Answers) Purge(ctx context.Context, by audit.Actor, of *account.Account, before time.Time) (
	AnswerUsage, error,
) {
	if before.IsZero() {
		before = a.store.Now().Add(time.Second) // nodes may differ by as much
	}
	gone, err := a.store.Answers.Purge(ctx, by, objectOf(of), before)
	return AnswerUsage(gone), err
}
