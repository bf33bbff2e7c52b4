package pricing

import (
	"cmp"
	"math"
	"path"
	"slices"

	"weir/internal/llm"
)

// newEntry combines the price data of a model, which may be nil, with its abilities and the operator's overrides of the
// name.
func (b *Book) newEntry(provider, name string, found match) *entry {
	m := found.model
	if seller := b.source(provider); m != nil && b.source(found.vendor) != seller {
		m = m.soldBy(b.extra.entries[seller])
	}
	e := &entry{
		info: ModelInfo{ID: name}, vendor: found.vendor, region: b.regions[provider], model: m, basis: found.basis,
		margin: b.margin, resold: b.resellers[provider],
	}
	if f := b.feature(provider, fold(name), found.vendor, m); f != nil {
		e.known = true
		e.info.Context, e.info.MaxOutput = f.Context, f.Output
		e.info.Abilities, e.info.Deprecated = f.Abilities, f.Deprecated
		e.info.Source, e.info.Checked = b.AbilitySource(), b.AbilityDay()
	}
	if m != nil {
		e.known = true
		e.info.Context = cmp.Or(m.Context, e.info.Context)
		e.info.MaxOutput = cmp.Or(m.MaxOutput, e.info.MaxOutput)
		e.info.Deprecated = e.info.Deprecated || m.Deprecated
		e.info.Source, e.info.Checked = b.Source(), b.Day()
		if said := cmp.Or(m.own, m.added); said != nil {
			e.info.Source, e.info.Checked = said.Source, said.day()
		}
	}
	o, ok := override(b.models, provider, name)
	e.info.overrule(&o)
	if ok {
		e.known = true
		e.info.Source = cmp.Or(e.info.Source, operator)
	}
	e.own = slices.Concat(b.prices[provider+"/"+name], b.prices[provider+"/*"])
	if slices.ContainsFunc(e.own, func(d ownPrice) bool { return d.from == math.MinInt64 }) {
		e.info.Source, e.info.Checked = operator, ""
	}
	if m == nil || m.Free && found.basis != llm.BasisModel {
		e.fixed = &llm.Price{}
	}
	e.unprices = b.assumed == UnpriceAssumed
	return e
}

// overrule applies the operator's overrides. The sizes may come from different sources: a maximum output above the
// context window is treated as unknown.
func (m *ModelInfo) overrule(o *ModelOverride) {
	m.Context = cmp.Or(o.Context, m.Context)
	if m.Context > 0 && m.MaxOutput > m.Context {
		m.MaxOutput = 0
	}
	m.MaxOutput = cmp.Or(o.MaxOutput, m.MaxOutput)
	said := o.abilities()
	said.combine(&m.Abilities, Ability.or)
	m.Abilities = said
}

// override returns the operator's value for the name itself, else for all models of the provider.
func override[T any](of map[string]T, provider, name string) (v T, ok bool) {
	if len(of) == 0 {
		return v, false
	}
	if v, ok = of[provider+"/"+name]; ok {
		return v, true
	}
	v, ok = of[provider+"/*"]
	return v, ok
}

// price returns the quote for that second. Concurrent callers may compute it twice, with the same result.
func (e *entry) price(x *index, sec int64) *quote {
	q := e.current.Load()
	if q == nil || sec < q.from || sec >= q.until {
		q = e.quoteAt(x, sec)
		e.current.Store(q)
	}
	return q
}

// quoteAt returns the operator's price at that second, else the data's.
func (e *entry) quoteAt(x *index, sec int64) *quote {
	q := &quote{from: math.MinInt64, until: math.MaxInt64}
	own := slices.IndexFunc(e.own, func(d ownPrice) bool { return d.from <= sec })
	switch {
	case own >= 0:
		q.price = e.own[own].price
	case e.fixed != nil:
		q.price = *e.fixed
	default:
		q = e.model.quote(x, e.vendor, e.region, sec)
		q.price.Basis = max(q.price.Basis, e.basis)
		if e.basis != llm.BasisSeller && e.model.isGone(sec) { // another seller may still offer it
			q.price = llm.Price{}
		}
		if e.unprices && q.price.Basis != llm.BasisModel {
			q.price = llm.Price{Basis: q.price.Basis}
		}
	}
	q.price = q.price.WithMargin(e.marginOf(&q.price))
	for _, d := range e.own {
		if d.from <= sec {
			q.from = max(q.from, d.from)
		} else {
			q.until = min(q.until, d.from)
		}
	}
	return q
}

// marginOf returns the upper bound of the true charge in thousandths of a price: the price's ceiling if it is assumed
// and in the seller's own list, else at least the configured margin.
func (e *entry) marginOf(p *llm.Price) int64 {
	switch {
	case p.Basis == llm.BasisModel && !e.resold:
		return 0
	case p.Ceiling > 0 && e.basis == llm.BasisModel && !e.resold:
		return p.Ceiling
	}
	return max(e.margin, p.Ceiling)
}

// quote returns the data's price at that second, in a region. A price that cannot be read is unknown, never free.
func (m *model) quote(x *index, vendor, region string, sec int64) *quote {
	q := &quote{}
	q.from, q.until = m.span(sec)
	p, ok, err := m.price(region, sec)
	free := m.isFree(region, sec)
	if err != nil || !ok && !free {
		return q
	}
	for c, rate := range p.Rates {
		if free && !rate.Known() {
			p.Rates[c] = llm.Free
		}
	}
	if p.Modes == nil {
		p.Modes = []llm.Mode{}
	}
	source := path.Base(x.Source) + "@" + x.Version
	switch {
	case slices.ContainsFunc(m.additionsAt(region, sec), (*addition).isOwn):
		source = "file"
	case m.added != nil:
		source = "supplement"
	}
	p.Version = source + "/" + vendor + "/" + m.ID + "#" + digest(&p)
	q.price = p
	return q
}
