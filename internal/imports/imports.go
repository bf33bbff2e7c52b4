// Package imports is what is taken over from another gateway: what its configuration and its database come to here,
// and what of them does not.
package imports

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"weir/internal/account"
	"weir/internal/llm"
	"weir/internal/people"
)

// Plan is all that another gateway has, as it is to be here.
type Plan struct {
	// Config are objects of the managed configuration, by section and name.
	Config   map[string]map[string]any
	Accounts []Account
	People   []Person
	Left     []Left
}

// Left is something that is not taken over, or not as it was.
type Left struct {
	From string `json:"from"` // its path at the other gateway
	Why  string `json:"why"`
}

// Leave notes what is not taken over.
func (p *Plan) Leave(from, why string, args ...any) {
	p.Left = append(p.Left, Left{from, fmt.Sprintf(why, args...)})
}

// SortLeft brings what is left into the order of the paths, each thing once.
func (p *Plan) SortLeft() {
	slices.SortStableFunc(p.Left, func(a, b Left) int {
		return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.Why, b.Why))
	})
	p.Left = slices.Compact(p.Left)
}

// Account is an account with its keys. The fields that are made here are empty: ids, and when it was made.
type Account struct {
	account.Account
	// From says which it is at the other gateway, for ever and alone: by it a further import finds it again.
	From    string
	Opening llm.Money // spent of its budget in the present period
	Keys    []Key
}

// Key is an API key whose token is another gateway's.
type Key struct {
	account.Key
	From    string       // its path
	Hash    account.Hash // of the token
	Opening llm.Money    // spent of its budget in the present period
}

// Person is somebody who is to be a member of an account.
type Person struct {
	From    string // their path
	Email   string
	Account string // as Account.From has it
	Role    people.Role
}

// Rows calls a function with each row of a table of another gateway's database, as a JSON object of its columns. The
// error is fs.ErrNotExist where there is no such table.
type Rows func(ctx context.Context, table string, each func(row []byte) error) error

// Done is what an import did to an account, or would do.
type Done struct {
	ID      string // of the account here
	Name    string
	Changes []Change
}

// Change is something that an import makes, or would make.
type Change struct {
	Kind    string `json:"kind"` // account, key or opening
	Account string `json:"account"`
	Name    string `json:"name"` // of the key; empty for the account itself
	Detail  string `json:"detail"`
}
