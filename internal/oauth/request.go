package oauth

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"weir/internal/account"
	"weir/internal/audit"
	"weir/internal/llm"
	"weir/internal/people"
	"weir/internal/seal"
)

// Request is a program's request for access, which a person answers.
type Request struct {
	Client   Client
	Redirect string // where the answer goes
	Path     string // of the tools, such as /mcp
	Query    string // as it came, for a form that sends it again

	state     string
	challenge string
	resource  string
}

// Refusal is an error that the program gets, and not the person.
type Refusal struct {
	To   string // address of the program, with the error
	Text string
}

// Error returns the text.
func (r *Refusal) Error() string { return r.Text }

// challengeLength is that of a SHA-256 in base64url without padding.
const challengeLength = 43

// Read reads a request from the query of its address, for the user with that id. The error is a *llm.Error for the
// person as long as it is not certain that the program may receive answers at its address, and a *Refusal for the
// program after that.
func (s *Server) Read(ctx context.Context, person, query string) (*Request, error) {
	if !s.IsOn() {
		return nil, llm.Errorf(llm.CodeNotFound, "This gateway has no OAuth. Set its public_url to an "+
			"address with https.")
	}
	q, err := parse(query)
	if err != nil {
		return nil, llm.Invalidf("", "The program's request is invalid: %s. Begin anew in the program.", err)
	}
	r := &Request{
		Redirect: q.Get("redirect_uri"), Query: query, state: q.Get("state"), challenge: q.Get("code_challenge"),
	}
	if r.Client, err = s.client(ctx, person, q.Get("client_id")); err != nil {
		return nil, err
	}
	if r.Redirect == "" && len(r.Client.Redirects) == 1 {
		r.Redirect = r.Client.Redirects[0]
	}
	if !r.Client.permits(r.Redirect) {
		return nil, llm.Invalidf("redirect_uri", "The address %.200q is none of those at which the program %q gets "+
			"answers. Do not go on if you did not begin this in the program.", r.Redirect, r.Client.Name)
	}
	if code, text := s.check(r, q); code != "" {
		return nil, s.refuse(r, code, text)
	}
	return r, nil
}

// parse parses the parameters of a request. None may appear twice (RFC 6749, section 3.1).
func parse(query string) (url.Values, error) {
	q, err := url.ParseQuery(query)
	if err != nil {
		return nil, errors.New("its parameters cannot be read")
	}
	for name, values := range q {
		if len(values) > 1 && name != "resource" {
			return nil, fmt.Errorf("the parameter %.100q appears twice", name)
		}
	}
	return q, nil
}

// check returns the code and the text of an error of the request; empty for none.
func (s *Server) check(r *Request, q url.Values) (code, text string) {
	if q.Get("response_type") != "code" {
		return "unsupported_response_type", "response_type must be code"
	}
	if mode := q.Get("response_mode"); mode != "" && mode != "query" {
		return codeInvalid, "response_mode must be query"
	}
	if raw, err := base64.RawURLEncoding.DecodeString(r.challenge); err != nil || len(raw) != sha256.Size ||
		len(r.challenge) != challengeLength || q.Get("code_challenge_method") != "S256" {
		return codeInvalid, "code_challenge and code_challenge_method=S256 are required (PKCE, RFC 7636)"
	}
	if scope := q.Get("scope"); scope != "" && !hasScope(scope) {
		return "invalid_scope", "the only scope is " + Scope
	}
	r.resource = q.Get("resource")
	if r.resource == "" {
		r.resource = s.issuer + ToolsPath // revision 2025-03-26 has no resource
	}
	if r.Path = s.pathOf(r.resource); r.Path == "" || len(q["resource"]) > 1 {
		return codeTarget, "resource must be the one address of the tools, such as " + s.issuer + ToolsPath
	}
	return "", ""
}

func hasScope(scope string) bool {
	for word := range strings.SplitSeq(scope, " ") {
		if word == Scope {
			return true
		}
	}
	return false
}

// answer returns the program's address with the parameters of an answer.
func (s *Server) answer(r *Request, parameters ...string) string {
	u, _ := url.Parse(r.Redirect) // checked
	q := u.Query()
	for i := 0; i < len(parameters); i += 2 {
		q.Set(parameters[i], parameters[i+1])
	}
	if q.Set("iss", s.issuer); r.state != "" { // RFC 9207
		q.Set("state", r.state)
	}
	u.RawQuery = q.Encode()
	return u.String()
}

func (s *Server) refuse(r *Request, code, text string) *Refusal {
	return &Refusal{To: s.answer(r, "error", code, "error_description", text), Text: text}
}

// Deny returns the program's address for a person who refuses.
func (s *Server) Deny(r *Request) string {
	return s.refuse(r, "access_denied", "the person refused").To
}

// Grant creates the key of a person for the program, which is valid from the moment at which the program sends the code
// back, and returns the program's address with the code. The person must have the right people.Use in the account. The
// error is a *llm.Error.
func (s *Server) Grant(ctx context.Context, by audit.Actor, v *people.Visitor, accountID string, r *Request) (
	string, error,
) {
	user := v.User()
	if user == nil || v.Role(accountID) == "" {
		return "", llm.Errorf(llm.CodeForbidden, "Only members of an account can grant a program access to it.")
	}
	if err := v.May(people.Use, accountID); err != nil {
		return "", err
	}
	now := s.o.Now()
	k, _, err := s.o.Accounts.CreateKey(ctx, by, account.KeyOptions{
		Account: accountID, Label: r.Client.Name, Permissions: []account.Permission{account.Tools}, ExpiresIn: codeFor,
		Creator: user.ID, Client: r.Client.identity(r.Redirect), Resource: r.Path, Bounded: true,
	})
	if err != nil {
		return "", err
	}
	code, hash := people.NewToken()
	err = s.o.Store.AddGrant(ctx, &Grant{
		Key: k.ID, User: user.ID, Client: seal.Digest(r.Client.ID), Redirect: r.Redirect, Challenge: r.challenge,
		Resource: r.resource, Code: hash, Created: now, Until: now.Add(codeFor),
	})
	if err != nil {
		return "", fmt.Errorf("add grant: %w", err)
	}
	return s.answer(r, "code", code.Reveal()), nil
}

// identity returns the host that identifies a program: of its document, or else of the address for answers.
func (c *Client) identity(redirect string) string {
	if c.Host != "" {
		return c.Host
	}
	u, _ := url.Parse(redirect) // checked
	return cmp.Or(u.Hostname(), u.Scheme)
}

// RedirectHost returns the host, or the scheme of a program, that receives the answer, and reports whether that is on
// the person's own machine.
func (r *Request) RedirectHost() (host string, local bool) {
	u, _ := url.Parse(r.Redirect) // checked
	return cmp.Or(u.Hostname(), u.Scheme), isPrivateUse(u) || isLoopback(u.Hostname())
}

// FormTarget returns the source of a Content-Security-Policy that permits the answer to a form to lead to the program.
func (r *Request) FormTarget() string { return formTarget(r.Redirect) }

// FormTarget is that of the request.
func (r *Refusal) FormTarget() string { return formTarget(r.To) }

func formTarget(address string) string {
	u, _ := url.Parse(address)                          // checked
	if u.Host == "" || strings.HasPrefix(u.Host, "[") { // the grammar has no IPv6 addresses
		return u.Scheme + ":"
	}
	return u.Scheme + "://" + u.Host
}
