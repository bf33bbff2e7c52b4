package signin_test

import (
	"strings"
	"testing"
	"time"

	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/people"
	"weir/internal/signin"
)

func TestSessionsSignInAndOut(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	h.setUp("ada@example.com")
	_, err := h.signIn.Passwords.SignIn(h.ctx, "ada@example.com", secret("another few words"), home)
	wantCode(t, "a wrong password", err, llm.CodeAuthentication)
	wrong := err.Error()
	_, err = h.signIn.Passwords.SignIn(h.ctx, "eve@example.com", secret(goodPassword), home)
	if wantCode(t, "an unknown user", err, llm.CodeAuthentication); err.Error() != wrong {
		t.Errorf("an unknown user: got %q, want the words for a wrong password, %q", err, wrong)
	}
	one, err := h.signIn.Passwords.SignIn(h.ctx, "ADA@example.com", secret(goodPassword), home)
	must.Do(t, err)
	two, _ := h.signIn.Passwords.SignIn(h.ctx, "ada@example.com", secret(goodPassword), home)
	if one.Equal(two) || len(one.Reveal()) != 43 {
		t.Errorf("tokens: got two that are the same, or of %d characters; want other ones of 43", len(one.Reveal()))
	}
	v := h.visitor(one)
	if list, err := h.signIn.Sessions.List(h.ctx, v); len(list) != 3 || err != nil {
		t.Errorf("sessions: got %d, %v; want 3", len(list), err)
	}
	if err := h.signIn.Sessions.End(h.ctx, v, h.visitor(two).Session().ID, home); err != nil {
		t.Error(err)
	}
	h.gone(two, "it was ended from another one")
	wantCode(t, "end a session that is none", h.signIn.Sessions.End(h.ctx, v, "nothing", home), llm.CodeNotFound)
	wantCode(t, "end no session", h.signIn.Sessions.End(h.ctx, v, "", home), llm.CodeNotFound)
	if err := h.signIn.Sessions.EndOthers(h.ctx, v, home); err != nil {
		t.Error(err)
	}
	if list, err := h.signIn.Sessions.List(h.ctx, v); len(list) != 1 || err != nil || list[0].ID != v.Session().ID {
		t.Errorf("sessions after the others ended: got %+v, %v; want this one", list, err)
	}
	if err := h.signIn.Sessions.SignOut(h.ctx, v, home); err != nil {
		t.Error(err)
	}
	h.gone(one, "sign-out")
	for _, bad := range []string{"", "x", strings.Repeat("x", 43), strings.Repeat("x", 5000)} {
		if v, err := h.signIn.Sessions.Visitor(h.ctx, bad, home); v != nil || err != nil {
			t.Errorf("visitor of %.10q: got %v, %v; want none", bad, v, err)
		}
	}
}

func TestSessionsOfOthers(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ada := h.setUp("ada@example.com")
	eve := h.join(ada.Actor(home), "eve@example.com", people.Member)
	wantCode(t, "end somebody else's session", h.signIn.Sessions.End(h.ctx, eve, ada.Session().ID, home), llm.CodeNotFound)
	if err := h.signIn.Sessions.EndOthers(h.ctx, eve, home); err != nil {
		t.Error(err)
	}
	if list, err := h.signIn.Sessions.List(h.ctx, ada); len(list) != 1 || err != nil {
		t.Errorf("sessions of another user: got %d, %v; want 1", len(list), err)
	}
}

// TestFailuresAreLogged checks that the log shows guessed passwords, and their origin.
func TestFailuresAreLogged(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ada := h.setUp("ada@example.com")
	if _, err := h.signIn.Passwords.SignIn(h.ctx, "ada@example.com", secret(goodPassword), home); err != nil || strings.Contains(h.log.String(), "sign-in failed") {
		t.Errorf("a sign-in: got %v and the log\n%s", err, h.log.String())
	}
	for range 20 { // five of them are checked
		_, _ = h.signIn.Passwords.SignIn(h.ctx, "ada@example.com", secret("another few words"), stranger)
	}
	_, _ = h.signIn.Passwords.SignIn(h.ctx, "eve@example.com", secret(goodPassword), stranger)
	for line, want := range map[string]int{
		`level=WARN msg="sign-in failed" method=password user=` + ada.User().ID + ` address=198.51.100.7`: 5,
		`level=WARN msg="sign-in failed" method=password user="" address=198.51.100.7`:                    1,
	} {
		if got := strings.Count(h.log.String(), line); got != want {
			t.Errorf("got %d times %q, want %d, in\n%s", got, line, want, h.log.String())
		}
	}
}

func TestSessionsEnd(t *testing.T) {
	t.Parallel()
	h := newFixture(t, func(_ *people.Options, o *signin.Options) { o.Idle, o.Absolute = time.Hour, 3*time.Hour })
	h.setUp("ada@example.com")
	sign := func() llm.Secret {
		session := must.Get(h.signIn.Passwords.SignIn(h.ctx, "ada@example.com", secret(goodPassword), home))(t)
		return session
	}
	idle := sign()
	h.advance(59 * time.Minute)
	h.visitor(idle) // this use extends it
	h.advance(59 * time.Minute)
	h.visitor(idle)
	h.advance(time.Hour)
	h.gone(idle, "an hour without use")
	used := sign()
	for range 5 {
		h.advance(30 * time.Minute)
		h.visitor(used)
	}
	h.advance(30 * time.Minute)
	h.gone(used, "three hours")
}

func TestSeenIsUpdatedEachMinute(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	v := h.setUp("ada@example.com")
	session, _ := h.signIn.Passwords.SignIn(h.ctx, "ada@example.com", secret(goodPassword), home)
	begun := h.clock()
	for _, test := range []struct{ after, want time.Duration }{{59 * time.Second, 0}, {time.Second, time.Minute}, {30 * time.Second, time.Minute}} {
		h.advance(test.after)
		must.Get(h.signIn.Sessions.Visitor(h.ctx, session.Reveal(), stranger))(t)
		list, err := h.signIn.Sessions.List(h.ctx, v)
		if err != nil || len(list) != 2 || !list[0].Seen.Equal(begun.Add(test.want)) {
			t.Errorf("seen: got %+v, %v; want %v after the beginning", list, err, test.want)
		}
	}
	users, err := h.Users(h.ctx)
	if err != nil || len(users) != 1 || users[0].Seen == nil || !users[0].Seen.Equal(begun.Add(time.Minute)) {
		t.Errorf("users: got %+v, %v; want one seen a minute after the beginning", users, err)
	}
}

func TestPasswordChange(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	v := h.setUp("ada@example.com")
	old, _ := h.signIn.Passwords.SignIn(h.ctx, "ada@example.com", secret(goodPassword), home)
	_, err := h.signIn.Passwords.Change(h.ctx, v, secret("not this one, no"), secret("quite another one"), home)
	wantCode(t, "with a wrong current password", err, llm.CodeInvalidRequest)
	_, err = h.signIn.Passwords.Change(h.ctx, v, secret(goodPassword), secret("12345678"), home)
	wantCode(t, "to a common password", err, llm.CodeInvalidRequest)
	link := must.Get(h.resetLink(v.Actor(home), v.User().ID))(t)
	fresh, err := h.signIn.Passwords.Change(h.ctx, v, secret(goodPassword), secret("quite another one"), home)
	must.Do(t, err)
	h.gone(old, "a password change")
	h.visitor(fresh)
	_, err = h.signIn.Links.Reset(h.ctx, link.Reveal(), secret("a third password"), stranger)
	wantCode(t, "a link from before the password change", err, llm.CodeNotFound)
	_, err = h.signIn.Passwords.SignIn(h.ctx, "ada@example.com", secret(goodPassword), home)
	wantCode(t, "the old password", err, llm.CodeAuthentication)
	if _, err := h.signIn.Passwords.SignIn(h.ctx, "ada@example.com", secret("quite another one"), home); err != nil {
		t.Errorf("the new password: %v", err)
	}
	if err := h.ChangeName(h.ctx, v, " Ada Lovelace ", home); err != nil {
		t.Error(err)
	}
	if u, err := h.User(h.ctx, "ada@example.com"); err != nil || u.Name != "Ada Lovelace" {
		t.Errorf("user: got %+v, %v; want the new name", u, err)
	}
}

// TestRehashStrengthensWeakHash signs in with a hash of weaker parameters, which is replaced.
func TestRehashStrengthensWeakHash(t *testing.T) {
	t.Parallel()
	h := newFixture(t, func(_ *people.Options, o *signin.Options) { o.Light = false })
	v := h.setUp("ada@example.com")
	before, _ := h.store.Users.Login(h.ctx, v.User().ID)
	// argon2id of "correct horse" with m=1024, t=1, p=1 and the salt of 16 zeros.
	weak := weakHash("correct horse")
	must.Do(t, h.store.Factors.Rehash(h.ctx, v.User().ID, before.Hash, weak))
	for range 2 {
		must.Get(h.signIn.Passwords.SignIn(h.ctx, "ada@example.com", secret("correct horse"), home))(t)
		after, err := h.store.Users.Login(h.ctx, v.User().ID)
		if err != nil || !strings.HasPrefix(after.Hash.Reveal(), "$argon2id$v=19$m=19456,t=2,p=1$") {
			t.Errorf("the hash after sign-in: got %.40q, %v; want one with the parameters of now", after.Hash.Reveal(), err)
		}
	}
}
