package storetest

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"weir/internal/audit"
	"weir/internal/must"
	"weir/internal/people"
	"weir/internal/seal"
	"weir/internal/signin"
)

// testSecondFactor checks that a code starts one session only, also concurrently, and that its secret is encrypted
// again with the others.
func testSecondFactor(t *testing.T, f *fixture) {
	create(t, f, "a")
	ann := admit(t, f, "ann", "acc_a", people.Owner)
	by := audit.Actor{Kind: audit.User, ID: ann.ID, Name: ann.Email}
	old, next := seal.NewKey(), seal.NewKey()
	ring := must.Get(seal.NewRing(func() ([]seal.Key, error) { return []seal.Key{next, old}, nil }))(t)
	sealed := must.Get(ring.Seal(old.Name(), []byte("app"), signin.FactorOf(ann.ID)))(t)
	factor := people.Factor{Secret: sealed, Step: 7, Recovery: []people.Hash{hashNamed("one")}}
	must.Do(t, f.Factors.SetFactor(t.Context(), by, ann.ID, factor, "session_ann"))
	if _, err := f.Sessions.VisitorBySession(t.Context(), hashNamed("session_ann")); err != nil {
		t.Errorf("the session that is to stay: %v", err)
	}
	if err := f.Factors.SetFactor(t.Context(), audit.Actor{Kind: audit.User, ID: "eve"}, ann.ID,
		people.Factor{}, ""); !errors.Is(err, audit.ErrNotAllowed) {
		t.Errorf("removed by another person: got %v, want ErrNotAllowed", err)
	}
	for what, p := range map[string]signin.Passing{
		"a step":          {Step: 8},
		"a recovery code": {Recovery: hashNamed("one")},
	} {
		let := atomic.Int64{}
		var all sync.WaitGroup
		for i := range 4 {
			id := what + string(rune('a'+i))
			must.Do(t, f.Sessions.StartSession(t.Context(), by, newSession(f, "half "+id, ann.ID)))
			v := must.Get(f.Sessions.VisitorBySession(t.Context(), hashNamed("half "+id)))(t)
			if !v.Session().Pending {
				t.Errorf("%s: got a session that does not wait", what)
			}
			one := p
			one.Pending, one.Session = "half "+id, newSession(f, id, ann.ID)
			one.Session.Passed = true
			all.Go(func() {
				switch err := f.Factors.PassFactor(t.Context(), by, one); {
				case err == nil:
					let.Add(1)
				case !errors.Is(err, people.ErrNotFound):
					t.Errorf("%s: %v", what, err)
				}
			})
		}
		all.Wait()
		if let.Load() != 1 {
			t.Errorf("%s: got %d sessions, want one", what, let.Load())
		}
	}
	if n, err := f.Webhooks.Reseal(t.Context(), root, ring); n != 1 || err != nil {
		t.Errorf("sealed anew: got %d, %v; want 1", n, err)
	}
	alone := must.Get(seal.NewRing(func() ([]seal.Key, error) { return []seal.Key{next}, nil }))(t)
	l := must.Get(f.Users.Login(t.Context(), ann.ID))(t)
	if text, err := alone.Open(l.Factor.Secret, signin.FactorOf(ann.ID)); string(text) != "app" || err != nil ||
		l.Factor.Step != 8 {
		t.Errorf("with the new key alone: got %q, %v, step %d; want app, 8", text, err, l.Factor.Step)
	}
}

// testPasskeys checks that a passkey belongs to one user, starts one session for each pending one, and is removed
// with the second factor.
func testPasskeys(t *testing.T, f *fixture) {
	create(t, f, "a")
	ann, bob := admit(t, f, "ann", "acc_a", people.Owner), admit(t, f, "bob", "acc_a", people.Owner)
	by := func(u people.User) audit.Actor { return audit.Actor{Kind: audit.User, ID: u.ID, Name: u.Email} }
	key := signin.Passkey{ID: "one", Name: "Laptop", Created: f.clock(), Credential: []byte(`{"n":1}`)}
	if err := f.Factors.AddPasskey(t.Context(), by(ann), ann.ID, key); !errors.Is(err, people.ErrNotFound) {
		t.Errorf("without a second factor: got %v, want ErrNotFound", err)
	}
	for _, u := range []people.User{ann, bob} {
		must.Do(t, f.Factors.SetFactor(t.Context(), by(u), u.ID,
			people.Factor{Secret: "sealed", Recovery: []people.Hash{hashNamed(u.ID)}}, ""))
	}
	must.Do(t, f.Factors.AddPasskey(t.Context(), by(ann), ann.ID, key))
	if err := f.Factors.AddPasskey(t.Context(), by(bob), bob.ID, key); !errors.Is(err, people.ErrTaken) {
		t.Errorf("another user's: got %v, want ErrTaken", err)
	}
	if err := f.Factors.RemovePasskey(t.Context(), by(bob), bob.ID, key.ID); !errors.Is(err, people.ErrNotFound) {
		t.Errorf("remove another user's: got %v, want ErrNotFound", err)
	}
	pass := func(u people.User, half, whole string) error {
		must.Do(t, f.Sessions.StartSession(t.Context(), by(u), newSession(f, half, u.ID)))
		p := signin.Passing{Pending: half, Session: newSession(f, whole, u.ID), Passkey: &signin.Passkey{
			ID: key.ID, Credential: []byte(`{"n":2}`), Used: new(f.clock()),
		}}
		p.Session.Passed = true
		return f.Factors.PassFactor(t.Context(), by(u), p)
	}
	if err := pass(bob, "half bob", "whole bob"); !errors.Is(err, people.ErrNotFound) {
		t.Errorf("pass with another user's: got %v, want ErrNotFound", err)
	}
	must.Do(t, pass(ann, "half ann", "whole ann"))
	all := must.Get(f.Factors.Passkeys(t.Context(), ann.ID))(t)
	if len(all) != 1 || string(all[0].Credential) != `{"n":2}` || all[0].Used == nil ||
		all[0].Name != key.Name || !all[0].Created.Equal(key.Created) {
		t.Errorf("got %+v, want the one, used", all)
	}
	must.Do(t, f.Factors.SetFactor(t.Context(), by(ann), ann.ID, people.Factor{}, ""))
	if all := must.Get(f.Factors.Passkeys(t.Context(), ann.ID))(t); len(all) != 0 {
		t.Errorf("without a second factor: got %+v, want none", all)
	}
}

// testDisabledOwner checks that a disabled owner manages nothing, does not count as an owner, and is deleted with all
// their data.
func testDisabledOwner(t *testing.T, f *fixture) {
	create(t, f, "a")
	admit(t, f, "boss", "", "")
	ann, bob := admit(t, f, "ann", "acc_a", people.Owner), admit(t, f, "bob", "acc_a", people.Owner)
	by := audit.Actor{Kind: audit.User, ID: ann.ID, Name: ann.Email}
	must.Do(t, f.Users.SetDisabled(t.Context(), root, ann.ID, true))
	if err := f.Members.SetRole(t.Context(), by, "acc_a", bob.ID, people.Viewer); !errors.Is(err, audit.ErrNotAllowed) {
		t.Errorf("a disabled owner changes a role: got %v, want ErrNotAllowed", err)
	}
	if err := f.Members.RemoveMember(t.Context(), root, "acc_a", bob.ID); !errors.Is(err, people.ErrLast) {
		t.Errorf("remove the only owner who may sign in: got %v, want ErrLast", err)
	}
	if err := f.Sessions.StartSession(t.Context(), by, newSession(f, "again", ann.ID)); !errors.Is(err,
		people.ErrDisabled) {
		t.Errorf("sign in: got %v, want ErrDisabled", err)
	}
	arrival := signin.Arrival{
		Issuer: "i", Subject: "s", Email: ann.Email, NewID: "other",
		Session: newSession(f, "sso", ""), By: by,
	}
	if _, err := f.Admissions.Arrive(t.Context(), arrival); !errors.Is(err, people.ErrDisabled) {
		t.Errorf("single sign-on: got %v, want ErrDisabled", err)
	}
	must.Do(t, f.Users.RemoveUser(t.Context(), root, ann.ID))
	if _, err := f.Users.Login(t.Context(), ann.Email); !errors.Is(err, people.ErrNotFound) {
		t.Errorf("after that: got %v, want ErrNotFound", err)
	}
	if err := f.Users.RemoveUser(t.Context(), root, bob.ID); !errors.Is(err, people.ErrLast) {
		t.Errorf("remove the last owner: got %v, want ErrLast", err)
	}
}
