// Package admin holds the operations on an installation: for commands, the administration API and the pages.
package admin

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"time"

	"weir/internal/account"
	"weir/internal/config"
	"weir/internal/llm"
	"weir/internal/oauth"
	"weir/internal/people"
	"weir/internal/route"
	"weir/internal/signin"
	"weir/internal/store"
)

// Options holds everything that New needs.
type Options struct {
	Config *config.Config
	Store  *store.DB
	Log    *slog.Logger
	// Files is the source of the configuration, and Getenv looks up an environment variable, like os.Getenv.
	Files  config.Options
	Getenv func(string) string
	// BaseURL returns the address for links if public_url is empty.
	BaseURL func() string
	// People changes the options of people and their sign-in, for tests; it may be nil.
	People func(*people.Options, *signin.Options)
	// OAuth replaces the connections to the descriptions of programs, for tests; it may be nil.
	OAuth http.RoundTripper
	// The others belong to a gateway; they are nil in commands. AwaitRefusals waits until the refusals of this node are
	// written, and AwaitContent until the content of its requests is. InForce returns the configuration in force and
	// its routes. Pipeline returns a handler of requests in the usual wire format through a pipeline with other routes.
	AwaitRefusals func(context.Context)
	AwaitContent  func(context.Context)
	InForce       func() (*config.Config, *route.Table)
	Pipeline      func(*route.Table) CallHandler
}

// CallHandler answers a request of a known caller.
type CallHandler func(http.ResponseWriter, *http.Request, *account.Principal)

// Admin holds the operations on an installation, by subject.
type Admin struct {
	Accounts       *account.Service
	People         *people.Directory
	SignIn         *signin.Service
	Reports        *store.Reports // reads the ledger
	Ledger         *Ledger
	Statements     *Statements
	Audit          *Audit
	Nodes          *Nodes
	Kept           *Kept
	Configuration  *Configuration
	Plans          *Plans
	Imports        *Imports
	Secrets        *Secrets
	Webhooks       *Webhooks
	Reconciliation *Reconciliation
	MasterKeys     *KeyRing
	Refusals       *Refusals
	Alerts         *Alerts
	Mail           *people.Mail // nil if no mail is configured
	Content        *Content
	MCP            *MCP
	OAuth          *oauth.Server
	Connections    *Connections
	Answers        *Answers
	Sockets        *Sockets

	store   *store.DB
	release func() // releases what SignIn holds
}

// Open opens the database of the configuration, and creates it if it does not exist. files is the source of the
// configuration; it is needed only to change it.
func Open(ctx context.Context, cfg config.Config, files config.Options, log *slog.Logger) (*Admin, error) {
	db, err := OpenStore(ctx, &cfg, log)
	if err != nil {
		return nil, err
	}
	a, err := New(&Options{
		Config: &cfg, Store: db, Log: log, Files: files, Getenv: getenv(files),
		BaseURL: func() string { return BaseURL(&cfg, cfg.Listen) },
	})
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return a, nil
}

// getenv returns the function that looks up an environment variable of a configuration, like os.Getenv.
func getenv(files config.Options) func(string) string {
	if files.Getenv == nil {
		return os.Getenv
	}
	return func(name string) string {
		value, _ := files.Getenv(name)
		return value
	}
}

// New creates the operations on an open database.
func New(o *Options) (a *Admin, err error) {
	db, cfg := o.Store, o.Config
	a = &Admin{Accounts: account.NewService(db.Accounts.Stores(), db.Now, o.Log), Reports: db.Reports, store: db}
	if a.MasterKeys, err = openKeys(cfg, db); err != nil {
		return nil, err
	}
	if err = a.addPeople(o); err != nil {
		return nil, err
	}
	if a.OAuth, err = newOAuth(o, a.MasterKeys, a.Accounts); err != nil {
		return nil, err
	}
	a.Ledger = &Ledger{db, a.Accounts, cfg.Data}
	a.Statements = &Statements{db, a.Accounts}
	a.Audit = &Audit{db, a.Accounts}
	a.Nodes = &Nodes{db}
	a.Kept = &Kept{db, a.Accounts}
	a.Refusals = &Refusals{db, a.Accounts, o.AwaitRefusals}
	a.Content = newContent(o, a.MasterKeys, a.Accounts)
	a.Sockets = &Sockets{db, a.Accounts}
	a.Answers = &Answers{db, a.Accounts, a.MasterKeys}
	a.Configuration = newConfiguration(o, a.MasterKeys, a.Accounts)
	a.Connections = newConnections(o, a.Configuration, a.MasterKeys)
	a.MCP = &MCP{a.Configuration, db.MCPTools, db.Now, a.Connections.Service}
	a.Plans = newPlans(a.Configuration, a.Accounts, db)
	a.Imports = &Imports{a.Configuration, a.People, db, cfg.File}
	a.Webhooks = newWebhooks(o, a.MasterKeys, a.Nodes, a.Mail != nil)
	a.Alerts = newAlerts(o, a.Accounts, a.Webhooks)
	a.Secrets = &Secrets{a.MasterKeys, cfg, db, a.Nodes}
	a.Reconciliation = newReconciliation(o, a.Configuration)
	return a, nil
}

// linksTo returns the address for links.
func (o *Options) linksTo() string {
	return cmp.Or(o.Config.PublicURL, o.BaseURL())
}

// Release releases the resources of the operations, except for the database.
func (a *Admin) Release() { a.release() }

// Close closes the database.
func (a *Admin) Close() error {
	a.release()
	return a.store.Close()
}

// enter takes a place until leave is called. If none is free, it returns the error with that code and message.
func enter(places chan struct{}, code llm.Code, message string) (leave func(), err error) {
	select {
	case places <- struct{}{}:
		return func() { <-places }, nil
	default:
		return nil, &llm.Error{Code: code, RetryAfter: time.Second, Message: message}
	}
}

// Now returns the time of the shared clock.
func (a *Admin) Now() time.Time { return a.store.Now() }

// AccountNames returns the names of all accounts, by id.
func (a *Admin) AccountNames(ctx context.Context) (map[string]string, error) {
	return a.store.Reports.AccountNames(ctx)
}

// Memberships returns all members of all accounts.
func (a *Admin) Memberships(ctx context.Context) ([]people.Membership, error) {
	return a.store.Members.Memberships(ctx)
}
