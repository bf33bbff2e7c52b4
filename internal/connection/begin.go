package connection

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"

	"weir/internal/llm"
)

// PendingFor is how long a person may take to consent.
const PendingFor = 10 * time.Minute

// pending is what the browser keeps, encrypted, while its person consents elsewhere.
type pending struct {
	Server   string    `json:"server"`
	URL      string    `json:"url"` // of the server
	Who      string    `json:"who"`
	Session  string    `json:"session"` // id of the person's session here
	State    string    `json:"state"`
	Verifier string    `json:"verifier"`
	NamesIss bool      `json:"names_iss"` // the issuer says that it names itself in answers
	Until    time.Time `json:"until"`
	access
}

// access is what is needed to get tokens.
type access struct {
	Resource string `json:"resource"` // identifier of what the tokens are for
	Issuer   string `json:"issuer"`
	TokenURL string `json:"token_url"`
	// RevokeURL is where tokens are revoked (RFC 7009); empty for nowhere.
	RevokeURL string           `json:"revocation_url,omitempty"`
	ClientID  string           `json:"client_id"`
	Secret    string           `json:"client_secret,omitempty"`
	Style     oauth2.AuthStyle `json:"style"`
	Scopes    []string         `json:"scopes,omitempty"`
	// Wanted are further scopes that the server has asked for since.
	Wanted []string `json:"wanted,omitempty"`
}

const pendingAbout = "mcp connection begun"

// Begin returns the address at which a person consents that this installation uses a server for them, or for all if who
// is empty, and a text for the browser to keep until Finish. Session is the id of the person's session here, and last
// the connection that another one replaces, whose access the new one has, too; nil for none. The error is a *llm.Error.
func (s *Service) Begin(ctx context.Context, of *Server, who, session string, last *Row) (
	address string, keep llm.Secret, err error,
) {
	if !s.IsOn() {
		return "", keep, llm.Errorf(llm.CodeInvalidRequest, "Set public_url: the authorization server has to lead "+
			"back here.")
	}
	ctx, cancel := context.WithTimeout(ctx, 3*askFor)
	defer cancel()
	c, err := s.client(of)
	if err != nil {
		return "", keep, err
	}
	p := pending{
		Server: of.Name, URL: of.URL, Who: who, Session: session, State: rand.Text(),
		Verifier: oauth2.GenerateVerifier(), Until: s.o.Now().Add(PendingFor),
	}
	found, err := discover(ctx, c, of)
	if err != nil {
		return "", keep, s.failed(of, err)
	}
	p.NamesIss = found.issuer.AuthorizationResponseIssParameterSupported
	p.access = access{
		Resource: found.resource, Issuer: found.issuer.Issuer, TokenURL: found.issuer.TokenEndpoint,
		Scopes: found.scopesFor(of, s.lastAccess(of, last)), RevokeURL: found.revocation(),
	}
	if err := s.register(ctx, c, of, found.issuer, &p.access); err != nil {
		return "", keep, s.failed(of, err)
	}
	text, err := json.Marshal(p)
	if err != nil {
		return "", keep, err
	}
	sealed, err := s.o.Seal(ctx, text, pendingAbout)
	config := p.config(s.callback(of.Name))
	config.Endpoint.AuthURL = found.issuer.AuthorizationEndpoint
	return config.AuthCodeURL(p.State, oauth2.S256ChallengeOption(p.Verifier), oauth2.SetAuthURLParam("resource",
		p.Resource)), llm.NewSecret(sealed), err
}

// callback returns the address for answers about a server.
func (s *Service) callback(server string) string { return s.o.PublicURL + CallbackPath(server) }

func (a *access) config(redirect string) *oauth2.Config {
	return &oauth2.Config{
		ClientID: a.ClientID, ClientSecret: a.Secret, RedirectURL: redirect, Scopes: a.Scopes,
		Endpoint: oauth2.Endpoint{TokenURL: a.TokenURL, AuthStyle: a.Style},
	}
}

// reason is an error whose text people may read.
type reason string

// Error returns the text.
func (r reason) Error() string { return string(r) }

// failed returns the error for people, without what others have sent.
func (s *Service) failed(of *Server, err error) error {
	text := "the answers of its authorization server are invalid, or it cannot be reached"
	if r, ok := errors.AsType[reason](err); ok {
		text = string(r)
	}
	s.o.Log.Warn("a connection to an MCP server failed", "server", of.Name, "err", err)
	return &llm.Error{
		Code: llm.CodeProviderError, Err: err,
		Message: fmt.Sprintf("The MCP server %q cannot be connected: %s.", of.Name, text),
	}
}

// register sets the id, and the secret, by which the issuer knows this installation: the configured one, the address of
// its description, or that of a registration.
func (s *Service) register(ctx context.Context, c *http.Client, of *Server, found *oauthex.AuthServerMeta,
	a *access,
) error {
	if of.ClientID != "" {
		if found.Issuer != of.Issuer {
			return reason("its issuer is not the configured one")
		}
		a.ClientID, a.Secret = of.ClientID, of.Secret.Reveal()
		a.Style = styleOf(found.TokenEndpointAuthMethodsSupported, a.Secret)
		return nil
	}
	if found.ClientIDMetadataDocumentSupported && strings.HasPrefix(s.o.PublicURL, "https://") {
		a.ClientID, a.Style = s.o.PublicURL+ClientsPath+of.Name, oauth2.AuthStyleInParams
		return nil
	}
	about := AboutClient(of.Name, found.Issuer)
	sealed, err := s.o.Store.Registration(ctx, of.Name, found.Issuer)
	if err == nil {
		var text []byte
		if text, err = s.o.Open(sealed, about); err == nil {
			var known registration
			if err = json.Unmarshal(text, &known); err == nil && known.Redirect == s.callback(of.Name) {
				a.ClientID, a.Secret, a.Style = known.ClientID, known.Secret, known.Style
				return nil
			}
		}
		s.o.Log.Warn("a registration as a client cannot be read, or is for another public_url; another one is made",
			"server", of.Name, "err", err)
	} else if !errors.Is(err, ErrNotFound) {
		return err
	}
	if found.RegistrationEndpoint == "" {
		return reason("its authorization server registers no clients: set client_id and issuer")
	}
	asked := s.description(of.Name)
	asked.TokenEndpointAuthMethod = methodOf(found.TokenEndpointAuthMethodsSupported)
	made, err := oauthex.RegisterClient(ctx, found.RegistrationEndpoint, asked, c)
	if err != nil {
		return err
	}
	a.ClientID, a.Secret = made.ClientID, made.ClientSecret
	a.Style = styleOf([]string{cmp.Or(made.TokenEndpointAuthMethod, asked.TokenEndpointAuthMethod)}, a.Secret)
	text, err := json.Marshal(registration{a.ClientID, a.Secret, a.Style, s.callback(of.Name)})
	if err != nil {
		return err
	}
	if sealed, err = s.o.Seal(ctx, text, about); err != nil {
		return err
	}
	return s.o.Store.Register(ctx, of.Name, found.Issuer, sealed)
}

// registration is a stored registration at an issuer.
type registration struct {
	ClientID string           `json:"client_id"`
	Secret   string           `json:"client_secret,omitempty"`
	Style    oauth2.AuthStyle `json:"style"`
	Redirect string           `json:"redirect_uri"`
}

// description describes this installation as a client for a server. People read the name where they consent.
func (s *Service) description(server string) *oauthex.ClientRegistrationMetadata {
	kind := "web"
	if !strings.HasPrefix(s.o.PublicURL, "https://") { // OpenID Connect Registration 1.0, section 2
		kind = "native"
	}
	return &oauthex.ClientRegistrationMetadata{
		RedirectURIs: []string{s.callback(server)}, TokenEndpointAuthMethod: noSecret, ClientName: "Weir: " + server,
		ClientURI: s.o.PublicURL, GrantTypes: []string{"authorization_code", "refresh_token"},
		ResponseTypes: []string{"code"}, ApplicationType: kind,
	}
}

// Document returns the description of this installation as a client for a server, which is at ClientsPath; nil if no
// server can have the name, or without a public address. It does not show which servers there are.
func (s *Service) Document(server string) any {
	const letters, most = "abcdefghijklmnopqrstuvwxyz0123456789-", 32
	if !s.IsOn() || len(server) > most || strings.Trim(server, letters) != "" {
		return nil
	}
	return struct {
		ClientID string `json:"client_id"`
		*oauthex.ClientRegistrationMetadata
	}{s.o.PublicURL + ClientsPath + server, s.description(server)}
}

// noSecret is the method of a client that authenticates itself by PKCE only.
const noSecret = "none"

// methodOf returns the method to register with, by those that the token endpoint supports.
func methodOf(supported []string) string {
	for _, method := range []string{noSecret, "client_secret_basic", "client_secret_post"} {
		if slices.Contains(supported, method) {
			return method
		}
	}
	return noSecret
}

// styleOf returns how a client sends its secret, by the methods that the token endpoint supports.
func styleOf(methods []string, secret string) oauth2.AuthStyle {
	if secret != "" && (len(methods) == 0 || slices.Contains(methods, "client_secret_basic")) {
		return oauth2.AuthStyleInHeader
	}
	return oauth2.AuthStyleInParams
}
