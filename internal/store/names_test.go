package store_test

import (
	"testing"

	"weir/internal/account"
	"weir/internal/audit"
	"weir/internal/must"
	"weir/internal/store"
)

// TestNamesOfKeysAreThoseOfTheAccount checks that an account learns the labels of its own keys only.
func TestNamesOfKeysAreThoseOfTheAccount(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, o store.Options) {
		s := open(t, o)
		for i, id := range []string{"a", "b"} {
			must.Do(t, s.Accounts.CreateAccount(t.Context(), audit.Gateway(), account.Account{ID: id, Name: "account " + id}))
			k := account.Key{ID: "key_" + id, AccountID: id, Label: "key of " + id, Permissions: []account.Permission{account.Chat}}
			must.Do(t, s.Accounts.CreateKey(t.Context(), audit.Gateway(), k, account.Hash{byte(i)}))
		}
		for _, c := range []struct {
			account       string
			labelA, nameA string
		}{{"", "key of a", "account a"}, {"a", "key of a", "account a"}, {"b", "", "account a"}} {
			accounts, keys := map[string]string{"a": "", "none": ""}, map[string]string{"key_a": "", "none": ""}
			must.Do(t, s.Reports.SetNames(t.Context(), c.account, accounts, keys))
			must.Equal(t, accounts, map[string]string{"a": c.nameA, "none": ""}, "accounts for %q", c.account)
			must.Equal(t, keys, map[string]string{"key_a": c.labelA, "none": ""}, "keys for %q", c.account)
		}
		must.Equal(t, must.Get(s.Reports.AccountNames(t.Context()))(t), map[string]string{"a": "account a", "b": "account b"}, "all names")
	})
}
