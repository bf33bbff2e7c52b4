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

// AnswerAmount is the amount of answers that is stored for an account.
type AnswerAmount struct {
	Name string `json:"account"`
	store.AnswerUsage
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
	names, err := namesOf(ctx, a.accounts)
	list := make([]AnswerAmount, len(all))
	for i, u := range all {
		list[i] = AnswerAmount{names[u.Account], u}
	}
	return list, err
}

// Of returns the amount of an account, whose id is given.
func (a *Answers) Of(ctx context.Context, id string) (u store.AnswerUsage, err error) {
	all, err := a.store.Answers.Usage(ctx)
	u.Account = id
	for i := range all {
		if all[i].Account == id {
			u = all[i]
		}
	}
	return u, err
}

// Purge deletes the answers of an account that were stored before a time; zero for all of them. The amount is that of
// the deleted answers.
func (a *Answers) Purge(ctx context.Context, by audit.Actor, of *account.Account, before time.Time) (
	store.AnswerUsage, error,
) {
	if before.IsZero() {
		before = a.store.Now().Add(time.Second) // nodes may differ by as much
	}
	return a.store.Answers.Purge(ctx, by, objectOf(of), before)
}
