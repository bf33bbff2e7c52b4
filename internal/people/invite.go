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

// Invited holds a new invitation and its link.
type Invited struct {
	Invitation
	Link     llm.Secret // known only now
	Mailed   bool
	Unmailed error // the reason why the mail failed; nil if it was sent, or mail is not configured
}

// checkRole returns an error for an unknown role.
func checkRole(r Role) error {
	if _, ok := rights[r]; !ok {
		return llm.Invalidf("role", "%q is not a role. Use %q, %q or %q.", r, Owner, Member, Viewer)
	}
	return nil
}

// Invite creates an invitation to an account or to operate the installation, which is valid for 7 days, and its link at
// the address base; at the public one if base is empty. If mail is configured, it mails the link. An invitation whose
// mail fails is valid. It replaces an earlier invitation of the same person to the same place. It reads only the fields
// Email, AccountID, Role, Operator and Untrusted of i.
func (d *Directory) Invite(ctx context.Context, by audit.Actor, i Invitation, base string) (Invited, error) {
	token, n, err := newInvitation(by, i, d.now())
	if err == nil && !i.Operator && i.AccountID == "" {
		err = llm.Invalid("account", "The invitation names no account. Set the account's name or id.")
	}
	if err != nil {
		return Invited{}, err
	}
	i, err = d.stores.Invitations.Invite(ctx, by, n.Invitation, n.Link)
	if err != nil {
		return Invited{}, inviting(n.Email, err)
	}
	return d.sendInvitation(ctx, by, &i, token, base), nil
}

// sendInvitation mails the link of an invitation if mail is configured.
func (d *Directory) sendInvitation(ctx context.Context, by audit.Actor, i *Invitation, token llm.Secret,
	base string,
) Invited {
	err := d.mailInvitation(ctx, i, token)
	if err != nil {
		d.log.WarnContext(ctx, "an invitation could not be mailed", "request", by.Request, "err", err)
	}
	return Invited{*i, d.link(base, InviteLink, token), err == nil && d.Mails(), err}
}

// newInvitation builds an invitation from i, and the token of its link.
func newInvitation(by audit.Actor, i Invitation, now time.Time) (llm.Secret, NewInvitation, error) {
	email, err := CheckEmail(i.Email)
	if err == nil && !i.Operator {
		err = checkRole(i.Role)
	}
	if err != nil {
		return llm.Secret{}, NewInvitation{}, err
	}
	if i.Operator {
		i.AccountID, i.Role = "", ""
	}
	token, hash := NewToken()
	i.ID, i.Email, i.By, i.Created, i.Expires = account.NewID(), email, by.Name, now, now.Add(inviteFor)
	return token, NewInvitation{i, hash}, nil
}

// inviting converts a store's error of an invitation into an error for people.
func inviting(email string, err error) error {
	switch {
	case errors.Is(err, ErrExists):
		return llm.Invalid("email", email+" is already a member or operator.")
	case errors.Is(err, ErrNotFound):
		return llm.Errorf(llm.CodeNotFound, "There is no such account.").At("account")
	case errors.Is(err, audit.ErrNotAllowed):
		return notAllowed()
	}
	return fmt.Errorf("invite: %w", err)
}

// Invitations returns an account's unused invitations, newest first, or those of operators if accountID is empty.
func (d *Directory) Invitations(ctx context.Context, accountID string) ([]Invitation, error) {
	list, err := d.stores.Invitations.Invitations(ctx, accountID, d.now())
	if err != nil {
		return nil, fmt.Errorf("list invitations: %w", err)
	}
	return list, nil
}

// CancelInvitation deletes an unused invitation to an account, or of an operator if accountID is empty. The error is a
// *llm.Error with CodeNotFound if there is none.
func (d *Directory) CancelInvitation(ctx context.Context, by audit.Actor, accountID, id string) error {
	err := d.stores.Invitations.CancelInvitation(ctx, by, accountID, id)
	if errors.Is(err, ErrNotFound) {
		return llm.Errorf(llm.CodeNotFound, "There is no such invitation, or it was already used.")
	}
	if err != nil {
		return fmt.Errorf("cancel invitation: %w", err)
	}
	return nil
}
