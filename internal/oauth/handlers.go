package oauth

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"weir/internal/audit"
	"weir/internal/llm"
)

const (
	maxBody = 16 << 10 // bytes
	bodyFor = 10 * time.Second
	// maxRegistrations bounds the registrations at a time: they encrypt, and need no authentication.
	maxRegistrations = 4
)

// Endpoint is one address of the server, which needs no key and no session.
type Endpoint struct {
	Pattern string // in the form of http.ServeMux
	Serve   func(w http.ResponseWriter, r *http.Request, by audit.Actor) (any, error)
}

// Endpoints returns the addresses of the server.
func (s *Server) Endpoints() []Endpoint {
	places := make(chan struct{}, maxRegistrations)
	return []Endpoint{
		{"GET " + ResourcePath + ToolsPath, s.serveResource},
		{"GET " + ResourcePath + ToolsPath + "/{bundle}", s.serveResource},
		{"GET " + ServerPath, s.serveMetadata},
		{"POST " + TokenPath, s.serveToken},
		{"POST " + RevokePath, s.serveRevoke},
		{"POST " + RegisterPath, func(w http.ResponseWriter, r *http.Request, _ audit.Actor) (any, error) {
			select {
			case places <- struct{}{}:
				defer func() { <-places }()
				return s.serveRegister(w, r)
			default:
				return nil, &llm.Error{
					Code: llm.CodeOverloaded, RetryAfter: time.Second, Message: "too many registrations at a time",
				}
			}
		}},
	}
}

// IsForPrograms reports whether programs send requests to a path themselves: with no cookie, so that programs in
// browsers may, too. The page of a person's consent is none of these.
func IsForPrograms(path string) bool {
	switch path {
	case ServerPath, TokenPath, RevokePath, RegisterPath, ResourcePath + ToolsPath:
		return true
	}
	return isBundle(strings.TrimPrefix(path, ResourcePath))
}

// Handler answers requests to an endpoint. Who returns the actor of a request for the audit log, or an error for one
// that others can read on its way.
func (s *Server) Handler(e Endpoint, who func(http.ResponseWriter, *http.Request) (audit.Actor, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		by, err := who(w, r)
		if !s.IsOn() {
			err = llm.Errorf(llm.CodeNotFound, "this gateway has no OAuth: public_url is not set, or is plain http")
		}
		var answer any
		if err == nil {
			answer, err = e.Serve(w, r, by)
		}
		s.write(w, answer, err)
	})
}

// write writes an answer or an error.
func (s *Server) write(w http.ResponseWriter, answer any, err error) {
	h, status := w.Header(), http.StatusOK
	h.Set("Cache-Control", "no-store")
	if err != nil {
		status, answer = s.statusOf(h, err)
	}
	if _, ok := answer.(*registration); ok {
		status = http.StatusCreated
	}
	text, err := json.Marshal(answer)
	if err != nil {
		s.o.Log.Error("an answer of OAuth cannot be written", "err", err)
		status, text = http.StatusInternalServerError, []byte("{}")
	}
	h.Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(text) // the client is gone
}

// statusOf returns the status and the body of an error.
func (s *Server) statusOf(h http.Header, err error) (int, *failure) {
	if f, ok := errors.AsType[*failure](err); ok {
		if f.Code == codeClient {
			return http.StatusUnauthorized, f
		}
		return http.StatusBadRequest, f
	}
	e := llm.AsError(err)
	code := codeInvalid
	if e.RetryAfter > 0 {
		code = "temporarily_unavailable"
		h.Set("Retry-After", strconv.FormatInt(llm.RetrySeconds(e.RetryAfter), 10))
	}
	if e.Code == llm.CodeInternal {
		s.o.Log.Error("a request of OAuth failed", "err", err)
		code = "server_error"
	}
	return e.Code.Status(), &failure{code, e.Message}
}

// body reads a body within its bounds.
func body(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyFor)) // not every writer supports it
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		return nil, &failure{codeInvalid, "the body was not received whole, or has more than 16 KiB"}
	}
	return text, nil
}

// form reads the parameters in a body.
func form(w http.ResponseWriter, r *http.Request) (url.Values, error) {
	text, err := body(w, r)
	if err != nil {
		return nil, err
	}
	q, err := parse(string(text))
	if err != nil {
		return nil, &failure{codeInvalid, err.Error()}
	}
	return q, nil
}

func (s *Server) serveToken(w http.ResponseWriter, r *http.Request, by audit.Actor) (any, error) {
	q, err := form(w, r)
	if err != nil {
		return nil, err
	}
	return s.issue(r.Context(), q, by)
}

func (s *Server) serveRevoke(w http.ResponseWriter, r *http.Request, by audit.Actor) (any, error) {
	q, err := form(w, r)
	if err != nil {
		return nil, err
	}
	return struct{}{}, s.revoke(r.Context(), q, by)
}

// registration is the answer to a registered program (RFC 7591, section 3.2.1).
type registration struct {
	ClientID  string   `json:"client_id"`
	Name      string   `json:"client_name"`
	Redirects []string `json:"redirect_uris"`
	Method    string   `json:"token_endpoint_auth_method"`
	Grants    []string `json:"grant_types"`
	Responses []string `json:"response_types"`
	Scope     string   `json:"scope"`
}

func (s *Server) serveRegister(w http.ResponseWriter, r *http.Request) (any, error) {
	text, err := body(w, r)
	if err != nil {
		return nil, err
	}
	m, err := parseMetadata(text)
	var c Client
	if err == nil {
		c, err = s.register(r.Context(), &m)
	}
	if why, ok := errors.AsType[reason](err); ok {
		return nil, &failure{codeMetadata, string(why)}
	}
	if err != nil {
		return nil, err
	}
	return &registration{
		ClientID: c.ID, Name: c.Name, Redirects: c.Redirects, Method: "none", Grants: grantTypes(),
		Responses: []string{"code"}, Scope: Scope,
	}, nil
}

func grantTypes() []string { return []string{"authorization_code", "refresh_token"} }

// serveResource describes the tools at a path as a resource (RFC 9728).
func (s *Server) serveResource(_ http.ResponseWriter, r *http.Request, _ audit.Actor) (any, error) {
	path := ToolsPath
	if bundle := r.PathValue("bundle"); bundle != "" {
		path += "/" + bundle
	}
	resource := s.issuer + path
	if s.pathOf(resource) == "" {
		return nil, llm.Errorf(llm.CodeNotFound, "there is no such resource")
	}
	return map[string]any{
		"resource": resource, "authorization_servers": []string{s.issuer}, "scopes_supported": []string{Scope},
		"bearer_methods_supported": []string{"header"}, "resource_name": "Weir",
		"resource_documentation": s.issuer + "/docs/mcp.md",
	}, nil
}

// serveMetadata describes the authorization server (RFC 8414).
func (s *Server) serveMetadata(http.ResponseWriter, *http.Request, audit.Actor) (any, error) {
	return map[string]any{
		"issuer": s.issuer, "authorization_endpoint": s.issuer + AuthorizePath, "token_endpoint": s.issuer + TokenPath,
		"registration_endpoint": s.issuer + RegisterPath, "revocation_endpoint": s.issuer + RevokePath,
		"scopes_supported": []string{Scope}, "response_types_supported": []string{"code"},
		"response_modes_supported": []string{"query"}, "grant_types_supported": grantTypes(),
		"code_challenge_methods_supported":               []string{"S256"},
		"token_endpoint_auth_methods_supported":          []string{"none"},
		"revocation_endpoint_auth_methods_supported":     []string{"none"},
		"authorization_response_iss_parameter_supported": true,
		"client_id_metadata_document_supported":          true,
		"service_documentation":                          s.issuer + "/docs/mcp.md",
	}, nil
}
