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

// Book returns the prices, sizes and abilities of models. Its answer for a given time never changes. It is safe for
// concurrent use. Data is read on first use, one provider at a time.
type Book struct {
	index     *index // of prices, including the vendors that the supplement adds
	abilities *index
	prices    map[string][]ownPrice
	models    map[string]ModelOverride
	sources   map[string]string
	regions   map[string]string
	vendors   map[string]*shelf[vendor]
	sheets    map[string]*shelf[sheet]
	extra     *supplement
	own       map[string][]*addition // of the operator's files, by provider
	files     []FileInfo
	warnings  Problems
	assumed   Assumed
	usual     bool            // for tools in budgets
	margin    int64           // as in Overrides
	resellers map[string]bool // as in Overrides

	mu    sync.RWMutex
	cache map[key]*entry // at most maxCached entries
}

// shelf holds a data file that is read once.
type shelf[T any] struct {
	once sync.Once
	item *T // nil if it cannot be read; a test reads every file
}

func shelves[T any](x *index) map[string]*shelf[T] {
	all := make(map[string]*shelf[T], len(x.Vendors))
	for id := range x.Vendors {
		all[id] = &shelf[T]{}
	}
	return all
}

// get returns the file of that provider; nil if there is none.
func get[T any](all map[string]*shelf[T], id string, read func(id string) (*T, error)) *T {
	s := all[id]
	if s == nil {
		return nil
	}
	s.once.Do(func() { s.item, _ = read(id) })
	return s.item
}

// These constants bound the cache, because clients choose the names in it.
const (
	maxCached   = 4096
	maxNameSize = 256 // bytes; no provider's model has a longer name
)

type key struct{ provider, model string }

// entry holds the facts about a name. The current price is cached until the next one begins.
type entry struct {
	info   ModelInfo
	known  bool
	vendor string
	region string // in the provider's address; empty if it names none
	basis  llm.Basis
	model  *model     // nil if it is not in the data
	own    []ownPrice // the operator's prices, which take precedence, latest first
	fixed  *llm.Price // overrides the data's price; nil to use model's
	margin int64      // in thousandths, for prices that are not of exactly this seller
	resold bool       // the provider is a reseller: none of its prices is of exactly this seller
	// unprices makes assumed prices unknown.
	unprices bool
	current  atomic.Pointer[quote]
	served   atomic.Pointer[servedName] // see IsModel
}

// quote is a price and the range of Unix seconds in which it applies; until is exclusive.
type quote struct {
	price       llm.Price
	from, until int64
}

// ModelInfo holds the facts about a model other than its price.
type ModelInfo struct {
	ID         string // the model's name at its provider, without the provider
	Context    int64  // context window in tokens, input plus output; 0 if unknown
	MaxOutput  int64  // maximum output in tokens; 0 if unknown
	Abilities  Abilities
	Deprecated bool   // the provider has announced its end of life
	Source     string // name and version of the data, or "operator"; the source of the price if several differ
	Checked    string // day of the data, YYYY-MM-DD; empty for the operator's
}

// operator is the source name of the configuration.
const operator = "operator"

// Listing is a model with its current price.
type Listing struct {
	ModelInfo
	Price llm.Price // not Known if the model is unpriced
}

// NewBook builds a book from the embedded data and the operator's overrides. The error names the wrong override and the
// remedy. It is of type Problems for mistakes in price files.
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

// Files returns the book's price files.
func (b *Book) Files() []FileInfo { return b.files }

// Warnings returns the names in the price files that the data does not know. Warnings do not prevent the use of a file.
func (b *Book) Warnings() Problems { return b.warnings }

// Source returns the name and version of the embedded price data.
func (b *Book) Source() string { return b.index.title() }

// Day returns the day of the embedded price data, YYYY-MM-DD.
func (b *Book) Day() string { return b.index.Day }

// AbilitySource returns the name and version of the embedded data about abilities.
func (b *Book) AbilitySource() string { return b.abilities.title() }

// AbilityDay returns the day of that data, YYYY-MM-DD.
func (b *Book) AbilityDay() string { return b.abilities.Day }

// UsualTools reports whether budgets reserve the usual cost of providers' tools instead of the maximum.
func (b *Book) UsualTools() bool { return b.usual }

// Assumed returns the policy for prices that are not of exactly the requested model.
func (b *Book) Assumed() Assumed { return b.assumed }

// Price returns the complete price of a model at a provider at that time; no class depends on a default. The provider
// is a name in the configuration, or the id of a price source. The price is not Known if neither the operator nor the
// data has one. The price of a free model is Known and 0. Tiers points to data of the book and must not be changed.
func (b *Book) Price(provider, model string, at time.Time) llm.Price {
	return b.entry(provider, model).price(b.index, at.Unix()).price
}

// Model returns the facts about the model, and whether the data or the operator's models contain it.
func (b *Book) Model(provider, model string) (ModelInfo, bool) {
	e := b.entry(provider, model)
	return e.info, e.known
}

// Models lists the provider's models in the data and in the operator's overrides, sorted by name, with prices at that
// time. Names that only an operator's pattern matches are not listed.
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

// URLs returns the provider's pages with its prices.
func (b *Book) URLs(provider string) []string {
	if v := b.vendor(b.list(provider)); v != nil {
		return slices.Clone(v.URLs)
	}
	return nil
}

// named returns the provider's models that the operator's overrides name.
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

// entry returns the cached entry of the name, or a new one.
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
	// The names may be slices of a request body, which must not be retained.
	provider, model = strings.Clone(provider), strings.Clone(model)
	return b.remember(key{provider, model}, b.resolve(provider, model))
}

// remember caches the entry. A full cache drops an arbitrary entry.
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

// resolve looks up a name in all sources.
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

// match is the model in the data that a name refers to; model is nil if there is none.
type match struct {
	vendor string // id of the vendor with the data
	model  *model
	basis  llm.Basis
}

// find returns the model with that folded name in the data of the provider, or of a vendor whose models it resells.
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

// basisAt returns the basis of a price in the provider's list for the provider. Vertex AI uses the list of the Gemini
// API, so its prices are another seller's, unless the operator sets them.
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

// list returns the name of the provider's price list: its own if the operator's files have entries for it, else its
// source's.
func (b *Book) list(provider string) string {
	if len(b.own[provider]) > 0 {
		return provider
	}
	return b.source(provider)
}

// vendor returns the price list with that name; nil if there is none. If a data file cannot be read, its models are
// unpriced.
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
