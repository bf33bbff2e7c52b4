package connection

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/net/publicsuffix"
)

// wellKnown is before the path of a server in the usual address of its description (RFC 9728, section 3.1).
const wellKnown = "/.well-known/oauth-protected-resource"

// offline is the scope by which some authorization servers give refresh tokens.
const offline = "offline_access"

// found is what a server and its authorization server say about the access to it.
type found struct {
	issuer   *oauthex.AuthServerMeta
	resource string   // identifier of the server
	wanted   []string // scopes of its refusal
	known    []string // all its scopes
}

// discover finds the authorization server of a server.
func discover(ctx context.Context, c *http.Client, of *Server) (*found, error) {
	refused, err := challenge(ctx, c, of)
	if err != nil {
		return nil, err
	}
	described, err := describe(ctx, c, of, refused)
	switch {
	case err != nil && refused.named == "":
		return undescribed(ctx, c, of, refused, err)
	case err != nil:
		return nil, errors.Join(reason("it has no description of its protection (RFC 9728) for its url"), err)
	case len(described.AuthorizationServers) == 0:
		return nil, reason("it names no authorization server")
	case of.Issuer != "" && !slices.Contains(described.AuthorizationServers, of.Issuer):
		return nil, reason("it names another authorization server than issuer")
	}
	issuer := described.AuthorizationServers[0]
	if of.Issuer != "" {
		issuer = of.Issuer
	}
	about, err := auth.GetAuthServerMetadata(ctx, issuer, c)
	if err != nil {
		return nil, err
	}
	if about == nil || !slices.Contains(about.CodeChallengeMethodsSupported, "S256") {
		return nil, reason("its authorization server has no metadata (RFC 8414), or no PKCE with S256")
	}
	if of.Issuer == "" && !isOfOneSite(about.Issuer, about.AuthorizationEndpoint, about.TokenEndpoint) {
		return nil, reason("its authorization server has addresses at other sites than its own: if you trust these, " +
			"set issuer in the server's entry, to the address that its operator publishes")
	}
	return &found{about, described.Resource, refused.scopes, described.ScopesSupported}, nil
}

// undescribed finds the authorization server of a server of the revision 2025-03-26, which has no description: it is at
// the origin of the server, with metadata or with the usual addresses
// (https://modelcontextprotocol.io/specification/2025-03-26/basic/authorization, read on 2026-11-30).
func undescribed(ctx context.Context, c *http.Client, of *Server, r *refused, why error) (*found, error) {
	why = errors.Join(reason("it has no description of its protection (RFC 9728) for its url"), why)
	origin := originOf(of.URL)
	if r.status != http.StatusUnauthorized || of.Issuer != "" && of.Issuer != origin {
		return nil, why
	}
	about, err := auth.GetAuthServerMetadata(ctx, origin, c)
	switch {
	case err != nil:
		return nil, errors.Join(why, err)
	case about == nil:
		about = &oauthex.AuthServerMeta{
			Issuer: origin, AuthorizationEndpoint: origin + "/authorize", TokenEndpoint: origin + "/token",
			RegistrationEndpoint: origin + "/register",
		}
	case of.Issuer == "" && !isOfOneSite(origin, about.AuthorizationEndpoint, about.TokenEndpoint):
		return nil, why
	}
	return &found{issuer: about, resource: of.URL, wanted: r.scopes}, nil
}

// refused is a server's answer to a request without a token.
type refused struct {
	status int
	named  string   // the address of its description that it names; empty for none
	scopes []string // that it wants
}

// challenge asks the server without a token.
func challenge(ctx context.Context, c *http.Client, of *Server) (*refused, error) {
	const ask = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, of.URL, strings.NewReader(ask))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	response, err := c.Do(r)
	if err != nil {
		return nil, errors.Join(reason("it cannot be reached"), err)
	}
	_ = response.Body.Close() // it is not read
	all, err := oauthex.ParseWWWAuthenticate(response.Header.Values("WWW-Authenticate"))
	if err != nil {
		all = nil // the description may be at its usual address
	}
	answer := &refused{status: response.StatusCode}
	for _, one := range all {
		if one.Scheme != "bearer" {
			continue
		}
		if address := one.Params["resource_metadata"]; address != "" && answer.named == "" {
			answer.named = address
		}
		if answer.scopes == nil {
			answer.scopes = strings.Fields(one.Params["scope"])
		}
	}
	return answer, nil
}

// describe reads the description of a server. A description of the whole origin counts only at the origin's address,
// which who serves another path there cannot choose.
func describe(ctx context.Context, c *http.Client, of *Server, r *refused) (
	described *oauthex.ProtectedResourceMetadata, err error,
) {
	u, err := url.Parse(of.URL)
	if err != nil {
		return nil, err
	}
	origin := originOf(of.URL)
	at := []string{r.named}
	if r.named == "" {
		at = slices.Compact([]string{origin + wellKnown + strings.TrimSuffix(u.Path, "/"), origin + wellKnown})
	}
	for _, address := range at {
		resources := []string{of.URL}
		if address == origin+wellKnown {
			resources = append(resources, origin, origin+"/")
		}
		for _, resource := range resources {
			if described, err = oauthex.GetProtectedResourceMetadata(ctx, address, resource, c); err == nil {
				return described, nil
			}
		}
	}
	return nil, err
}

func originOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Scheme + "://" + u.Host
}

// revocation returns where the issuer revokes tokens; empty if that is nowhere, or at a site that gets no other tokens.
func (f *found) revocation() string {
	if at := f.issuer.RevocationEndpoint; at != "" && isOfOneSite(f.issuer.TokenEndpoint, at) {
		return at
	}
	return ""
}

// scopesFor returns the scopes to ask for: those that the operator has set, or those that the server wants, together
// with those of the access that is replaced.
func (f *found) scopesFor(of *Server, last access) []string {
	if len(of.Scopes) > 0 {
		return of.Scopes
	}
	scopes := f.wanted
	if len(scopes) == 0 {
		scopes = f.known
	}
	scopes = slices.Clone(scopes)
	if last.Issuer == f.issuer.Issuer {
		scopes = union(scopes, last.Scopes, last.Wanted)
	}
	if slices.Contains(f.issuer.ScopesSupported, offline) {
		scopes = union(scopes, []string{offline})
	}
	return scopes
}

// union returns all scopes, each once.
func union(scopes []string, more ...[]string) []string {
	for _, scope := range slices.Concat(more...) {
		if !slices.Contains(scopes, scope) {
			scopes = append(scopes, scope)
		}
	}
	return scopes
}

// lastAccess returns the access of a stored connection to a server; the zero value if there is none.
func (s *Service) lastAccess(of *Server, last *Row) (a access) {
	if last == nil || last.Resource != of.URL {
		return a
	}
	t, err := s.open(last)
	if err != nil {
		return a // another connection replaces one that cannot be read
	}
	return t.access
}

// open decrypts the tokens of a connection.
func (s *Service) open(row *Row) (*tokens, error) {
	text, err := s.o.Open(row.Sealed, AboutTokens(row.Server, row.Who))
	t := new(tokens)
	if err == nil {
		err = json.Unmarshal(text, t)
	}
	return t, err
}

// isOfOneSite reports whether addresses are of one registrable domain, or of one host if they have none. Otherwise a
// server could lead people to the authorization server of another, and get the code at an address of its own.
func isOfOneSite(addresses ...string) bool {
	first := siteOf(addresses[0])
	return first != "" && !slices.ContainsFunc(addresses, func(other string) bool { return siteOf(other) != first })
}

// siteOf returns the registrable domain of an address; otherwise its host with the port.
func siteOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	if _, err := netip.ParseAddr(u.Hostname()); err != nil {
		if domain, err := publicsuffix.EffectiveTLDPlusOne(strings.ToLower(u.Hostname())); err == nil {
			return domain
		}
	}
	return strings.ToLower(u.Host)
}
