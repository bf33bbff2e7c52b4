// Package oidctest runs an OpenID Connect provider for tests: a real HTTP server with discovery, keys, a plain sign-in
// page, and codes that require PKCE.
package oidctest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// These constants are the credentials of the only client.
const (
	ClientID     = "weir"
	ClientSecret = "a-secret-of-the-client-with-many-characters"
)

// Person can sign in at the provider.
type Person struct {
	Subject  string
	Email    string
	Verified any // the claim email_verified; nil to omit it
	Name     string
	Groups   []string
	// Thin puts e-mail and groups only into the user info, not into the token.
	Thin bool
	SID  string // the provider's id of the session; empty for none
}

// Server is a running provider. Change its fields before the first request.
type Server struct {
	URL string // the issuer
	Now func() time.Time
	// Spoil changes the claims of a token before it is signed; nil for no change.
	Spoil func(claims map[string]any)
	// SignWith signs tokens with an unpublished key.
	SignWith *ecdsa.PrivateKey

	server *httptest.Server
	key    *ecdsa.PrivateKey

	mu     sync.Mutex
	people map[string]Person // by subject
	codes  map[string]grant
	tokens map[string]string // subjects by access token
	asked  map[string]int    // requests by path
	away   http.HandlerFunc
}

// grant holds the facts behind a code.
type grant struct {
	subject, nonce, challenge, redirect string
}

// Start runs a provider on loopback until Close.
func Start(everybody ...Person) (*Server, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	s := &Server{
		Now: time.Now, key: key, people: map[string]Person{}, codes: map[string]grant{},
		tokens: map[string]string{}, asked: map[string]int{},
	}
	for _, p := range everybody {
		s.people[p.Subject] = p
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", s.discover)
	mux.HandleFunc("GET /keys", s.keys)
	mux.HandleFunc("GET /authorize", s.ask)
	mux.HandleFunc("POST /authorize", s.authorize)
	mux.HandleFunc("POST /token", s.token)
	mux.HandleFunc("GET /userinfo", s.userInfo)
	s.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.asked[r.URL.Path]++
		away := s.away
		s.mu.Unlock()
		if away != nil {
			away(w, r)
			return
		}
		mux.ServeHTTP(w, r)
	}))
	s.URL = s.server.URL
	return s, nil
}

// Close stops the provider.
func (s *Server) Close() { s.server.Close() }

// Put adds or replaces a person.
func (s *Server) Put(p Person) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.people[p.Subject] = p
}

// Instead lets h answer all requests in the provider's place; nil ends that.
func (s *Server) Instead(h http.HandlerFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.away = h
}

// Asked returns the number of requests to a path.
func (s *Server) Asked(path string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked[path]
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // a client that disconnected does not matter to the test
}

func (s *Server) discover(w http.ResponseWriter, _ *http.Request) {
	answer(w, http.StatusOK, map[string]any{
		"issuer": s.URL, "authorization_endpoint": s.URL + "/authorize", "token_endpoint": s.URL + "/token",
		"jwks_uri": s.URL + "/keys", "userinfo_endpoint": s.URL + "/userinfo",
		"response_types_supported": []string{"code"}, "subject_types_supported": []string{"public"},
		"id_token_signing_alg_values_supported": []string{"ES256"}, "code_challenge_methods_supported": []string{
			"S256",
		},
	})
}

func (s *Server) keys(w http.ResponseWriter, _ *http.Request) {
	answer(w, http.StatusOK,
		jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{
			Key: s.key.Public(), KeyID: "one", Algorithm: "ES256",
			Use: "sig",
		}}})
}

var page = template.Must(template.New("page").Parse(`<!doctype html>
<html lang="en"><title>Sign in</title><h1>Who are you?</h1>
<form method="post" action="?{{.Query}}">
{{range .People}}<p><button name="subject" value="{{.Subject}}">{{.Email}}</button></p>
{{end}}</form></html>
`))

// ask shows the sign-in page.
func (s *Server) ask(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []Person
	for _, subject := range slices.Sorted(maps.Keys(s.people)) {
		all = append(all, s.people[subject])
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_ = page.Execute(w, map[string]any{"People": all, "Query": template.URL(r.URL.RawQuery)})
}

// authorize redirects the browser back with a code.
func (s *Server) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	if q.Get("client_id") != ClientID || q.Get("response_type") != "code" || q.Get("code_challenge_method") != "S256" ||
		q.Get("state") == "" {
		http.Error(w, "not a request for a code with PKCE", http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	subject := r.FormValue("subject")
	back := url.Values{"state": {q.Get("state")}, "iss": {s.URL}}
	if _, ok := s.people[subject]; ok {
		code := rand.Text()
		s.codes[code] = grant{subject, q.Get("nonce"), q.Get("code_challenge"), q.Get("redirect_uri")}
		back.Set("code", code)
	} else {
		back.Set("error", "access_denied")
	}
	http.Redirect(w, r, q.Get("redirect_uri")+"?"+back.Encode(), http.StatusSeeOther)
}

// token exchanges a code for tokens, once, if the client knows the verifier.
func (s *Server) token(w http.ResponseWriter, r *http.Request) {
	id, secret, _ := r.BasicAuth()
	if id == "" {
		id, secret = r.FormValue("client_id"), r.FormValue("client_secret")
	}
	if id != ClientID || subtle.ConstantTimeCompare([]byte(secret), []byte(ClientSecret)) != 1 {
		answer(w, http.StatusUnauthorized, map[string]string{"error": "invalid_client"})
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	code := r.FormValue("code")
	g, ok := s.codes[code]
	delete(s.codes, code)
	sum := sha256.Sum256([]byte(r.FormValue("code_verifier")))
	if !ok || base64.RawURLEncoding.EncodeToString(sum[:]) != g.challenge || r.FormValue("redirect_uri") != g.redirect {
		answer(w, http.StatusBadRequest, map[string]string{"error": "invalid_grant"})
		return
	}
	signed, err := s.sign(s.claims(g))
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	access := rand.Text()
	s.tokens[access] = g.subject
	answer(w, http.StatusOK, map[string]any{
		"access_token": access, "token_type": "Bearer", "expires_in": 60,
		"id_token": signed,
	})
}

func (s *Server) claims(g grant) map[string]any {
	const valid = time.Minute
	p := s.people[g.subject]
	c := map[string]any{
		"iss": s.URL, "sub": p.Subject, "aud": ClientID, "nonce": g.nonce, "iat": s.Now().Unix(),
		"exp": s.Now().Add(valid).Unix(),
	}
	if p.SID != "" {
		c["sid"] = p.SID
	}
	if !p.Thin {
		maps.Copy(c, p.claims())
	}
	if s.Spoil != nil {
		s.Spoil(c)
	}
	return c
}

func (p *Person) claims() map[string]any {
	c := map[string]any{"email": p.Email, "name": p.Name, "groups": p.Groups}
	if p.Verified != nil {
		c["email_verified"] = p.Verified
	}
	return c
}

func (s *Server) sign(claims map[string]any) (string, error) {
	key := s.key
	if s.SignWith != nil {
		key = s.SignWith
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: key, KeyID: "one"}},
		nil)
	if err != nil {
		return "", err
	}
	text, err := json.Marshal(claims)
	if err != nil {
		return "", err
	}
	signed, err := signer.Sign(text)
	if err != nil {
		return "", err
	}
	return signed.CompactSerialize()
}

// LogoutToken returns a token that ends the sessions of a subject. The given claims replace its own; nil removes one.
func (s *Server) LogoutToken(subject string, claims map[string]any) (string, error) {
	c := map[string]any{
		"iss": s.URL, "sub": subject, "aud": ClientID, "iat": s.Now().Unix(), "exp": s.Now().Add(time.Minute).Unix(),
		"jti": rand.Text(), "events": map[string]any{"http://schemas.openid.net/event/backchannel-logout": struct{}{}},
	}
	maps.Copy(c, claims)
	maps.DeleteFunc(c, func(_ string, v any) bool { return v == nil })
	return s.sign(c)
}

func (s *Server) userInfo(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	subject, ok := s.tokens[bearer(r)]
	if !ok {
		answer(w, http.StatusUnauthorized, map[string]string{"error": "invalid_token"})
		return
	}
	p := s.people[subject]
	c := p.claims()
	c["sub"] = subject
	answer(w, http.StatusOK, c)
}

func bearer(r *http.Request) string {
	var token string
	_, _ = fmt.Sscanf(r.Header.Get("Authorization"), "Bearer %s", &token)
	return token
}

// SignIn submits the sign-in page at an address as a browser does, and returns the query string of the redirect back to
// the gateway.
func (s *Server) SignIn(address, subject string) (url.Values, error) {
	client := http.Client{Timeout: 10 * time.Second, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}}
	defer client.CloseIdleConnections()
	res, err := client.PostForm(address, url.Values{"subject": {subject}})
	if err != nil {
		return nil, err
	}
	defer res.Body.Close() //nolint:errcheck // nothing of it is read
	to, err := res.Location()
	if err != nil {
		return nil, fmt.Errorf("the provider answered %s: %w", res.Status, err)
	}
	return to.Query(), nil
}
