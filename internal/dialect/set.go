package dialect

import "slices"

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
