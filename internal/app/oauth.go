package app

import (
	"encoding/json"
	"net/http"

	"weir/internal/audit"
	"weir/internal/connection"
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
	all = append(all, httpRoute{pattern: "GET " + connection.ClientsPath + "{server}", handler: s.connectionDocument()})
	for _, e := range s.admin.OAuth.Endpoints() {
		all = append(all, httpRoute{pattern: e.Pattern, handler: s.admin.OAuth.Handler(e, who)})
	}
	return all
}

// connectionDocument describes this installation as a client of authorization servers of MCP servers.
func (s *site) connectionDocument() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		document := s.admin.Connections.Service.Document(r.PathValue("server"))
		text, err := json.Marshal(document)
		if document == nil || err != nil {
			w.WriteHeader(http.StatusNotFound)
			text = []byte(`{"error":"not_found","error_description":"this gateway has no public_url, or no server ` +
				`has such a name"}`)
		}
		_, _ = w.Write(text) // the client is gone
	})
}
