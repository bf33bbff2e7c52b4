package people

import (
	"context"
	"errors"
	"log/slog"
	"net/url"
	"time"

	"weir/internal/audit"
	"weir/internal/llm"
)

// Options is what a Service is made of.
type Options struct {
	Store     Store
	Now       func() time.Time
	Log       *slog.Logger
	Mail      *Mail         // nil: links are shown to whoever asks for them
	OIDC      *OIDC         // nil for none
	PublicURL func() string // such as https://weir.example.com, for links and single sign-on
	Idle      time.Duration // after which a session that is not used is over; 0 for 12 hours
	Absolute  time.Duration // after which every session is over; 0 for 7 days
}

// Store is where people live.
type Store interface{}

// Mail sends mail.
type Mail struct{}

// OIDC is an OpenID Connect provider.
type OIDC struct{}

// Service lets people in.
type Service struct{ Options }

var errLater = errors.New("people: comes with the next commit")

// New makes a service.
func New(o Options) *Service { return &Service{o} }

func (s *Service) Fresh(ctx context.Context) (bool, error)              { return false, errLater }
func (s *Service) Link(ctx context.Context, token string) (Link, error) { return Link{}, errLater }
func (s *Service) SetUp(ctx context.Context, token string, p Person, o Origin) (llm.Secret, error) {
	return llm.Secret{}, errLater
}
func (s *Service) SignIn(ctx context.Context, email string, password llm.Secret, o Origin) (llm.Secret, error) {
	return llm.Secret{}, errLater
}
func (s *Service) Visitor(ctx context.Context, session string, o Origin) (*Visitor, error) {
	return nil, errLater
}
func (s *Service) SignOut(ctx context.Context, v *Visitor, o Origin) error { return errLater }
func (s *Service) Sessions(ctx context.Context, v *Visitor) ([]Session, error) {
	return nil, errLater
}
func (s *Service) EndSession(ctx context.Context, v *Visitor, id string, o Origin) error {
	return errLater
}
func (s *Service) EndOtherSessions(ctx context.Context, v *Visitor, o Origin) error { return errLater }
func (s *Service) ChangeName(ctx context.Context, v *Visitor, name string, o Origin) error {
	return errLater
}
func (s *Service) ChangePassword(ctx context.Context, v *Visitor, current, next llm.Secret, o Origin) (llm.Secret, error) {
	return llm.Secret{}, errLater
}
func (s *Service) Invite(ctx context.Context, by audit.Actor, i Invitation) (llm.Secret, Invitation, error) {
	return llm.Secret{}, i, errLater
}
func (s *Service) Invitations(ctx context.Context, accountID string) ([]Invitation, error) {
	return nil, errLater
}
func (s *Service) CancelInvitation(ctx context.Context, by audit.Actor, accountID, id string) error {
	return errLater
}
func (s *Service) Accept(ctx context.Context, token string, p Person, o Origin) (llm.Secret, error) {
	return llm.Secret{}, errLater
}
func (s *Service) Forgot(ctx context.Context, email string, o Origin) error { return errLater }
func (s *Service) ResetLink(ctx context.Context, by audit.Actor, userID string) (llm.Secret, error) {
	return llm.Secret{}, errLater
}
func (s *Service) Reset(ctx context.Context, token string, next llm.Secret, o Origin) (llm.Secret, error) {
	return llm.Secret{}, errLater
}
func (s *Service) Users(ctx context.Context) ([]User, error) { return nil, errLater }
func (s *Service) Members(ctx context.Context, accountID string) ([]Membership, error) {
	return nil, errLater
}
func (s *Service) SetRole(ctx context.Context, by audit.Actor, accountID, userID string, r Role) error {
	return errLater
}
func (s *Service) RemoveMember(ctx context.Context, by audit.Actor, accountID, userID string) error {
	return errLater
}
func (s *Service) SetOperator(ctx context.Context, by audit.Actor, userID string, on bool) error {
	return errLater
}
func (s *Service) SSO() string { return "" }
func (s *Service) StartOIDC(ctx context.Context, next string) (address string, state llm.Secret, err error) {
	return "", llm.Secret{}, errLater
}
func (s *Service) FinishOIDC(ctx context.Context, state string, query url.Values, o Origin) (session llm.Secret, next string, err error) {
	return llm.Secret{}, "", errLater
}
