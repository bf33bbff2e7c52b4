package app

import (
	"strings"
	"testing"

	"weir/internal/account"
	"weir/internal/audit"
	"weir/internal/must"
)

// TestRotatedKeyIsNotItsPerson checks that an owner who rotates a member's key does not get the member's access.
func TestRotatedKeyIsNotItsPerson(t *testing.T) {
	t.Parallel()
	f, _ := newConnected(t, "person")
	f.connect(t, "operator", "all")
	f.connect(t, "member", "me")
	member := must.Get(f.admin.People.User(t.Context(), person("member").Email))(t)
	owner := must.Get(f.admin.People.User(t.Context(), person("owner").Email))(t)
	k, _, err := f.admin.Accounts.CreateKey(t.Context(), audit.Gateway(), account.KeyOptions{
		Account: roleAccount, Label: "agent", Permissions: []account.Permission{account.Tools}, Creator: member.ID,
	})
	must.Do(t, err)
	_, token, err := f.admin.Accounts.RotateKey(t.Context(), audit.Actor{Kind: audit.User, ID: owner.ID}, k.ID, 0)
	must.Do(t, err)
	if got := f.whoami(t, token.Reveal()); strings.Contains(got, "person-") {
		t.Errorf("the owner calls with the member's access: %s", got)
	}
}
