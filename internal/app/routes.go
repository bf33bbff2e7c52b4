package app

import (
	"net/http"
	"path"
	"slices"
	"strings"

	"weir/internal/account"
	"weir/internal/dialect"
)

// entrance is one pattern of the service, with who may come in.
type entrance struct {
	pattern    string
	permission account.Permission // empty: anybody
	handler    http.Handler
	dialect    *dialect.Dialect // whose errors are spoken there; nil for the service's own
}

// entrances is every pattern that the service answers to. What is not here
// does not exist.
func (g *instance) entrances() []entrance {
	var all []entrance
	seen := map[string]bool{} // OpenAI's two wire formats have routes in common
	for _, d := range g.fleet.dialects {
		if !d.Door {
			continue
		}
		for route, served := range d.Served() {
			if seen[route] {
				continue
			}
			seen[route] = true
			all = append(all, entrance{route, account.Chat, g.gateway.Handler(routeOf(route), d, served, account.Chat), d})
		}
	}
	counting := len(all) // these count their requests themselves
	gemini := g.fleet.dialect("gemini")
	responses := g.fleet.dialect("responses")
	all = append(all,
		entrance{"GET /v1/responses/{id}", account.Chat, g.api.Response(account.Chat), responses},
		entrance{"DELETE /v1/responses/{id}", account.Chat, g.api.DeleteResponse(account.Chat), responses},
		entrance{"GET /v1/responses/{id}/input_items", account.Chat, g.api.ResponseInput(account.Chat), responses},
		entrance{"POST /v1/responses/{id}/cancel", account.Chat, g.api.CancelResponse(account.Chat), responses},
	)
	all = append(all, g.metricsEntrance()...)
	all = append(all,
		entrance{"GET /v1/uses", account.Uses, g.api.Uses(account.Uses), nil},
		entrance{"GET /uses", account.Uses, g.api.Uses(account.Uses), nil},
		entrance{"GET /v1/models", account.Chat, g.api.Models(account.Chat), nil},
		entrance{"GET /v1/models/{target...}", account.Chat, g.api.Model(account.Chat), nil},
		entrance{"GET /v1beta/models", account.Chat, g.api.GeminiModels(account.Chat), gemini},
		entrance{"GET /v1beta/models/{target...}", account.Chat, g.api.GeminiModel(account.Chat), gemini},
		entrance{"GET /openapi.json", "", g.api.Document(), nil},
		entrance{"GET /livez", "", g.api.Live(), nil},
		entrance{"GET /readyz", "", g.api.Ready(g.draining.Load), nil},
		entrance{"GET /setup/{token}", "", g.api.Setup(), nil},
		entrance{"GET /{$}", "", g.api.Home(), nil},
	)
	for i := range all[counting:] {
		e := &all[counting+i]
		e.handler = g.counted(routeOf(e.pattern), e.handler)
	}
	return append(all, g.administration...)
}

// surroundings are the paths around the vendors' doors where nothing is, which
// is said in the vendor's words: behind a door, and where a version of the path
// is the vendor's alone, all of that.
func (g *instance) surroundings() map[string]*dialect.Dialect {
	all := map[string]*dialect.Dialect{}
	for _, d := range g.fleet.dialects {
		if !d.Door || d.Vendor == "" {
			continue
		}
		for _, r := range d.Routes {
			_, path, _ := strings.Cut(r, " ")
			front, _, wild := strings.Cut(path, "{")
			version, _, _ := strings.Cut(path[1:], "/")
			switch {
			case version != "v1":
				all["/"+version+"/"] = d
			case wild && path != front+"{target...}":
				all[front] = d
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
	methods, spoken := map[string][]string{}, map[string]*dialect.Dialect{}
	for _, e := range g.entrances() {
		mux.Handle(e.pattern, e.handler)
		method, path, _ := strings.Cut(e.pattern, " ")
		methods[path], spoken[path] = append(methods[path], method), e.dialect
	}
	for path, allowed := range methods {
		if slices.Contains(allowed, http.MethodGet) {
			allowed = append(allowed, http.MethodHead)
		}
		refuse := g.api.MethodNotAllowed(spoken[path], allowed...)
		if isAdmin(path) {
			refuse = g.api.AdminMethodNotAllowed(allowed...)
		}
		mux.Handle(path, g.counted(otherRoute, refuse))
	}
	for around, d := range g.surroundings() {
		mux.Handle(around, g.counted(otherRoute, g.api.NotFound(d)))
	}
	nothing, noAdmin := g.counted(otherRoute, g.api.NotFound(nil)), g.counted(otherRoute, g.api.AdminNotFound())
	mux.Handle("/", nothing)
	mux.Handle(adminPath, noAdmin)
	mux.Handle(strings.TrimSuffix(adminPath, "/"), noAdmin) // which the mux would redirect, too
	return g.gateway.Bounded(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if escaped := r.URL.EscapedPath(); path.Clean(escaped) != escaped { // the mux would redirect, in words of its own
			if isAdmin(escaped) {
				noAdmin.ServeHTTP(w, r)
			} else {
				nothing.ServeHTTP(w, r)
			}
			return
		}
		mux.ServeHTTP(w, r)
	}))
}
