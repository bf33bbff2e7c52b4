package signin_test

import (
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"weir/internal/audit"
	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/people"
	"weir/internal/signin"
)

func TestSetUp(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	if fresh, err := h.Fresh(h.ctx); !fresh || err != nil {
		t.Errorf("fresh at first: got %v, %v; want true", fresh, err)
	}
	link := h.setupLink()
	l, err := h.signIn.Links.Find(h.ctx, link, people.SetupLink)
	if err != nil || l.Kind != people.SetupLink || l.Known {
		t.Errorf("link: got %+v, %v; want a set-up link", l, err)
	}
	for _, p := range []signin.Person{
		{Email: "ada", Password: secret(goodPassword)},
		{Email: "ada@example.com", Password: secret("short")},
		{Email: "ada@example.com", Password: secret("Password123")},
		{Email: "ada@example.com", Password: secret("ADA@example.com")},
		{Email: "ada@example.com", Password: secret(strings.Repeat("x", 257))},
		{Email: "ada@example.com", Name: strings.Repeat("x", 101), Password: secret(goodPassword)},
	} {
		_, err := h.signIn.Links.SetUp(h.ctx, link, p, home)
		wantCode(t, "set up with a mistake", err, llm.CodeInvalidRequest)
	}
	session, err := h.signIn.Links.SetUp(h.ctx, link, person(" Ada@Example.com "), home)
	must.Do(t, err)
	v := h.visitor(session)
	if u := v.User(); u.Email != "ada@example.com" || !u.Operator || !u.Password || v.Role(h.account.ID) != people.Owner {
		t.Errorf("the first user: got %+v, role %q; want an operator who owns default", u, v.Role(h.account.ID))
	}
	if fresh, err := h.Fresh(h.ctx); fresh || err != nil {
		t.Errorf("fresh afterwards: got %v, %v; want false", fresh, err)
	}
	_, err = h.signIn.Links.SetUp(h.ctx, link, person("eve@example.com"), stranger)
	wantCode(t, "set up twice", err, llm.CodeNotFound)
	want := "user.created ada@example.com by ada@example.com\noperator.added ada@example.com by ada@example.com\n" +
		"member.added ada@example.com by ada@example.com\nsession.started - by ada@example.com"
	if got := h.actions(); !strings.HasSuffix(got, want) {
		t.Errorf("audit log:\n%s", cmp.Diff(got, want))
	}
}

// TestSecretsStayHere searches the log, the audit log and the files of the database for secrets.
func TestSecretsStayHere(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ada := h.setUp("ada@example.com")
	setup := h.setupLink()
	session := must.Get(h.signIn.Passwords.SignIn(h.ctx, "ada@example.com", secret(goodPassword), home))(t)
	_, wrong := h.signIn.Passwords.SignIn(h.ctx, "ada@example.com", secret("canary of a wrong password"), home)
	_, typed := h.signIn.Passwords.SignIn(h.ctx, "canary of a password as an address", secret("x"), home)
	invitation, _, _ := h.newInvitation(ada.Actor(home), people.Invitation{Email: "bob@example.com", AccountID: h.account.ID, Role: people.Member})
	reset := must.Get(h.resetLink(ada.Actor(home), ada.User().ID))(t)
	entries, err := h.store.Audit.Entries(h.ctx, audit.Query{Limit: 100})
	must.Do(t, err)
	found := fmt.Sprintf("%+v %v %v %s", entries, wrong, typed, h.log.String())
	for _, file := range []string{"weir.db", "weir.db-wal"} {
		b := must.Get(os.ReadFile(filepath.Join(h.dir, file)))(t)
		found += string(b)
	}
	if !strings.Contains(found, "bob@example.com") {
		t.Error("an address is not found in its place: this test searches the wrong one")
	}
	for name, text := range map[string]string{
		"password": goodPassword, "wrong password": "canary of", "session": session.Reveal(), "set-up link": setup,
		"invitation": invitation.Reveal(), "reset": reset.Reveal(),
	} {
		if strings.Contains(found, text) {
			t.Errorf("%s: got it in plain text, want it nowhere", name)
		}
	}
}

func TestInvitationsAreAcceptedOnce(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ada := h.setUp("ada@example.com")
	by := ada.Actor(home)
	invite := func(i people.Invitation) (string, error) {
		token, _, err := h.newInvitation(by, i)
		return token.Reveal(), err
	}
	for _, test := range []struct {
		i    people.Invitation
		want llm.Code
	}{
		{people.Invitation{Email: "no address", AccountID: h.account.ID, Role: people.Member}, llm.CodeInvalidRequest},
		{people.Invitation{Email: "a@b.example\r\nBcc: x@y.example", AccountID: h.account.ID, Role: people.Member}, llm.CodeInvalidRequest},
		{people.Invitation{Email: "bob@example.com", AccountID: h.account.ID, Role: "king"}, llm.CodeInvalidRequest},
		{people.Invitation{Email: "bob@example.com", Role: people.Member}, llm.CodeInvalidRequest},
		{people.Invitation{Email: "bob@example.com", AccountID: "nothing", Role: people.Member}, llm.CodeNotFound},
		{people.Invitation{Email: "ada@example.com", AccountID: h.account.ID, Role: people.Member}, llm.CodeInvalidRequest},
		{people.Invitation{Email: "ada@example.com", Operator: true}, llm.CodeInvalidRequest},
	} {
		_, err := invite(test.i)
		wantCode(t, "invite "+test.i.Email, err, test.want)
	}
	bob := people.Invitation{Email: "Bob@example.com", AccountID: h.account.ID, Role: people.Viewer}
	first, _ := invite(bob)
	second, err := invite(bob)
	must.Do(t, err)
	_, err = h.signIn.Links.Find(h.ctx, first, people.InviteLink)
	wantCode(t, "a link that a newer one replaced", err, llm.CodeNotFound)
	l, err := h.signIn.Links.Find(h.ctx, second, people.InviteLink)
	if err != nil || l.Kind != people.InviteLink || l.Known || l.Email != "bob@example.com" || l.Invitation.AccountName != "default" {
		t.Errorf("link: got %+v, %v; want Bob's to default", l, err)
	}
	_, err = h.signIn.Links.Reset(h.ctx, second, secret(goodPassword), stranger)
	wantCode(t, "an invitation as a link for a password", err, llm.CodeNotFound)
	session, err := h.signIn.Links.Accept(h.ctx, second, signin.Person{Email: "eve@example.com", Name: "Bob", Password: secret(goodPassword)}, home)
	must.Do(t, err)
	v := h.visitor(session)
	if v.User().Email != "bob@example.com" || v.Role(h.account.ID) != people.Viewer || v.Operator() {
		t.Errorf("who accepted: got %+v as %q; want Bob, a viewer", v.User(), v.Role(h.account.ID))
	}
	_, err = h.signIn.Links.Accept(h.ctx, second, person(""), stranger)
	wantCode(t, "accept twice", err, llm.CodeNotFound)
}

func TestInvitationsOfKnown(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ada := h.setUp("ada@example.com")
	h.join(ada.Actor(home), "bob@example.com", people.Member)
	other := h.newAccount("other")
	token, i, err := h.newInvitation(ada.Actor(home), people.Invitation{Email: "bob@example.com", AccountID: other.ID, Role: people.Owner})
	must.Do(t, err)
	if list, err := h.Invitations(h.ctx, other.ID); err != nil || !cmp.Equal(list, []people.Invitation{i}) {
		t.Errorf("invitations: %v\n%s", err, cmp.Diff(list, []people.Invitation{i}))
	}
	_, err = h.signIn.Links.Accept(h.ctx, token.Reveal(), signin.Person{Password: secret("what the inviter chose")}, stranger)
	wantCode(t, "accept as a known user without their password", err, llm.CodeAuthentication)
	must.Get(h.signIn.Links.Accept(h.ctx, token.Reveal(), person(""), home))(t)
	if list, err := h.Members(h.ctx, other.ID); err != nil || len(list) != 1 || list[0].Role != people.Owner {
		t.Errorf("members: got %+v, %v; want Bob, owner", list, err)
	}
	operator, i, err := h.newInvitation(ada.Actor(home), people.Invitation{Email: "bob@example.com", Operator: true})
	must.Do(t, err)
	wantCode(t, "cancel under another account", h.CancelInvitation(h.ctx, ada.Actor(home), other.ID, i.ID), llm.CodeNotFound)
	session, err := h.signIn.Links.Accept(h.ctx, operator.Reveal(), signin.Person{Password: secret(goodPassword)}, home)
	if err != nil || !h.visitor(session).Operator() {
		t.Errorf("accept to be an operator: got %v; want an operator", err)
	}
	_, i, _ = h.newInvitation(ada.Actor(home), people.Invitation{Email: "carl@example.com", Operator: true})
	if err := h.CancelInvitation(h.ctx, ada.Actor(home), "", i.ID); err != nil {
		t.Error(err)
	}
	if list, err := h.Invitations(h.ctx, ""); len(list) != 0 || err != nil {
		t.Errorf("invitations of operators: got %+v, %v; want none", list, err)
	}
}

func TestLinksExpire(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ada := h.setUp("ada@example.com")
	invitation, _, _ := h.newInvitation(ada.Actor(home), people.Invitation{Email: "bob@example.com", AccountID: h.account.ID, Role: people.Member})
	reset, err := h.resetLink(ada.Actor(home), ada.User().ID)
	must.Do(t, err)
	h.advance(time.Hour)
	_, err = h.signIn.Links.Reset(h.ctx, reset.Reveal(), secret("quite another one"), home)
	wantCode(t, "a link for a password after an hour", err, llm.CodeNotFound)
	h.advance(7*24*time.Hour - time.Hour)
	_, err = h.signIn.Links.Accept(h.ctx, invitation.Reveal(), person(""), home)
	wantCode(t, "an invitation after 7 days", err, llm.CodeNotFound)
	_, err = h.resetLink(ada.Actor(home), "nobody")
	wantCode(t, "a link for nobody", err, llm.CodeNotFound)
}

func TestResetReplacesPassword(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ada := h.setUp("ada@example.com")
	old, _ := h.signIn.Passwords.SignIn(h.ctx, "ada@example.com", secret(goodPassword), home)
	link, err := h.resetLink(audit.Actor{Kind: audit.Command, Name: "root"}, ada.User().ID)
	must.Do(t, err)
	_, err = h.signIn.Links.Reset(h.ctx, link.Reveal(), secret("password1"), home)
	wantCode(t, "reset to a common password", err, llm.CodeInvalidRequest)
	session, err := h.signIn.Links.Reset(h.ctx, link.Reveal(), secret("quite another one"), home)
	must.Do(t, err)
	h.visitor(session)
	h.gone(old, "a reset")
	_, err = h.signIn.Links.Reset(h.ctx, link.Reveal(), secret("a third password"), stranger)
	wantCode(t, "a link twice", err, llm.CodeNotFound)
	_, err = h.signIn.Passwords.SignIn(h.ctx, "ada@example.com", secret(goodPassword), home)
	wantCode(t, "the old password", err, llm.CodeAuthentication)
}

func TestLastOwnerAndOperatorStay(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ada := h.setUp("ada@example.com")
	by := ada.Actor(home)
	bob := h.join(by, "bob@example.com", people.Member)
	wantCode(t, "the last owner steps down", h.SetRole(h.ctx, by, h.account.ID, ada.User().ID, people.Viewer), llm.CodeInvalidRequest)
	wantCode(t, "the last owner leaves", h.RemoveMember(h.ctx, by, h.account.ID, ada.User().ID), llm.CodeInvalidRequest)
	wantCode(t, "the last operator", h.SetOperator(h.ctx, by, ada.User().ID, false), llm.CodeInvalidRequest)
	wantCode(t, "a role that is none", h.SetRole(h.ctx, by, h.account.ID, bob.User().ID, "king"), llm.CodeInvalidRequest)
	wantCode(t, "somebody who is no member", h.SetRole(h.ctx, by, h.account.ID, "nobody", people.Owner), llm.CodeNotFound)
	wantCode(t, "nobody as operator", h.SetOperator(h.ctx, by, "nobody", true), llm.CodeNotFound)
	for _, do := range []func() error{
		func() error { return h.SetRole(h.ctx, by, h.account.ID, bob.User().ID, people.Owner) },
		func() error { return h.SetRole(h.ctx, by, h.account.ID, ada.User().ID, people.Member) },
		func() error { return h.SetOperator(h.ctx, by, bob.User().ID, true) },
		func() error { return h.SetOperator(h.ctx, by, ada.User().ID, false) },
		func() error { return h.RemoveMember(h.ctx, bob.Actor(home), h.account.ID, ada.User().ID) },
	} {
		if err := do(); err != nil {
			t.Error(err)
		}
	}
	for _, err := range []error{
		h.SetRole(h.ctx, by, h.account.ID, ada.User().ID, people.Owner),
		h.RemoveMember(h.ctx, by, h.account.ID, bob.User().ID),
	} {
		wantCode(t, "somebody who was an operator and an owner", err, llm.CodeForbidden)
	}
	list, err := h.Members(h.ctx, h.account.ID)
	if err != nil || len(list) != 1 || list[0].Email != "bob@example.com" || list[0].Role != people.Owner {
		t.Errorf("members: got %+v, %v; want Bob, owner", list, err)
	}
	if u, err := h.User(h.ctx, "ada@example.com"); err != nil || u.Operator {
		t.Errorf("a user without an account: got %+v, %v; want them here, no operator", u, err)
	}
	if v, err := h.store.Audit.Verify(h.ctx, audit.Hash{}); err != nil || v.Broken != 0 {
		t.Errorf("audit log: got %+v, %v; want it whole", v, err)
	}
}

// TestNoBypass creates invitations and then loses the right to: their links become invalid, and those of others stay
// valid.
func TestNoBypass(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ada := h.setUp("ada@example.com")
	mallory := h.join(ada.Actor(home), "mallory@example.com", people.Owner)
	invite := func(by *people.Visitor, email string) string {
		token, _, err := h.newInvitation(by.Actor(home), people.Invitation{Email: email, AccountID: h.account.ID, Role: people.Owner})
		must.Do(t, err)
		return token.Reveal()
	}
	theirs, ours := invite(mallory, "mallory2@example.com"), invite(ada, "bob@example.com")
	must.Do(t, h.RemoveMember(h.ctx, ada.Actor(home), h.account.ID, mallory.User().ID))
	_, err := h.signIn.Links.Accept(h.ctx, theirs, person(""), stranger)
	wantCode(t, "a link of somebody who was removed", err, llm.CodeNotFound)
	if _, err := h.signIn.Links.Accept(h.ctx, ours, person(""), home); err != nil {
		t.Errorf("a link of another person: %v", err)
	}
	must.Do(t, h.SetOperator(h.ctx, ada.Actor(home), mallory.User().ID, true))
	theirs = invite(mallory, "mallory3@example.com")
	must.Do(t, h.SetOperator(h.ctx, ada.Actor(home), mallory.User().ID, false))
	_, err = h.signIn.Links.Accept(h.ctx, theirs, person(""), stranger)
	wantCode(t, "a link of somebody who was an operator", err, llm.CodeNotFound)
}

// TestSetUpOnce uses set-up links many times at once: one succeeds, and all others become invalid.
func TestSetUpOnce(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	links := []string{h.setupLink(), h.setupLink()}
	var won atomic.Int64
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			_, err := h.signIn.Links.SetUp(h.ctx, links[i%2], person(strings.Repeat("x", i+1)+"@example.com"), home)
			if err == nil {
				won.Add(1)
			} else if llm.AsError(err).Code != llm.CodeNotFound {
				t.Errorf("set up: got %v, want a link that is not good any more", err)
			}
		})
	}
	if all.Wait(); won.Load() != 1 {
		t.Errorf("8 at once: got %d winners, want 1", won.Load())
	}
	users, err := h.Users(h.ctx)
	if err != nil || len(users) != 1 {
		t.Errorf("users: got %d, %v; want 1", len(users), err)
	}
}

// TestLinkOnce uses one link many times at once, of each kind: one wins.
func TestLinkOnce(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ada := h.setUp("ada@example.com")
	invited, n := "", 0
	token := func(kind people.LinkKind) (token llm.Secret, err error) {
		if kind == people.ResetLink {
			return h.resetLink(ada.Actor(home), ada.User().ID)
		}
		n++
		invited = fmt.Sprintf("user%d@example.com", n)
		token, _, err = h.newInvitation(ada.Actor(home), people.Invitation{Email: invited, AccountID: h.account.ID, Role: people.Member})
		return token, err
	}
	rapid.Check(t, func(rt *rapid.T) {
		kind := rapid.SampledFrom([]people.LinkKind{people.InviteLink, people.ResetLink}).Draw(rt, "kind")
		racers := rapid.IntRange(2, 8).Draw(rt, "racers")
		link, err := token(kind)
		if err != nil {
			rt.Fatal(err)
		}
		got := race(rt, racers, func(i int) error { // without hashing, which has a queue
			if kind == people.ResetLink {
				return h.store.Admissions.UseReset(h.ctx, h.admission(link, *ada.User()))
			}
			return h.store.Admissions.UseInvitation(h.ctx, h.admission(link, people.User{ID: fmt.Sprintf("%s %d", invited, i), Email: invited}))
		})
		if got != 1 {
			rt.Errorf("%s used by %d at once: got %d winners, want 1", kind, racers, got)
		}
	})
}

// race runs do many times at once and returns the number of successes. Failures must be refusals because the link is
// used up.
func race(rt *rapid.T, racers int, do func(i int) error) int64 {
	var won atomic.Int64
	var all sync.WaitGroup
	for i := range racers {
		all.Go(func() {
			switch err := do(i); {
			case err == nil:
				won.Add(1)
			case !errors.Is(err, people.ErrNotFound):
				rt.Errorf("got %v, want ErrNotFound", err)
			}
		})
	}
	all.Wait()
	return won.Load()
}

// admission returns the admission of a person by a link.
func (h *fixture) admission(link llm.Secret, u people.User) signin.Admission {
	session := signin.NewSession{Token: sha256.Sum256([]byte(rand.Text())), Session: people.Session{ID: rand.Text(), UserID: u.ID, Created: h.clock(), Expires: h.clock().Add(time.Hour)}}
	return signin.Admission{Link: sha256.Sum256([]byte(link.Reveal())), User: u, Password: secret("$hash"), Session: &session, At: h.clock()}
}
