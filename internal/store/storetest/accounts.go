package storetest

import (
	"crypto/sha256"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir/internal/account"
	"weir/internal/audit"
	"weir/internal/budget"
	"weir/internal/llm"
	"weir/internal/must"
)

func newAccount(name string) account.Account {
	return account.Account{
		ID: "acc_" + name, Name: name, OnDisconnect: account.DisconnectCancel,
		Created: time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC),
	}
}

func newKey(id, accountID string) account.Key {
	return account.Key{
		ID: id, AccountID: accountID, Label: "über label", Last4: "abcd",
		Permissions: []account.Permission{account.Chat}, Models: []string{"openai/*", "fast"},
		Created: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		Expires: new(time.Date(2027, 1, 1, 0, 0, 0, 1000, time.UTC)),
		Limits:  account.Limits{RPM: 1, TPM: 2, Concurrency: 3}, Budget: account.Budget{
			Limit:  5 * llm.USD,
			Period: budget.PeriodMonth,
		},
	}
}

func create(t *testing.T, f *fixture, names ...string) {
	t.Helper()
	for _, name := range names {
		if err := f.Accounts.CreateAccount(t.Context(), audit.Gateway(), newAccount(name)); err != nil {
			t.Fatalf("create account %s: %v", name, err)
		}
	}
}

func testAccounts(t *testing.T, f *fixture) {
	create(t, f, "b", "a")
	twin := newAccount("a")
	twin.ID = "acc_other"
	if err := f.Accounts.CreateAccount(t.Context(), audit.Gateway(), twin); !errors.Is(err, account.ErrExists) {
		t.Errorf("create a second account of one name: got %v, want ErrExists", err)
	}
	want := []account.Account{newAccount("a"), newAccount("b")}
	if got, err := f.Accounts.List(t.Context(), ""); err != nil || !cmp.Equal(got, want) {
		t.Errorf("all accounts: err %v\n%s", err, cmp.Diff(got, want))
	}
	budget := account.Budget{Limit: 3 * llm.USD, Period: budget.PeriodDay}
	changed := newAccount("b")
	limits := account.Limits{RPM: 4, TPM: 5, Concurrency: 6}
	changed.Suspended, changed.OnDisconnect, changed.Budget, changed.Limits = true, account.DisconnectDrain, budget,
		limits
	for _, u := range []account.Update{
		{Suspended: new(true)},
		{OnDisconnect: new(account.DisconnectDrain)},
		{Budget: &budget},
		{Limits: &limits},
	} {
		if _, err := f.Accounts.UpdateAccount(t.Context(), audit.Gateway(), "acc_b", u); err != nil {
			t.Fatalf("update %+v: %v", u, err)
		}
	}
	for _, name := range []string{"b", "acc_b"} {
		if got, err := f.Accounts.List(t.Context(), name); err != nil || !cmp.Equal(got, []account.Account{changed}) {
			t.Errorf("account %s: err %v\n%s", name, err, cmp.Diff(got, []account.Account{changed}))
		}
	}
	if _, err := f.Accounts.UpdateAccount(t.Context(), audit.Gateway(), "nobody", account.Update{}); !errors.Is(
		err, account.ErrNotFound) {
		t.Errorf("update an unknown account: got %v, want ErrNotFound", err)
	}
}

func testKeys(t *testing.T, f *fixture) {
	create(t, f, "a")
	hash := account.Hash(sha256.Sum256([]byte("one")))
	full, bare := newKey("key_1", "acc_a"), account.Key{
		ID: "key_2", AccountID: "acc_a", Label: "x", Last4: "wxyz", Permissions: []account.Permission{},
		Models:  []string{},
		Created: time.Date(2026, 1, 2, 3, 4, 6, 0, time.UTC),
	}
	must.Do(t, f.Accounts.CreateKey(t.Context(), audit.Gateway(), bare, account.Hash{}))
	must.Do(t, f.Accounts.CreateKey(t.Context(), audit.Gateway(), full, hash))
	if err := f.Accounts.CreateKey(t.Context(), audit.Gateway(), newKey("key_3", "nobody"),
		account.Hash{1}); err == nil {
		t.Error("a key of an account that is not there: got no error, want one")
	}
	if got, err := f.Accounts.Keys(t.Context(), "acc_a"); err != nil || !cmp.Equal(got, []account.Key{full, bare}) {
		t.Errorf("keys: err %v\n%s", err, cmp.Diff(got, []account.Key{full, bare}))
	}
	a, k, err := f.Accounts.KeyByHash(t.Context(), hash)
	if err != nil || !cmp.Equal(a, newAccount("a")) || !cmp.Equal(k, full) {
		t.Errorf("key by hash: err %v\n%s%s", err, cmp.Diff(a, newAccount("a")), cmp.Diff(k, full))
	}
	if _, _, err := f.Accounts.KeyByHash(t.Context(), account.Hash{9}); !errors.Is(err, account.ErrNotFound) {
		t.Errorf("unknown hash: got %v, want ErrNotFound", err)
	}
	testRotation(t, f, &full, hash)
	first := time.Date(2026, 5, 5, 5, 5, 5, 0, time.UTC)
	for _, at := range []time.Time{first, first.Add(time.Hour)} {
		if got, err := f.Accounts.RevokeKey(t.Context(), audit.Gateway(), "key_1", at); err != nil ||
			got.Revoked == nil ||
			!got.Revoked.Equal(first) {
			t.Errorf("revoke at %v: got %v, %v; want revoked at %v", at, got.Revoked, err, first)
		}
	}
	if _, err := f.Accounts.RevokeKey(t.Context(), audit.Gateway(), "key_9", first); !errors.Is(err,
		account.ErrNotFound) {
		t.Errorf("revoke an unknown key: got %v, want ErrNotFound", err)
	}
}

// testRotation rotates the token of a key twice: the previous token remains valid until a time, the one before it
// does not.
func testRotation(t *testing.T, f *fixture, k *account.Key, old account.Hash) {
	t.Helper()
	until := time.Date(2026, 4, 4, 4, 4, 4, 0, time.UTC)
	rotate := func(hash account.Hash, until time.Time) {
		t.Helper()
		u := account.KeyUpdate{Rotate: &account.Rotation{Hash: hash, Last4: "new4", FormerUntil: until}}
		must.Get(f.Accounts.UpdateKey(t.Context(), audit.Gateway(), k.ID, u))(t)
	}
	expires := func(hash account.Hash) *time.Time {
		t.Helper()
		_, got, err := f.Accounts.KeyByHash(t.Context(), hash)
		if err != nil || got.ID != k.ID {
			t.Errorf("key by hash: got %s, %v, want %s", got.ID, err, k.ID)
		}
		return got.Expires
	}
	second, third := account.Hash{2}, account.Hash{3}
	rotate(second, until)
	if got := expires(second); !cmp.Equal(got, k.Expires) {
		t.Errorf("the new token: expires %v, want %v as the key", got, k.Expires)
	}
	if got := expires(old); got == nil || !got.Equal(until) {
		t.Errorf("the former token: expires %v, want %v", got, until)
	}
	rotate(third, time.Time{})
	for _, gone := range []account.Hash{old, second} {
		if _, _, err := f.Accounts.KeyByHash(t.Context(), gone); !errors.Is(err, account.ErrNotFound) {
			t.Errorf("a token of before: got %v, want ErrNotFound", err)
		}
	}
}

func testBootstrap(t *testing.T, f *fixture) {
	var made atomic.Int64
	var nodes sync.WaitGroup
	for i := range 8 {
		node := f.open(t)
		nodes.Go(func() {
			a := newAccount("default")
			a.ID += string(rune('0' + i))
			created, err := node.Accounts.Bootstrap(t.Context(), audit.Gateway(), a)
			if err != nil {
				t.Errorf("bootstrap: %v", err)
			}
			if created {
				made.Add(1)
			}
		})
	}
	nodes.Wait()
	list, err := f.Accounts.List(t.Context(), "")
	if made.Load() != 1 || len(list) != 1 || err != nil {
		t.Errorf("got %d made and %d accounts, %v; want one", made.Load(), len(list), err)
	}
}

func testSetupToken(t *testing.T, f *fixture) {
	if err := f.Accounts.CreateSetupToken(t.Context(), audit.Gateway(), account.Hash{1}, f.now,
		f.now.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if err := f.Accounts.CreateSetupToken(t.Context(), audit.Gateway(), account.Hash{1}, f.now,
		f.now.Add(time.Hour)); err == nil {
		t.Error("the same token twice: got no error, want one")
	}
}

func testChanges(t *testing.T, f *fixture) {
	if got, err := f.Accounts.Changes(t.Context(), 0); err != nil || !cmp.Equal(got, account.Changes{}) {
		t.Errorf("an empty feed: got %+v, %v; want nothing", got, err)
	}
	create(t, f, "a")
	must.Do(t, f.Accounts.CreateKey(t.Context(), audit.Gateway(), newKey("key_1", "acc_a"), account.Hash{}))
	must.Get(f.Accounts.RevokeKey(t.Context(), audit.Gateway(), "key_1", f.now))(t)
	all := []account.Change{{Seq: 1, Kind: account.ChangedAccount, ID: "acc_a"}, {
		Seq: 2, Kind: account.ChangedKey,
		ID: "key_1",
	}, {Seq: 3, Kind: account.ChangedKey, ID: "key_1"}}
	for _, test := range []struct {
		after int64
		want  account.Changes
	}{
		{-1, account.Changes{Last: 3, Lost: true}},
		{0, account.Changes{List: all, Last: 3}},
		{2, account.Changes{List: all[2:], Last: 3}},
		{3, account.Changes{List: []account.Change{}, Last: 3}},
		{4, account.Changes{Last: 3, Lost: true}}, // as after a restored backup
	} {
		if got, err := f.Accounts.Changes(t.Context(), test.after); err != nil || !cmp.Equal(got, test.want) {
			t.Errorf("changes after %d: err %v\n%s", test.after, err, cmp.Diff(got, test.want))
		}
	}
}

func testChangesPruned(t *testing.T, f *fixture) {
	create(t, f, "a", "b")
	f.advance(2 * time.Hour)
	create(t, f, "c")
	want := account.Changes{List: []account.Change{{Seq: 3, Kind: account.ChangedAccount, ID: "acc_c"}}, Last: 3}
	if got, err := f.Accounts.Changes(t.Context(), 2); err != nil || !cmp.Equal(got, want) {
		t.Errorf("who has read to the end: err %v\n%s", err, cmp.Diff(got, want))
	}
	if got, err := f.Accounts.Changes(t.Context(), 1); err != nil || !got.Lost {
		t.Errorf("who has not read for hours: got %+v, %v; want lost", got, err)
	}
}
