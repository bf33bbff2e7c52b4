// Package route turns the name of a model, or an alias, into the targets that
// can answer for it, in order.
package route

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"weir/internal/llm"
	"weir/internal/pricing"
	"weir/internal/provider"
)

// Target is a provider and one of its models.
type Target struct {
	Provider *provider.Provider
	Model    string // the provider's own name
	Key      int    // which of the provider's credentials to use
	// Margin is up to how many thousandths of its price the target may charge, where that is more than its price says.
	Margin int64
	on     []llm.Cause // of the alias that it is of: after which failures of the target the next one is asked; nil for the rules'
}

// FullName is "<provider>/<model-name>".
func (t *Target) FullName() string { return t.Provider.Name() + "/" + t.Model }

// Options is what a Table is made of.
type Options struct {
	Providers []*provider.Provider // in order of preference
	Book      *pricing.Book
	Aliases   map[string]Alias
	// DefaultModel is what a request without a model gets: a full name or an
	// alias.
	DefaultModel string
	// Listed names models of a provider for listings, where neither its
	// configuration nor the price data does.
	Listed map[string][]string
	// DefaultMaxOutput stands in, in tokens, for the largest output of a model
	// that nobody knows.
	DefaultMaxOutput int64
	// Health is what was learnt of the providers; nil to begin with nothing.
	Health *Health
}

// Table is an immutable set of routes.
type Table struct {
	providers        []*provider.Provider
	byName           map[string]*entry
	aliases          map[string]*alias
	configured       map[targetID]bool // the targets of aliases
	health           *Health
	rules            *ruleBook
	book             *pricing.Book
	namedOnly        map[string][]string
	defaultModel     string
	bare             map[string][]*provider.Provider // that have a model, by its name without a slash
	defaultMaxOutput int64
}

// entry is a provider of the table.
type entry struct {
	provider *provider.Provider
	turn     atomic.Uint32 // whose turn it is among the keys
	keys     []*circuit    // at least one
	budget   *retryBudget
	traffic  *traffic
}

// circuitOf is how the target has fared.
func (t *Table) circuitOf(target *Target, now time.Time) *circuit {
	return t.health.target(target, t.configured[targetID{target.Provider.Name(), target.Model}], now)
}

func (t *Table) entryOf(target *Target) *entry { return t.byName[target.Provider.Name()] }

// NewTable makes a table. The error names what the configuration gets wrong.
func NewTable(o Options) (*Table, error) {
	t := &Table{
		providers: o.Providers, byName: make(map[string]*entry, len(o.Providers)),
		aliases: make(map[string]*alias, len(o.Aliases)), configured: map[targetID]bool{}, book: o.Book,
		namedOnly: o.Listed, defaultModel: o.DefaultModel, defaultMaxOutput: o.DefaultMaxOutput, health: o.Health,
		rules: newRuleBook(),
	}
	if t.health == nil {
		t.health = NewHealth(nil)
	}
	for _, p := range o.Providers {
		t.byName[p.Name()] = &entry{
			provider: p, keys: t.health.keysOf(p), budget: t.health.budgetOf(p), traffic: t.health.trafficOf(p.Name()),
		}
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

// configure takes note of targets that the configuration names.
func (t *Table) configure(targets []Target) {
	for i := range targets {
		t.configured[targetID{targets[i].Provider.Name(), targets[i].Model}] = true
	}
}

// Close closes the idle connections of the table's providers. Requests under
// way go on.
func (t *Table) Close() {
	for _, p := range t.providers {
		p.Close()
	}
}

// Priced is the same table with other prices.
func (t *Table) Priced(book *pricing.Book) *Table {
	other := *t
	other.book = book
	other.nameBare()
	return &other
}

// Provider is the provider of that name; nil for none.
func (t *Table) Provider(name string) *provider.Provider {
	if e, ok := t.byName[name]; ok {
		return e.provider
	}
	return nil
}

// Asking are the providers that can be asked about replies.
func (t *Table) Asking() (list []*provider.Provider) {
	for _, p := range t.providers {
		if p.Asks(nil) {
			list = append(list, p)
		}
	}
	return list
}

// DefaultModel is what a request without a model gets; empty when there is
// none.
func (t *Table) DefaultModel() string { return t.defaultModel }

// Targets appends to dst who can answer for the model, in order. An alias that
// ends with an asterisk is one for all names that begin as it does, of several
// the longest. Another name without a slash is, at a vendor's client API, which is the name of
// its provider, that vendor's model, else that of the one provider that lists it. The
// error is a *llm.Error.
func (t *Table) Targets(dst []Target, model, clientAPI string) ([]Target, error) {
	if a := t.alias(model); a != nil {
		return a.order(dst, t.health), nil
	}
	if strings.Contains(model, "/") {
		return t.named(dst, model)
	}
	if e, ok := t.byName[clientAPI]; ok && e.provider.Serves(model) {
		return append(dst, Target{Provider: e.provider, Model: model}), nil
	}
	return t.listed(dst, model, clientAPI)
}

// named resolves a full name, split at its first slash: the names of models
// have slashes themselves.
func (t *Table) named(dst []Target, full string) ([]Target, error) {
	name, model, ok := strings.Cut(full, "/")
	if !ok || name == "" || model == "" {
		return nil, llm.Invalidf("model", `%q is not of the form "<provider>/<model-name>".`, full)
	}
	e, ok := t.byName[name]
	if !ok {
		return nil, notFound(full, fmt.Sprintf("No provider %q is configured; GET /v1/models lists what there is.", name))
	}
	if canonical := e.provider.Dialect().Canonical; canonical != nil {
		model = canonical(model)
	}
	if model == "" || !e.provider.Serves(model) {
		return nil, notFound(full, fmt.Sprintf("Provider %q is configured not to serve it; GET /v1/models lists what there is.", name))
	}
	return append(dst, Target{Provider: e.provider, Model: model}), nil
}

func notFound(model, hint string) *llm.Error {
	return llm.Errorf(llm.CodeModelNotFound, "The model %q is not served here. %s", model, hint).At("model")
}

// Price is what the target costs at that moment, with the margin of what it charged in the last hour, or with its own; not
// Known when unpriced.
func (t *Table) Price(target *Target, at time.Time) llm.Price {
	id := targetID{target.Provider.Name(), target.Model}
	return t.book.Price(id.provider, id.model, at).WithMargin(max(target.Margin, t.health.dearer.timesAt(id, at)))
}

// RefusesAssumed reports whether requests are refused whose price is not of exactly
// the model asked for.
func (t *Table) RefusesAssumed() bool { return t.book.Assumed() == pricing.RefuseAssumed }

// UsualTools reports whether budgets hold what tools of providers usually cost, and not what
// they cost at most.
func (t *Table) UsualTools() bool { return t.book.UsualTools() }

// Context is the target's context window in tokens; 0 where nobody knows.
func (t *Table) Context(target *Target) int64 {
	info, _ := t.book.Model(target.Provider.Name(), target.Model)
	return info.Context
}

// MaxOutput is the most tokens of output that the target gives: of the model,
// or of its whole context window, where one of these is known, and the
// configured stand-in otherwise.
func (t *Table) MaxOutput(target *Target) (tokens int64, known bool) {
	info, _ := t.book.Model(target.Provider.Name(), target.Model)
	switch {
	case info.MaxOutput > 0:
		return info.MaxOutput, true
	case info.Context > 0:
		return info.Context, true
	}
	return t.defaultMaxOutput, false
}

// OutputCap is the output cap, in tokens, for a request to the target that has
// none: the most that its model gives, or the configured stand-in where nobody
// knows that, within the context window.
func (t *Table) OutputCap(target *Target) int64 {
	info, _ := t.book.Model(target.Provider.Name(), target.Model)
	switch {
	case info.MaxOutput > 0:
		return info.MaxOutput
	case info.Context > 0:
		return min(t.defaultMaxOutput, info.Context)
	}
	return t.defaultMaxOutput
}

// MayReason reports whether the target's model may reason before it answers: nobody says
// that it does not.
func (t *Table) MayReason(target *Target) bool {
	info, _ := t.book.Model(target.Provider.Name(), target.Model)
	return info.Abilities.Reasoning != pricing.No
}

// TakesDocuments reports whether the target's model is known to take documents.
func (t *Table) TakesDocuments(target *Target) bool {
	info, _ := t.book.Model(target.Provider.Name(), target.Model)
	return info.Abilities.Documents == pricing.Yes
}

// Model is one that the table can route to, for listings.
type Model struct {
	Name       string // "<provider>/<model-name>", or an alias
	Provider   string // empty for an alias
	Context    int64  // tokens; 0 for unknown
	MaxOutput  int64  // tokens; 0 for unknown
	Abilities  pricing.Abilities
	Deprecated bool // the provider has announced its end
	Price      llm.Price
	Source     string   // where the price is from, or what is known where there is none
	Checked    string   // the day of that data
	Targets    []string // of an alias
}

// Listed is the model as a listing shows it.
func Listed(provider string, l *pricing.Listing) Model {
	return Model{
		Name: provider + "/" + l.ID, Provider: provider, Context: l.Context, MaxOutput: l.MaxOutput,
		Abilities: l.Abilities, Deprecated: l.Deprecated, Price: l.Price, Source: l.Source, Checked: l.Checked,
	}
}

// Models lists what is known by name: what each provider is configured to
// serve or else what the price data knows of it, and the aliases.
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

// Model is what is known of one model by its full name, whether Models lists it or
// not; false for a name that no provider serves.
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

// Shows reports whether the configuration or a listing names a target: whether it is
// more than what somebody has asked for.
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
