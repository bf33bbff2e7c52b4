package app

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/google/uuid"

	"weir/internal/account"
	"weir/internal/config"
	"weir/internal/llm"
	"weir/internal/people"
	"weir/internal/signin"
)

// refuser answers a request that the guard refuses.
type refuser func(w http.ResponseWriter, r *http.Request, v *people.Visit, err error)

// guard admits requests from people and operators' keys that have the right of the route. It is the only place that
// decides this, for pages and for the administration.
type guard struct {
	origin   origin
	tls      *config.TLS
	insecure bool // allow people and operators' keys over plain http from any address
	accounts *account.Service
	signIn   *signin.Service
	session  func(*http.Request) string // returns the secret of the browser's session, or ""
	keys     bool                       // also accept an operator's API key
	content  bool                       // operators may read the content of requests
	tool     string                     // MCP tool that the route is called by; empty for none
	crossing *http.CrossOriginProtection
	refuse   refuser
}

// strictTransport makes browsers use https for a year (RFC 6797, section 6.1).
const strictTransport = "max-age=31536000"

// handler wraps a route with the guard.
func (g *guard) handler(route people.Route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v := g.visit(w, r)
		if g.origin.isStrict(r) {
			w.Header().Set("Strict-Transport-Security", strictTransport)
		}
		if err := g.admit(r, &route, v); err != nil {
			g.refuse(w, r, v, err)
			return
		}
		if route.Right != people.Open && awaitBody(r) {
			if err := g.admit(r, &route, v); err != nil { // roles and keys may have changed meanwhile
				g.refuse(w, r, v, err)
				return
			}
		}
		if err := g.countChange(&route, r, v); err != nil {
			g.refuse(w, r, v, err)
			return
		}
		route.Serve(w, r, v)
	})
}

// countChange counts a change that a signed-in person requests.
func (g *guard) countChange(route *people.Route, r *http.Request, v *people.Visit) error {
	if r.Method == http.MethodGet || r.Method == http.MethodHead || route.Right == people.Open || route.Ask {
		return nil
	}
	account := ""
	if v.Account != nil {
		account = v.Account.ID
	}
	return g.signIn.Changes.Count(v.Visitor, account, route.Revokes())
}

// mostBody bounds the bytes of a body behind the guard.
const mostBody = 1 << 20

// awaitBody reads the body, so that the rights are checked after the client has sent all of it. It reports whether
// there is one. The route that reads the body finds any error of it again.
func awaitBody(r *http.Request) bool {
	if r.Body == nil || r.Body == http.NoBody {
		return false
	}
	var came bytes.Buffer
	_, _ = io.CopyN(&came, r.Body, mostBody+1)
	r.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(&came, r.Body), r.Body}
	return true
}

// visit returns the visit of an unknown client.
func (g *guard) visit(w http.ResponseWriter, r *http.Request) *people.Visit {
	id := uuid.Must(uuid.NewV7()).String()
	w.Header().Set("X-Request-Id", id)
	return &people.Visit{Origin: people.Origin{
		Address: g.origin.client(r).String(), Agent: r.UserAgent(), Request: id, Tool: g.tool,
	}}
}

// admit determines the visitor and the account, and checks their right.
func (g *guard) admit(r *http.Request, route *people.Route, v *people.Visit) (err error) {
	if err := cmp.Or(checkAddress(r.URL), checkCertificate(g.tls, r)); err != nil {
		return err
	}
	if v.Visitor, err = g.visitor(r, v.Origin); err != nil {
		return err
	}
	if g.content && v.Operator() {
		v.AllowContent()
	}
	v.By = v.Actor(v.Origin)
	if route.Right == people.Open {
		return nil
	}
	if err := v.May(people.SignedIn, ""); err != nil {
		return err
	}
	accountID := ""
	if name := r.PathValue("account"); name != "" {
		a, err := g.accounts.Account(r.Context(), name)
		if e, ok := errors.AsType[*llm.Error](err); ok && e.Code == llm.CodeNotFound {
			err = cmp.Or(v.May(route.Right, ""), err) // like an account that belongs to another
		}
		if err != nil {
			return err
		}
		v.Account, accountID = &a, a.ID
	}
	if err := v.May(route.Right, accountID); err != nil {
		v.Account = nil
		return err
	}
	return nil
}

// checkAddress refuses an address that is not text: no object has such a name, and PostgreSQL refuses such parameters
// (https://www.postgresql.org/docs/current/datatype-character.html).
func checkAddress(u *url.URL) error {
	ok := llm.IsText(u.Path)
	for name, values := range u.Query() {
		ok = ok && llm.IsText(name) && !slices.ContainsFunc(values, func(v string) bool { return !llm.IsText(v) })
	}
	if !ok {
		return llm.Invalid("", "The address is not valid UTF-8, or contains the character U+0000.")
	}
	return nil
}

// visitor identifies the client by an operator's key, where one is accepted, or by a session. It ignores the session
// of a request that another site caused in a browser, and reads neither key nor session where others could read them
// on the way.
func (g *guard) visitor(r *http.Request, from people.Origin) (*people.Visitor, error) {
	if !g.insecure && !g.origin.isPrivate(r) {
		return nil, llm.Errorf(llm.CodeForbidden, "This request used plain http, where others can read passwords, "+
			"sessions and keys. Use https: set tls in the configuration or, behind a proxy with https, "+
			"trusted_proxies and public_url, and configure the proxy to send X-Forwarded-Proto. insecure_http: true "+
			"allows plain http.")
	}
	if g.keys && strings.Join(r.Header["Authorization"], "") != "" {
		return g.keyHolder(r)
	}
	if g.keys && g.session(r) == "" { // a program that sent no credentials
		return nil, llm.Errorf(llm.CodeAuthentication,
			"This request has no API key and no session. Send a key with the permission "+
				`"admin" as "Authorization: Bearer wk_…".`)
	}
	reached := *r
	_, reached.Host = g.origin.reached(r)
	if err := g.crossing.Check(&reached); err != nil {
		return nil, &llm.Error{
			Code:    llm.CodeForbidden,
			Message: "This request comes from another site. Open the page on this site and try again.",
			Err:     fmt.Errorf("cross-origin: %w", err),
		}
	}
	return g.signIn.Sessions.Visitor(r.Context(), g.session(r), from)
}

// keyHolder authenticates an operator's key. An invalid key is refused before the response reveals whether an object
// exists.
func (g *guard) keyHolder(r *http.Request) (*people.Visitor, error) {
	token, err := account.Token(r.Header)
	if err != nil {
		return nil, err
	}
	p, err := g.accounts.Authenticate(r.Context(), token)
	if err != nil {
		return nil, err
	}
	if err := p.May(account.Admin); err != nil {
		return nil, err
	}
	return people.KeyHolder(p.Key()), nil
}

// newCrossOrigin creates the protection against requests that another site causes in a browser. Behind a proxy, the
// browser knows the gateway by its public address.
func newCrossOrigin(public string) (*http.CrossOriginProtection, error) {
	crossing := http.NewCrossOriginProtection()
	if public == "" {
		return crossing, nil
	}
	origin := public
	if scheme, rest, ok := strings.Cut(public, "://"); ok {
		host, _, _ := strings.Cut(rest, "/")
		origin = scheme + "://" + host
	}
	if err := crossing.AddTrustedOrigin(origin); err != nil {
		return nil, fmt.Errorf("public_url: %w", err)
	}
	return crossing, nil
}
