package people

import (
	"context"
	"errors"
	"fmt"
	"time"

	"weir/internal/account"
	"weir/internal/audit"
	"weir/internal/llm"
)

const (
	// maxInvited is the maximum number of invitations with a new account.
	maxInvited = 20
	// mailAll bounds the total time that a new account waits for its mails.
	mailAll = 15 * time.Second
)

// Invited holds a new invitation and the token of its link.
type Invited struct {
	Invitation
	Token  llm.Secret
	Mailed bool
}

// CreateAccount creates an account with its credit and its invitations in one transaction. It reads only Email and Role
// of the invitations. Invitations whose mail fails stay valid. The error is a *llm.Error with CodeInvalidRequest if the
// name is taken or an invitation is invalid.
func (s *Service) CreateAccount(ctx context.Context, by audit.Actor, d account.Draft, invite []Invitation) (
	account.Account, []Invited, error,
) {
	links, tokens, err := newInvitations(by, &d.Account, invite, s.now())
	if err != nil {
		return account.Account{}, nil, err
	}
	a, err := s.stores.Invitations.CreateAccount(ctx, by, d, links)
	switch {
	case errors.Is(err, account.ErrExists):
		return a, nil, account.NameTaken(d.Account.Name)
	case errors.Is(err, audit.ErrNotAllowed):
		return a, nil, notAllowed()
	case err != nil:
		return a, nil, fmt.Errorf("create account: %w", err)
	}
	return a, s.mailInvited(ctx, links, tokens), nil
}

// newInvitations builds the invitations to a new account, and the tokens of their links.
func newInvitations(by audit.Actor, a *account.Account, invite []Invitation, now time.Time) (
	links []NewInvitation, tokens []llm.Secret, err error,
) {
	if len(invite) > maxInvited {
		return nil, nil, llm.Invalidf("members", "A new account can have at most %d invitations, not %d. "+
			"Invite the other people afterwards.", maxInvited, len(invite))
	}
	seen := make(map[string]bool, len(invite))
	for i, one := range invite {
		token, n, err := newInvitation(by, Invitation{
			Email: one.Email, Role: one.Role, AccountID: a.ID, AccountName: a.Name,
		}, now)
		if err == nil && seen[n.Email] {
			err = llm.Invalidf("email", "%s is invited twice. List each person once.", n.Email)
		}
		if err != nil {
			e := llm.AsError(err)
			return nil, nil, e.At(fmt.Sprintf("members[%d].%s", i, e.Param))
		}
		seen[n.Email] = true
		links, tokens = append(links, n), append(tokens, token)
	}
	return links, tokens, nil
}

// mailInvited mails the links of invitations if mail is configured.
func (s *Service) mailInvited(ctx context.Context, links []NewInvitation, tokens []llm.Secret) []Invited {
	ctx, cancel := context.WithTimeout(ctx, mailAll)
	defer cancel()
	all := make([]Invited, len(links))
	for i := range links {
		err := s.mailInvitation(ctx, &links[i].Invitation, tokens[i])
		if err != nil {
			s.log.Warn("an invitation could not be mailed", "err", err)
		}
		all[i] = Invited{links[i].Invitation, tokens[i], err == nil && s.Mails()}
	}
	return all
}
