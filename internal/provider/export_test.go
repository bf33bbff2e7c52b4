package provider

// ParseEntry reads a file of the catalogue.
func ParseEntry(text []byte) (Entry, error) { return parseEntry(text) }

// Quiet counts the idle connections to a provider of HTTP/1.1 that are neither closed nor written to.
func (p *Provider) Quiet() (n int) {
	idle := &p.wire.(*http1).idle
	idle.mu.Lock()
	defer idle.mu.Unlock()
	for _, c := range idle.idle {
		if c.isQuiet() {
			n++
		}
	}
	return n
}
