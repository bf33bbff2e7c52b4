package storetest

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"weir/internal/account"
	"weir/internal/audit"
	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/people"
)

// testAccountWhole checks that an account with credit and invitations is made in one transaction: if any step fails,
// nothing exists.
func testAccountWhole(t *testing.T, f *fixture) {
	draft := func(name string) account.Draft {
		a := newAccount(name)
		return account.Draft{Account: a, Credit: &account.CreditEntry{
			ID: "credit_" + name, AccountID: a.ID, Amount: 20 * llm.USD, At: f.now,
		}}
	}
	invited := func(a, email string) people.NewInvitation {
		return people.NewInvitation{Link: hashNamed(a + email), Invitation: people.Invitation{
			ID: "inv_" + a + email, Email: email, AccountID: "acc_" + a, Role: people.Owner, By: "root", Created: f.now,
			Expires: f.now.Add(day),
		}}
	}
	want := newAccount("a")
	want.Credit = &account.Credit{Paid: 20 * llm.USD}
	got, err := f.Invitations.CreateAccount(t.Context(), root, draft("a"),
		[]people.NewInvitation{invited("a", "ann@x.example"), invited("a", "bob@x.example")})
	if err != nil || !cmp.Equal(got, want) {
		t.Errorf("an account made whole: err %v\n%s", err, cmp.Diff(got, want))
	}
	list := must.Get(f.Invitations.Invitations(t.Context(), "acc_a", f.now))(t)
	if len(list) != 2 || list[0].AccountName != "a" {
		t.Errorf("invitations: got %+v, want two to a", list)
	}
	before := lastSeq(t, f)
	twice := []people.NewInvitation{invited("b", "ann@x.example"), invited("b", "ann@x.example")}
	twice[1].Email = "bob@x.example" // with the same id
	nobody := audit.Actor{Kind: audit.User, ID: "nobody"}
	taken := draft("b")
	taken.Account.Name = "a"
	for _, tt := range []struct {
		what    string
		by      audit.Actor
		draft   account.Draft
		invited []people.NewInvitation
		want    error // nil for any
	}{
		{"an invitation that fails", root, draft("b"), twice, nil},
		{"somebody who may not", nobody, draft("b"), twice[:1], audit.ErrNotAllowed},
		{"a name that is taken", root, taken, nil, account.ErrExists},
	} {
		_, err := f.Invitations.CreateAccount(t.Context(), tt.by, tt.draft, tt.invited)
		if err == nil || tt.want != nil && !errors.Is(err, tt.want) {
			t.Errorf("%s: got %v, want %v", tt.what, err, tt.want)
		}
	}
	if all := must.Get(f.Accounts.List(t.Context(), ""))(t); len(all) != 1 || lastSeq(t, f) != before {
		t.Errorf("after failures: got accounts %+v and %d entries, want one and %d", all, lastSeq(t, f), before)
	}
}
