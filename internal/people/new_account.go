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

// CreateAccount creates an account with its credit and its invitations in one transaction. It reads only Email and Role
// of the invitations, and treats them like Invite. The error is a *llm.Error with CodeInvalidRequest if the name is
// taken or an invitation is invalid.
func (d *Directory) CreateAccount(ctx context.Context, by audit.Actor, draft account.Draft, invite []Invitation,
	base string,
) (account.Account, []Invited, error) {
	links, tokens, err := newInvitations(by, &draft.Account, invite, d.now())
	if err != nil {
		return account.Account{}, nil, err
	}
	a, err := d.stores.Invitations.CreateAccount(ctx, by, draft, links)
	switch {
	case errors.Is(err, account.ErrExists):
		return a, nil, account.NameTaken(draft.Account.Name)
	case errors.Is(err, audit.ErrNotAllowed):
		return a, nil, notAllowed()
	case err != nil:
		return a, nil, fmt.Errorf("create account: %w", err)
	}
	return a, d.sendInvitations(ctx, by, links, tokens, base), nil
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

// sendInvitations mails the links of invitations if mail is configured.
func (d *Directory) sendInvitations(ctx context.Context, by audit.Actor, links []NewInvitation, tokens []llm.Secret,
	base string,
) []Invited {
	ctx, cancel := context.WithTimeout(ctx, mailAll)
	defer cancel()
	all := make([]Invited, len(links))
	for i := range links {
		all[i] = d.sendInvitation(ctx, by, &links[i].Invitation, tokens[i], base)
	}
	return all
}
