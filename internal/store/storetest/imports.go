package storetest

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"

	"weir/internal/account"
	"weir/internal/audit"
	"weir/internal/budget"
	"weir/internal/imports"
	"weir/internal/llm"
	"weir/internal/must"
)

// foreign returns an account of another gateway with n keys, each of which has spent 3 of 10 in a month.
func foreign(name string, n int) *imports.Account {
	a := &imports.Account{From: "other team " + name, Opening: 40}
	a.Name, a.OnDisconnect = name, account.DisconnectDefault
	a.Budget = account.Budget{Limit: 100, Period: budget.PeriodMonth}
	a.Limits = account.Limits{RPM: 7}
	for i := range n {
		k := imports.Key{From: fmt.Sprint("key ", i), Hash: tokenHash(name, i), Opening: 3}
		k.Label, k.Last4 = fmt.Sprint("key ", i), "wxyz"
		k.Permissions, k.Models = []account.Permission{account.Chat, account.Uses}, []string{"fast"}
		k.Budget = account.Budget{Limit: 10, Period: budget.PeriodMonth}
		a.Keys = append(a.Keys, k)
	}
	return a
}

func tokenHash(name string, i int) account.Hash { return sha256.Sum256(fmt.Append(nil, name, i)) }

func imported(t *testing.T, f *fixture, a *imports.Account, dryRun bool) imports.Done {
	t.Helper()
	return must.Get(f.Accounts.Import(t.Context(), ann(), a, dryRun))(t)
}

func entries(t *testing.T, f *fixture, action audit.Action) int {
	t.Helper()
	return len(must.Get(f.Audit.Entries(t.Context(), audit.Query{Action: action, Limit: 10_000}))(t))
}

// testImport imports an account: its keys are found by their hashes, and its budgets have the earlier spending, which
// is not usage.
func testImport(t *testing.T, f *fixture) {
	create(t, f, "team")
	a := foreign("team", 2)
	if got := imported(t, f, a, true); len(got.Changes) != 6 || got.Name != "team-2" {
		t.Errorf("dry run: got %+v, want an account team-2, two keys and three opening balances", got)
	}
	if _, _, err := f.Accounts.KeyByHash(t.Context(), a.Keys[0].Hash); !errors.Is(err, account.ErrNotFound) {
		t.Errorf("after a dry run: got %v, want no key", err)
	}
	done := imported(t, f, a, false)
	got, key, err := f.Accounts.KeyByHash(t.Context(), a.Keys[1].Hash)
	if err != nil || got.ID != done.ID || got.Name != "team-2" || got.Limits != a.Limits || got.Budget != a.Budget ||
		key.Label != "key 1" || key.Models[0] != "fast" || key.Budget != a.Keys[1].Budget {
		t.Errorf("got %+v, %+v, %v; want the imported values", got, key, err)
	}
	spent(t, f, got.ID, theMonth, 40)
	spent(t, f, got.ID, theDay, 0)
	spent(t, f, key.ID, theMonth, 3)
	for action, want := range map[audit.Action]int{
		audit.AccountCreated: 2, audit.KeyCreated: 2,
		audit.BudgetOpened: 3,
	} {
		if n := entries(t, f, action); n != want {
			t.Errorf("audit log: got %d of %s, want %d", n, action, want)
		}
	}
	if list := must.Get(f.Accounts.Imported(t.Context()))(t); len(list) != 2 {
		t.Errorf("imported hashes: got %d, want 2", len(list))
	}
	if v := verified(t, f); v.Rows != 0 {
		t.Errorf("verified %d rows, want none", v.Rows)
	}
}

// testImportMany imports more keys than one transaction does.
func testImportMany(t *testing.T, f *fixture) {
	a := foreign("team", 450)
	done := imported(t, f, a, false)
	if keys := must.Get(f.Accounts.Keys(t.Context(), done.ID))(t); len(keys) != 450 {
		t.Errorf("got %d keys, want 450", len(keys))
	}
	if again := imported(t, f, a, false); len(again.Changes) != 0 || again.ID != done.ID {
		t.Errorf("again: got %+v, want no change", again)
	}
}

// testImportAgain checks that a second import changes nothing: changes made here remain, a rotated or revoked key is
// not made again, and an opening balance is raised and never lowered.
func testImportAgain(t *testing.T, f *fixture) {
	a := foreign("team", 3)
	done := imported(t, f, a, false)
	keys := must.Get(f.Accounts.Keys(t.Context(), done.ID))(t)
	must.Get(f.Accounts.UpdateAccount(t.Context(), ann(), done.ID, account.Update{Limits: &account.Limits{RPM: 9}}))(t)
	must.Get(f.Accounts.RevokeKey(t.Context(), ann(), keys[0].ID, f.now))(t)
	must.Get(f.Accounts.UpdateKey(t.Context(), ann(), keys[1].ID, account.KeyUpdate{Rotate: &account.Rotation{
		Hash: tokenHash("new", 1), Last4: "new1", FormerUntil: f.now.Add(time.Hour),
	}}))(t)
	before := entries(t, f, "")
	if again := imported(t, f, a, false); len(again.Changes) != 0 {
		t.Errorf("again: got %+v, want no change", again)
	}
	if n := entries(t, f, ""); n != before {
		t.Errorf("the audit log has %d entries more, want none", n-before)
	}
	if _, _, err := f.Accounts.KeyByHash(t.Context(), keysHash(a, 1)); err != nil {
		t.Errorf("the former token of a rotated key: got %v, want it good for its overlap", err)
	}
	a.Opening, a.Keys[2].Opening = 39, 5
	if again := imported(t, f, a, false); len(again.Changes) != 1 || again.Changes[0].Kind != "opening" {
		t.Errorf("with other amounts: got %+v, want one opening balance raised", again)
	}
	spent(t, f, done.ID, theMonth, 40)
	spent(t, f, keys[2].ID, theMonth, 5)
	verified(t, f)
}

func keysHash(a *imports.Account, i int) account.Hash { return a.Keys[i].Hash }

// testImportFailed checks that a failed import leaves no partial data, and that the next one continues.
func testImportFailed(t *testing.T, f *fixture) {
	create(t, f, "a")
	taken := newKey("key_taken", "acc_a")
	a := foreign("team", 2)
	must.Do(t, f.Accounts.CreateKey(t.Context(), ann(), taken, a.Keys[1].Hash))
	if _, err := f.Accounts.Import(t.Context(), ann(), a, false); err == nil {
		t.Error("a token that a key here has: got no error")
	}
	if all := must.Get(f.Accounts.List(t.Context(), ""))(t); len(all) != 1 {
		t.Errorf("after an error: got %d accounts, want the one of before", len(all))
	}
	a.Keys = a.Keys[:1]
	if done := imported(t, f, a, false); len(done.Changes) != 4 {
		t.Errorf("without that key: got %+v, want an account, a key and two opening balances", done)
	}
}

// testOpenings checks that an opening balance counts against the budget of its period and of all time, on every node,
// and not in the next period.
func testOpenings(t *testing.T, f *fixture) {
	a := foreign("team", 1)
	done := imported(t, f, a, false)
	ask := func(period int64) budget.Lease {
		return lease(t, f.DB, budget.LeaseRequest{
			Journal: uuid.New(), Budget: budget.ID{Scope: done.ID, Period: period}, Least: 1, Most: 1000,
		})
	}
	if l := ask(theMonth); l.Limit != 100 || l.Granted != 60 {
		t.Errorf("leased %+v, want 60 of 100 that are left", l)
	}
	if l := ask(theMonth + 1); l.Granted != 100 {
		t.Errorf("next month: leased %+v, want all 100", l)
	}
	must.Get(f.Accounts.UpdateAccount(t.Context(), ann(), done.ID, account.Update{
		Budget: &account.Budget{Limit: 50, Period: budget.PeriodDay},
	}))(t)
	spent(t, f, done.ID, theDay, 0)
	spent(t, f, done.ID, 0, 40)
	total := foreign("total", 0)
	total.Budget.Period = budget.PeriodTotal
	id := imported(t, f, total, false).ID
	spent(t, f, id, 0, 40)
	spent(t, f, id, theMonth, 0)
	credited := must.Get(f.Accounts.AddCredit(t.Context(), ann(), account.CreditEntry{
		ID: uuid.NewString(), AccountID: id, Amount: 5, At: f.now,
	}))(t)
	if *credited.Credit != (account.Credit{Paid: 5, From: llm.Money(40)}) {
		t.Errorf("got credit %+v, want one that counts from the earlier spending", *credited.Credit)
	}
	verified(t, f)
}
