package dashboard

import (
	"context"
	"time"

	"weir/internal/budget"
	"weir/internal/pricing"
	"weir/internal/route"
)

// Installation provides the data that only this node has. All members are set and safe for concurrent use.
type Installation struct {
	// Providers returns the state of the providers on this node, in the order of the configuration.
	Providers func() []route.ProviderCondition
	// Models returns the known models, by name, with their prices.
	Models func() []route.Model
	// Model returns a model by its full name, whether it is listed or not; false if no provider serves that name.
	Model func(name string) (route.Model, bool)
	// Unmatched returns the patterns that match no model and no alias.
	Unmatched func(patterns []string) []string
	// UnseenDays returns for how many days attempts with an unknown end can be resolved.
	UnseenDays func() int
	// PriceSources returns the sources of the prices.
	PriceSources func() PriceSources
	// Dialects lists the wire formats of providers, and Known the providers that need only a key.
	Dialects, Known []string
	// System returns the state of the installation, as this node sees it.
	System func(ctx context.Context) (System, error)
	// Settings returns the configuration in force, without secrets.
	Settings func() Settings
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
	SetAside int64  // records that could not be stored
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
	mostPeople = 48
)
