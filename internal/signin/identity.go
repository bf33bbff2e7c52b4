package signin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"weir/internal/llm"
	"weir/internal/people"
)

// identity holds the provider's claims about a person.
type identity struct {
	subject string
	email   string // verified; empty for none
	name    string
	groups  []string
	sid     string // the provider's id of the session; empty for none
}

const maxSubject = 255 // characters; OpenID Connect Core 1.0, section 2

func refused(err error) error {
	return &llm.Error{
		Code:    llm.CodeForbidden,
		Message: "The answer of the single sign-on provider is invalid. Sign in again.", Err: err,
	}
}

func unreachable(err error) error {
	return &llm.Error{
		Code:    llm.CodeProviderUnavailable,
		Message: "The single sign-on provider is not available. Try again in a moment.", Err: err,
	}
}

// identify exchanges a code for the identity that it belongs to.
func (p *OIDC) identify(ctx context.Context, f *flow, code, publicURL string) (*identity, error) {
	ctx, cancel := p.during(ctx)
	defer cancel()
	found, err := p.provider(ctx)
	if err != nil {
		return nil, unreachable(err)
	}
	token, err := p.config(found, publicURL).Exchange(ctx, code, oauth2.VerifierOption(f.Verifier))
	if err != nil {
		return nil, refused(exchangeError(err))
	}
	raw, ok := token.Extra("id_token").(string)
	if !ok {
		return nil, refused(errors.New("the answer has no id_token"))
	}
	id, err := found.Verifier(&oidc.Config{ClientID: p.options.ClientID}).Verify(ctx, raw)
	switch {
	case err != nil:
		return nil, refused(err)
	case id.Nonce != f.Nonce:
		return nil, refused(errors.New("the nonce of the id_token differs"))
	case id.Subject == "" || len(id.Subject) > maxSubject:
		return nil, refused(errors.New("the subject must have 1 to 255 characters"))
	}
	var c claims
	if err := id.Claims(&c); err != nil {
		return nil, refused(err)
	}
	// The party that the token was issued to, if the token names one (OpenID Connect Core 1.0, section 3.1.3.7).
	if asked := c.text("azp"); asked != "" && asked != p.options.ClientID {
		return nil, refused(errors.New("the token is for another client"))
	}
	if err := p.askMore(ctx, found, token, id.Subject, c); err != nil {
		return nil, refused(err)
	}
	who := p.identityOf(id.Subject, c)
	if sid := c.text("sid"); len(sid) <= maxSID {
		who.sid = sid
	}
	return who, nil
}

// exchangeError returns the error without the provider's response, which may contain the code.
func exchangeError(err error) error {
	if e, ok := errors.AsType[*oauth2.RetrieveError](err); ok {
		return fmt.Errorf("exchange the code: %.100q", e.ErrorCode)
	}
	return err
}

// claims are a provider's claims about a person, as raw JSON.
type claims map[string]json.RawMessage

// askMore fetches claims that the token does not carry. Some providers return e-mail and groups only from the user info
// endpoint.
func (p *OIDC) askMore(ctx context.Context, found *oidc.Provider, token *oauth2.Token, subject string, c claims) error {
	_, email := c["email"]
	_, groups := c[p.options.GroupsClaim]
	if found.UserInfoEndpoint() == "" || email && (groups || !p.mapsGroups()) {
		return nil
	}
	info, err := found.UserInfo(ctx, oauth2.StaticTokenSource(token))
	if err != nil {
		return err
	}
	if info.Subject != subject { // OpenID Connect Core 1.0, section 5.3.2
		return errors.New("the user info is of another subject")
	}
	var more claims
	if err := info.Claims(&more); err != nil {
		return err
	}
	// email_verified applies only to the address in the same document.
	if !email {
		delete(c, "email_verified")
	} else if more.text("email") != c.text("email") {
		delete(more, "email_verified")
	}
	for name, value := range more {
		if _, has := c[name]; !has {
			c[name] = value
		}
	}
	return nil
}

func (p *OIDC) mapsGroups() bool { return len(p.options.Operators)+len(p.options.Accounts) > 0 }

func (p *OIDC) identityOf(subject string, c claims) *identity {
	who := &identity{subject: subject, groups: c.list(p.options.GroupsClaim)}
	if verified := string(c["email_verified"]); verified == "true" || verified == `"true"` {
		if email, err := people.CheckEmail(c.text("email")); err == nil {
			who.email = email
		}
	}
	if name, err := people.CheckName(c.text("name")); err == nil {
		who.name = name
	}
	return who
}

// text returns a claim that is a string.
func (c claims) text(name string) string {
	var s string
	if json.Unmarshal(c[name], &s) != nil {
		return ""
	}
	return s
}

// list returns a claim that is a string or a list of strings.
func (c claims) list(name string) []string {
	var many []string
	if json.Unmarshal(c[name], &many) == nil {
		return many
	}
	if one := c.text(name); one != "" {
		return []string{one}
	}
	return nil
}

// confine removes the roles that groups grant from a visitor whose session did not begin by single sign-on. Only single
// sign-on reads the groups; in other sessions these roles may be outdated. Sessions that began with a set-up link or a
// sign-in link keep them, because only the administrator of the gateway's machine can make those links.
func (p *OIDC) confine(v *people.Visitor) {
	if p == nil {
		return
	}
	switch v.Session().Method {
	case people.ByOIDC, people.BySetup, people.ByLink:
		return
	}
	v.Confine(len(p.options.Operators) > 0, func(account string) bool {
		_, is := p.options.Accounts[account]
		return is
	})
}

// grants returns the roles of a person in these groups.
func (p *OIDC) grants(groups []string) Grants {
	in := func(of []string) bool {
		return slices.ContainsFunc(of, func(g string) bool { return slices.Contains(groups, g) })
	}
	g := Grants{Roles: map[string]people.Role{}}
	if len(p.options.Operators) > 0 {
		g.Operator = new(in(p.options.Operators))
	}
	for name, of := range p.options.Accounts {
		g.Roles[name] = ""
		for _, role := range []people.Role{people.Viewer, people.Member, people.Owner} { // the highest role wins
			if in(of[role]) {
				g.Roles[name] = role
			}
		}
	}
	return g
}
