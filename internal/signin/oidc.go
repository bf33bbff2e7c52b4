package signin

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"weir/internal/account"
	"weir/internal/llm"
	"weir/internal/outbound"
	"weir/internal/people"
	"weir/internal/seal"
)

// OIDCOptions configures an OpenID Connect provider (OpenID Connect Core 1.0, Discovery 1.0).
type OIDCOptions struct {
	Issuer       string
	ClientID     string
	ClientSecret llm.Secret // also seals the state that the browser stores during a sign-in
	Name         string     // label of the button; empty for "single sign-on"
	Scopes       []string   // empty for openid, profile and email
	GroupsClaim  string     // empty for "groups"
	// Operators are the groups of operators. If it is empty, groups do not affect the operator role.
	Operators []string
	// Accounts maps each account's name to the groups of each role. A user in none of an account's groups leaves the
	// account.
	Accounts map[string]map[people.Role][]string
	// SignUp admits every person that the provider knows, not only users and invited people.
	SignUp bool
	Proxy  string // in the form of outbound.ParseProxy; empty for none
	CAFile string // PEM file of authorities in addition to the system's; empty for none
}

const (
	oidcTimeout   = 10 * time.Second // per request to the provider
	oidcMaxBody   = 1 << 20
	oidcMaxHeader = 64 << 10
	maxFlow       = 4096 // bytes of the state in the browser
	maxNext       = 1024 // bytes of the path to return to
	callbackPath  = "/oidc/callback"
)

// OIDCFor is the longest time that a sign-in at the provider may take.
const OIDCFor = 10 * time.Minute

// OIDC is a client of an OpenID Connect provider. It fetches the discovery document when it first needs it, and again
// until that succeeds.
type OIDC struct {
	options OIDCOptions
	client  *http.Client
	found   chan *oidc.Provider // holds the discovered provider or nil; a caller takes it out while it uses it
}

// NewOIDC returns a client. It does not connect to the provider.
func NewOIDC(o OIDCOptions) (*OIDC, error) {
	if o.Name == "" {
		o.Name = "single sign-on"
	}
	if len(o.Scopes) == 0 {
		o.Scopes = []string{oidc.ScopeOpenID, "profile", "email"}
	}
	if o.GroupsClaim == "" {
		o.GroupsClaim = "groups"
	}
	transport, err := oidcTransport(&o)
	if err != nil {
		return nil, err
	}
	p := &OIDC{options: o, found: make(chan *oidc.Provider, 1), client: &http.Client{
		Timeout: oidcTimeout, Transport: &remembering{next: bounded{transport}},
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return errors.New("the single sign-on provider redirected a request that it must answer directly")
		},
	}}
	p.found <- nil
	return p, nil
}

func oidcTransport(o *OIDCOptions) (*http.Transport, error) {
	t, err := outbound.Transport(o.Proxy, o.CAFile, oidcTimeout)
	if err != nil {
		return nil, err
	}
	t.ForceAttemptHTTP2, t.MaxResponseHeaderBytes = true, oidcMaxHeader
	t.DisableKeepAlives = true // requests are rare
	return t, nil
}

// bounded limits the size of responses.
type bounded struct{ next http.RoundTripper }

// RoundTrip sends a request and limits the response body to 1 MiB.
func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := b.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	res.Body = struct {
		io.Reader
		io.Closer
	}{io.LimitReader(res.Body, oidcMaxBody), res.Body}
	return res, nil
}

// Close closes idle connections.
func (p *OIDC) Close() { p.client.CloseIdleConnections() }

// provider returns the discovered provider.
func (p *OIDC) provider(ctx context.Context) (*oidc.Provider, error) {
	var known *oidc.Provider
	select {
	case known = <-p.found:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	defer func() { p.found <- known }()
	if known != nil {
		return known, nil
	}
	found, err := oidc.NewProvider(ctx, p.options.Issuer)
	if err != nil {
		return nil, fmt.Errorf("discover %s: %w", p.options.Issuer, err)
	}
	known = found
	return known, nil
}

// during returns the context of an exchange with the provider.
func (p *OIDC) during(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(ctx, 2*oidcTimeout)
	return oidc.ClientContext(ctx, p.client), cancel
}

// flow is the state of a sign-in, which the browser stores sealed while the person is at the provider.
type flow struct {
	State    string    `json:"state"`
	Nonce    string    `json:"nonce"`
	Verifier string    `json:"verifier"` // of PKCE (RFC 7636)
	Next     string    `json:"next"`
	Until    time.Time `json:"until"`
}

// seal encrypts a flow so that only this installation can read it.
func (p *OIDC) seal(f *flow) (llm.Secret, error) {
	text, err := json.Marshal(f)
	if err != nil {
		return llm.Secret{}, err
	}
	box, err := seal.New(p.options.ClientSecret.Reveal(), p.options.Issuer, "single sign-on")
	if err != nil {
		return llm.Secret{}, err
	}
	return llm.NewSecret(base64.RawURLEncoding.EncodeToString(box.Seal(nil, nil, text, nil))), nil
}

// open decrypts the result of seal, unless it has expired.
func (p *OIDC) open(text string, now time.Time) (f flow, err error) {
	if len(text) > maxFlow {
		return f, errors.New("too long")
	}
	sealed, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return f, err
	}
	box, err := seal.New(p.options.ClientSecret.Reveal(), p.options.Issuer, "single sign-on")
	if err != nil {
		return f, err
	}
	plain, err := box.Open(nil, nil, sealed, nil)
	if err != nil {
		return f, err
	}
	if err := json.Unmarshal(plain, &f); err != nil {
		return f, err
	}
	if !now.Before(f.Until) {
		return f, errors.New("too old")
	}
	return f, nil
}

func (p *OIDC) config(found *oidc.Provider, publicURL string) *oauth2.Config {
	return &oauth2.Config{
		ClientID: p.options.ClientID, ClientSecret: p.options.ClientSecret.Reveal(), Endpoint: found.Endpoint(),
		RedirectURL: strings.TrimRight(publicURL, "/") + callbackPath, Scopes: p.options.Scopes,
	}
}

// SingleSignOn signs people in by an OpenID Connect provider, and ends their sessions when the provider ends theirs.
type SingleSignOn struct {
	*base
	oidc      *OIDC // nil for none
	publicURL func() string
	demoted   func()
}

// Name returns the label of the button; empty without single sign-on.
func (s *SingleSignOn) Name() string {
	if s.oidc == nil {
		return ""
	}
	return s.oidc.options.Name
}

// Gives reports whether groups of single sign-on grant the roles in the named account.
func (s *SingleSignOn) Gives(account string) bool {
	if s.oidc == nil {
		return false
	}
	_, gives := s.oidc.options.Accounts[account]
	return gives
}

func noSSO() error {
	return llm.Errorf(llm.CodeNotFound, "Single sign-on is not configured.")
}

// Start returns the address that the browser goes to for signing in, and the state that it stores in a cookie for
// OIDCFor and returns to Finish. Next is the path to continue at; a path to another site counts as "/". The error is a
// *llm.Error: CodeRateLimited with RetryAfter after many sign-ins from one network.
func (s *SingleSignOn) Start(ctx context.Context, next string, from people.Origin) (address string, state llm.Secret,
	err error,
) {
	if s.oidc == nil {
		return "", state, noSSO()
	}
	if _, err := s.try(ctx, oidcMarks("start", from.Address)); err != nil {
		return "", state, err
	}
	ctx, cancel := s.oidc.during(ctx)
	defer cancel()
	found, err := s.oidc.provider(ctx)
	if err != nil {
		return "", state, unreachable(err)
	}
	if len(next) > maxNext {
		next = "/"
	}
	f := flow{
		State: rand.Text(), Nonce: rand.Text(), Verifier: oauth2.GenerateVerifier(), Next: LocalPath(next),
		Until: s.now().Add(OIDCFor),
	}
	if state, err = s.oidc.seal(&f); err != nil {
		return "", state, fmt.Errorf("begin single sign-on: %w", err)
	}
	return s.oidc.config(found, s.publicURL()).AuthCodeURL(f.State, oidc.Nonce(f.Nonce), oauth2.S256ChallengeOption(
		f.Verifier)), state, nil
}

// Finish signs in a person who returns from the provider. State is the browser's state from Start; query is the
// provider's query string. The error is a *llm.Error: CodeForbidden for a person who is neither known nor invited, and
// for an address that the provider has not verified; CodeRateLimited with RetryAfter after many failures from one
// network.
func (s *SingleSignOn) Finish(ctx context.Context, state string, query url.Values, from people.Origin) (
	session llm.Secret, next string, err error,
) {
	if s.oidc == nil {
		return session, "", noSSO()
	}
	if _, err := s.try(ctx, oidcMarks("finish", from.Address)); err != nil {
		return session, "", err
	}
	defer func() {
		if err != nil {
			s.logFailed(people.ByOIDC, "", from, llm.AsError(err).Code)
		}
	}()
	f, err := s.oidc.open(state, s.now())
	if err == nil && subtle.ConstantTimeCompare([]byte(f.State), []byte(query.Get("state"))) != 1 {
		err = errors.New("the states differ")
	}
	if err == nil && query.Has("iss") && query.Get("iss") != s.oidc.options.Issuer { // RFC 9207
		err = errors.New("the answer is from another provider")
	}
	if err != nil {
		return session, "", &llm.Error{
			Code:    llm.CodeInvalidRequest,
			Message: "This sign-in began in another browser or more than ten minutes ago. Sign in again.", Err: err,
		}
	}
	if word := query.Get("error"); word != "" {
		return session, "", &llm.Error{
			Code:    llm.CodeForbidden,
			Message: "The single sign-on provider refused to sign you in.", Err: fmt.Errorf("%.200q: %.500q", word,
				query.Get("error_description")),
		}
	}
	who, err := s.oidc.identify(ctx, &f, query.Get("code"), s.publicURL())
	if err != nil {
		return session, "", err
	}
	if session, err = s.arrive(ctx, who, from); err != nil {
		return session, f.Next, err
	}
	marks := append(oidcMarks("start", from.Address), oidcMarks("finish", from.Address)...)
	if err := s.stores.Throttles.PassSignIn(ctx, marks, s.now()); err != nil { // does not affect the new session
		s.log.Warn("a single sign-on attempt counts as failed", "err", err)
	}
	return session, f.Next, nil
}

// arrive creates a session for an identity.
func (s *SingleSignOn) arrive(ctx context.Context, who *identity, from people.Origin) (llm.Secret, error) {
	if wait := s.changes.take(claim{"oidc " + who.subject, changesOfPerson, personEvery}); wait > 0 {
		return llm.Secret{}, tooMany("You have signed in too often", wait)
	}
	token, n := s.newSession("", people.ByOIDC, from)
	n.SID = who.sid
	by := (*people.Visitor)(nil).Actor(from)
	grants := s.oidc.grants(who.groups)
	_, err := s.stores.Admissions.Arrive(ctx, Arrival{
		Issuer: s.oidc.options.Issuer, Subject: who.subject, Email: who.email, Name: who.name, NewID: account.NewID(),
		SignUp: s.oidc.options.SignUp, Grants: grants, Session: n, By: by,
	})
	if err == nil && grants.Operator != nil && !*grants.Operator {
		s.demoted()
	}
	switch {
	case err == nil:
		return token, nil
	case errors.Is(err, people.ErrDisabled):
		return llm.Secret{}, disabled()
	case errors.Is(err, people.ErrNotFound) && who.email == "":
		return llm.Secret{}, llm.Errorf(llm.CodeForbidden, "The single sign-on provider has not verified your "+
			"e-mail address. Verify it there, then sign in again.")
	case errors.Is(err, people.ErrNotFound):
		return llm.Secret{}, llm.Errorf(llm.CodeForbidden, "%s is not a user of this installation. "+
			"Ask for an invitation.", who.email)
	case errors.Is(err, people.ErrTaken):
		return llm.Secret{}, llm.Errorf(llm.CodeForbidden, "%s belongs to a user with another identity at "+
			"the same provider. Ask an operator.", who.email)
	}
	return llm.Secret{}, fmt.Errorf("sign in by single sign-on: %w", err)
}
