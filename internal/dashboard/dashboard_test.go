package dashboard_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"weir/internal/account"
	"weir/internal/admin"
	"weir/internal/audit"
	"weir/internal/dashboard"
	"weir/internal/must"
	"weir/internal/people"
	"weir/internal/signin"
	"weir/internal/store"
	"weir/internal/store/opentest"
)

var now = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// site is a dashboard over a database of its own, with two accounts, whose visitor the test sets.
type site struct {
	dashboard   *dashboard.Server
	store       *store.DB
	file        string // of the database
	people      *people.Directory
	signIn      *signin.Service
	webhooks    *admin.Webhooks
	ring        *admin.KeyRing
	accounts    *account.Service
	acme, other account.Account
	visitor     *people.Visitor // the owner of the cookie's session if it is nil
	cookie      string          // that the browser has
	flush       func() error    // the dashboard waits for it; nil for none
	// answers wraps the writers of all answers; nil for none.
	answers func(http.ResponseWriter) http.ResponseWriter
	url     string
	client  *http.Client
}

func newSite(t testing.TB, insecure bool, change ...func(*people.Options, *signin.Options)) *site {
	t.Helper()
	return build(t, insecure, nil, change...)
}

// newSiteWith builds a site with changed options.
func newSiteWith(t testing.TB, change func(*dashboard.Options)) *site {
	t.Helper()
	return build(t, true, change)
}

func build(t testing.TB, insecure bool, pages func(*dashboard.Options), change ...func(*people.Options, *signin.Options)) *site {
	t.Helper()
	clock, log := func() time.Time { return now }, slog.New(slog.DiscardHandler)
	s := &site{file: filepath.Join(t.TempDir(), "weir.db")}
	s.store = opentest.Open(t, store.Options{Path: s.file, Clock: clock, Log: log})
	a := operationsOf(t, s.store, log, func(d *people.Options, o *signin.Options) {
		o.Light = true
		for _, c := range change {
			c(d, o)
		}
	})
	s.people, s.signIn, s.webhooks, s.ring, s.accounts = a.People, a.SignIn, a.Webhooks, a.MasterKeys, a.Accounts
	for name, to := range map[string]*account.Account{"acme": &s.acme, "other": &s.other} {
		*to = must.Get(s.accounts.CreateAccount(t.Context(), audit.Gateway(), name))(t)
	}
	d := dashboard.Options{
		Admin: a, Installation: installationOf(s.store), Insecure: insecure, Flush: s.settle,
		DefaultModel: func() string { return "" }, ExampleModel: func() string { return "openai/gpt" },
		Turn:      func(_ *http.Request, _ string, _ int64, work func() error) error { return work() },
		PublicURL: func(*http.Request) string { return "https://weir.example.com" }, Now: clock, Log: log, Version: "test",
	}
	if pages != nil {
		pages(&d)
	}
	s.dashboard = must.Get(dashboard.New(d))(t)
	server := httptest.NewServer(s.handler())
	t.Cleanup(server.Close)
	t.Cleanup(s.dashboard.Stop)
	s.url, s.client = server.URL, server.Client()
	s.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return s
}

func (s *site) settle(context.Context) error {
	if s.flush == nil {
		return nil
	}
	return s.flush()
}

// handler serves the test's visitor, by the rights of the routes.
func (s *site) handler() http.Handler {
	mux := http.NewServeMux()
	for _, route := range s.dashboard.Routes() {
		mux.HandleFunc(route.Pattern, func(w http.ResponseWriter, r *http.Request) {
			v := &people.Visit{Visitor: s.visitor, Origin: people.Origin{Address: "192.0.2.7", Request: "0199-request"}}
			if v.Visitor == nil {
				v.Visitor, _ = s.signIn.Sessions.Visitor(r.Context(), s.dashboard.Session(r), v.Origin)
			}
			id := ""
			if a, err := s.accounts.Account(r.Context(), r.PathValue("account")); err == nil {
				v.Account, id = &a, a.ID
			}
			if v.By = v.Actor(v.Origin); s.visitor != nil {
				v.By.Kind = audit.Command // the database knows no such user
			}
			if err := v.May(route.Right, id); err != nil {
				s.dashboard.Refuse(w, r, v, err)
				return
			}
			if s.answers != nil {
				w = s.answers(w)
			}
			route.Serve(w, r, v)
		})
	}
	return mux
}

// come sends the next requests as a user with that role in acme.
func (s *site) come(id string, role people.Role) {
	u := people.User{ID: id, Email: id + "@example.com", Operator: role == ""}
	s.visitor = people.NewVisitor(u, &people.Session{ID: "s-" + id}, []people.Membership{{AccountID: s.acme.ID, AccountName: "acme", Role: role}})
}

type answer struct {
	status int
	header http.Header
	text   string
}

func (s *site) send(t testing.TB, method, path string, form url.Values, header http.Header) answer {
	t.Helper()
	r := must.Get(http.NewRequestWithContext(t.Context(), method, s.url+path, strings.NewReader(form.Encode())))(t)
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	if s.cookie != "" {
		r.Header.Set("Cookie", s.cookie)
	}
	for key, values := range header {
		r.Header[key] = values
	}
	resp := must.Get(s.client.Do(r))(t)
	defer resp.Body.Close()
	text := must.Get(io.ReadAll(resp.Body))(t)
	if set, _, _ := strings.Cut(resp.Header.Get("Set-Cookie"), ";"); strings.HasPrefix(set, "weir=") {
		s.cookie = set
	}
	return answer{resp.StatusCode, resp.Header, string(text)}
}

func (s *site) keys(t *testing.T, of account.Account) []account.Key {
	t.Helper()
	all := must.Get(s.accounts.Keys(context.Background(), of.ID))(t)
	return all
}

func (s *site) key(t *testing.T, of account.Account, creator string) account.Key {
	t.Helper()
	k, _, err := s.accounts.CreateKey(t.Context(), audit.Gateway(), account.KeyOptions{Account: of.ID, Label: "key of " + creator, Creator: creator})
	must.Do(t, err)
	return k
}
