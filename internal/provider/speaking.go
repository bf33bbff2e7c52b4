package provider

import (
	"slices"

	"weir/internal/dialect"
	"weir/internal/llm"
)

// Speaking returns the entry of that name for a wire format; an empty dialect means the entry's own. For another wire
// format the entry has the address in BaseURLs, if any, and only the quirks that apply everywhere. It returns nil if
// there is no such entry.
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

// Searching returns the wire format to use for a web search: d, unless only another wire format of the provider has a
// search tool.
func (p *Profile) Searching(d *dialect.Dialect) *dialect.Dialect {
	if i := slices.IndexFunc(p.opts.Also, p.searches); i >= 0 && !p.searches(d) {
		return p.opts.Also[i]
	}
	return d
}

// searches reports whether the provider has a web search tool in the wire format d.
func (p *Profile) searches(d *dialect.Dialect) bool {
	return d.SearchTool != nil && d.SearchTool(&llm.WebSearch{}, p.Quirks(d)) != nil
}
