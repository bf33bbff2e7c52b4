package people

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

	"weir/internal/audit"
	"weir/internal/llm"
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
	service *Service
	store   FactorStore
	seal    func(ctx context.Context, text []byte, about string) (string, error)
	open    func(sealed, about string) ([]byte, error)
}

// FactorOf returns the context that the secret of a user's authenticator app is sealed with.
func FactorOf(userID string) string { return "second factor of " + userID }

// Factors returns the manager of second factors.
func (s *Service) Factors() *Factors { return &s.factors }

// Offered reports whether people can have a second factor, which needs passwords.
func (f *Factors) Offered() bool { return f.seal != nil && !f.service.passwordsOff }

// New returns a secret for an authenticator app, in base32, and its otpauth address:
// https://github.com/google/google-authenticator/wiki/Key-Uri-Format (2018-08-23). It stores nothing.
func (f *Factors) New(v *Visitor) (secret llm.Secret, address string) {
	b := make([]byte, factorSecret)
	_, _ = rand.Read(b) // never fails: see crypto/rand
	text := base32.StdEncoding.EncodeToString(b)
	return llm.NewSecret(text), factorAddress(v.user.Email, text)
}

// Address returns the otpauth address of a secret that New returned.
func (f *Factors) Address(v *Visitor, secret llm.Secret) string {
	return factorAddress(v.user.Email, secret.Reveal())
}

func factorAddress(email, secret string) string {
	u := url.URL{Scheme: "otpauth", Host: "totp", Path: "/Weir:" + email}
	u.RawQuery = "secret=" + url.QueryEscape(secret) + "&issuer=Weir"
	return u.String()
}

// Set stores the visitor's second factor after their app has shown a valid code, and returns the recovery codes, which
// are shown only once. All other sessions end. A wrong password counts as an attempt to sign in.
func (f *Factors) Set(ctx context.Context, v *Visitor, secret llm.Secret, code string, password llm.Secret,
	o Origin,
) ([]string, error) {
	if err := f.confirm(ctx, v, password, o); err != nil {
		return nil, err
	}
	raw, err := base32.StdEncoding.DecodeString(secret.Reveal())
	if err != nil || len(raw) != factorSecret {
		return nil, llm.Invalid("code", "This form is incomplete. Open your profile again.")
	}
	step := matching(secret.Reveal(), code, f.service.now())
	if step == 0 {
		return nil, llm.Invalid("code", "The code does not match this secret. Check the code in the app, "+
			"and the clocks of both devices.")
	}
	sealed, err := f.seal(ctx, []byte(secret.Reveal()), FactorOf(v.user.ID))
	if err != nil {
		return nil, fmt.Errorf("seal second factor: %w", err)
	}
	codes, hashes := newRecovery()
	factor := Factor{Secret: sealed, Step: step, Recovery: hashes}
	err = f.store.SetFactor(ctx, v.Actor(o), v.user.ID, factor, v.session.ID)
	return codes, ownChange("set second factor", err)
}

// Remove removes the visitor's second factor, with the errors of ChangePassword.
func (f *Factors) Remove(ctx context.Context, v *Visitor, password llm.Secret, o Origin) error {
	if err := f.confirm(ctx, v, password, o); err != nil {
		return err
	}
	err := f.store.SetFactor(ctx, v.Actor(o), v.user.ID, Factor{}, v.session.ID)
	return ownChange("remove second factor", err)
}

// Reset removes the second factor of a user who has lost the app and the recovery codes, and ends their sessions. The
// error is a *llm.Error with CodeNotFound for an unknown user.
func (f *Factors) Reset(ctx context.Context, by audit.Actor, userID string) error {
	return changedAccess("reset second factor", f.store.SetFactor(ctx, by, userID, Factor{}, ""))
}

// confirm checks the visitor's password again.
func (f *Factors) confirm(ctx context.Context, v *Visitor, password llm.Secret, o Origin) error {
	switch {
	case v.Session() == nil:
		return llm.Errorf(llm.CodeAuthentication, "You are not signed in. Sign in first.")
	case !f.Offered() || !v.user.Password:
		return llm.Invalid("password", "A second factor needs a password, and you have none. Set a password first.")
	}
	_, err := f.service.authenticate(ctx, v.user.Email, password, o)
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
func (f *Factors) pending(ctx context.Context, session string) (*Visitor, error) {
	if session == "" || len(session) > maxToken || !f.Offered() {
		return nil, nil
	}
	v, err := f.service.stores.Sessions.VisitorBySession(ctx, hashOf(session))
	if errors.Is(err, ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("find session: %w", err)
	}
	if !v.session.Pending || !f.service.now().Before(v.session.Created.Add(pendingFor)) {
		return nil, nil
	}
	return v, nil
}

// Give checks a code of the app or a recovery code, and replaces a session that waits for the second factor. The error
// is a *llm.Error: CodeAuthentication if the session no longer waits, CodeInvalidRequest for a wrong code,
// CodeRateLimited after many wrong codes.
func (f *Factors) Give(ctx context.Context, session, code string, o Origin) (llm.Secret, error) {
	return f.give(ctx, session, o, func(v *Visitor) (Passing, error) { return f.passing(ctx, v, code) })
}

// give replaces a session that waits for the second factor if proof succeeds. The error of proof is ErrNotFound for a
// wrong code or signature.
func (f *Factors) give(ctx context.Context, session string, o Origin, proof func(*Visitor) (Passing, error)) (
	llm.Secret, error,
) {
	v, err := f.pending(ctx, session)
	if err != nil {
		return llm.Secret{}, err
	}
	if v == nil {
		return llm.Secret{}, llm.Errorf(llm.CodeAuthentication, "This sign-in took too long. Sign in again.")
	}
	marks := factorMarks(v.user.ID, o.Address)
	if _, err := f.service.try(ctx, marks); err != nil {
		return llm.Secret{}, err
	}
	token, n := f.service.newSession(v.user.ID, v.session.Method, o)
	n.Passed = true
	p, err := proof(v)
	if err == nil {
		p.Session = n
		err = f.store.PassFactor(ctx, actorOf(v.user, o), p)
	}
	switch {
	case errors.Is(err, ErrNotFound):
		f.service.logFailed(v.session.Method, v.user.ID, o, "wrong second factor")
		return llm.Secret{}, llm.Invalid("code", "This code is wrong or was already used. Wait for the next one.")
	case err != nil:
		return llm.Secret{}, used("give second factor", SignInLink, err)
	}
	if err := f.service.stores.Throttles.PassSignIn(ctx, marks, f.service.now()); err != nil {
		return llm.Secret{}, fmt.Errorf("count second factor: %w", err)
	}
	return token, nil
}

// passing returns the result of a valid code; ErrNotFound for an invalid one.
func (f *Factors) passing(ctx context.Context, v *Visitor, code string) (Passing, error) {
	p := Passing{Pending: v.session.ID}
	code = strings.Join(strings.Fields(strings.ToUpper(code)), "")
	if len(code) > maxToken {
		return p, ErrNotFound
	}
	if len(code) != int(otp.DigitsSix) {
		p.Recovery = hashOf(strings.ReplaceAll(code, "-", ""))
		return p, nil
	}
	l, err := f.service.stores.Users.Login(ctx, v.user.ID)
	if err != nil {
		return p, err
	}
	secret, err := f.open(l.Factor.Secret, FactorOf(l.ID))
	if err != nil {
		return p, fmt.Errorf("open second factor: %w", err)
	}
	if p.Step = matching(string(secret), code, f.service.now()); p.Step == 0 {
		return p, ErrNotFound
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
func newRecovery() (codes []string, hashes []Hash) {
	for range recoveryCodes {
		b := make([]byte, recoveryBytes)
		_, _ = rand.Read(b) // never fails: see crypto/rand
		text := base32.StdEncoding.EncodeToString(b)
		hashes = append(hashes, hashOf(text))
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
