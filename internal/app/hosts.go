package app

import (
	"net/http"
	"strings"
)

// hostChecked passes on requests for a known host name of the gateway, and requests that need no check: those of the
// client APIs, which require a key, and plain health checks.
func (s *site) hostChecked(routes []httpRoute, next http.Handler) http.Handler {
	from, refuse := originOf(&s.options.Config), s.counted(otherRoute, s.misdirected())
	clients := clientSegments(routes)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !clients[firstSegment(r.URL.EscapedPath())] && !isPlainHealth(r) && from.checkHost(r) != nil {
			refuse.ServeHTTP(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func firstSegment(path string) string {
	segment, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	return segment
}

// isPlainHealth reports whether the answer only says if the gateway is healthy.
func isPlainHealth(r *http.Request) bool {
	return isHealth(r.URL.Path) && (r.URL.Path == "/livez" || !r.URL.Query().Has("verbose"))
}

// isHealth reports whether a path is that of a probe of health checks.
func isHealth(path string) bool { return path == "/livez" || path == "/readyz" }

// misdirected refuses a request for a host that is not the gateway's.
func (s *site) misdirected() http.Handler {
	pages, admin := s.guard(), s.adminGuard()
	check := pages.origin.checkHost
	service := s.api.Refuse(check)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case isAdmin(r.URL.EscapedPath()):
			admin.refuse(w, r, admin.visit(w, r), check(r))
		case takesPage(r):
			pages.refuse(w, r, pages.visit(w, r), check(r))
		default:
			service.ServeHTTP(w, r)
		}
	})
}

// takesPage reports whether a browser requests a page.
func takesPage(r *http.Request) bool {
	return r.Method == http.MethodGet && strings.Contains(r.Header.Get("Accept"), "text/html")
}
