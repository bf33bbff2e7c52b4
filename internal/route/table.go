// Package route resolves the name of a model or an alias to an ordered list of targets.
package route

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/cespare/xxhash/v2"

	"weir/internal/llm"
	"weir/internal/pricing"
	"weir/internal/provider"
)

// Target is a model at a provider.
type Target struct {
	Provider *provider.Provider
	Model    string // the provider's own name
	Key      int    // index of the provider's credential
	// Margin is the highest charge of the target in thousandths of its price, if it may charge more than its price.
	Margin int64
	alias  *alias // nil if the model was requested by its full name
	seed   uint64 // hash of the full name, and the target's weight in the alias
	weight int
}

// FullName returns "<provider>/<model-name>".
func (t *Target) FullName() string { return t.Provider.Name() + "/" + t.Model }

// Options configures a Table.
type Options struct {
	Providers []*provider.Provider // in order of preference
	Book      *pricing.Book
	Aliases   map[string]Alias
	// DefaultModel is the model of requests without one: a full name or an alias.
	DefaultModel string
	// Listed names models of a provider for listings, if neither its configuration nor the price data lists any.
	Listed map[string][]string
	// DefaultMaxOutput is the largest output in tokens, used for models of unknown size.
	DefaultMaxOutput int64
	// Health is the health of targets and keys so far; nil starts with an empty one.
	Health *Health
}

// Table is an immutable set of routes.
type Table struct {
	sizes

	providers    []*provider.Provider
	byName       map[string]*entry
	aliases      map[string]*alias
	configured   map[targetID]bool // targets that the configuration names
	health       *Health
	rules        *ruleBook
	namedOnly    map[string][]string
	defaultModel string
	bare         map[string][]*provider.Provider // providers by the names without a slash of their models
}

// entry is a provider of the table.
type entry struct {
	provider *provider.Provider
	turn     atomic.Uint32 // counter that selects the next key in turn
	keys     []*circuit    // at least one
	seeds    []uint64      // hashes of the keys' ids
	budget   *retryBudget
	traffic  *traffic
}

// circuitOf returns the target's circuit.
func (t *Table) circuitOf(target *Target, now time.Time) *circuit {
	return t.health.target(target, t.configured[targetID{target.Provider.Name(), target.Model}], now)
}

func (t *Table) entryOf(target *Target) *entry { return t.byName[target.Provider.Name()] }

// NewTable returns a table. Its error names the mistake in the configuration.
func NewTable(o Options) (*Table, error) {
	t := &Table{
		sizes: sizes{o.Book, o.DefaultMaxOutput}, providers: o.Providers,
		byName: make(map[string]*entry, len(o.Providers)), aliases: make(map[string]*alias, len(o.Aliases)),
		configured: map[targetID]bool{}, namedOnly: o.Listed, defaultModel: o.DefaultModel, health: o.Health,
		rules: newRuleBook(),
	}
	if t.health == nil {
		t.health = NewHealth(nil)
	}
	for _, p := range o.Providers {
		e := &entry{
			provider: p, keys: t.health.keysOf(p), budget: t.health.budgetOf(p), traffic: t.health.trafficOf(p.Name()),
		}
		for k := range e.keys {
			e.seeds = append(e.seeds, xxhash.Sum64String(p.KeyID(k)))
		}
		t.byName[p.Name()] = e
		for _, model := range p.Models() {
			t.configured[targetID{p.Name(), model}] = true
		}
	}
	t.nameBare()
	for name, a := range o.Aliases {
		resolved, err := t.resolve(&a)
		if err != nil {
			return nil, fmt.Errorf("aliases.%s: %w", name, err)
		}
		t.aliases[name] = resolved
		t.configure(resolved.targets)
	}
	if t.defaultModel != "" {
		targets, err := t.Targets(nil, t.defaultModel, "")
		if err != nil {
			return nil, fmt.Errorf("default_model: %w", err)
		}
		t.configure(targets)
	}
	return t, nil
}

// configure adds targets that the configuration names.
func (t *Table) configure(targets []Target) {
	for i := range targets {
		t.configured[targetID{targets[i].Provider.Name(), targets[i].Model}] = true
	}
}

// Close closes the idle connections of the table's providers. Running requests continue.
func (t *Table) Close() {
	for _, p := range t.providers {
		p.Close()
	}
}

// Priced returns a copy of the table with other prices.
func (t *Table) Priced(book *pricing.Book) *Table {
	other := *t
	other.book = book
	other.nameBare()
	return &other
}

// Provider returns the provider of that name; nil if there is none.
func (t *Table) Provider(name string) *provider.Provider {
	if e, ok := t.byName[name]; ok {
		return e.provider
	}
	return nil
}

// Asking returns the providers that can be queried about replies.
func (t *Table) Asking() (list []*provider.Provider) {
	for _, p := range t.providers {
		if p.Asks(nil) {
			list = append(list, p)
		}
	}
	return list
}

// DefaultModel returns the model of requests without one; empty if there is none.
func (t *Table) DefaultModel() string { return t.defaultModel }

// Targets appends the targets of the model to dst, in the configured order. The model is resolved as an alias, where
// the longest matching prefix with an asterisk counts; as a full name; or, without a slash, as a model of the vendor's
// own provider at a vendor's client API (clientAPI is its name); else as a model of the only provider that lists it.
// The error is a *llm.Error.
func (t *Table) Targets(dst []Target, model, clientAPI string) ([]Target, error) {
	if a := t.alias(model); a != nil {
		return append(dst, a.targets...), nil
	}
	if strings.Contains(model, "/") {
		return t.named(dst, model)
	}
	if e, ok := t.byName[clientAPI]; ok && e.provider.Serves(model) {
		return append(dst, Target{Provider: e.provider, Model: model}), nil
	}
	return t.listed(dst, model, clientAPI)
}

// named resolves a full name, split at its first slash, because names of models may contain slashes.
func (t *Table) named(dst []Target, full string) ([]Target, error) {
	name, model, ok := strings.Cut(full, "/")
	if !ok || name == "" || model == "" {
		return nil, llm.Invalidf("model", `%q is not of the form "<provider>/<model-name>".`, full)
	}
	e, ok := t.byName[name]
	if !ok {
		return nil, notFound(full, fmt.Sprintf(
			"No provider %q is configured; GET /v1/models lists the available models.", name))
	}
	if canonical := e.provider.Dialect().Canonical; canonical != nil {
		model = canonical(model)
	}
	if model == "" || !e.provider.Serves(model) {
		return nil, notFound(full, fmt.Sprintf(
			"Provider %q is configured not to serve it; GET /v1/models lists the available models.", name))
	}
	return append(dst, Target{Provider: e.provider, Model: model}), nil
}

func notFound(model, hint string) *llm.Error {
	return llm.Errorf(llm.CodeModelNotFound, "The model %q is not served here. %s", model, hint).At("model")
}

// Price returns the price of the target at a time, raised to its highest charge of the last hour or to its own margin.
// It is not Known if the target is unpriced.
func (t *Table) Price(target *Target, at time.Time) llm.Price {
	id := targetID{target.Provider.Name(), target.Model}
	return t.book.Price(id.provider, id.model, at).WithMargin(max(target.Margin, t.health.dearer.timesAt(id, at)))
}

// Model describes a model or an alias for listings.
type Model struct {
	Name       string // "<provider>/<model-name>", or an alias
	Provider   string // empty for an alias
	Context    int64  // tokens; 0 if unknown
	MaxOutput  int64  // tokens; 0 if unknown
	Abilities  pricing.Abilities
	Deprecated bool // the provider has announced its end
	Price      llm.Price
	Source     string   // source of the price, or of the other data of a model without one
	Checked    string   // day of that data
	Targets    []string // of an alias
}

// Listed returns the model of a listing of prices.
func Listed(provider string, l *pricing.Listing) Model {
	return Model{
		Name: provider + "/" + l.ID, Provider: provider, Context: l.Context, MaxOutput: l.MaxOutput,
		Abilities: l.Abilities, Deprecated: l.Deprecated, Price: l.Price, Source: l.Source, Checked: l.Checked,
	}
}

// Models lists all known models and the aliases, by name. For a provider these are its configured models, or else those
// in the price data.
func (t *Table) Models(at time.Time) []Model {
	var all []Model
	for _, p := range t.providers {
		all = append(all, t.modelsOf(p, at)...)
	}
	for name, a := range t.aliases {
		all = append(all, t.aliasModel(name, a, at))
	}
	slices.SortFunc(all, func(a, b Model) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// Model describes a model by its full name, even if Models does not list it; false if no provider serves it.
func (t *Table) Model(full string, at time.Time) (Model, bool) {
	targets, err := t.named(nil, full)
	if err != nil {
		return Model{}, false
	}
	p, name := targets[0].Provider.Name(), targets[0].Model
	info, _ := t.book.Model(p, name)
	info.ID = name
	return Listed(p, &pricing.Listing{ModelInfo: info, Price: t.book.Price(p, name, at)}), true
}

// Shows reports whether the configuration or a listing names a target, and not only a client's request.
func (t *Table) Shows(full string, at time.Time) bool {
	provider, model, _ := strings.Cut(full, "/")
	if t.configured[targetID{provider, model}] {
		return true
	}
	e := t.byName[provider]
	return e != nil && slices.ContainsFunc(t.modelsOf(e.provider, at), func(m Model) bool { return m.Name == full })
}

func (t *Table) modelsOf(p *provider.Provider, at time.Time) []Model {
	known := map[string]pricing.Listing{}
	var names []string
	for _, l := range t.book.Models(p.Name(), at) {
		known[l.ID] = l
		names = append(names, l.ID)
	}
	names = append(names, t.namedOnly[p.Name()]...)
	if only := p.Models(); len(only) > 0 {
		names = only
	}
	models := make([]Model, 0, len(names))
	for _, name := range names {
		l, ok := known[name]
		if !ok {
			l.ModelInfo, _ = t.book.Model(p.Name(), name)
			l.Price = t.book.Price(p.Name(), name, at)
		}
		models = append(models, Listed(p.Name(), &l))
	}
	return models
}
