package provider

import "time"

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

// BoundSockets sets the maximum of requests in flight over WebSockets.
func (p *Provider) BoundSockets(most int64) { p.sockets.most = most }

// InFlight returns the number of requests in flight over WebSockets.
func (p *Provider) InFlight() int64 { return p.sockets.busy.Load() }

// AwaitEnds waits until every idle WebSocket to a provider has received something, or one second.
func (p *Provider) AwaitEnds() {
	for range 1000 {
		quiet := 0
		p.sockets.idle.mu.Lock()
		for _, c := range p.sockets.idle.idle {
			if c.isQuiet() {
				quiet++
			}
		}
		p.sockets.idle.mu.Unlock()
		if quiet == 0 {
			return
		}
		time.Sleep(time.Millisecond)
	}
}
