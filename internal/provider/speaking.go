package provider

import (
	"slices"

	"weir/internal/dialect"
	"weir/internal/llm"
)

// Speaking is the entry of that name as its provider speaks a wire format, the
// entry's own where that is empty. In another it is at the address that the
// entry has for it, if any, and departs in what it does in every format alone. Nil for no
// such entry.
func (c Catalogue) Speaking(name, dialect string) *Entry {
	e := c.Find(name)
	if e == nil || dialect == "" || dialect == e.Dialect {
		return e
	}
	other := *e
	other.Dialect, other.Also, other.Quirks = dialect, nil, e.Quirks.Everywhere()
	if base, ok := e.BaseURLs[dialect]; ok {
		other.BaseURL = base
	}
	return &other
}

// Searching is the wire format to ask in for a search of the web: that one, unless it has no tool for it and another that
// the provider speaks has.
func (p *Provider) Searching(d *dialect.Dialect) *dialect.Dialect {
	if i := slices.IndexFunc(p.opts.Also, p.searches); i >= 0 && !p.searches(d) {
		return p.opts.Also[i]
	}
	return d
}

// searches reports whether the provider has a tool for a search in a wire format that it speaks.
func (p *Provider) searches(d *dialect.Dialect) bool {
	return d.SearchTool != nil && d.SearchTool(&llm.WebSearch{}, p.Quirks(d)) != nil
}
