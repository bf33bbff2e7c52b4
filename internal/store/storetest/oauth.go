package storetest

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"weir/internal/account"
	"weir/internal/audit"
	"weir/internal/connection"
	"weir/internal/must"
	"weir/internal/oauth"
	"weir/internal/people"
	"weir/internal/seal"
)

func testGrants(t *testing.T, f *fixture) {
	create(t, f, "a")
	ann := admit(t, f, "ann", "acc_a", people.Owner)
	key := account.Key{ID: "key_agent", AccountID: "acc_a", Label: "Agent", Last4: "abcd", Permissions: []account.Permission{account.Tools}, Created: f.now, Creator: ann.ID, Client: "programs.example", Resource: "/mcp"}
	must.Do(t, f.Accounts.CreateKey(t.Context(), root, key, hashNamed("unused")))
	g := oauth.Grant{Key: key.ID, User: ann.ID, Client: "hash", Redirect: "http://localhost/cb", Challenge: "c", Resource: "https://weir.example/mcp", Code: hashNamed("code"), Created: f.now, Until: f.now.Add(time.Minute)}
	must.Do(t, f.OAuth.AddGrant(t.Context(), &g))
	next := func(access, refresh string) oauth.Tokens {
		return oauth.Tokens{Access: account.Rotation{Hash: hashNamed(access), Last4: "wxyz"}, Expires: f.now.Add(time.Hour), Family: hashNamed("family"), Refresh: hashNamed(refresh), RefreshFor: day, GrantFor: 2 * day, Now: f.now}
	}
	all := func(*oauth.Grant) error { return nil }
	refused := errors.New("refused")
	use := oauth.Use{Code: g.Code, Next: next("access", "r1"), By: root}
	if _, err := f.OAuth.UseGrant(t.Context(), &use, func(*oauth.Grant) error { return refused }); !errors.Is(err, refused) {
		t.Errorf("a refused use: got %v", err)
	}
	// Unknown tokens, which anybody can send, do not wait for writers.
	got, err := f.OAuth.UseGrant(t.Context(), &use, func(*oauth.Grant) error {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		if _, err := f.OAuth.UseGrant(ctx, &oauth.Use{Code: hashNamed("guessed")}, all); !errors.Is(err, oauth.ErrNotFound) {
			t.Errorf("an unknown code beside a writer: got %v, want ErrNotFound", err)
		}
		for name, token := range map[string]oauth.Revoked{"refresh": {Family: hashNamed("guessed")}, "access": {Access: hashNamed("guessed")}} {
			if ended, err := f.OAuth.EndGrant(ctx, root, token, "hash"); err != nil || ended != "" {
				t.Errorf("the end by an unknown %s token beside a writer: got %q, %v", name, ended, err)
			}
		}
		return nil
	})
	g.Code = account.Hash{}
	if err != nil || got != g {
		t.Fatalf("got %+v, %v, want %+v", got, err, g)
	}
	_, k, err := f.Accounts.KeyByHash(t.Context(), hashNamed("access"))
	if err != nil || k.ID != key.ID || k.Client != key.Client || k.Resource != key.Resource || k.Expires == nil || !k.Expires.Equal(f.now.Add(time.Hour)) {
		t.Errorf("by the access token: got %+v, %v, want the key for an hour", k, err)
	}
	// Of several uses of one refresh token, one succeeds, and the others end the grant.
	var fine, reused atomic.Int64
	var running sync.WaitGroup
	for i := range 4 {
		running.Go(func() {
			u := oauth.Use{Family: hashNamed("family"), Refresh: hashNamed("r1"), Next: next("access"+string(rune('a'+i)), "r2"), By: root}
			switch _, err := f.OAuth.UseGrant(t.Context(), &u, all); {
			case err == nil:
				fine.Add(1)
			case errors.Is(err, oauth.ErrReused):
				reused.Add(1)
			case !errors.Is(err, oauth.ErrNotFound):
				t.Errorf("got %v", err)
			}
		})
	}
	running.Wait()
	k = must.Get(f.Accounts.Key(t.Context(), key.ID))(t)
	if fine.Load() != 1 || reused.Load() != 1 || k.Revoked == nil {
		t.Errorf("of four uses at once %d succeeded and %d were the first repeated one, revoked %v; want one each", fine.Load(), reused.Load(), k.Revoked)
	}
}

// testGrantsEnd checks that a grant lasts no longer than its bounds, and that its program ends it.
func testGrantsEnd(t *testing.T, f *fixture) {
	create(t, f, "a")
	ann := admit(t, f, "ann", "acc_a", people.Owner)
	begun := f.now
	for _, id := range []string{"one", "two"} {
		key := account.Key{ID: id, AccountID: "acc_a", Label: "Agent", Last4: "abcd", Permissions: []account.Permission{account.Tools}, Created: f.now, Creator: ann.ID, Client: "programs.example"}
		must.Do(t, f.Accounts.CreateKey(t.Context(), root, key, hashNamed("unused "+id)))
		must.Do(t, f.OAuth.AddGrant(t.Context(), &oauth.Grant{Key: id, User: ann.ID, Client: "hash", Code: hashNamed("code " + id), Created: f.now, Until: f.now.Add(time.Minute)}))
		u := oauth.Use{Code: hashNamed("code " + id), By: root, Next: oauth.Tokens{Access: account.Rotation{Hash: hashNamed("access " + id)}, Expires: f.now.Add(48 * day), Family: hashNamed("family " + id), Refresh: hashNamed("r"), RefreshFor: 30 * day, GrantFor: 20 * day, Now: f.now}}
		must.Get(f.OAuth.UseGrant(t.Context(), &u, func(*oauth.Grant) error { return nil }))(t)
	}
	if k := must.Get(f.Accounts.Key(t.Context(), "one"))(t); k.Expires == nil || !k.Expires.Equal(begun.Add(20*day)) {
		t.Errorf("the access token is valid until %v, want not beyond the grant", k.Expires)
	}
	// An access token that has expired is not valid again after a renewal.
	expired := oauth.Use{Family: hashNamed("family two"), Refresh: hashNamed("r"), By: root, Next: oauth.Tokens{
		Access: account.Rotation{Hash: hashNamed("later"), FormerUntil: f.now.Add(19*day + time.Minute)}, Expires: f.now.Add(20 * day),
		Family: hashNamed("family two"), Refresh: hashNamed("r"), RefreshFor: 30 * day, GrantFor: 20 * day, Now: f.now.Add(20 * day),
	}}
	must.Get(f.OAuth.UseGrant(t.Context(), &expired, func(*oauth.Grant) error { return nil }))(t)
	if _, _, err := f.Accounts.KeyByHash(t.Context(), hashNamed("access two")); !errors.Is(err, account.ErrNotFound) {
		t.Errorf("the former token that had expired: got %v, want none", err)
	}
	for _, token := range []oauth.Revoked{{Family: hashNamed("family one")}, {Access: hashNamed("access one")}} {
		if ended, err := f.OAuth.EndGrant(t.Context(), root, token, "another"); err != nil || ended != "" {
			t.Errorf("another program: got the end of %q, %v, want none", ended, err)
		}
	}
	if k := must.Get(f.Accounts.Key(t.Context(), "one"))(t); k.Revoked != nil {
		t.Error("another program ended the grant")
	}
	for _, want := range []string{"one", ""} {
		must.Equal(t, must.Get(f.OAuth.EndGrant(t.Context(), root, oauth.Revoked{Family: hashNamed("family one")}, "hash"))(t), want, "ended key")
	}
	if k := must.Get(f.Accounts.Key(t.Context(), "one"))(t); k.Revoked == nil {
		t.Error("the key is valid, want it revoked with its grant")
	}
}

// testGrantsEndByAccessToken checks that a program ends its grant by an access token, also by the one before, which is
// valid for a while.
func testGrantsEndByAccessToken(t *testing.T, f *fixture) {
	create(t, f, "a")
	ann := admit(t, f, "ann", "acc_a", people.Owner)
	for _, id := range []string{"one", "two"} {
		grant(t, f, id, ann.ID)
		next := oauth.Tokens{Family: hashNamed("family " + id), Refresh: hashNamed("r"), RefreshFor: day, GrantFor: day, Now: f.now, Expires: f.now.Add(time.Hour)}
		next.Access = account.Rotation{Hash: hashNamed("first " + id)}
		must.Get(f.OAuth.UseGrant(t.Context(), &oauth.Use{Code: hashNamed("code " + id), By: root, Next: next}, func(*oauth.Grant) error { return nil }))(t)
		next.Access = account.Rotation{Hash: hashNamed("second " + id), FormerUntil: f.now.Add(time.Minute)}
		must.Get(f.OAuth.UseGrant(t.Context(), &oauth.Use{Family: next.Family, Refresh: next.Refresh, By: root, Next: next}, func(*oauth.Grant) error { return nil }))(t)
	}
	for id, token := range map[string]string{"one": "first one", "two": "second two"} {
		must.Equal(t, must.Get(f.OAuth.EndGrant(t.Context(), root, oauth.Revoked{Access: hashNamed(token)}, "hash"))(t), id, "ended key")
		if k := must.Get(f.Accounts.Key(t.Context(), id))(t); k.Revoked == nil {
			t.Errorf("%s: the key is valid, want it revoked", id)
		}
	}
}

// grant adds a key and its grant, with a code that is valid for a minute.
func grant(t *testing.T, f *fixture, id, user string) {
	t.Helper()
	now := f.clock()
	key := account.Key{ID: id, AccountID: "acc_a", Label: "Agent", Last4: "abcd", Permissions: []account.Permission{account.Tools}, Created: now, Creator: user, Client: "programs.example"}
	must.Do(t, f.Accounts.CreateKey(t.Context(), root, key, hashNamed("unused "+id)))
	must.Do(t, f.OAuth.AddGrant(t.Context(), &oauth.Grant{Key: id, User: user, Client: "hash", Code: hashNamed("code " + id), Created: now, Until: now.Add(time.Minute)}))
}

// testGrantsExpire checks that no expired grant is left, and no key of a code that nobody used.
func testGrantsExpire(t *testing.T, f *fixture) {
	create(t, f, "a")
	ann := admit(t, f, "ann", "acc_a", people.Owner)
	grant(t, f, "used", ann.ID)
	next := oauth.Tokens{Access: account.Rotation{Hash: hashNamed("access")}, Expires: f.now.Add(time.Hour), Family: hashNamed("family"), Refresh: hashNamed("r"), RefreshFor: time.Hour, GrantFor: day, Now: f.now}
	must.Get(f.OAuth.UseGrant(t.Context(), &oauth.Use{Code: hashNamed("code used"), By: root, Next: next}, func(*oauth.Grant) error { return nil }))(t)
	for i := range 120 {
		grant(t, f, "unused "+strconv.Itoa(i), ann.ID)
	}
	f.advance(30 * time.Second)
	grant(t, f, "waiting", ann.ID)
	f.advance(45 * time.Second)
	left := func() (ids []string) {
		must.Do(t, f.OAuth.RetainGrants(t.Context()))
		for _, k := range must.Get(f.Accounts.Keys(t.Context(), "acc_a"))(t) {
			ids = append(ids, k.ID)
		}
		return ids
	}
	must.Equal(t, left(), []string{"used", "waiting"}, "keys while a code waits")
	f.advance(2 * time.Hour)
	must.Equal(t, left(), []string{"used"}, "keys after all codes have expired")
	if k := must.Get(f.Accounts.Key(t.Context(), "used"))(t); k.Revoked != nil {
		t.Error("the key of an expired grant is revoked, want it expired, with its usage")
	}
	for name, u := range map[string]oauth.Use{"refresh token": {Family: hashNamed("family"), Refresh: hashNamed("r")}, "code": {Code: hashNamed("code waiting")}} {
		if _, err := f.OAuth.UseGrant(t.Context(), &u, func(*oauth.Grant) error { return nil }); !errors.Is(err, oauth.ErrNotFound) {
			t.Errorf("an expired %s: got %v, want none", name, err)
		}
	}
	if all := must.Get(f.Audit.Entries(t.Context(), audit.Query{Action: audit.KeyRevoked, Limit: 200}))(t); len(all) != 121 {
		t.Errorf("got %d entries about ended keys, want 121", len(all))
	}
}

// testConnections checks that one node at a time renews the tokens of a connection, and who may change it.
func testConnections(t *testing.T, f *fixture) {
	create(t, f, "a")
	ann, bob := admit(t, f, "ann", "acc_a", people.Owner), admit(t, f, "bob", "acc_a", people.Viewer)
	by := func(u *people.User) audit.Actor { return audit.Actor{Kind: audit.User, ID: u.ID, Name: u.Email} }
	row := connection.Row{Server: "peer", Who: ann.ID, Resource: "https://mcp.example/mcp", Issuer: "https://id.example", Sealed: "one", Created: f.now}
	for name, actor := range map[string]audit.Actor{"another": by(&bob), "nobody": {Kind: audit.Nobody}} {
		if err := f.Connections.Connect(t.Context(), actor, &row); !errors.Is(err, audit.ErrNotAllowed) {
			t.Errorf("%s connects Ann: got %v, want a refusal", name, err)
		}
	}
	all := connection.Row{Server: "peer", Sealed: "all", Created: f.now}
	if err := f.Connections.Connect(t.Context(), by(&ann), &all); !errors.Is(err, audit.ErrNotAllowed) {
		t.Errorf("Ann connects the installation: got %v, want a refusal", err)
	}
	must.Do(t, f.Connections.Connect(t.Context(), by(&ann), &row))
	must.Do(t, f.Connections.Connect(t.Context(), root, &all))
	if got, err := f.Connections.Connection(t.Context(), "peer", ann.ID, "acc_a"); err != nil || got != row {
		t.Errorf("got %+v, %v, want %+v", got, err, row)
	}
	if got, err := f.Connections.Connection(t.Context(), "peer", ann.ID, "acc_b"); !errors.Is(err, connection.ErrNotFound) {
		t.Errorf("in an account of others: got %+v, %v, want none", got, err)
	}
	var claims atomic.Int64
	var running sync.WaitGroup
	for range 4 {
		running.Go(func() {
			if must.Get(f.Connections.Claim(t.Context(), &row, f.now.Add(time.Minute)))(t) {
				claims.Add(1)
			}
		})
	}
	running.Wait()
	if claims.Load() != 1 {
		t.Errorf("got %d claims at once, want one", claims.Load())
	}
	f.advance(2 * time.Minute)
	if !must.Get(f.Connections.Claim(t.Context(), &row, f.clock().Add(time.Minute)))(t) {
		t.Error("the claim of a node that has died lasts, want that it ends")
	}
	must.Do(t, f.Connections.Renewed(t.Context(), &row, "two"))
	if must.Get(f.Connections.Claim(t.Context(), &row, f.clock().Add(time.Minute)))(t) {
		t.Error("tokens that were replaced are claimed, want that they are read anew")
	}
	must.Do(t, f.Users.RemoveUser(t.Context(), root, bob.ID))
	if there, err := f.Connections.Disconnect(t.Context(), by(&ann), "peer", ann.ID); err != nil || !there {
		t.Errorf("disconnect: got %t, %v", there, err)
	}
	if list := must.Get(f.Connections.List(t.Context(), ""))(t); len(list) != 1 || list[0].Sealed != "all" {
		t.Errorf("got the connections %+v, want that of the installation", list)
	}
}

// testConnectionResealed checks that tokens that are renewed while the master key is rotated are stored, and that a
// renewal that failed does not restore tokens under the old key.
func testConnectionResealed(t *testing.T, f *fixture) {
	old, next := seal.NewKey(), seal.NewKey()
	ring := must.Get(seal.NewRing(func() ([]seal.Key, error) { return []seal.Key{old}, nil }))(t)
	both := must.Get(seal.NewRing(func() ([]seal.Key, error) { return []seal.Key{next, old}, nil }))(t)
	about := connection.AboutTokens("peer", "")
	row := connection.Row{Server: "peer", Created: f.now, Sealed: must.Get(ring.Seal(old.Name(), []byte("one"), about))(t)}
	must.Do(t, f.Connections.Connect(t.Context(), root, &row))
	stored := func() (list []connection.Row) { return must.Get(f.Connections.List(t.Context(), ""))(t) }
	for _, renewed := range []string{"", "two"} {
		claimed := stored()[0]
		if !must.Get(f.Connections.Claim(t.Context(), &claimed, f.clock().Add(time.Minute)))(t) {
			t.Fatal("the connection is not claimed, want that it is free")
		}
		must.Get(f.Webhooks.Reseal(t.Context(), root, both))(t)
		now, sealed := stored()[0].Sealed, claimed.Sealed
		if renewed != "" {
			sealed = must.Get(both.Seal(next.Name(), []byte(renewed), about))(t)
			now = sealed
		}
		must.Do(t, f.Connections.Renewed(t.Context(), &claimed, sealed))
		if got := stored()[0].Sealed; got != now || seal.NameOf(got) != next.Name() {
			t.Errorf("renewed with %q: got tokens under the key %s, want the newest under %s", renewed, seal.NameOf(got), next.Name())
		}
	}
	claimed := stored()[0]
	must.Get(f.Connections.Claim(t.Context(), &claimed, f.clock().Add(time.Minute)))(t)
	must.Get(f.Webhooks.Reseal(t.Context(), root, both))(t)
	must.Do(t, f.Connections.Renewed(t.Context(), &claimed, ""))
	must.Equal(t, len(stored()), 0, "connections after a refused renewal")
}
