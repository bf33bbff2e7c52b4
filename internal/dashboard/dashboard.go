package dashboard

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"time"

	"github.com/google/uuid"

	"weir/internal/account"
	"weir/internal/llm"
	"weir/internal/people"
	"weir/internal/report"
	"weir/internal/route"
	"weir/internal/webhook"
)

// Options is what a Server is made of.
type Options struct {
	People   *people.Service
	Accounts *account.Service
	// KeysUsed is when each key of an account, by id, was last used; nil where
	// nobody knows.
	KeysUsed func(ctx context.Context, accountID string) (map[string]time.Time, error)
	// PublicURL is the address at which the gateway is reached, without a slash
	// at its end: for snippets and links that people send to one another.
	PublicURL func(*http.Request) string
	// DefaultModel is the model that answers where none is named; nil for none.
	DefaultModel func() string
	// ExampleModel is the model that examples name where there is no default; nil for none.
	ExampleModel func() string
	// Chat takes a request in the words of POST /v1/chat/completions through the
	// pipeline for that caller; nil for no playground.
	Chat func(http.ResponseWriter, *http.Request, *account.Principal)
	// Reports are what accounts used, and Requests their single requests; nil where
	// nobody keeps them: then their pages are not there.
	Reports  Reports
	Requests RequestLog
	// Statements are what accounts are charged a month; nil for no pages of them.
	Statements *Statements
	// Spent is what accounts have spent; nil where nobody knows.
	Spent account.Spender
	// Flush returns when what is settled so far is in the Reports; nil where it
	// always is.
	Flush func(ctx context.Context) error
	// Models are those that requests can go to, with their prices of now; nil for no
	// page of them.
	Models func() []route.Model
	// Turn does work for an account, which is as much as so many bytes of a body are to read, in its turn where that is
	// much; nil where nobody waits for one.
	Turn func(r *http.Request, account string, size int64, work func() error) error
	// Webhooks are the endpoints that are told of events; nil for no pages of them.
	Webhooks *webhook.Service
	// Installation is what pages of operators ask; nil for none of these pages.
	Installation *Installation
	Insecure     bool // cookies go over plain http too
	Version      string
	Now          func() time.Time
	Log          *slog.Logger
}

// Reports are what accounts used. Dates are as report.OverviewQuery has them.
type Reports interface {
	Overview(ctx context.Context, q report.OverviewQuery) (report.Overview, error)
	KeySpend(ctx context.Context, accountID, from, to string, most int) ([]report.KeySum, error)
	Uses(ctx context.Context, q report.UsesQuery) (report.UsesPage, error)
}

// RequestLog has the single requests of accounts, the newest first.
type RequestLog interface {
	Requests(ctx context.Context, q report.RequestsQuery) ([]report.Request, report.Cursor, error)
	RequestsSince(ctx context.Context, accountID string, after report.Cursor, limit int) ([]report.Request, error)
	Request(ctx context.Context, accountID string, id uuid.UUID) (report.RequestDetail, bool, error)
	// RequestAtCost is for operators: attempts are told at what they cost.
	RequestAtCost(ctx context.Context, accountID string, id uuid.UUID) (report.RequestDetail, bool, error)
}

// Server serves the pages. All its methods may be called at once.
type Server struct {
	site   *site
	tails  *tails
	routes []people.Route
}

// New makes a server.
func New(o Options) (*Server, error) {
	all, err := readAssets()
	if err != nil {
		return nil, fmt.Errorf("dashboard: assets: %w", err)
	}
	if o.DefaultModel == nil {
		o.DefaultModel = func() string { return "" }
	}
	if o.ExampleModel == nil {
		o.ExampleModel = func() string { return "<provider>/<model-name>" }
	}
	if o.Turn == nil {
		o.Turn = func(_ *http.Request, _ string, _ int64, work func() error) error { return work() }
	}
	s := &site{
		assets: all, has: map[string]bool{}, cookies: cookies{o.Insecure}, version: o.Version, now: o.Now, log: o.Log,
	}
	if s.templates, err = s.parse(); err != nil {
		return nil, fmt.Errorf("dashboard: pages: %w", err)
	}
	t := newTails()
	routes := s.routes(&o, t)
	for _, r := range routes {
		s.has[r.Pattern] = true
	}
	return &Server{site: s, tails: t, routes: routes}, nil
}

// Routes are the pages, each with the right that it asks.
func (s *Server) Routes() []people.Route { return s.routes }

// Session is the secret of the session that the request comes with; empty for none.
func (s *Server) Session(r *http.Request) string { return s.site.cookies.session(r) }

// Refuse answers with the page of an error. Who would have to be signed in first
// is sent to sign in, and comes back afterwards. V may be nil.
func (s *Server) Refuse(w http.ResponseWriter, r *http.Request, v *people.Visit, err error) {
	s.site.refuse(w, r, v, err)
}

// StyleSheet is the CSS of all pages, and Icon their icon in SVG: for other pages of the
// same site, which look like them.
func (s *Server) StyleSheet() []byte { return s.site.assets.content[styleSheet] }

// Icon is the icon of the site; see StyleSheet.
func (s *Server) Icon() []byte { return s.site.assets.content["icon.svg"] }

// Theme is what the browser chose: light, dark, or empty for what its system prefers.
func (s *Server) Theme(r *http.Request) string { return s.site.theme(r) }

// Stop ends the live tails, so that a server that waits for its answers to end
// can stop. It may be called again.
func (s *Server) Stop() { s.tails.once.Do(func() { close(s.tails.stopped) }) }

const (
	// maxForm is how long what a form sends may be, in bytes.
	maxForm = 64 << 10
	// formTime is how long it may take: who sends it is not known yet.
	formTime = 5 * time.Second
)

// serve answers a request, or says what stood against it.
type serve func(w http.ResponseWriter, r *http.Request, v *people.Visit) error

// route is a route whose errors become pages. What comes by POST is a form; it is
// read and bounded here. That no other site sent it is for whoever lets it in.
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

// maxQuery bounds the query of a page in bytes. The longest that it has are an address to go on to and the words of a
// provider of single sign-on.
const maxQuery = 8 << 10

// checkQuery refuses a query that is longer than any of a page.
func checkQuery(r *http.Request) error {
	if len(r.URL.RawQuery) > maxQuery {
		return llm.Invalidf("", "The address of the page has more than %d bytes behind its question mark. Shorten it.",
			maxQuery)
	}
	return nil
}

func readForm(w http.ResponseWriter, r *http.Request) error {
	if r.Method != http.MethodPost {
		return nil
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(formTime)) // not every writer has one
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

// goAfter goes on to a page after what ended so.
func goAfter(w http.ResponseWriter, r *http.Request, path string, err error) error {
	if err != nil {
		return err
	}
	return goTo(w, r, path)
}

// goTo answers a form with the page that comes after it.
func goTo(w http.ResponseWriter, r *http.Request, path string) error {
	http.Redirect(w, r, path, http.StatusSeeOther)
	return nil
}
