package provider

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
