// Package connection connects this installation, or a person, to MCP servers by OAuth: it finds the authorization
// server, asks a person to consent there, and keeps the tokens, which it renews
// (https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization, read on 2026-11-29).
package connection

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"weir/internal/llm"
	"weir/internal/outbound"
)

// These paths are below the public address.
const (
	Path = "/connections"
	// ClientsPath and the name of a server are the path of a description of this installation.
	ClientsPath = "/oauth/clients/"
)

// CallbackPath returns the path for answers about a server. Each server has one of its own, so that no authorization
// server accepts that of another (RFC 9700, section 4.4.2.2).
func CallbackPath(server string) string { return Path + "/" + server + "/callback" }

const (
	askFor    = 10 * time.Second // of a request for metadata or tokens
	maxAnswer = 1 << 20          // bytes
)

// Server is an MCP server to which people connect.
type Server struct {
	Name, URL    string
	AllowPrivate bool
	PerPerson    bool   // each person connects; else an operator, for all
	Issuer       string // the only issuer that is accepted; empty for that which the server names
	ClientID     string // at Issuer; empty to register
	Secret       llm.Secret
	Scopes       []string // empty for those that the server names
}

// Options configures a Service.
type Options struct {
	// PublicURL is the address of the gateway; without one nobody can connect.
	PublicURL string
	Store     Store
	// Seal and Open encrypt and decrypt tokens, as seal.Ring does.
	Seal          func(ctx context.Context, text []byte, about string) (string, error)
	Open          func(sealed, about string) ([]byte, error)
	Proxy, CAFile string // see outbound
	Now           func() time.Time
	Log           *slog.Logger
}

// ErrNotFound is returned by stores.
var ErrNotFound = errors.New("connection: not found")

// Store stores connections and registrations. Who is a user's id, or empty for the installation.
type Store interface {
	// Connection returns a connection, or ErrNotFound, also if the user may not use the account.
	Connection(ctx context.Context, server, who, account string) (Row, error)
	// Claim reports whether the caller may renew the tokens of a connection: nobody else does until a time. It sets
	// Claimed.
	Claim(ctx context.Context, r *Row, until time.Time) (bool, error)
	// Renewed replaces the tokens of a connection that the caller has claimed, and ends the claim.
	Renewed(ctx context.Context, r *Row, sealed string) error
	// Registration returns the sealed registration at an issuer for a server, or ErrNotFound.
	Registration(ctx context.Context, server, issuer string) (string, error)
	// Register stores a registration.
	Register(ctx context.Context, server, issuer, sealed string) error
}

// Row is a stored connection.
type Row struct {
	Server, Who      string
	Resource, Issuer string // the server's address, and who gave the tokens
	Sealed           string // tokens
	Created          time.Time
	Claimed          time.Time // until when it was last claimed: see Store
}

// Service connects to servers, and gives access tokens. Its methods may be called concurrently.
type Service struct {
	o Options

	mu    sync.Mutex
	known map[holder]*held
}

// holder names a connection: its server, and its person as in mcp.Request.
type holder struct{ server, person string }

// New returns a service.
func New(o Options) *Service { return &Service{o: o, known: map[holder]*held{}} }

// IsOn reports whether people can connect.
func (s *Service) IsOn() bool {
	u, err := url.Parse(s.o.PublicURL)
	return err == nil && u.Host != ""
}

var errRedirects = errors.New("it redirects, which is not followed")

// client returns an HTTP client for the addresses that a server names.
func (s *Service) client(of *Server) (*http.Client, error) {
	reach := outbound.Public
	if of.AllowPrivate {
		reach = outbound.Anywhere
	}
	t, err := outbound.Transport(s.o.Proxy, s.o.CAFile, askFor)
	if err != nil {
		return nil, err
	}
	if s.o.Proxy == "" {
		t.DialContext = (&net.Dialer{Timeout: askFor, Control: reach.Control}).DialContext
	}
	t.DisableKeepAlives, t.MaxResponseHeaderBytes = true, 64<<10
	return &http.Client{
		Transport: &checked{reach, &outbound.Bounded{Through: t, Most: maxAnswer}}, Timeout: askFor,
		CheckRedirect: func(*http.Request, []*http.Request) error { return errRedirects },
	}, nil
}

// checked refuses requests to literal addresses beyond its reach, also behind a proxy.
type checked struct {
	reach   outbound.Reach
	through http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (c *checked) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := c.reach.CheckHost(r.URL.Hostname()); err != nil {
		return nil, err
	}
	return c.through.RoundTrip(r)
}
