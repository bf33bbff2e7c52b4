package app

import (
	"net/http"
	"slices"
	"strings"

	"weir/internal/account"
)

// entrance is one pattern of the service, with who may come in.
type entrance struct {
	pattern    string
	permission account.Permission // empty: anybody
	handler    http.Handler
}

// entrances is every pattern that the service answers to. What is not here
// does not exist.
func (g *instance) entrances() []entrance {
	var all []entrance
	for _, d := range g.fleet.dialects {
		for _, r := range d.Routes {
			all = append(all, entrance{r.Pattern, account.Chat, g.gateway.Handler(d, r.Op, account.Chat)})
		}
	}
	return append(all,
		entrance{"GET /v1/uses", account.Uses, g.api.Uses(account.Uses)},
		entrance{"GET /uses", account.Uses, g.api.Uses(account.Uses)},
		entrance{"GET /v1/models", account.Chat, g.api.Models(account.Chat)},
		entrance{"GET /livez", "", g.api.Live()},
		entrance{"GET /readyz", "", g.api.Ready(g.draining.Load)},
		entrance{"GET /setup/{token}", "", g.api.Setup()},
		entrance{"GET /{$}", "", g.api.Home()},
	)
}

// handler is the service's router. At a path that is taken, another method
// gets a 405 that says which are right.
func (g *instance) handler() http.Handler {
	mux := http.NewServeMux()
	methods := map[string][]string{}
	for _, e := range g.entrances() {
		mux.Handle(e.pattern, e.handler)
		method, path, _ := strings.Cut(e.pattern, " ")
		methods[path] = append(methods[path], method)
	}
	for path, allowed := range methods {
		if slices.Contains(allowed, http.MethodGet) {
			allowed = append(allowed, http.MethodHead)
		}
		mux.Handle(path, g.api.MethodNotAllowed(allowed...))
	}
	mux.Handle("/", g.api.NotFound())
	return g.gateway.Bounded(mux)
}
