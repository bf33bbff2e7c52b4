package oauth

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"weir/internal/account"
	"weir/internal/audit"
)

const (
	// Scope is the only scope: to list and to call tools. It is also the permission of the keys.
	Scope = string(account.Tools)
	// codeFor is how long an authorization code is valid, and accessFor an access token.
	codeFor, accessFor = time.Minute, time.Hour
	// overlap is how long an access token stays valid after its renewal, for requests that are on their way.
	overlap = time.Minute
	// refreshFor is how long a grant lasts without use, and grantFor in any case.
	refreshFor, grantFor = 30 * 24 * time.Hour, 180 * 24 * time.Hour
)

// These paths are below the public address.
const (
	ToolsPath     = "/mcp"
	AuthorizePath = "/oauth/authorize"
	TokenPath     = "/oauth/token"
	RegisterPath  = "/oauth/register"
	RevokePath    = "/oauth/revoke"
	ResourcePath  = "/.well-known/oauth-protected-resource"
	ServerPath    = "/.well-known/oauth-authorization-server"
)

// Options configures a Server. All are required except Through.
type Options struct {
	// PublicURL is the address of the gateway, and its issuer; empty to have no authorization server.
	PublicURL string
	Accounts  *account.Service
	Store     Store
	// Seal and Open encrypt and decrypt the ids of registered programs, as seal.Ring does.
	Seal func(ctx context.Context, text []byte, about string) (string, error)
	Open func(sealed, about string) ([]byte, error)
	// Proxy and CAFile are those of outgoing connections: see outbound.
	Proxy, CAFile string
	// Through replaces the connections to programs' documents, for tests.
	Through http.RoundTripper
	Now     func() time.Time
	Log     *slog.Logger
}

// These errors are returned by stores.
var (
	ErrNotFound = errors.New("oauth: not found")
	// ErrReused is returned for a code or a refresh token that was used before. The grant has ended.
	ErrReused = errors.New("oauth: the code or the token was used before")
)

// Store stores grants.
type Store interface {
	// AddGrant adds a grant.
	AddGrant(ctx context.Context, g *Grant) error
	// UseGrant gives the grant's key a new token, if check accepts the grant. It returns ErrNotFound if there is no
	// such grant or its key is revoked, ErrReused, and the error of check.
	UseGrant(ctx context.Context, u *Use, check func(*Grant) error) (Grant, error)
	// EndGrant revokes the key of a grant by one of its tokens, if the program is the grant's. It returns the id of the
	// key; empty if it revoked none.
	EndGrant(ctx context.Context, by audit.Actor, t Revoked, client string) (key string, err error)
}

// Grant is a program's access for a person.
type Grant struct {
	Key       string // id
	User      string // id
	Client    string // hash of the program's id
	Redirect  string
	Challenge string
	Resource  string // address that the tokens are for
	Code      account.Hash
	Created   time.Time
	Until     time.Time // when the code, or the newest refresh token, expires
}

// Revoked is the token by which a program ends its access: one of the two.
type Revoked struct {
	Family account.Hash // shared part of a refresh token
	Access account.Hash // access token, the current one or the one before
}

// Use replaces a code or a refresh token by new tokens.
type Use struct {
	Code account.Hash // of a code; zero for a refresh token
	// Family and Refresh are the parts of a refresh token: the shared one and its own.
	Family, Refresh account.Hash
	Next            Tokens
	By              audit.Actor // ends the grant if the token was used before
}

// Tokens are new tokens, of which the store has only hashes.
type Tokens struct {
	Access          account.Rotation
	Expires         time.Time // of the access token
	Family, Refresh account.Hash
	RefreshFor      time.Duration // of the refresh token, from now
	GrantFor        time.Duration // of all refresh tokens, since the grant
	Now             time.Time
}

// Server is the authorization server. Its methods may be called concurrently.
type Server struct {
	o       Options
	issuer  string // empty if it is off
	clients *documents
}

// New returns a server. Without a public address that protects tokens it is off.
func New(o Options) (*Server, error) {
	clients, err := newDocuments(&o)
	if err != nil {
		return nil, err
	}
	s := &Server{o: o, clients: clients}
	if u, err := url.Parse(o.PublicURL); err == nil && u.Path == "" && isProtected(u) {
		s.issuer = o.PublicURL
	}
	return s, nil
}

// isProtected reports whether others cannot read what is sent to an address.
func isProtected(u *url.URL) bool {
	return u.Scheme == "https" || u.Scheme == "http" && isLoopback(u.Hostname())
}

// IsOn reports whether there is an authorization server.
func (s *Server) IsOn() bool { return s.issuer != "" }

// Challenge returns the value of WWW-Authenticate for a request to a path of tools that has no valid token (RFC 9728,
// section 5.1).
func (s *Server) Challenge(path string, sent bool) string {
	if !s.IsOn() {
		return "Bearer"
	}
	if s.pathOf(s.issuer+path) == "" {
		path = ToolsPath
	}
	text := `Bearer resource_metadata="` + s.issuer + ResourcePath + path + `", scope="` + Scope + `"`
	if sent {
		text += `, error="invalid_token"`
	}
	return text
}

// pathOf returns the path of a resource; empty if it is none of this server's.
func (s *Server) pathOf(resource string) string {
	path, ok := strings.CutPrefix(resource, s.issuer)
	if !ok || path != ToolsPath && !isBundle(path) {
		return ""
	}
	return path
}

// isBundle reports whether a path is that of a bundle of tools. Whether there is one depends on the account.
func isBundle(path string) bool {
	name, ok := strings.CutPrefix(path, ToolsPath+"/")
	const letters = "abcdefghijklmnopqrstuvwxyz0123456789-_."
	return ok && name != "" && len(name) <= 64 && strings.Trim(name, letters) == ""
}
