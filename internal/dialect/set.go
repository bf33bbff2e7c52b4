package dialect

import (
	"slices"
	"strings"
)

// Set is a list of wire formats, in the order in which people see them.
type Set []*Dialect

// NewSet returns a set of wire formats. At the vendors' client APIs a key may be in a header of any of them, because
// SDKs use their vendor's header for every key.
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

// Find returns the first wire format for which is returns true; nil for none.
func (s Set) Find(is func(d *Dialect) bool) *Dialect {
	if i := slices.IndexFunc(s, is); i >= 0 {
		return s[i]
	}
	return nil
}

// Named returns the wire format of that name; nil for none.
func (s Set) Named(name string) *Dialect {
	return s.Find(func(d *Dialect) bool { return d.Name == name })
}

// Usual returns the default wire format of a provider.
func (s Set) Usual() *Dialect { return s.Find(func(d *Dialect) bool { return d.Usual }) }

// OfProviders returns the names of wire formats with a client half.
func (s Set) OfProviders() (names []string) {
	for _, d := range s {
		if d.Path != nil {
			names = append(names, d.Name)
		}
	}
	return names
}

// Below returns the wire formats with both halves whose chat route begins with a path.
func (s Set) Below(path string) (all []*Dialect) {
	for _, d := range s {
		if d.ClientAPI && d.Path != nil && strings.HasPrefix(d.Routes[0], "POST "+path) {
			all = append(all, d)
		}
	}
	return all
}

// Own returns the wire format of Weir's own client API.
func (s Set) Own() *Dialect {
	return s.Find(func(d *Dialect) bool { return d.ClientAPI && d.Vendor == "" })
}

// Keeping returns the wire format whose answers are stored for later requests.
func (s Set) Keeping() *Dialect { return s.Find(func(d *Dialect) bool { return d.Kept != nil }) }

// Inquiry returns the inquiry of that name; nil for none.
func (s Set) Inquiry(name string) *Inquiry {
	if d := s.Find(func(d *Dialect) bool { return d.Inquiry != nil && d.Inquiry.Name == name }); d != nil {
		return d.Inquiry
	}
	return nil
}
