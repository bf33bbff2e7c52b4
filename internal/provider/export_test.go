package provider

// ParseEntry reads a file of the catalogue.
func ParseEntry(text []byte) (Entry, error) { return parseEntry(text) }
