package app

import (
	"net/http"
	"slices"
	"strings"

	"weir/internal/account"
	"weir/internal/answercache"
	"weir/internal/config"
	"weir/internal/dialect"
	"weir/internal/mcp"
	"weir/internal/oauth"
)

const (
	// preflightFor is the number of seconds for which a browser may cache the answer to a preflight.
	preflightFor = "600"
	// corsMethods lists the methods of the client APIs.
	corsMethods = "GET, HEAD, POST, DELETE"
	// mostAskedHeaders bounds the bytes of the header names in a preflight.
	mostAskedHeaders = 4 << 10
)

// corsPolicy holds the origins whose browser programs may use the client APIs and read their answers
// (https://fetch.spec.whatwg.org/#http-cors-protocol).
type corsPolicy struct {
	any     bool
	origins []string
	exposed string // headers that a program may read, besides those that are always readable
}

// newCORS returns nil if no other site may use the client APIs.
func newCORS(cfg *config.Config, dialects dialect.Set) *corsPolicy {
	if len(cfg.CORS.Origins) == 0 {
		return nil
	}
	return &corsPolicy{
		any:     slices.Contains(cfg.CORS.Origins, config.AnyOrigin),
		origins: cfg.CORS.Origins, exposed: exposedHeaders(dialects),
	}
}

// exposedHeaders lists the response headers of the client APIs.
func exposedHeaders(dialects dialect.Set) string {
	names := []string{
		"X-Request-Id", "Request-Id", "Retry-After", "X-Should-Retry", "Idempotent-Replayed", "Idempotent-Kept",
		"X-Weir-Provider", "X-Weir-Model", "X-Weir-Requested-Model", "X-Weir-Attempts", "X-Weir-Cost-USD",
		"X-Weir-Dropped", "X-Weir-Kept", "X-Weir-Answer-Of", answercache.Header, answercache.SavedHeader, "Age",
		"WWW-Authenticate", mcp.HeaderSession, // of tools: how to sign in, and the session
	}
	add := func(all []dialect.LimitHeaders) {
		for i := range all {
			names = append(names, all[i].Limit, all[i].Remaining, all[i].Reset)
		}
	}
	add(dialect.UsualLimits())
	for _, d := range dialects {
		add(d.Limits)
	}
	return strings.Join(names, ", ")
}

// crossOrigin answers the preflights of browsers, and lets their programs read the answers of the client APIs,
// including errors, if the configuration allows their origin.
func (s *site) crossOrigin(routes []httpRoute, next http.Handler) http.Handler {
	s.cors.Store(newCORS(&s.options.Config, s.dialects))
	clients := clientSegments(routes)
	preflight := s.counted(otherRoute, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNoContent)
	}))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		policy := s.cors.Load()
		path := r.URL.EscapedPath()
		if policy == nil || !clients[firstSegment(path)] && !oauth.IsForPrograms(path) {
			next.ServeHTTP(w, r)
			return
		}
		if policy.allow(w.Header(), r.Header["Origin"]) && isPreflight(r) {
			allowAsked(w.Header(), r.Header)
			preflight.ServeHTTP(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// clientSegments returns the first segments of the paths of the client APIs.
func clientSegments(routes []httpRoute) map[string]bool {
	all := map[string]bool{}
	for _, e := range routes {
		if e.permission == account.Chat || e.permission == account.Uses || e.permission == account.Tools {
			all[firstSegment(routeOf(e.pattern))] = true
		}
	}
	return all
}

// allow sets the headers that let the origin read an answer, and reports whether it may. With all origins it never
// allows credentials; API keys travel in headers, which do not count as credentials.
func (p *corsPolicy) allow(h http.Header, sent []string) bool {
	if !p.any {
		h["Vary"] = append(h["Vary"], "Origin")
	}
	if len(sent) != 1 || sent[0] == "" {
		return false
	}
	switch {
	case p.any:
		h["Access-Control-Allow-Origin"] = []string{config.AnyOrigin}
	case slices.Contains(p.origins, sent[0]):
		h["Access-Control-Allow-Origin"] = []string{sent[0]}
		h["Access-Control-Allow-Credentials"] = []string{"true"}
	default:
		return false
	}
	h["Access-Control-Expose-Headers"] = []string{p.exposed}
	return true
}

func isPreflight(r *http.Request) bool {
	return r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != ""
}

// allowAsked sets the methods and headers of the request behind a preflight. It allows every requested header: SDKs
// have many of their own, and "*" does not include Authorization.
func allowAsked(h, asked http.Header) {
	h["Vary"] = append(h["Vary"], "Access-Control-Request-Headers")
	h["Access-Control-Allow-Methods"] = []string{corsMethods}
	h["Access-Control-Max-Age"] = []string{preflightFor}
	if names := strings.Join(asked["Access-Control-Request-Headers"], ", "); names != "" && isHeaderList(names) {
		h["Access-Control-Allow-Headers"] = []string{names}
	}
}

// isHeaderList reports whether a text is a comma-separated list of header names.
func isHeaderList(names string) bool {
	const others = "!#$%&'*+-.^_`|~, "
	return len(names) <= mostAskedHeaders && !strings.ContainsFunc(names, func(c rune) bool {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		return !letter && !strings.ContainsRune(others, c)
	})
}
