package dashboard

import (
	"context"
	"time"

	"weir/internal/audit"
	"weir/internal/budget"
	"weir/internal/managed"
	"weir/internal/people"
	"weir/internal/plan"
	"weir/internal/pricing"
	"weir/internal/reconcile"
	"weir/internal/report"
	"weir/internal/route"
)

// Installation is what the pages of operators ask of the gateway. Nothing in it
// is nil, and all of it may be asked at once.
type Installation struct {
	// Spending is what every account used in a month, yyyymm, the dearest first.
	Spending func(ctx context.Context, month int64) ([]report.AccountSum, error)
	// Memberships are all members of all accounts.
	Memberships func(ctx context.Context) ([]people.Membership, error)
	// Providers is how the providers fare on this node, in the order of the
	// configuration.
	Providers func() []route.ProviderCondition
	// Models are those of which something is known, by name, with their prices.
	Models func() []route.Model
	// Model is what is known of one model by its full name, whether it is listed
	// or not; false for a name that no provider serves.
	Model func(name string) (route.Model, bool)
	// Unpriced are the models that were used without a price, by name.
	Unpriced func(ctx context.Context, q report.UnpricedQuery) ([]report.UnpricedModel, error)
	// Unseen is what accounts have, between two dates both inclusive in time.DateOnly, of attempts
	// whose end nobody saw and that nobody has resolved, the most uncertain first.
	Unseen func(ctx context.Context, from, to string) ([]report.UnseenSum, error)
	// UnseenDays is for how many days these can be resolved.
	UnseenDays func() int
	// PriceSources says where prices are from.
	PriceSources func() PriceSources
	Audit        AuditLog
	// Config is what can be changed of the configuration while the gateway runs.
	Config managed.Configuration
	// Plan tells what a change would have done to the requests of the last days.
	Plan func(context.Context, plan.Ask) (plan.Result, error)
	// Reconcile compares the ledger with what a provider reports.
	Reconcile func(context.Context, reconcile.Ask) (reconcile.Result, error)
	// Dialects are the wire formats of providers, and Known the providers that need only a key.
	Dialects, Known []string
	// System is how the installation does, as this node sees it.
	System func(ctx context.Context) (System, error)
	// Settings is the configuration in force, without secrets.
	Settings func() Settings
}

// AuditLog reads the audit log.
type AuditLog interface {
	// Entries are those that a query selects, the newest first.
	Entries(ctx context.Context, q audit.Query) ([]audit.Entry, error)
	// Export calls fn with all of them, the oldest first.
	Export(ctx context.Context, q audit.Query, fn func(*audit.Entry) error) error
	// Verify looks at the whole chain, and for the head of an earlier look.
	Verify(ctx context.Context, from audit.Hash) (audit.Verification, error)
}

// PriceSources is where prices are from.
type PriceSources struct {
	Age       int                // of Data in days
	Files     []pricing.FileInfo // of the operator, which beat Data
	Problem   string             // of a price file that is not in force; empty for none
	Data, Day string             // name and version of the embedded data, and its date in time.DateOnly
	// Overrides are the operator's own prices, by "<provider>/<model-name>" or
	// "<provider>/*" and class: decimals of US dollars.
	Overrides map[string]map[string]string
}

// System is how the installation does.
type System struct {
	Started  time.Time // of this node
	Journal  JournalState
	Database DatabaseState
	Valkey   ValkeyState
	Nodes    []Node // all that share the database
	Versions []Fact
}

// JournalState is how the journal of this node does.
type JournalState struct {
	Problem  string // why nothing can be written; empty while it can
	Behind   int64  // bytes that the database does not have yet
	Lost     int64  // bytes that could not be read back since the start
	Open     int64  // attempts that run
	Unknown  int64  // attempts settled as unknown since the start, for a process that had died
	Database string // why the database does not take the journal; empty while it does
}

// DatabaseState is what the database is.
type DatabaseState struct {
	Engine          string // name and version
	Schema, Current int64  // migrations that are applied, and that this version has
}

// ValkeyState is whether the nodes share rate limits.
type ValkeyState struct {
	Used    bool
	Problem string // why limits are held from memory; empty while they are shared
}

// Node is a gateway that shares the database.
type Node struct {
	budget.KnownNode
	Here bool // the one that answers
}

// Settings is the configuration in force.
type Settings struct {
	File     string // that was read; empty for none
	Warnings []string
	Values   []Setting // in the order of the file
}

// Setting is one value by the path of its key, such as providers.openai.dialect.
type Setting struct{ Path, Value, From string }

// most is how many rows a page of operators shows at once. People have a form and
// a question each, and come in fewer.
const (
	most       = 100
	mostPeople = 50
)
