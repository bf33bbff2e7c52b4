// Package imports defines the result of an import from another gateway: the objects that its configuration and its
// database become here, and the parts that are not imported.
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

// Plan holds all objects of another gateway in the form that they take here.
type Plan struct {
	// Config holds objects of the managed configuration, by section and name.
	Config   map[string]map[string]any
	Accounts []Account
	People   []Person
	Left     []Left
}

// Left is a part that is not imported, or not unchanged.
type Left struct {
	From string `json:"from"` // its path in the other gateway
	Why  string `json:"why"`
}

// Leave records a part that is not imported.
func (p *Plan) Leave(from, why string, args ...any) {
	p.Left = append(p.Left, Left{from, fmt.Sprintf(why, args...)})
}

// SortLeft sorts the unimported parts by path and removes duplicates.
func (p *Plan) SortLeft() {
	slices.SortStableFunc(p.Left, func(a, b Left) int {
		return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.Why, b.Why))
	})
	p.Left = slices.Compact(p.Left)
}

// Account is an account with its keys. Fields that the import assigns are empty: ids and creation time.
type Account struct {
	account.Account
	// From identifies the object in the other gateway permanently and uniquely, so that a later import finds it again.
	From    string
	Opening llm.Money // spending of its budget in the current period
	Keys    []Key
}

// Key is an API key with a token of another gateway.
type Key struct {
	account.Key
	From    string       // its path in the other gateway
	Hash    account.Hash // of the token
	Opening llm.Money    // spending of its budget in the current period
}

// Person is a future member of an account.
type Person struct {
	From    string // their path in the other gateway
	Email   string
	Account string // as in Account.From
	Role    people.Role
}

// Rows calls a function with each row of a table of another gateway's database, as a JSON object of its columns. It
// returns fs.ErrNotExist if there is no such table.
type Rows func(ctx context.Context, table string, each func(row []byte) error) error

// Done lists the changes of an import to an account; in a dry run the changes that it would make.
type Done struct {
	ID      string // of the account here
	Name    string
	Changes []Change
}

// Change is a change of an import.
type Change struct {
	Kind    string `json:"kind"` // account, key or opening
	Account string `json:"account"`
	Name    string `json:"name"` // of the key; empty for the account itself
	Detail  string `json:"detail"`
}
