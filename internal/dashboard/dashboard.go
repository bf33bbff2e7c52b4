package dashboard

import (
	"context"
	"fmt"
	"html/template"
	"log/slog"
	"net/http"
	"slices"
	"time"

	"github.com/google/uuid"

	"weir/internal/account"
	"weir/internal/ledger"
	"weir/internal/llm"
	"weir/internal/people"
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
	// Chat takes a request in the words of POST /v1/chat/completions through the
	// pipeline for that caller; nil for no playground.
	Chat func(http.ResponseWriter, *http.Request, *account.Principal)
	// Reports are what accounts used, and Requests their single requests; nil where
	// nobody keeps them: then their pages are not there.
	Reports  Reports
	Requests RequestLog
	// Spent is what accounts have spent; nil where nobody knows.
	Spent account.Spender
	// Flush returns when what is settled so far is in the Reports; nil where it
	// always is.
	Flush func(ctx context.Context) error
	// Models are those that requests can go to, with their prices of now; nil for no
	// page of them.
	Models func() []route.Model
	// Webhooks are the endpoints that are told of events; nil for no pages of them.
	Webhooks *webhook.Service
	// Installation is what pages of operators ask; nil for none of these pages.
	Installation *Installation
	Insecure     bool // cookies go over plain http too
	Version      string
	Now          func() time.Time
	Log          *slog.Logger
}

// Reports are what accounts used. Dates are as ledger.OverviewQuery has them.
type Reports interface {
	Overview(ctx context.Context, q ledger.OverviewQuery) (ledger.Overview, error)
	KeySpend(ctx context.Context, accountID, from, to string) ([]ledger.KeySum, error)
	Uses(ctx context.Context, q ledger.UsesQuery) (ledger.UsesPage, error)
}

// RequestLog has the single requests of accounts, the newest first.
type RequestLog interface {
	Requests(ctx context.Context, q ledger.RequestsQuery) ([]ledger.RequestSummary, ledger.RequestCursor, error)
	RequestsSince(ctx context.Context, accountID string, after ledger.RequestCursor, limit int) (
		[]ledger.RequestSummary, error)
	Request(ctx context.Context, accountID string, id uuid.UUID) (ledger.RequestDetail, bool, error)
}

// Server serves the pages. All its methods may be called at once.
type Server struct {
	options Options
	assets  *assets
	pages   map[string]*template.Template
	has     map[string]bool // patterns there are, for the navigation
	once    once
	tails   tails
	// Files that are being downloaded.
	usageFiles, auditFiles places
}

// New makes a server, with its templates parsed.
func New(o Options) (*Server, error) {
	s := &Server{
		options: o, has: map[string]bool{},
		usageFiles: places{most: maxUsageFiles, mostOf: maxUsageFilesOf},
		auditFiles: places{most: maxAuditFiles, mostOf: maxAuditFiles},
	}
	s.tails.stopped, s.tails.alive = make(chan struct{}), tailAlive
	var err error
	if s.assets, err = readAssets(); err != nil {
		return nil, fmt.Errorf("dashboard: assets: %w", err)
	}
	if s.pages, err = s.parse(); err != nil {
		return nil, fmt.Errorf("dashboard: pages: %w", err)
	}
	for _, r := range s.Routes() {
		s.has[r.Pattern] = true
	}
	return s, nil
}

// Routes are the pages, each with the right that it asks.
func (s *Server) Routes() []people.Route {
	var all []people.Route
	for _, of := range [][]people.Route{
		s.assetRoutes(), s.homeRoutes(), s.signRoutes(), s.oidcRoutes(), s.linkRoutes(), s.meRoutes(),
		s.overviewRoutes(), s.keyRoutes(), s.newKeyRoutes(), s.memberRoutes(), s.playgroundRoutes(), s.designRoutes(),
		s.usageRoutes(), s.requestRoutes(), s.modelRoutes(), s.webhookRoutes(), s.operatorRoutes(),
	} {
		all = append(all, of...)
	}
	return all
}

// maxForm is how long what a form sends may be, in bytes.
const maxForm = 64 << 10

// serve answers a request, or says what stood against it.
type serve func(w http.ResponseWriter, r *http.Request, v *people.Visit) error

// route is a route whose errors become pages. What comes by POST is a form; it is
// read and bounded here. That no other site sent it is for whoever lets it in.
func (s *Server) route(pattern string, right people.Right, h serve) people.Route {
	return people.Route{Pattern: pattern, Right: right, Serve: func(w http.ResponseWriter, r *http.Request,
		v *people.Visit,
	) {
		guard(w.Header())
		err := readForm(w, r)
		if err == nil {
			err = h(w, r, v)
		}
		if err != nil {
			s.Refuse(w, r, v, err)
		}
	}}
}

func readForm(w http.ResponseWriter, r *http.Request) error {
	if r.Method != http.MethodPost {
		return nil
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := r.ParseForm(); err != nil {
		return formError(err)
	}
	for name, values := range r.PostForm {
		if !llm.IsText(name) || slices.ContainsFunc(values, func(v string) bool { return !llm.IsText(v) }) {
			return llm.Invalid("", "The form has bytes that are no text in UTF-8, or the character U+0000.")
		}
	}
	return nil
}

// goTo answers a form with the page that comes after it.
func goTo(w http.ResponseWriter, r *http.Request, path string) error {
	http.Redirect(w, r, path, http.StatusSeeOther)
	return nil
}
