package dialect

import (
	"slices"
	"strings"
)

// Set is wire formats, in the order in which they are named to people.
type Set []*Dialect

// NewSet is a set of wire formats. At the vendors' client APIs a key may be in the
// header of any of them: that is where their SDKs put a key, whichever it is for.
func NewSet(all ...*Dialect) Set {
	var headers []string
	for _, d := range all {
		for _, name := range d.KeyHeaders {
			if !slices.Contains(headers, name) {
				headers = append(headers, name)
			}
		}
	}
	for _, d := range all {
		if len(d.KeyHeaders) > 0 {
			d.KeyHeaders = headers
		}
	}
	return all
}

// Find is the first for which is holds; nil for none.
func (s Set) Find(is func(d *Dialect) bool) *Dialect {
	if i := slices.IndexFunc(s, is); i >= 0 {
		return s[i]
	}
	return nil
}

// Named is the wire format of that name; nil for none.
func (s Set) Named(name string) *Dialect {
	return s.Find(func(d *Dialect) bool { return d.Name == name })
}

// Usual is what a provider of which nothing is said speaks.
func (s Set) Usual() *Dialect { return s.Find(func(d *Dialect) bool { return d.Usual }) }

// OfProviders are the names of those in which a provider can be asked.
func (s Set) OfProviders() (names []string) {
	for _, d := range s {
		if d.Path != nil {
			names = append(names, d.Name)
		}
	}
	return names
}

// Below are those of providers that clients, too, speak below a path.
func (s Set) Below(path string) (all []*Dialect) {
	for _, d := range s {
		if d.ClientAPI && d.Path != nil && strings.HasPrefix(d.Routes[0], "POST "+path) {
			all = append(all, d)
		}
	}
	return all
}

// Own is that of Weir's own client API.
func (s Set) Own() *Dialect {
	return s.Find(func(d *Dialect) bool { return d.ClientAPI && d.Vendor == "" })
}

// Keeping is the one whose answers are kept for requests to come.
func (s Set) Keeping() *Dialect { return s.Find(func(d *Dialect) bool { return d.Kept != nil }) }

// Inquiry is the way of asking of that name; nil for none.
func (s Set) Inquiry(name string) *Inquiry {
	if d := s.Find(func(d *Dialect) bool { return d.Inquiry != nil && d.Inquiry.Name == name }); d != nil {
		return d.Inquiry
	}
	return nil
}
