package dashboard

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"time"

	"weir/internal/account"
	"weir/internal/admin"
	"weir/internal/llm"
	"weir/internal/people"
)

// Options holds the services that a Server needs. All are required.
type Options struct {
	Admin *admin.Admin
	// PublicURL returns the address of the gateway, without a slash at its end, for snippets and for links that
	// people send to each other.
	PublicURL func(*http.Request) string
	// DefaultModel returns the model for requests without a model; empty for none.
	DefaultModel func() string
	// ExampleModel returns the model for examples if there is no default model.
	ExampleModel func() string
	// Chat sends a request in the format of POST /v1/chat/completions through the pipeline for that caller.
	Chat func(http.ResponseWriter, *http.Request, *account.Principal)
	// Tools lists and calls tools of MCP servers.
	Tools Tools
	// Flush returns when the reports include all attempts that are settled so far.
	Flush func(ctx context.Context) error
	// Turn runs work when it is the account's turn, if the work is as much as reading a body of that size.
	Turn func(r *http.Request, account string, size int64, work func() error) error
	// Installation provides the data that only this node has.
	Installation *Installation
	Insecure     bool // send cookies also over plain http
	Version      string
	Now          func() time.Time
	Log          *slog.Logger
}

// Server serves the pages. Its methods are safe for concurrent use.
type Server struct {
	site   *site
	tails  *tails
	routes []people.Route
}

// New creates a server.
func New(o Options) (*Server, error) {
	all, err := readAssets()
	if err != nil {
		return nil, fmt.Errorf("dashboard: assets: %w", err)
	}
	s := &site{
		assets: all, cookies: cookies{o.Insecure}, version: o.Version, now: o.Now, log: o.Log,
	}
	if s.templates, err = s.pages(); err != nil {
		return nil, fmt.Errorf("dashboard: pages: %w", err)
	}
	t := newTails()
	return &Server{site: s, tails: t, routes: s.routes(&o, t)}, nil
}

// Routes returns the pages, each with the right that it requires.
func (s *Server) Routes() []people.Route { return s.routes }

// Session returns the secret of the request's session, or "".
func (s *Server) Session(r *http.Request) string { return s.site.cookies.session(r) }

// Refuse answers with an error page. It redirects a request without a session to the sign-in page, which leads back
// afterwards. V may be nil.
func (s *Server) Refuse(w http.ResponseWriter, r *http.Request, v *people.Visit, err error) {
	s.site.refuse(w, r, v, err)
}

// StyleSheet returns the CSS of all pages, for other pages of the site in the same style.
func (s *Server) StyleSheet() []byte { return s.site.assets.content[styleSheet] }

// Script returns the script of the buttons that copy, for other pages of the site.
func (s *Server) Script() []byte { return s.site.assets.content["copy.js"] }

// Icon returns the icon of the site in SVG; see StyleSheet.
func (s *Server) Icon() []byte { return s.site.assets.content["icon.svg"] }

// Theme returns the browser's choice: light, dark, or "" for the system's preference.
func (s *Server) Theme(r *http.Request) string { return s.site.theme(r) }

// Stop ends the live tails, so that a server that waits for its answers can stop. It may be called again.
func (s *Server) Stop() { s.tails.once.Do(func() { close(s.tails.stopped) }) }

const (
	// maxForm bounds the bytes of a form.
	maxForm = 64 << 10
	// formTime bounds the time for sending a form, because its sender is not authenticated yet.
	formTime = 5 * time.Second
)

// serve answers a request, or returns an error.
type serve func(w http.ResponseWriter, r *http.Request, v *people.Visit) error

// route returns a route that shows errors as pages. It reads and bounds the form of a POST. The guard in front of it
// checks that the form does not come from another site.
func (s *site) route(pattern string, right people.Right, h serve) people.Route {
	return people.Route{Pattern: pattern, Right: right, Serve: func(w http.ResponseWriter, r *http.Request,
		v *people.Visit,
	) {
		guard(w.Header())
		err := checkQuery(r)
		if err == nil {
			err = readForm(w, r)
		}
		if err == nil {
			err = h(w, r, v)
		}
		if err != nil {
			s.refuse(w, r, v, err)
		}
	}}
}

// maxQuery bounds the bytes of a page's query. The longest queries have an address to return to and the answer of a
// provider of single sign-on.
const maxQuery = 8 << 10

// checkQuery refuses a longer query.
func checkQuery(r *http.Request) error {
	if len(r.URL.RawQuery) > maxQuery {
		return llm.Invalidf("", "The query of the address is longer than %d bytes. Shorten it.",
			maxQuery)
	}
	return nil
}

func readForm(w http.ResponseWriter, r *http.Request) error {
	if r.Method != http.MethodPost {
		return nil
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(formTime)) // not every writer supports it
	if err := r.ParseForm(); err != nil {
		return formError(err)
	}
	for name, values := range r.PostForm {
		if !llm.IsText(name) || slices.ContainsFunc(values, func(v string) bool { return !llm.IsText(v) }) {
			return llm.Invalid("", "The form contains bytes that are not valid UTF-8, or the character U+0000. "+
				"Remove them and send it again.")
		}
	}
	return nil
}

// goAfter redirects to a page, or returns err if it is set.
func goAfter(w http.ResponseWriter, r *http.Request, path string, err error) error {
	if err != nil {
		return err
	}
	return goTo(w, r, path)
}

// goTo redirects a form to the next page.
func goTo(w http.ResponseWriter, r *http.Request, path string) error {
	http.Redirect(w, r, path, http.StatusSeeOther)
	return nil
}
