package signin_test

import (
	"testing"

	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/people"
	"weir/internal/signin"
)

// claims returns all ways in which the holder of an address proves that it is theirs.
func claims(chosen string) map[string]func(h *fixture, boss *people.Visitor, userID, email string) (llm.Secret, error) {
	invited := func(h *fixture, boss *people.Visitor, i people.Invitation) (llm.Secret, error) {
		token, _, err := h.newInvitation(boss.Actor(home), i)
		must.Do(h.t, err)
		return acceptAs(chosen)(h, token.Reveal())
	}
	return map[string]func(h *fixture, boss *people.Visitor, userID, email string) (llm.Secret, error){
		"an operator's link for a new password": func(h *fixture, boss *people.Visitor, userID, _ string) (llm.Secret, error) {
			link := must.Get(h.resetLink(boss.Actor(home), userID))(h.t)
			return h.signIn.Links.Reset(h.ctx, link.Reveal(), secret(chosen), home)
		},
		"an operator's invitation to operate": func(h *fixture, boss *people.Visitor, _, email string) (llm.Secret, error) {
			return invited(h, boss, people.Invitation{Email: email, Operator: true})
		},
		"an operator's invitation to an account": func(h *fixture, boss *people.Visitor, _, email string) (llm.Secret, error) {
			return invited(h, boss, people.Invitation{
				Email: email, AccountID: h.newAccount("other").ID, Role: people.Viewer,
			})
		},
		"single sign-on": nil, // which needs the fixture's own provider
	}
}

// TestNothingOfASquatterStays has an owner invite a foreign address and set up everything that admits or blocks its
// user. Once the holder proves the address, in any way, none of it is left.
func TestNothingOfASquatterStays(t *testing.T) {
	t.Parallel()
	const email, chosen = "bob@example.com", "words of the true one"
	for name, claim := range claims(chosen) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sso, idp := ssoOf(t)
			h := newFixture(t, sealing, func(_ *people.Options, o *signin.Options) { o.OIDC = sso })
			boss := h.setUp("ada@example.com")
			mallory := h.join(boss.Actor(home), "mallory@example.com", people.Owner)
			squatter := h.join(mallory.Actor(stranger), email, people.Owner)
			app, _ := h.signIn.Factors.New(squatter)
			recovery := must.Get(h.signIn.Factors.Set(h.ctx, squatter, app, h.code(app, 0), secret(goodPassword), stranger))(t)
			whole := must.Get(h.signIn.Passwords.SignIn(h.ctx, email, secret(goodPassword), stranger))(t)
			squatter = h.visitor(must.Get(h.signIn.Factors.Give(h.ctx, whole.Reveal(), recovery[1], stranger))(t))
			h.addPasskey(squatter, "Mallory's")
			late, _, err := h.newInvitation(squatter.Actor(stranger), people.Invitation{
				Email: "eve@example.com", AccountID: h.account.ID, Role: people.Owner,
			})
			must.Do(t, err)
			half := must.Get(h.signIn.Passwords.SignIn(h.ctx, email, secret(goodPassword), stranger))(t)

			var session llm.Secret
			if claim == nil {
				session, _, err = h.come(idp, "s-bob")
			} else {
				session, err = claim(h, boss, squatter.User().ID, email)
			}
			must.Do(t, err)
			v := h.visitor(session) // complete at once: no code is requested
			if u := v.User(); !u.Proven || u.SecondFactor || u.ID != squatter.User().ID {
				t.Errorf("the holder: got %+v, want the same user, proven, without a second factor", u)
			}
			if left := must.Get(h.signIn.Passkeys.Of(h.ctx, v))(t); len(left) != 0 {
				t.Errorf("passkeys: got %+v, want none", left)
			}
			_, err = h.signIn.Factors.Give(h.ctx, half.Reveal(), recovery[0], stranger)
			wantCode(t, "the squatter's session and recovery code", err, llm.CodeAuthentication)
			_, err = h.signIn.Passwords.SignIn(h.ctx, email, secret(goodPassword), stranger)
			wantCode(t, "the squatter's password", err, llm.CodeAuthentication)
			_, err = h.signIn.Links.Accept(h.ctx, late.Reveal(), person(""), stranger)
			wantCode(t, "the squatter's invitation", err, llm.CodeNotFound)
		})
	}
}

// TestSquatterUnderWayChangesNothing has a squatter's requests, which were admitted before the holder of the address
// signed in, end after that.
func TestSquatterUnderWayChangesNothing(t *testing.T) {
	t.Parallel()
	const email = "bob@example.com"
	h := newFixture(t, sealing)
	boss := h.setUp("ada@example.com")
	mallory := h.join(boss.Actor(home), "mallory@example.com", people.Owner)
	squatter := h.join(mallory.Actor(stranger), email, people.Owner)
	link := must.Get(h.resetLink(boss.Actor(home), squatter.User().ID))(t)
	session := must.Get(h.signIn.Links.Reset(h.ctx, link.Reveal(), secret("words of the true one"), home))(t)

	by := squatter.Actor(stranger)
	err := h.store.Factors.SetFactor(h.ctx, by, by.ID, people.Factor{Secret: "sealed", Step: 1}, squatter.Session().ID)
	if err == nil {
		t.Error("a second factor of a session that is over: got it set")
	}
	a := h.admission(llm.NewSecret("x"), *squatter.User())
	if err = h.store.Factors.SetPassword(h.ctx, by, squatter.Session().ID, secret("$mallory"), *a.Session); err == nil {
		t.Error("a password of a session that is over: got it set")
	}
	if v := h.visitor(session); v.User().SecondFactor {
		t.Errorf("the holder: got %+v, want no second factor", v.User())
	}
}
