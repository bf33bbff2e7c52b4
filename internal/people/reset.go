package people

import (
	"context"
	"errors"
	"fmt"
	"time"

	"weir/internal/audit"
	"weir/internal/llm"
)

const (
	// maxForgotten is the maximum number of mails that wait to be sent.
	maxForgotten = 100
	forgotLimit  = 30 * time.Second // per mail
)

// forgotten is a request for a new password.
type forgotten struct {
	email  string
	origin Origin
}

// Mails reports whether links are mailed. Otherwise people who forgot their password must ask an operator.
func (s *Service) Mails() bool { return s.mail != nil }

// Forgot mails a link for a new password to that address if it belongs to a user and mail is configured. Neither the
// answer nor its time reveals which, because Run looks the user up later. The error is a *llm.Error: CodeRateLimited
// after too many requests.
func (s *Service) Forgot(ctx context.Context, email string, o Origin) error {
	if s.passwordsOff {
		return noPasswords()
	}
	email, err := checkEmail(email)
	if err != nil {
		return err
	}
	if _, err := s.try(ctx, forgotMarks(email, o.Address)); err != nil {
		return err
	}
	if s.mail == nil {
		return nil
	}
	select {
	case s.forgotten <- forgotten{email, o}:
		return nil
	default:
		return &llm.Error{
			Code: llm.CodeOverloaded, RetryAfter: time.Minute,
			Message: "Too many mails are waiting to be sent. Try again in a minute.",
		}
	}
}

// Run mails the links that Forgot queued, one after the other, until ctx ends.
func (s *Service) Run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case f := <-s.forgotten:
			if err := s.remind(ctx, f); err != nil && ctx.Err() == nil {
				s.log.Error("a password reset link could not be mailed", "err", err)
			}
		}
	}
}

// remind mails one link.
func (s *Service) remind(ctx context.Context, f forgotten) error {
	ctx, cancel := context.WithTimeout(ctx, forgotLimit)
	defer cancel()
	l, err := s.stores.Users.Login(ctx, f.email)
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	nobody := audit.Actor{Kind: audit.Nobody, Address: f.origin.Address, Request: f.origin.Request}
	token, err := s.newReset(ctx, nobody, NewReset{UserID: l.ID, Mailed: true})
	if err != nil {
		return err
	}
	return s.mailReset(ctx, l.Email, token)
}

// ResetLink returns the token of a link /reset/TOKEN, valid for an hour, by which that user sets a new password. An
// operator passes it on. The error is a *llm.Error: CodeNotFound for an unknown user, CodeForbidden if by is no longer
// an operator.
func (s *Service) ResetLink(ctx context.Context, by audit.Actor, userID string) (llm.Secret, error) {
	if s.passwordsOff {
		return llm.Secret{}, noPasswords()
	}
	return s.handedOver(ctx, by, NewReset{UserID: userID})
}

// SignInLink returns the token of a link /link/TOKEN that signs an operator in, once, within an hour, even if passwords
// are off or groups deny the role. It is for the administrator of the gateway's machine. The error is a *llm.Error:
// CodeNotFound for an unknown user, CodeInvalidRequest for a user who is not an operator.
func (s *Service) SignInLink(ctx context.Context, by audit.Actor, userID string) (llm.Secret, error) {
	return s.handedOver(ctx, by, NewReset{UserID: userID, SignIn: true})
}

func (s *Service) handedOver(ctx context.Context, by audit.Actor, r NewReset) (llm.Secret, error) {
	token, err := s.newReset(ctx, by, r)
	switch {
	case errors.Is(err, ErrNotFound):
		return token, noUser()
	case errors.Is(err, audit.ErrNotAllowed):
		return token, notAllowed()
	case errors.Is(err, ErrNoOperator):
		return token, llm.Invalid("user", "This user is not an operator. Run weir operators add to make them one.")
	}
	return token, err
}

// FollowLink signs in the operator of a link, and uses the link up.
func (s *Service) FollowLink(ctx context.Context, token string, o Origin) (llm.Secret, error) {
	link, err := s.Link(ctx, token, SignInLink)
	if err != nil {
		return llm.Secret{}, err
	}
	l, err := s.stores.Users.Login(ctx, link.Email)
	if err != nil {
		return llm.Secret{}, used("find user", SignInLink, err)
	}
	session, n := s.newSession(l.ID, ByLink, o)
	a := Admission{Link: hashOf(token), User: l.User, Session: &n, By: actorOf(&l.User, o), At: s.now()}
	return session, used("sign in by a link", SignInLink, s.stores.Admissions.UseReset(ctx, a))
}

func noUser() error {
	return llm.Errorf(llm.CodeNotFound, "There is no such user.").At("user")
}

func (s *Service) newReset(ctx context.Context, by audit.Actor, r NewReset) (llm.Secret, error) {
	token, hash := newToken()
	r.Created = s.now()
	r.Expires = r.Created.Add(resetFor)
	if err := s.stores.Resets.CreateReset(ctx, by, r, hash); err != nil {
		return llm.Secret{}, fmt.Errorf("make a link: %w", err)
	}
	return token, nil
}

// Reset sets a new password for the user of the link, ends all their sessions and returns a new one. It also proves
// their address, because the link was mailed to it or came from an operator.
func (s *Service) Reset(ctx context.Context, token string, next llm.Secret, o Origin) (llm.Secret, error) {
	l, err := s.Link(ctx, token, ResetLink)
	if err != nil {
		return llm.Secret{}, err
	}
	session, a, err := s.renewal(ctx, token, l.Email, next, ByReset, o)
	if err != nil {
		return llm.Secret{}, err
	}
	return session, used("reset password", ResetLink, s.stores.Admissions.UseReset(ctx, a))
}

// renewal builds the admission of a user with a new password.
func (s *Service) renewal(ctx context.Context, token, email string, next llm.Secret, method string, o Origin) (
	session llm.Secret, a Admission, err error,
) {
	if err := checkPassword(next, email); err != nil {
		return session, a, err
	}
	l, err := s.stores.Users.Login(ctx, email)
	if err != nil {
		return session, a, used("find user", ResetLink, err)
	}
	hash, err := s.hasher.hash(ctx, next)
	if err != nil {
		return session, a, err
	}
	session, n := s.newSession(l.ID, method, o)
	return session, Admission{
		Link: hashOf(token), User: l.User, Password: hash, Session: &n, By: actorOf(&l.User, o), At: s.now(),
	}, nil
}
