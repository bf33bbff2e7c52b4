package api

import (
	"net/http"

	"weir/internal/account"
)

// Metrics lets callers through to the metrics who have the permission; with
// none, everybody.
func (s *Server) Metrics(permission account.Permission, metrics http.Handler) http.Handler {
	if permission == "" {
		return metrics
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := s.mayCall(r, permission); err != nil {
			s.handle(s.native, func(*request) ([]byte, error) { return nil, err }).ServeHTTP(w, r)
			return
		}
		metrics.ServeHTTP(w, r)
	})
}

// mayCall is nil for a caller who has the permission.
func (s *Server) mayCall(r *http.Request, permission account.Permission) error {
	p, err := s.accounts.Authenticate(r.Context(), account.Token(r.Header, s.native.KeyHeaders...))
	if err != nil {
		return err
	}
	return p.May(permission)
}
