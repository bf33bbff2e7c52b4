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

// Installation provides the data of the operators' pages. All members are set and safe for concurrent use.
type Installation struct {
	// Spending returns the usage of every account in a month, yyyymm, highest cost first.
	Spending func(ctx context.Context, month int64) ([]report.AccountSum, error)
	// Memberships returns all members of all accounts.
	Memberships func(ctx context.Context) ([]people.Membership, error)
	// Providers returns the state of the providers on this node, in the order of the configuration.
	Providers func() []route.ProviderCondition
	// Models returns the known models, by name, with their prices.
	Models func() []route.Model
	// Model returns a model by its full name, whether it is listed or not; false if no provider serves that name.
	Model func(name string) (route.Model, bool)
	// Unpriced returns the models that were used without a price, by name.
	Unpriced func(ctx context.Context, q report.UnpricedQuery) ([]report.UnpricedModel, error)
	// Unseen returns, by account, the sums of unresolved attempts with an unknown end between two dates, both
	// inclusive in time.DateOnly, the most uncertain first.
	Unseen func(ctx context.Context, from, to string) ([]report.UnseenSum, error)
	// UnseenDays returns for how many days such attempts can be resolved.
	UnseenDays func() int
	// PriceSources returns the sources of the prices.
	PriceSources func() PriceSources
	Audit        AuditLog
	// Config is the configuration that can be changed while the gateway runs.
	Config managed.Configuration
	// Plan returns what a change would have done to the requests of the last days.
	Plan func(context.Context, plan.Ask) (plan.Result, error)
	// Reconcile compares the ledger with a provider's report.
	Reconcile func(context.Context, reconcile.Ask) (reconcile.Result, error)
	// Dialects lists the wire formats of providers, and Known the providers that need only a key.
	Dialects, Known []string
	// System returns the state of the installation, as this node sees it.
	System func(ctx context.Context) (System, error)
	// Settings returns the configuration in force, without secrets.
	Settings func() Settings
}

// AuditLog reads the audit log.
type AuditLog interface {
	// Entries returns the entries that a query selects, newest first.
	Entries(ctx context.Context, q audit.Query) ([]audit.Entry, error)
	// Export calls fn with all of them, oldest first.
	Export(ctx context.Context, q audit.Query, fn func(*audit.Entry) error) error
	// Verify verifies the whole chain, and searches it for the head of an earlier verification.
	Verify(ctx context.Context, from audit.Hash) (audit.Verification, error)
}

// PriceSources holds the sources of the prices.
type PriceSources struct {
	Age       int                // age of Data in days
	Files     []pricing.FileInfo // the operator's files, which override Data
	Problem   string             // of a price file that is not in force; empty for none
	Data, Day string             // name and version of the embedded data, and its date in time.DateOnly
	// Overrides holds the operator's own prices, by "<provider>/<model-name>" or "<provider>/*" and class, as
	// decimals of US dollars.
	Overrides map[string]map[string]string
}

// System holds the state of the installation.
type System struct {
	Started  time.Time // start of this node
	Journal  JournalState
	Database DatabaseState
	Valkey   ValkeyState
	Nodes    []Node // all nodes that share the database
	Versions []Fact
}

// JournalState holds the state of this node's journal.
type JournalState struct {
	Problem  string // why it cannot be written; empty if it can
	Behind   int64  // bytes that the database does not have yet
	Lost     int64  // bytes that could not be read back since the start
	Open     int64  // running attempts
	Unknown  int64  // attempts of a dead process that were settled as unknown since the start
	Database string // why the database does not accept the journal; empty if it does
}

// DatabaseState describes the database.
type DatabaseState struct {
	Engine          string // name and version
	Schema, Current int64  // number of applied migrations, and of those in this version
}

// ValkeyState reports whether the nodes share rate limits.
type ValkeyState struct {
	Used    bool
	Problem string // why limits are counted in memory; empty if they are shared
}

// Node is a node that shares the database.
type Node struct {
	budget.KnownNode
	Here bool // whether it is the answering node
}

// Settings holds the configuration in force.
type Settings struct {
	File     string // path of the file; empty for none
	Warnings []string
	Values   []Setting // in the order of the file
}

// Setting is one value with the path of its key, such as providers.openai.dialect.
type Setting struct{ Path, Value, From string }

// most bounds the rows of an operators' page. People are fewer per page, because each has a form and a dialog.
const (
	most       = 100
	mostPeople = 50
)
