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
)

// refusal answers whoever may not come in.
type refusal func(w http.ResponseWriter, r *http.Request, v *people.Visit, err error)

// guard lets in whoever has the right that the route asks. It is the one place
// that decides so, for pages and for the administration.
type guard struct {
	origin   origin
	tls      *config.TLS
	insecure bool // people and operators' keys may come over plain http from anywhere
	accounts *account.Service
	people   *people.Service
	session  func(*http.Request) string // the secret of the browser's session; empty for none
	keys     bool                       // an operator's key will do, too
	crossing *http.CrossOriginProtection
	refuse   refusal
}

// strictTransport has browsers come over https for a year (RFC 6797, section 6.1).
const strictTransport = "max-age=31536000"

// handler is the route behind the guard.
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
			if err := g.admit(r, &route, v); err != nil { // roles and keys may have gone meanwhile
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

// countChange counts what somebody who is signed in asks to be changed.
func (g *guard) countChange(route *people.Route, r *http.Request, v *people.Visit) error {
	if r.Method == http.MethodGet || r.Method == http.MethodHead || route.Right == people.Open || route.Ask {
		return nil
	}
	account := ""
	if v.Account != nil {
		account = v.Account.ID
	}
	return g.people.CountChange(v.Visitor, account, route.Revokes())
}

// mostBody is the most that a route behind the guard reads of a body, in bytes.
const mostBody = 1 << 20

// awaitBody waits for the body, so that whoever may do what it asks does it at once. It reports
// whether there is one. What was wrong with it is found again by who reads it.
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

// visit is one of somebody of whom nothing is known yet.
func (g *guard) visit(w http.ResponseWriter, r *http.Request) *people.Visit {
	id := uuid.Must(uuid.NewV7()).String()
	w.Header().Set("X-Request-Id", id)
	return &people.Visit{Origin: people.Origin{Address: g.origin.client(r).String(), Agent: r.UserAgent(), Request: id}}
}

// admit finds out who comes, to which account, and whether they may.
func (g *guard) admit(r *http.Request, route *people.Route, v *people.Visit) (err error) {
	if err := cmp.Or(checkAddress(r.URL), checkCertificate(g.tls, r)); err != nil {
		return err
	}
	if v.Visitor, err = g.visitor(r, v.Origin); err != nil {
		return err
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
			err = cmp.Or(v.May(route.Right, ""), err) // as one that is somebody else's
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

// checkAddress refuses what is no text: nothing has such a name, and PostgreSQL
// takes none for a question
// (https://www.postgresql.org/docs/current/datatype-character.html).
func checkAddress(u *url.URL) error {
	ok := llm.IsText(u.Path)
	for name, values := range u.Query() {
		ok = ok && llm.IsText(name) && !slices.ContainsFunc(values, func(v string) bool { return !llm.IsText(v) })
	}
	if !ok {
		return llm.Invalid("", "The address has bytes that are no text in UTF-8, or the character U+0000.")
	}
	return nil
}

// visitor is who comes: by an operator's key, where one will do, or by a session,
// of which nothing is believed that another site had a browser send. Where others can
// read along, neither is looked at.
func (g *guard) visitor(r *http.Request, from people.Origin) (*people.Visitor, error) {
	if !g.insecure && !g.origin.isPrivate(r) {
		return nil, llm.Errorf(llm.CodeForbidden, "This request came over plain http, where others can read "+
			"passwords, sessions and keys. Use https: set tls in the configuration or, behind a proxy that has it, "+
			"trusted_proxies and public_url, and have the proxy send X-Forwarded-Proto. insecure_http: true allows "+
			"plain http.")
	}
	if g.keys && strings.Join(r.Header["Authorization"], "") != "" {
		return g.keyHolder(r)
	}
	if g.keys && g.session(r) == "" { // a program that gave nothing away
		return nil, llm.Errorf(llm.CodeAuthentication,
			"No API key came with this request, and nobody is signed in. Send one with the permission "+
				`"admin" as "Authorization: Bearer wk_…".`)
	}
	reached := *r
	_, reached.Host = g.origin.reached(r)
	if err := g.crossing.Check(&reached); err != nil {
		return nil, &llm.Error{
			Code:    llm.CodeForbidden,
			Message: "This request came from another site. Open the page here and try again.",
			Err:     fmt.Errorf("cross-origin: %w", err),
		}
	}
	return g.people.Visitor(r.Context(), g.session(r), from)
}

// keyHolder is an operator's key. A key that is none is refused before anybody
// learns what there is.
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

// newCrossOrigin is the protection against requests that another site has a browser
// make. Behind a proxy the browser's address of the gateway is the public one.
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
