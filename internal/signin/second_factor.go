package signin

import (
	"context"
	"crypto/rand"
	"encoding/base32"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/pquerna/otp"
	"github.com/pquerna/otp/hotp"

	"weir/internal/llm"
	"weir/internal/people"
	"weir/internal/seal"
)

const (
	factorStep    = 30 // seconds that a code is valid: RFC 6238, section 5.2
	factorSkew    = 1  // steps that a clock may differ, either way
	factorSecret  = 20 // bytes, as many as HMAC-SHA-1 has: RFC 4226, section 4
	pendingFor    = 10 * time.Minute
	recoveryCodes = 10
	recoveryBytes = 10 // 80 bits, 16 characters
)

// Factors manages second factors: authenticator apps. All methods are safe for concurrent use.
type Factors struct {
	*base
	passwords *Passwords
	seal      func(ctx context.Context, text []byte, about string) (string, error)
	open      func(sealed, about string) ([]byte, error)
}

// FactorOf returns the context that the secret of a user's authenticator app is sealed with.
func FactorOf(userID string) string { return "second factor of " + userID }

// Offered reports whether people can have a second factor, which needs passwords.
func (f *Factors) Offered() bool { return f.seal != nil && f.directory.Passwords() }

// New returns a secret for an authenticator app, in base32, and its otpauth address:
// https://github.com/google/google-authenticator/wiki/Key-Uri-Format (2018-08-23). It stores nothing.
func (f *Factors) New(v *people.Visitor) (secret llm.Secret, address string) {
	b := make([]byte, factorSecret)
	_, _ = rand.Read(b) // never fails: see crypto/rand
	text := base32.StdEncoding.EncodeToString(b)
	return llm.NewSecret(text), factorAddress(v.User().Email, text)
}

// Address returns the otpauth address of a secret that New returned.
func (f *Factors) Address(v *people.Visitor, secret llm.Secret) string {
	return factorAddress(v.User().Email, secret.Reveal())
}

func factorAddress(email, secret string) string {
	u := url.URL{Scheme: "otpauth", Host: "totp", Path: "/Weir:" + email}
	u.RawQuery = "secret=" + url.QueryEscape(secret) + "&issuer=Weir"
	return u.String()
}

// Set stores the visitor's second factor after their app has shown a valid code, and returns the recovery codes, which
// are shown only once. All other sessions end. A wrong password counts as an attempt to sign in.
func (f *Factors) Set(ctx context.Context, v *people.Visitor, secret llm.Secret, code string, password llm.Secret,
	o people.Origin,
) ([]string, error) {
	if err := f.confirm(ctx, v, password, o); err != nil {
		return nil, err
	}
	raw, err := base32.StdEncoding.DecodeString(secret.Reveal())
	if err != nil || len(raw) != factorSecret {
		return nil, llm.Invalid("code", "This form is incomplete. Open your profile again.")
	}
	step := matching(secret.Reveal(), code, f.now())
	if step == 0 {
		return nil, llm.Invalid("code", "The code does not match this secret. Check the code in the app, "+
			"and the clocks of both devices.")
	}
	sealed, err := f.seal(ctx, []byte(secret.Reveal()), FactorOf(v.User().ID))
	if err != nil {
		return nil, fmt.Errorf("seal second factor: %w", err)
	}
	codes, hashes := newRecovery()
	factor := people.Factor{Secret: sealed, Step: step, Recovery: hashes}
	err = f.stores.Factors.SetFactor(ctx, v.Actor(o), v.User().ID, factor, v.Session().ID)
	return codes, ownChange("set second factor", err)
}

// Remove removes the visitor's second factor, with the errors of ChangePassword.
func (f *Factors) Remove(ctx context.Context, v *people.Visitor, password llm.Secret, o people.Origin) error {
	if err := f.confirm(ctx, v, password, o); err != nil {
		return err
	}
	err := f.stores.Factors.SetFactor(ctx, v.Actor(o), v.User().ID, people.Factor{}, v.Session().ID)
	return ownChange("remove second factor", err)
}

// confirm checks the visitor's password again.
func (f *Factors) confirm(ctx context.Context, v *people.Visitor, password llm.Secret, o people.Origin) error {
	switch {
	case v.Session() == nil:
		return llm.Errorf(llm.CodeAuthentication, "You are not signed in. Sign in first.")
	case !f.Offered() || !v.User().Password:
		return llm.Invalid("password", "A second factor needs a password, and you have none. Set a password first.")
	}
	_, err := f.passwords.authenticate(ctx, v.User().Email, password, o)
	if err != nil && llm.AsError(err).Code == llm.CodeAuthentication {
		return llm.Invalid("password", "This is not your current password.")
	}
	return err
}

// Pending reports whether a session waits for the second factor.
func (f *Factors) Pending(ctx context.Context, session string) (bool, error) {
	v, err := f.pending(ctx, session)
	return v != nil, err
}

// pending returns the visitor of a session that waits for the second factor; nil if there is none.
func (f *Factors) pending(ctx context.Context, session string) (*people.Visitor, error) {
	if session == "" || len(session) > maxToken || !f.Offered() {
		return nil, nil
	}
	v, err := f.stores.Sessions.VisitorBySession(ctx, people.HashOf(session))
	if errors.Is(err, people.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("find session: %w", err)
	}
	if !v.Session().Pending || !f.now().Before(v.Session().Created.Add(pendingFor)) {
		return nil, nil
	}
	return v, nil
}

// Give checks a code of the app or a recovery code, and replaces a session that waits for the second factor. The error
// is a *llm.Error: CodeAuthentication if the session no longer waits, CodeInvalidRequest for a wrong code,
// CodeRateLimited after many wrong codes.
func (f *Factors) Give(ctx context.Context, session, code string, o people.Origin) (llm.Secret, error) {
	return f.give(ctx, session, o, func(v *people.Visitor) (Passing, error) { return f.passing(ctx, v, code) })
}

// give replaces a session that waits for the second factor if proof succeeds. The error of proof is ErrNotFound for a
// wrong code or signature.
func (f *Factors) give(ctx context.Context, session string, o people.Origin,
	proof func(*people.Visitor) (Passing, error),
) (llm.Secret, error) {
	v, err := f.pending(ctx, session)
	if err != nil {
		return llm.Secret{}, err
	}
	if v == nil {
		return llm.Secret{}, llm.Errorf(llm.CodeAuthentication, "This sign-in took too long. Sign in again.")
	}
	marks := factorMarks(v.User().ID, o.Address)
	if _, err := f.try(ctx, marks); err != nil {
		return llm.Secret{}, err
	}
	token, n := f.newSession(v.User().ID, v.Session().Method, o)
	n.Passed = true
	p, err := proof(v)
	if err == nil {
		p.Session = n
		err = f.stores.Factors.PassFactor(ctx, actorOf(v.User(), o), p)
	}
	switch {
	case errors.Is(err, people.ErrNotFound):
		f.logFailed(v.Session().Method, v.User().ID, o, "wrong second factor")
		return llm.Secret{}, llm.Invalid("code", "This code is wrong or was already used. Wait for the next one.")
	case err != nil:
		return llm.Secret{}, used("give second factor", people.SignInLink, err)
	}
	if err := f.stores.Throttles.PassSignIn(ctx, marks, f.now()); err != nil {
		return llm.Secret{}, fmt.Errorf("count second factor: %w", err)
	}
	return token, nil
}

// passing returns the result of a valid code; ErrNotFound for an invalid one.
func (f *Factors) passing(ctx context.Context, v *people.Visitor, code string) (Passing, error) {
	p := Passing{Pending: v.Session().ID}
	code = strings.Join(strings.Fields(strings.ToUpper(code)), "")
	if len(code) > maxToken {
		return p, people.ErrNotFound
	}
	if len(code) != int(otp.DigitsSix) {
		p.Recovery = people.HashOf(strings.ReplaceAll(code, "-", ""))
		return p, nil
	}
	l, err := f.stores.Users.Login(ctx, v.User().ID)
	if err != nil {
		return p, err
	}
	secret, err := f.open(l.Factor.Secret, FactorOf(l.ID))
	if err != nil {
		return p, fmt.Errorf("open second factor: %w", err)
	}
	if p.Step = matching(string(secret), code, f.now()); p.Step == 0 {
		return p, people.ErrNotFound
	}
	return p, nil
}

// matching returns the time step of a code among the currently valid steps; 0 for none.
func matching(secret, code string, now time.Time) int64 {
	o := hotp.ValidateOpts{Digits: otp.DigitsSix, Algorithm: otp.AlgorithmSHA1}
	code = strings.TrimSpace(code)
	at := now.Unix() / factorStep
	for step := at - factorSkew; step <= at+factorSkew; step++ {
		if ok, err := hotp.ValidateCustom(code, uint64(max(step, 0)), secret, o); err == nil && ok {
			return step
		}
	}
	return 0
}

// newRecovery returns new recovery codes, in groups of four characters, and their hashes.
func newRecovery() (codes []string, hashes []people.Hash) {
	for range recoveryCodes {
		b := make([]byte, recoveryBytes)
		_, _ = rand.Read(b) // never fails: see crypto/rand
		text := base32.StdEncoding.EncodeToString(b)
		hashes = append(hashes, people.HashOf(text))
		codes = append(codes, strings.Join([]string{text[:4], text[4:8], text[8:12], text[12:]}, "-"))
	}
	return codes, hashes
}

// factorMarks returns the counters of attempts to enter a code, which only a person with the password can make. Five
// are free; in the end one per 15 minutes remains. Three of a million codes are valid at a time.
func factorMarks(userID, address string) []Mark {
	return []Mark{
		{Scope: "factor " + seal.Digest(userID, networkOf(address)), Free: pairFree, Most: pairMost},
		{Scope: "factor of " + seal.Digest(userID), Free: pairFree, Most: pairMost},
	}
}
