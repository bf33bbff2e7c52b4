package app

import (
	"net/http"
	"net/url"
	"slices"

	"weir/internal/account"
	"weir/internal/llm"
	"weir/internal/opensocket"
	"weir/internal/socket"
)

// sockets returns the routes of the client APIs' WebSockets.
func (s *site) sockets() []httpRoute {
	d := s.dialects.Keeping()
	op := d.For(llm.OpChat)
	path := routeOf(op.Routes[0])
	return []httpRoute{{
		pattern: "GET " + path, permission: account.Chat, dialect: d, handler: socket.New(socket.Options{
			Requests: s.gateway.Socket(path, d, op, account.Chat), Open: s.open, Refuse: s.refuseOrigin,
		}),
	}}
}

// socketReporter returns the reporter of the node's open WebSockets.
func socketReporter(g *instance) *opensocket.Reporter {
	return opensocket.NewReporter(opensocket.Options{
		Open: g.site.open, Store: g.store.Sockets, Node: g.ledger.Journal(), Every: opensocket.Every,
		Log: g.options.Log,
	})
}

// refuseOrigin refuses a WebSocket to a browser's program from a site that may not use the client APIs. Browsers do not
// check that themselves, as they do for other requests (RFC 6455, section 10.2). A request without an Origin is none of
// a browser.
func (s *site) refuseOrigin(r *http.Request) error {
	origins := r.Header["Origin"]
	if len(origins) == 0 {
		return nil
	}
	policy := s.cors.Load()
	if u, err := url.Parse(origins[0]); len(origins) == 1 && err == nil && u.Host != "" && u.Host == r.Host ||
		policy != nil && policy.permits(origins) {
		return nil
	}
	return llm.Errorf(llm.CodeForbidden, "Programs of the site %.100q may not open WebSockets here. The operator "+
		"permits them with cors.origins.", origins[0])
}

// permits reports whether programs of an origin may use the client APIs.
func (p *corsPolicy) permits(sent []string) bool {
	return p.any || len(sent) == 1 && slices.Contains(p.origins, sent[0])
}
