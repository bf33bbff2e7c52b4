package people

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"weir/internal/audit"
	"weir/internal/llm"
)

// ResetLink returns a link, valid for an hour, by which that user sets a new password. An operator passes it on. Base
// is the address of the gateway in the link; empty for the public one. The error is a *llm.Error: CodeNotFound for an
// unknown user, CodeForbidden if by is no longer an operator.
func (d *Directory) ResetLink(ctx context.Context, by audit.Actor, userID, base string) (llm.Secret, error) {
	if d.passwordsOff {
		return llm.Secret{}, NoPasswords()
	}
	return d.handedOver(ctx, by, NewReset{UserID: userID}, base)
}

// SignInLink returns a link that signs an operator in, once, within an hour, even if passwords are off or groups deny
// the role. It is for the administrator of the gateway's machine. The error is a *llm.Error: CodeNotFound for an
// unknown user, CodeInvalidRequest for a user who is not an operator.
func (d *Directory) SignInLink(ctx context.Context, by audit.Actor, userID string) (llm.Secret, error) {
	return d.handedOver(ctx, by, NewReset{UserID: userID, SignIn: true}, "")
}

func (d *Directory) handedOver(ctx context.Context, by audit.Actor, r NewReset, base string) (llm.Secret, error) {
	link, err := d.newReset(ctx, by, r, base)
	switch {
	case errors.Is(err, ErrNotFound):
		return link, noUser()
	case errors.Is(err, audit.ErrNotAllowed):
		return link, notAllowed()
	case errors.Is(err, ErrNoOperator):
		return link, llm.Invalid("user", "This user is not an operator. Run weir operators add to make them one.")
	}
	return link, err
}

func (d *Directory) newReset(ctx context.Context, by audit.Actor, r NewReset, base string) (llm.Secret, error) {
	token, hash := NewToken()
	r.Created = d.now()
	r.Expires = r.Created.Add(resetFor)
	if err := d.stores.Resets.CreateReset(ctx, by, r, hash); err != nil {
		return llm.Secret{}, fmt.Errorf("make a link: %w", err)
	}
	if r.SignIn {
		return d.link(base, SignInLink, token), nil
	}
	return d.link(base, ResetLink, token), nil
}

// link returns a one-time link at the address base; the public one if it is empty.
func (d *Directory) link(base string, kind LinkKind, token llm.Secret) llm.Secret {
	if base == "" {
		base = d.publicURL()
	}
	return llm.NewSecret(strings.TrimRight(base, "/") + "/" + string(kind) + "/" + token.Reveal())
}

// Mails reports whether links are mailed. Otherwise people who forgot their password must ask an operator.
func (d *Directory) Mails() bool { return d.mail != nil }

// MailReset mails a link for a new password to that address if it belongs to a user. Mail must be configured.
func (d *Directory) MailReset(ctx context.Context, by audit.Actor, email string) error {
	l, err := d.stores.Users.Login(ctx, email)
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	link, err := d.newReset(ctx, by, NewReset{UserID: l.ID, Mailed: true}, "")
	if err != nil {
		return err
	}
	return d.send(ctx, l.Email, "Set a new password for Weir",
		fmt.Sprintf("You or somebody else requested a new password for %s.\n\nTo set one, open this link within an "+
			"hour. It works once:\n\n%s\n\nIf you did not request this, ignore this mail: "+
			"your password does not change.\n",
			l.Email, link.Reveal()))
}

// mailInvitation mails an invitation's link if mail is configured.
func (d *Directory) mailInvitation(ctx context.Context, i *Invitation, token llm.Secret) error {
	if d.mail == nil {
		return nil
	}
	where := "to operate this Weir installation"
	if !i.Operator {
		where = fmt.Sprintf("to the account %s", i.AccountName)
	}
	by := ""
	if i.By != "" {
		by = " by " + i.By
	}
	return d.send(ctx, i.Email, "Your invitation to Weir",
		fmt.Sprintf("You are invited%s %s.\n\nOpen this link before %s. It works once:\n\n%s\n\n"+
			"If you did not expect this mail, ignore it.\n", by, where,
			i.Expires.Format("2 January 2006, 15:04 UTC"), d.link("", InviteLink, token).Reveal()))
}

func (d *Directory) send(ctx context.Context, to, subject, text string) error {
	if err := d.mail.Send(ctx, to, subject, text); err != nil {
		return &llm.Error{
			Code:    llm.CodeProviderError,
			Message: "The mail could not be sent. Send the link yourself, or check the smtp settings.",
			Err:     err,
		}
	}
	return nil
}
