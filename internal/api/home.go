package api

import (
	_ "embed"
	"net/http"
)

//go:embed home.html
var home []byte

//go:embed setup.html
var setup []byte

// pagePolicy lets a page do nothing but be read.
const pagePolicy = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// Home answers GET /: what this is and where to go.
func (s *Server) Home() http.Handler { return page(home) }

// Setup answers the set-up link. It does not use the link up: that is for the
// page that makes the first operator.
func (s *Server) Setup() http.Handler { return page(setup) }

func page(content []byte) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		h := w.Header()
		h.Set("Content-Type", "text/html; charset=utf-8")
		h.Set("Content-Security-Policy", pagePolicy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		_, _ = w.Write(content) // a client that is gone does not need it
	})
}
