package connection

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"

	"weir/internal/llm"
)

// PendingFor is how long a person may take to consent.
const PendingFor = 10 * time.Minute

// pending is what the browser keeps, encrypted, while its person consents elsewhere.
type pending struct {
	Server   string    `json:"server"`
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
	Resource string           `json:"resource"`
	Issuer   string           `json:"issuer"`
	TokenURL string           `json:"token_url"`
	ClientID string           `json:"client_id"`
	Secret   string           `json:"client_secret,omitempty"`
	Style    oauth2.AuthStyle `json:"style"`
	Scopes   []string         `json:"scopes,omitempty"`
}

const pendingAbout = "mcp connection begun"

// Begin returns the address at which a person consents that this installation uses a server for them, or for all if who
// is empty, and a text for the browser to keep until Finish. Session is the id of the person's session here. The error
// is a *llm.Error.
func (s *Service) Begin(ctx context.Context, of *Server, who, session string) (address string, keep llm.Secret,
	err error,
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
		Server: of.Name, Who: who, Session: session, State: rand.Text(), Verifier: oauth2.GenerateVerifier(),
		Until: s.o.Now().Add(PendingFor),
	}
	found, scopes, err := s.discover(ctx, c, of)
	if err != nil {
		return "", keep, s.failed(of, err)
	}
	p.NamesIss = found.AuthorizationResponseIssParameterSupported
	p.access = access{Resource: of.URL, Issuer: found.Issuer, TokenURL: found.TokenEndpoint, Scopes: scopes}
	if err := s.register(ctx, c, of, found, &p.access); err != nil {
		return "", keep, s.failed(of, err)
	}
	text, err := json.Marshal(p)
	if err != nil {
		return "", keep, err
	}
	sealed, err := s.o.Seal(ctx, text, pendingAbout)
	config := p.config(s.o.PublicURL)
	config.Endpoint.AuthURL = found.AuthorizationEndpoint
	return config.AuthCodeURL(p.State, oauth2.S256ChallengeOption(p.Verifier), oauth2.SetAuthURLParam("resource",
		p.Resource)), llm.NewSecret(sealed), err
}

func (a *access) config(public string) *oauth2.Config {
	return &oauth2.Config{
		ClientID: a.ClientID, ClientSecret: a.Secret, RedirectURL: public + CallbackPath, Scopes: a.Scopes,
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

// discover finds the authorization server, and the scopes to ask for.
func (s *Service) discover(ctx context.Context, c *http.Client, of *Server) (
	found *oauthex.AuthServerMeta, scopes []string, err error,
) {
	at, scopes, err := challenge(ctx, c, of)
	if err != nil {
		return nil, nil, err
	}
	var described *oauthex.ProtectedResourceMetadata
	for _, address := range at {
		if described, err = oauthex.GetProtectedResourceMetadata(ctx, address, of.URL, c); err == nil {
			break
		}
	}
	switch {
	case err != nil:
		return nil, nil, errors.Join(reason("it has no description of its protection (RFC 9728) for its url"), err)
	case len(described.AuthorizationServers) == 0:
		return nil, nil, reason("it names no authorization server")
	case of.Issuer != "" && !slices.Contains(described.AuthorizationServers, of.Issuer):
		return nil, nil, reason("it names another authorization server than issuer")
	}
	issuer := described.AuthorizationServers[0]
	if of.Issuer != "" {
		issuer = of.Issuer
	}
	if found, err = auth.GetAuthServerMetadata(ctx, issuer, c); err != nil {
		return nil, nil, err
	}
	if found == nil || !slices.Contains(found.CodeChallengeMethodsSupported, "S256") {
		return nil, nil, reason("its authorization server has no metadata (RFC 8414), or no PKCE with S256")
	}
	switch {
	case len(of.Scopes) > 0:
		scopes = of.Scopes
	case len(scopes) == 0:
		scopes = described.ScopesSupported
	}
	return found, scopes, nil
}

// challenge asks the server without a token. It returns the addresses at which its description may be, and the scopes
// that it wants.
func challenge(ctx context.Context, c *http.Client, of *Server) (at, scopes []string, err error) {
	const ask = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, of.URL, strings.NewReader(ask))
	if err != nil {
		return nil, nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	response, err := c.Do(r)
	if err != nil {
		return nil, nil, errors.Join(reason("it cannot be reached"), err)
	}
	_ = response.Body.Close() // it is not read
	all, err := oauthex.ParseWWWAuthenticate(response.Header.Values("WWW-Authenticate"))
	if err != nil {
		all = nil // the description may be at its usual address
	}
	for _, one := range all {
		if address := one.Params["resource_metadata"]; one.Scheme == "bearer" && address != "" {
			at, scopes = append(at, address), strings.Fields(one.Params["scope"])
		}
	}
	if len(at) > 0 {
		return at[:1], scopes, nil
	}
	u, err := url.Parse(of.URL)
	if err != nil {
		return nil, nil, err
	}
	const usual = "/.well-known/oauth-protected-resource"
	root := u.Scheme + "://" + u.Host + usual
	return []string{root + strings.TrimSuffix(u.Path, "/"), root}, nil, nil
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
		a.ClientID, a.Style = s.o.PublicURL+ClientPath, oauth2.AuthStyleInParams
		return nil
	}
	about := AboutClient(of.Name, found.Issuer)
	sealed, err := s.o.Store.Registration(ctx, of.Name, found.Issuer)
	if err == nil {
		var text []byte
		if text, err = s.o.Open(sealed, about); err == nil {
			var known access
			if err = json.Unmarshal(text, &known); err == nil {
				a.ClientID, a.Secret, a.Style = known.ClientID, known.Secret, known.Style
				return nil
			}
		}
		s.o.Log.Warn("a registration as a client cannot be read; another one is made", "server", of.Name, "err", err)
	} else if !errors.Is(err, ErrNotFound) {
		return err
	}
	if found.RegistrationEndpoint == "" {
		return reason("its authorization server registers no clients: set client_id and issuer")
	}
	made, err := oauthex.RegisterClient(ctx, found.RegistrationEndpoint, s.description(), c)
	if err != nil {
		return err
	}
	a.ClientID, a.Secret = made.ClientID, made.ClientSecret
	a.Style = styleOf([]string{made.TokenEndpointAuthMethod}, a.Secret)
	text, err := json.Marshal(access{ClientID: a.ClientID, Secret: a.Secret, Style: a.Style})
	if err != nil {
		return err
	}
	if sealed, err = s.o.Seal(ctx, text, about); err != nil {
		return err
	}
	return s.o.Store.Register(ctx, of.Name, found.Issuer, sealed)
}

// description describes this installation as a client.
func (s *Service) description() *oauthex.ClientRegistrationMetadata {
	return &oauthex.ClientRegistrationMetadata{
		RedirectURIs: []string{s.o.PublicURL + CallbackPath}, TokenEndpointAuthMethod: "none", ClientName: "Weir",
		ClientURI: s.o.PublicURL, GrantTypes: []string{"authorization_code", "refresh_token"},
		ResponseTypes: []string{"code"},
	}
}

// Document returns the description of this installation, which is at ClientPath.
func (s *Service) Document() any {
	return map[string]any{
		"client_id": s.o.PublicURL + ClientPath, "client_name": "Weir", "client_uri": s.o.PublicURL,
		"redirect_uris": []string{s.o.PublicURL + CallbackPath}, "token_endpoint_auth_method": "none",
		"grant_types": []string{"authorization_code", "refresh_token"}, "response_types": []string{"code"},
	}
}

// styleOf returns how a client sends its secret, by the methods that the token endpoint supports.
func styleOf(methods []string, secret string) oauth2.AuthStyle {
	if secret != "" && (len(methods) == 0 || slices.Contains(methods, "client_secret_basic")) {
		return oauth2.AuthStyleInHeader
	}
	return oauth2.AuthStyleInParams
}
