package provider

import "net/http"

// NewTransport is net/http's Transport as a provider over TLS or behind a
// proxy has it, so that tests and benchmarks can put it beside the plain
// client.
func NewTransport(o Options) (http.RoundTripper, error) {
	o.fillDefaults()
	return newTransport(&o)
}

// ParseEntry reads a file of the catalogue.
func ParseEntry(text []byte) (Entry, error) { return parseEntry(text) }
