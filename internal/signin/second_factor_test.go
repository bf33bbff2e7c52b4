package signin_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/pquerna/otp"
	"github.com/pquerna/otp/totp"

	"weir/internal/audit"
	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/people"
	"weir/internal/signin"
)

// sealing enables second factors. Encrypted text differs from plain text.
func sealing(_ *people.Options, o *signin.Options) {
	o.Seal = func(_ context.Context, text []byte, about string) (string, error) {
		return about + "|" + string(text), nil
	}
	o.Open = func(sealed, about string) ([]byte, error) { return []byte(strings.TrimPrefix(sealed, about+"|")), nil }
}

// code returns the code of an app.
func (h *fixture) code(secret llm.Secret, after time.Duration) string {
	h.t.Helper()
	return must.Get(totp.GenerateCodeCustom(secret.Reveal(), h.clock().Add(after), totp.ValidateOpts{
		Period: 30, Digits: otp.DigitsSix, Algorithm: otp.AlgorithmSHA1,
	}))(h.t)
}

// withFactor returns Ada with a second factor, its secret and its recovery codes.
func (h *fixture) withFactor() (v *people.Visitor, app llm.Secret, recovery []string) {
	h.t.Helper()
	v = h.setUp("ada@example.com")
	app, address := h.signIn.Factors.New(v)
	if want := "otpauth://totp/Weir:ada@example.com?secret=" + app.Reveal() + "&issuer=Weir"; address != want {
		h.t.Errorf("the app's address: got %s, want %s", address, want)
	}
	recovery = must.Get(h.signIn.Factors.Set(h.ctx, v, app, h.code(app, 0), secret(goodPassword), home))(h.t)
	return v, app, recovery
}

// half returns a session that waits for the second factor.
func (h *fixture) half() llm.Secret {
	h.t.Helper()
	token := must.Get(h.signIn.Passwords.SignIn(h.ctx, "ada@example.com", secret(goodPassword), home))(h.t)
	h.gone(token, "the second factor is still to be given")
	if waits, err := h.signIn.Factors.Pending(h.ctx, token.Reveal()); !waits || err != nil {
		h.t.Errorf("pending: got %v, %v; want that it waits", waits, err)
	}
	return token
}

func TestSecondFactor(t *testing.T) {
	t.Parallel()
	h := newFixture(t, sealing)
	_, app, recovery := h.withFactor()
	if u := must.Get(h.User(h.ctx, "ada@example.com"))(t); !u.SecondFactor {
		t.Error("got a user without a second factor")
	}
	first := h.half()
	_, err := h.signIn.Factors.Give(h.ctx, first.Reveal(), h.code(app, 0), home)
	wantCode(t, "the code that set it up", err, llm.CodeInvalidRequest)
	h.advance(30 * time.Second)
	whole, err := h.signIn.Factors.Give(h.ctx, first.Reveal(), " "+h.code(app, 0)+" ", home)
	must.Do(t, err)
	if got := h.visitor(whole); got.User().Email != "ada@example.com" || got.Session().Method != people.ByPassword {
		t.Errorf("got %+v, want Ada by password", got.Session())
	}
	h.gone(first, "it is used up")
	_, err = h.signIn.Factors.Give(h.ctx, first.Reveal(), h.code(app, 30*time.Second), home)
	wantCode(t, "a session that is used up", err, llm.CodeAuthentication)

	second := h.half()
	_, err = h.signIn.Factors.Give(h.ctx, second.Reveal(), h.code(app, 0), home)
	wantCode(t, "a code twice", err, llm.CodeInvalidRequest)
	_, err = h.signIn.Factors.Give(h.ctx, second.Reveal(), h.code(app, -30*time.Second), home)
	wantCode(t, "a code before one that was used", err, llm.CodeInvalidRequest)
	if len(recovery) != 10 {
		t.Fatalf("got %d recovery codes, want 10", len(recovery))
	}
	must.Get(h.signIn.Factors.Give(h.ctx, second.Reveal(), strings.ToLower(recovery[3]), home))(t)
	third := h.half()
	_, err = h.signIn.Factors.Give(h.ctx, third.Reveal(), recovery[3], home)
	wantCode(t, "a recovery code twice", err, llm.CodeInvalidRequest)
	must.Get(h.signIn.Factors.Give(h.ctx, third.Reveal(), h.code(app, 30*time.Second), home))(t) // a clock that is ahead
	v := h.visitor(whole)
	wantCode(t, "remove it without the password", h.signIn.Factors.Remove(h.ctx, v, secret("wrong"), home), llm.CodeInvalidRequest)
	must.Do(t, h.signIn.Factors.Remove(h.ctx, v, secret(goodPassword), home))
	h.visitor(must.Get(h.signIn.Passwords.SignIn(h.ctx, "ada@example.com", secret(goodPassword), home))(t))
}

// TestSecondFactorBounds tries invalid answers.
func TestSecondFactorBounds(t *testing.T) {
	t.Parallel()
	h := newFixture(t, sealing)
	v, app, _ := h.withFactor()
	late := h.half()
	h.advance(10 * time.Minute)
	_, err := h.signIn.Factors.Give(h.ctx, late.Reveal(), h.code(app, 0), home)
	wantCode(t, "after ten minutes", err, llm.CodeAuthentication)
	for what, code := range map[string]string{
		"two steps behind": h.code(app, -time.Minute), "two steps ahead": h.code(app, time.Minute), "nothing": "",
		"what is no code": strings.Repeat("7", 6000), "letters": "abcdef",
	} {
		h.advance(time.Hour) // after all throttles
		_, err := h.signIn.Factors.Give(h.ctx, h.half().Reveal(), code, home)
		wantCode(t, what, err, llm.CodeInvalidRequest)
	}
	h.advance(24 * time.Hour)
	for range 6 {
		_, err = h.signIn.Factors.Give(h.ctx, h.half().Reveal(), "000000", stranger)
	}
	for range 2 {
		_, err = h.signIn.Factors.Give(h.ctx, h.half().Reveal(), "000000", stranger)
	}
	wantCode(t, "many wrong codes", err, llm.CodeRateLimited)

	_, err = h.signIn.Factors.Set(h.ctx, v, app, "000000", secret(goodPassword), home)
	wantCode(t, "set up with a wrong code", err, llm.CodeInvalidRequest)
	_, err = h.signIn.Factors.Set(h.ctx, v, secret("AAAA"), "000000", secret(goodPassword), home)
	wantCode(t, "set up with a short secret", err, llm.CodeInvalidRequest)
}

// TestSecondFactorOfLinks checks that a link for a new password does not replace the second factor, and that one of the
// command line does, for an operator who has lost the app.
func TestSecondFactorOfLinks(t *testing.T) {
	t.Parallel()
	h := newFixture(t, sealing)
	v, _, _ := h.withFactor()
	link := must.Get(h.resetLink(v.Actor(home), v.User().ID))(t)
	renewed := must.Get(h.signIn.Links.Reset(h.ctx, link.Reveal(), secret("another few words"), home))(t)
	h.gone(renewed, "the second factor is still to be given")
	link = must.Get(h.signInLink(audit.Gateway(), v.User().ID))(t)
	h.visitor(must.Get(h.signIn.Links.Follow(h.ctx, link.Reveal(), home))(t))
	must.Do(t, h.RemoveFactor(h.ctx, audit.Gateway(), v.User().ID))
	h.visitor(must.Get(h.signIn.Passwords.SignIn(h.ctx, "ada@example.com", secret("another few words"), home))(t))
}

func TestDisabledUserIsSignedOut(t *testing.T) {
	t.Parallel()
	h := newFixture(t, sealing)
	ada := h.setUp("ada@example.com")
	by := ada.Actor(home)
	token, _, err := h.newInvitation(by, people.Invitation{Email: "bob@example.com", AccountID: h.account.ID, Role: people.Member})
	must.Do(t, err)
	bob := must.Get(h.signIn.Links.Accept(h.ctx, token.Reveal(), signin.Person{Name: "Bob", Password: secret(goodPassword)}, home))(t)
	id := h.visitor(bob).User().ID
	wantCode(t, "disable an operator", h.SetDisabled(h.ctx, by, ada.User().ID, true), llm.CodeInvalidRequest)
	wantCode(t, "disable nobody", h.SetDisabled(h.ctx, by, "nobody", true), llm.CodeNotFound)
	wantCode(t, "by somebody who may not", h.SetDisabled(h.ctx, h.visitor(bob).Actor(home), id, true), llm.CodeForbidden)
	link := must.Get(h.resetLink(by, id))(t)
	must.Do(t, h.SetDisabled(h.ctx, by, id, true))
	h.gone(bob, "the user is disabled")
	_, err = h.signIn.Passwords.SignIn(h.ctx, "bob@example.com", secret(goodPassword), home)
	wantCode(t, "sign in", err, llm.CodeForbidden)
	_, err = h.signIn.Links.Reset(h.ctx, link.Reveal(), secret("another few words"), home)
	wantCode(t, "a link from before", err, llm.CodeNotFound)
	link = must.Get(h.resetLink(by, id))(t)
	_, err = h.signIn.Links.Reset(h.ctx, link.Reveal(), secret("another few words"), home)
	wantCode(t, "a link", err, llm.CodeForbidden)
	wantCode(t, "make an operator of them", h.SetOperator(h.ctx, by, id, true), llm.CodeInvalidRequest)
	must.Do(t, h.SetDisabled(h.ctx, by, id, false))
	again := must.Get(h.signIn.Passwords.SignIn(h.ctx, "bob@example.com", secret(goodPassword), home))(t)
	if role := h.visitor(again).Role(h.account.ID); role != people.Member {
		t.Errorf("role after all: got %q, want member", role)
	}
	must.Do(t, h.RemoveUser(h.ctx, by, id))
	h.gone(again, "the user was removed")
	_, err = h.signIn.Passwords.SignIn(h.ctx, "bob@example.com", secret(goodPassword), home)
	wantCode(t, "sign in of nobody", err, llm.CodeAuthentication)
	if _, err := h.User(h.ctx, id); err == nil {
		t.Error("the user is still there")
	}
}

// TestRemoveLastOwner checks that an account's last owner stays.
func TestRemoveLastOwner(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	by := h.setUp("ada@example.com").Actor(home)
	other := h.newAccount("other")
	token, _, err := h.newInvitation(by, people.Invitation{Email: "bob@example.com", AccountID: other.ID, Role: people.Owner})
	must.Do(t, err)
	bob := must.Get(h.signIn.Links.Accept(h.ctx, token.Reveal(), signin.Person{Name: "Bob", Password: secret(goodPassword)}, home))(t)
	id := h.visitor(bob).User().ID
	wantCode(t, "remove the last owner", h.RemoveUser(h.ctx, by, id), llm.CodeInvalidRequest)
	if h.visitor(bob).Role(other.ID) != people.Owner {
		t.Error("the refusal removed the role")
	}
}
