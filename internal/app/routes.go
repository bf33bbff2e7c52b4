package app

import (
	"iter"
	"maps"
	"net/http"
	"path"
	"slices"
	"strings"

	"weir/internal/account"
	"weir/internal/dialect"
	"weir/internal/people"
)

// route is one pattern of the service, with who may come in.
type httpRoute struct {
	pattern    string
	permission account.Permission // of a key; empty: anybody, or whoever has the right
	right      people.Right       // of whoever is signed in; empty where people do not come
	handler    http.Handler
	dialect    *dialect.Dialect // whose errors are spoken there; nil for the service's own
}

// routes is every pattern that the service answers to. What is not here
// does not exist.
func (g *instance) routes() []httpRoute {
	var all []httpRoute
	seen := map[string]bool{} // OpenAI's two wire formats have routes in common
	for _, d := range g.fleet.dialects {
		if !d.ClientAPI {
			continue
		}
		for route, served := range d.Served() {
			if seen[route] {
				continue
			}
			seen[route] = true
			all = append(all, httpRoute{pattern: route, permission: account.Chat, handler: g.gateway.Handler(
				routeOf(route), d, served, account.Chat), dialect: d})
		}
	}
	counting := len(all) // these count their requests themselves
	responses := g.fleet.dialects.Keeping()
	// asked is a route that a key with the permission chat may ask for
	asked := func(pattern string, answer func(account.Permission) http.Handler, d *dialect.Dialect) httpRoute {
		return httpRoute{pattern: pattern, permission: account.Chat, handler: answer(account.Chat), dialect: d}
	}
	all = append(all,
		asked("GET "+keptPath, g.api.Responses.Get, responses),
		asked("DELETE "+keptPath, g.api.Responses.Delete, responses),
		asked("GET "+keptPath+"/input_items", g.api.Responses.InputItems, responses),
		asked("POST "+keptPath+"/cancel", g.api.Responses.Cancel, responses),
	)
	for _, r := range g.api.Models.Lists(account.Chat) {
		all = append(all, httpRoute{
			pattern: r.Pattern, permission: account.Chat, handler: r.Handler, dialect: r.Dialect,
		})
	}
	all = append(all, g.metricsRoute()...)
	all = append(all,
		httpRoute{pattern: "GET /v1/uses", permission: account.Uses, handler: g.api.Uses.List(account.Uses)},
		httpRoute{pattern: "GET /uses", permission: account.Uses, handler: g.api.Uses.List(account.Uses)},
		httpRoute{pattern: "GET /openapi.json", handler: g.api.Document},
		httpRoute{pattern: "GET /livez", handler: g.api.Health.Live()},
		httpRoute{pattern: "GET /readyz", handler: g.api.Health.Ready(g.draining.Load)},
	)
	all = append(all, g.documents()...)
	all = append(all, g.pages()...)
	for i := range all[counting:] {
		e := &all[counting+i]
		e.handler = g.counted(routeOf(e.pattern), e.handler)
	}
	return all
}

// vendorNotFounds are the paths around the vendors' client APIs where nothing is, which
// is said in the vendor's words: below a client API, and where a version of the path
// is the vendor's alone, all of that.
func (g *instance) vendorNotFounds() map[string]*dialect.Dialect {
	all := map[string]*dialect.Dialect{}
	for _, d := range g.fleet.dialects {
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
			case wild: // the route has all that is there
			default:
				all[path+"/"] = d
			}
		}
	}
	return all
}

// handler is the service's router. At a path that is taken, another method
// gets a 405 that says which are right.
func (g *instance) handler() http.Handler {
	mux := http.NewServeMux()
	methods, first := map[string][]string{}, map[string]httpRoute{}
	routes := g.routes()
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
		refuse := g.api.MethodNotAllowed(first[path].dialect, allowed...)
		if isAdmin(path) {
			refuse = g.api.Admin.MethodNotAllowed(allowed...)
		}
		if d := first[path].dialect; path == keptPath {
			refuse = refuseKept(refuse, g.api.NotServed(d, servedPaths(routes, d)))
		}
		refuse = g.counted(otherRoute, refuse)
		for _, method := range otherMethods(crossed[path], allowed) {
			mux.Handle(method+path, refuse)
		}
	}
	for around, d := range g.vendorNotFounds() {
		mux.Handle(around, g.counted(otherRoute, g.api.NotServed(d, servedPaths(routes, d))))
	}
	for _, path := range []string{"/v1/conversations", "/v1/conversations/"} {
		mux.Handle(path, g.counted(otherRoute, g.api.NoConversations(g.fleet.dialects.Keeping())))
	}
	nothing := g.counted(otherRoute, g.notFound(servedPaths(routes, nil)))
	noAdmin := g.counted(otherRoute, g.api.Admin.NotFound())
	mux.Handle("/", nothing)
	mux.Handle(adminPath, noAdmin)
	mux.Handle(strings.TrimSuffix(adminPath, "/"), noAdmin) // which the mux would redirect, too
	return g.gateway.Bounded(g.crossOrigin(routes,
		g.hostChecked(routes, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			// the mux would redirect, in words of its own
			if escaped := r.URL.EscapedPath(); path.Clean(escaped) != escaped {
				if isAdmin(escaped) {
					noAdmin.ServeHTTP(w, r)
				} else {
					nothing.ServeHTTP(w, r)
				}
				return
			}
			mux.ServeHTTP(w, withCollection(r, g.fleet.dialects))
		}))))
}

// withCollection is a request in whose path the collection of models stands before the model's name. One that leaves it out
// posts to a name with a slash and a method.
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
		if provider, method := strings.IndexByte(name, '/'), strings.LastIndexByte(name, ':'); provider > 0 && method > provider {
			other := *r
			address := *r.URL
			address.Path, address.RawPath, other.URL = whole+name, "", &address
			return &other
		}
	}
	return r
}

// otherMethods begin the patterns of all methods but those that are allowed: one pattern without a method, or, for
// paths of which another has some of the requests, as {id} and a word do, one for each method.
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

// crossings are the paths of which another has some of the requests, such as /keys/{id} and /keys/new.
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

// cross reports whether a request can be for both paths.
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

// wild reports whether a path's segment takes any word.
func wild(segment string) bool { return strings.HasPrefix(segment, "{") && segment != "{$}" }
