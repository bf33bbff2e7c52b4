package pricing

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"weir/internal/llm"
)

// Book answers what a model costs, how large it is and what it can do. It
// never changes what it says about the same moment, and is safe for concurrent
// use. Data is read when it is first asked for, a provider at a time.
type Book struct {
	index     *index // of prices, with the vendors that the supplement adds
	abilities *index
	prices    map[string][]ownPrice
	models    map[string]ModelOverride
	sources   map[string]string
	regions   map[string]string
	vendors   map[string]*shelf[vendor]
	sheets    map[string]*shelf[sheet]
	extra     *supplement
	own       map[string][]*addition // of the operator's files, by the provider they name
	files     []FileInfo
	warnings  Problems
	assumed   Assumed
	usual     bool            // of tools in budgets
	margin    int64           // as in Overrides
	resellers map[string]bool // likewise

	mu    sync.RWMutex
	cache map[key]*entry // at most maxCached
}

// shelf holds a file of the data that is read once.
type shelf[T any] struct {
	once sync.Once
	item *T // nil when it cannot be read; the tests read every one
}

func shelves[T any](x *index) map[string]*shelf[T] {
	all := make(map[string]*shelf[T], len(x.Vendors))
	for id := range x.Vendors {
		all[id] = &shelf[T]{}
	}
	return all
}

// get is the file of that provider, nil when there is none.
func get[T any](all map[string]*shelf[T], id string, read func(id string) (*T, error)) *T {
	s := all[id]
	if s == nil {
		return nil
	}
	s.once.Do(func() { s.item, _ = read(id) })
	return s.item
}

// Bounds of what is remembered of names that clients choose.
const (
	maxCached   = 4096
	maxNameSize = 256 // bytes; no provider has a model of a longer name
)

type key struct{ provider, model string }

// entry is all that is known of a name. The price of the moment is kept until
// the next one begins.
type entry struct {
	info   ModelInfo
	known  bool
	vendor string
	region string // of the provider's address; empty where it names none
	basis  llm.Basis
	model  *model     // nil: not in the data
	own    []ownPrice // of the operator, which count first, each until the one before
	fixed  *llm.Price // in place of the data's; nil for those of model
	margin int64      // of its prices that are not of exactly this seller, in thousandths
	resold bool       // no price is
	// unprices has prices that are assumed taken for unknown.
	unprices bool
	current  atomic.Pointer[quote]
}

// quote is a price and the Unix seconds in which it holds, until exclusive.
type quote struct {
	price       llm.Price
	from, until int64
}

// ModelInfo is what is known of a model besides its price.
type ModelInfo struct {
	ID         string // the model's name at its provider, without the provider
	Context    int64  // context window in tokens, input and output; 0 unknown
	MaxOutput  int64  // most tokens of output; 0 unknown
	Abilities  Abilities
	Deprecated bool   // the provider has announced its end
	Source     string // who says so: the data's name and version, or "operator"; for the price, where several do
	Checked    string // the day of the data, YYYY-MM-DD; empty for the operator's
}

// operator is the source of what the configuration says.
const operator = "operator"

// Listing is a model with its price at the moment of asking.
type Listing struct {
	ModelInfo
	Price llm.Price // not Known when the model is unpriced
}

// NewBook makes a book of the embedded data and the operator's overrides. The
// error says which override is wrong and what would be right; it is Problems where price
// files have mistakes.
func NewBook(o Overrides) (*Book, error) {
	s, err := readSupplement()
	if err != nil {
		return nil, err
	}
	return newBook(o, s)
}

func newBook(o Overrides, s *supplement) (*Book, error) {
	x, err := readIndex(priceIndex)
	if err != nil {
		return nil, err
	}
	abilities, err := readIndex(abilityIndex)
	if err != nil {
		return nil, err
	}
	for _, id := range s.vendors {
		x.Vendors[id] = len(s.entries[id])
	}
	prices, err := o.parse(x)
	if err != nil {
		return nil, err
	}
	b := &Book{
		index: x, abilities: abilities, prices: prices, models: maps.Clone(o.Models), sources: maps.Clone(o.Sources),
		regions: maps.Clone(o.Regions), vendors: shelves[vendor](x), sheets: shelves[sheet](abilities), extra: s,
		assumed: o.Assumed, usual: o.UsualTools, margin: o.Margin, resellers: maps.Clone(o.Resellers),
		cache: map[key]*entry{},
	}
	if len(o.Files) == 0 {
		return b, nil
	}
	r, err := readFiles(o.Files, b, o.Known)
	if err != nil {
		return nil, err
	}
	b.own, b.files, b.warnings, b.vendors = r.own, r.infos, r.warnings.all, shelves[vendor](x)
	for name := range b.own {
		b.vendors[name] = &shelf[vendor]{}
	}
	return b, nil
}

// Files are the price files that the book was made of.
func (b *Book) Files() []FileInfo { return b.files }

// Warnings are names in the price files that the data does not know. They keep nothing
// from being used.
func (b *Book) Warnings() Problems { return b.warnings }

// Source is the name and version of the embedded price data.
func (b *Book) Source() string { return b.index.title() }

// Day is the day of the embedded price data, YYYY-MM-DD.
func (b *Book) Day() string { return b.index.Day }

// AbilitySource is the name and version of the embedded data about what models
// can do, and AbilityDay its day, YYYY-MM-DD.
func (b *Book) AbilitySource() string { return b.abilities.title() }

// AbilityDay is the day of AbilitySource.
func (b *Book) AbilityDay() string { return b.abilities.Day }

// UsualTools reports whether budgets hold what tools of providers usually cost.
func (b *Book) UsualTools() bool { return b.usual }

// Assumed is what becomes of prices that are not of exactly the model asked for.
func (b *Book) Assumed() Assumed { return b.assumed }

// Price is what the model of that provider costs at that moment, in full: no
// class waits for a default. The provider is the name in the configuration, or
// the id of a price source. The price is not Known when neither the operator
// nor the data has one; a model that is free is Known and costs 0. What Tiers
// points to belongs to the book and must not be changed.
func (b *Book) Price(provider, model string, at time.Time) llm.Price {
	return b.entry(provider, model).price(b.index, at.Unix()).price
}

// Model is what is known of the model, and whether the data or the operator's
// models have it.
func (b *Book) Model(provider, model string) (ModelInfo, bool) {
	e := b.entry(provider, model)
	return e.info, e.known
}

// Models lists what the data and the operator know of the provider, by name,
// with prices at that moment. Names of which the operator has only a pattern
// are not listed.
func (b *Book) Models(provider string, at time.Time) []Listing {
	found := map[string]*entry{}
	v := b.vendor(b.list(provider))
	if v != nil {
		for i := range v.Models {
			m := &v.Models[i]
			own := match{vendor: v.ID, model: m, basis: basisAt(provider, m, llm.BasisModel)}
			found[m.listed()] = b.newEntry(provider, m.listed(), own)
		}
	}
	for _, name := range b.unlisted(provider, v) {
		found[name] = b.resolve(provider, name)
	}
	for _, name := range b.named(provider) {
		found[name] = b.resolve(provider, name)
	}
	list := make([]Listing, 0, len(found))
	for _, e := range found {
		one := Listing{ModelInfo: e.info, Price: e.price(b.index, at.Unix()).price}
		if strings.HasPrefix(one.Price.Version, operator+"/") {
			one.Source, one.Checked = operator, ""
		}
		list = append(list, one)
	}
	slices.SortFunc(list, func(x, y Listing) int { return cmp.Compare(x.ID, y.ID) })
	return list
}

// URLs are the pages on which the provider publishes its prices.
func (b *Book) URLs(provider string) []string {
	if v := b.vendor(b.list(provider)); v != nil {
		return slices.Clone(v.URLs)
	}
	return nil
}

// named are the provider's models that the operator names.
func (b *Book) named(provider string) (names []string) {
	add := func(full string) {
		if name, ok := strings.CutPrefix(full, provider+"/"); ok && name != "*" {
			names = append(names, name)
		}
	}
	for full := range b.prices {
		add(full)
	}
	for full := range b.models {
		add(full)
	}
	return names
}

// entry is the remembered answer for the name, or a new one.
func (b *Book) entry(provider, model string) *entry {
	b.mu.RLock()
	e := b.cache[key{provider, model}]
	b.mu.RUnlock()
	if e != nil {
		return e
	}
	if len(provider) > maxNameSize || len(model) > maxNameSize {
		return b.newEntry(provider, model, match{})
	}
	// The names may be slices of a request's body, which is not to be kept.
	provider, model = strings.Clone(provider), strings.Clone(model)
	return b.remember(key{provider, model}, b.resolve(provider, model))
}

// remember keeps the entry, in the place of any other when there is no room.
func (b *Book) remember(k key, e *entry) *entry {
	b.mu.Lock()
	defer b.mu.Unlock()
	if other := b.cache[k]; other != nil {
		return other
	}
	if len(b.cache) >= maxCached {
		for old := range b.cache {
			delete(b.cache, old)
			break
		}
	}
	b.cache[k] = e
	return e
}

// resolve looks a name up in everything there is.
func (b *Book) resolve(provider, model string) *entry {
	name := fold(model)
	if strings.HasPrefix(name, "arn:") {
		name = withoutPath(name)
	}
	found := b.find(b.list(provider), name)
	if same := samePrice(name); found.model == nil && same != name {
		found = b.find(b.list(provider), same)
	}
	found.basis = basisAt(provider, found.model, found.basis)
	return b.newEntry(provider, model, found)
}

// match is a model of the data that a name led to; its model is nil for none.
type match struct {
	vendor string // whose data it is in
	model  *model
	basis  llm.Basis
}

// find is the model of that folded name in the data: the provider's own, or that of one
// whose models it sells.
func (b *Book) find(list, name string) match {
	v := b.vendor(list)
	if v == nil {
		return match{}
	}
	for _, name := range datings(name) {
		for i, id := range append([]string{list}, v.Fallback...) {
			other := b.vendor(id)
			if other == nil {
				continue
			}
			m, exact := other.find(name)
			switch {
			case m == nil || m.Free && i > 0:
			case !exact:
				return match{id, m, llm.BasisFamily}
			case i > 0:
				return match{id, m, llm.BasisSeller}
			default:
				return match{id, m, llm.BasisModel}
			}
		}
	}
	return match{}
}

// basisAt is the basis of a price of the model in the provider's list, for the provider:
// Vertex AI sells what the list has of the Gemini API, unless the operator says otherwise.
func basisAt(provider string, m *model, basis llm.Basis) llm.Basis {
	if basis == llm.BasisModel && isVertex(provider) && (m == nil || m.own == nil || m.own.Provider != provider) {
		return llm.BasisSeller
	}
	return basis
}

func (b *Book) source(provider string) string {
	if id, ok := b.sources[provider]; ok {
		return id
	}
	return b.index.sourceFor(provider)
}

// list is the name of the provider's price list: its own where the operator's files have
// entries for it, else its source's.
func (b *Book) list(provider string) string {
	if len(b.own[provider]) > 0 {
		return provider
	}
	return b.source(provider)
}

// vendor is the price list of that name, nil when there is none. A file of the data that
// cannot be read leaves its models unpriced.
func (b *Book) vendor(list string) *vendor {
	return get(b.vendors, list, func(list string) (*vendor, error) {
		source := b.source(list)
		if _, ok := b.index.Vendors[list]; ok {
			source = list
		}
		entries := slices.Concat(b.extra.entries[source], b.own[source])
		if list != source {
			entries = append(entries, b.own[list]...)
		}
		v := &vendor{}
		if source != "" {
			var err error
			if v, err = b.extra.vendor(source); err != nil {
				return nil, err
			}
		}
		v.ID = list
		v.supplement(entries)
		return v, nil
	})
}
