package app

import (
	"iter"
	"maps"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"

	"weir/internal/account"
	"weir/internal/dialect"
	"weir/internal/people"
)

// httpRoute holds one pattern of the service with the permission or right that it requires.
type httpRoute struct {
	pattern    string
	permission account.Permission // permission of an API key; empty for everyone, or for people with the right
	right      people.Right       // right of a signed-in person; empty if the route is not for people
	handler    http.Handler
	dialect    *dialect.Dialect // the dialect of its errors; nil for the service's own
}

// routes returns every pattern that the service answers. Other paths get 404.
func (s *site) routes() []httpRoute {
	var all []httpRoute
	seen := map[string]bool{} // because OpenAI's two wire formats share routes
	for _, d := range s.dialects {
		if !d.ClientAPI {
			continue
		}
		for route, served := range d.Served() {
			if seen[route] {
				continue
			}
			seen[route] = true
			all = append(all, httpRoute{pattern: route, permission: account.Chat, handler: s.gateway.Handler(
				routeOf(route), d, served, account.Chat), dialect: d})
		}
	}
	all = append(all, s.sockets()...)
	counting := len(all) // the routes up to here count their requests themselves
	responses := s.dialects.Keeping()
	// asked returns a route for keys with the permission chat.
	asked := func(pattern string, answer func(account.Permission) http.Handler, d *dialect.Dialect) httpRoute {
		return httpRoute{pattern: pattern, permission: account.Chat, handler: answer(account.Chat), dialect: d}
	}
	all = append(all,
		asked("GET "+keptPath, s.api.Responses.Get, responses),
		asked("DELETE "+keptPath, s.api.Responses.Delete, responses),
		asked("GET "+keptPath+"/input_items", s.api.Responses.InputItems, responses),
		asked("POST "+keptPath+"/cancel", s.api.Responses.Cancel, responses),
	)
	for _, r := range s.api.Models.Lists(account.Chat) {
		all = append(all, httpRoute{
			pattern: r.Pattern, permission: account.Chat, handler: r.Handler, dialect: r.Dialect,
		})
	}
	all = append(all, s.realtimeRoutes()...)
	all = append(all, s.metricsRoute()...)
	all = append(all, s.toolRoutes()...)
	all = append(all,
		httpRoute{pattern: "GET /v1/uses", permission: account.Uses, handler: s.api.Uses.List(account.Uses)},
		httpRoute{pattern: "GET /uses", permission: account.Uses, handler: s.api.Uses.List(account.Uses)},
		httpRoute{pattern: "GET /openapi.json", handler: s.api.Document},
		httpRoute{pattern: "GET /livez", handler: s.api.Health.Live()},
		httpRoute{pattern: "GET /readyz", handler: s.api.Health.Ready(s.draining.Load)},
	)
	all = append(all, s.oauthRoutes()...)
	all = append(all, s.documents()...)
	all = append(all, s.pages()...)
	for i := range all[counting:] {
		e := &all[counting+i]
		e.handler = s.counted(routeOf(e.pattern), e.handler)
	}
	return all
}

// vendorNotFounds returns the unknown paths near the vendors' client APIs, which get the vendor's error: paths below
// a client API, and all other paths of a version that only the vendor has.
func (s *site) vendorNotFounds() map[string]*dialect.Dialect {
	all := map[string]*dialect.Dialect{}
	for _, d := range s.dialects {
		if !d.ClientAPI || d.Vendor == "" {
			continue
		}
		for _, r := range d.Routes {
			_, path, _ := strings.Cut(r, " ")
			chatAPI, _, wild := strings.Cut(path, "{")
			version, _, _ := strings.Cut(path[1:], "/")
			switch {
			case version != "v1":
				all["/"+version+"/"] = d
			case wild && path != chatAPI+"{target...}":
				all[chatAPI] = d
			case wild: // the route matches everything below it
			default:
				all[path+"/"] = d
			}
		}
	}
	return all
}

// handler returns the router of the service. Most requests have a fixed path and need no table of routes, which is
// large: it is made for the first request that needs it.
func (s *site) handler() http.Handler {
	routes := s.routes()
	quick := quickRoutes(routes)
	table := sync.OnceValue(func() *table { return s.table(routes) })
	return s.gateway.Bounded(s.crossOrigin(routes,
		s.hostChecked(routes, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if h := quick[r.Method][r.URL.Path]; h != nil && r.URL.RawPath == "" {
				h.ServeHTTP(w, r)
				return
			}
			table().ServeHTTP(w, r)
		}))))
}

// quickRoutes returns the handlers by method and path of what is asked most often: POSTs to paths without wildcards,
// and the probes of a health check.
func quickRoutes(routes []httpRoute) map[string]map[string]http.Handler {
	posts, gets := map[string]http.Handler{}, map[string]http.Handler{}
	for _, e := range routes {
		method, path, _ := strings.Cut(e.pattern, " ")
		switch {
		case method == http.MethodPost && !strings.ContainsAny(path, "{}"):
			posts[path] = e.handler
		case method == http.MethodGet && isHealth(path):
			gets[path] = e.handler
		}
	}
	return map[string]map[string]http.Handler{http.MethodPost: posts, http.MethodGet: gets}
}

// table answers requests by all routes.
type table struct {
	mux              *http.ServeMux
	dialects         dialect.Set
	nothing, noAdmin http.Handler // for unknown paths
}

// table returns the table of routes. A known path with another method gets a 405 that lists the allowed ones.
func (s *site) table(routes []httpRoute) *table {
	mux := http.NewServeMux()
	methods, first := map[string][]string{}, map[string]httpRoute{}
	for _, e := range routes {
		mux.Handle(e.pattern, e.handler)
		method, path, _ := strings.Cut(e.pattern, " ")
		methods[path], first[path] = append(methods[path], method), e
	}
	crossed := crossings(maps.Keys(methods))
	for path, allowed := range methods {
		if slices.Contains(allowed, http.MethodGet) {
			allowed = append(allowed, http.MethodHead)
		}
		refuse := s.api.MethodNotAllowed(first[path].dialect, allowed...)
		if isAdmin(path) {
			refuse = s.api.Admin.MethodNotAllowed(allowed...)
		}
		if d := first[path].dialect; path == keptPath {
			refuse = refuseKept(refuse, s.api.NotServed(d, servedPaths(routes, d)))
		}
		refuse = s.counted(otherRoute, refuse)
		for _, method := range otherMethods(crossed[path], allowed) {
			mux.Handle(method+path, refuse)
		}
	}
	for around, d := range s.vendorNotFounds() {
		mux.Handle(around, s.counted(otherRoute, s.api.NotServed(d, servedPaths(routes, d))))
	}
	for _, path := range []string{"/v1/conversations", "/v1/conversations/"} {
		mux.Handle(path, s.counted(otherRoute, s.api.NoConversations(s.dialects.Keeping())))
	}
	nothing := s.counted(otherRoute, s.notFound(servedPaths(routes, nil)))
	noAdmin := s.counted(otherRoute, s.api.Admin.NotFound())
	mux.Handle("/", nothing)
	mux.Handle(adminPath, noAdmin)
	mux.Handle(strings.TrimSuffix(adminPath, "/"), noAdmin) // without it, the mux would redirect
	return &table{mux: mux, dialects: s.dialects, nothing: nothing, noAdmin: noAdmin}
}

// ServeHTTP implements http.Handler.
func (t *table) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	r = withOneSlash(r)
	// Without this check the mux would redirect, with its own body.
	if escaped := r.URL.EscapedPath(); path.Clean(escaped) != escaped {
		if isAdmin(escaped) {
			t.noAdmin.ServeHTTP(w, r)
		} else {
			t.nothing.ServeHTTP(w, r)
		}
		return
	}
	t.mux.ServeHTTP(w, withCollection(r, t.dialects))
}

// withOneSlash removes the second slash from "//ws/", the address of live sessions in npm @google/genai 3.3.0.
func withOneSlash(r *http.Request) *http.Request {
	if !strings.HasPrefix(r.URL.EscapedPath(), "//ws/") {
		return r
	}
	other, address := *r, *r.URL
	address.Path, address.RawPath = address.Path[1:], ""
	other.URL = &address
	return &other
}

// withCollection inserts the collection of models into the path of a request that leaves it out: a POST to a name
// with a slash and a method.
func withCollection(r *http.Request, dialects dialect.Set) *http.Request {
	for _, d := range dialects {
		whole := d.Collection
		if whole == "" || r.Method != http.MethodPost || strings.HasPrefix(r.URL.Path, whole) {
			continue
		}
		name, ok := strings.CutPrefix(r.URL.Path, whole[:strings.LastIndexByte(strings.TrimSuffix(whole, "/"), '/')+1])
		if !ok {
			continue
		}
		provider, method := strings.IndexByte(name, '/'), strings.LastIndexByte(name, ':')
		if provider > 0 && method > provider {
			other := *r
			address := *r.URL
			address.Path, address.RawPath, other.URL = whole+name, "", &address
			return &other
		}
	}
	return r
}

// otherMethods returns prefixes of patterns for all methods that are not allowed: the empty one, or one for each
// method if another path matches some of the same requests, such as {id} and a word.
func otherMethods(crossed bool, allowed []string) (begin []string) {
	if !crossed {
		return []string{""}
	}
	for _, method := range []string{
		http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch,
		http.MethodDelete, http.MethodOptions,
	} {
		if !slices.Contains(allowed, method) {
			begin = append(begin, method+" ")
		}
	}
	return begin
}

// crossings returns the paths that match some of the requests of another path, such as /keys/{id} and /keys/new.
func crossings(paths iter.Seq[string]) map[string]bool {
	var split [][]string
	for path := range paths {
		split = append(split, strings.Split(path, "/"))
	}
	all := map[string]bool{}
	for i, one := range split {
		for _, other := range split[:i] {
			if cross(one, other) {
				all[strings.Join(one, "/")], all[strings.Join(other, "/")] = true, true
			}
		}
	}
	return all
}

// cross reports whether a request can match both paths.
func cross(a, b []string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] && !wild(a[i]) && !wild(b[i]) {
			return false
		}
	}
	return true
}

// wild reports whether a segment of a path matches any word.
func wild(segment string) bool { return strings.HasPrefix(segment, "{") && segment != "{$}" }
