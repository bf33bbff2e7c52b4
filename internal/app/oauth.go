package app

import (
	"net/http"

	"weir/internal/audit"
	"weir/internal/llm"
)

// oauthRoutes returns the addresses of the authorization server that programs need before they have a key.
func (s *site) oauthRoutes() (all []httpRoute) {
	pages := s.guard()
	who := func(w http.ResponseWriter, r *http.Request) (audit.Actor, error) {
		v := pages.visit(w, r)
		if !pages.insecure && !pages.origin.isPrivate(r) {
			return audit.Actor{}, llm.Errorf(llm.CodeForbidden, "this request used plain http, where others can read "+
				"tokens: use https")
		}
		by := audit.Gateway()
		by.Address, by.Request = v.Origin.Address, v.Origin.Request
		return by, nil
	}
	for _, e := range s.admin.OAuth.Endpoints() {
		all = append(all, httpRoute{pattern: e.Pattern, handler: s.admin.OAuth.Handler(e, who)})
	}
	return all
}
