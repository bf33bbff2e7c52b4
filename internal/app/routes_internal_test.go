package app

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"weir/internal/account"
	"weir/internal/audit"
	"weir/internal/config"
	"weir/internal/dialect"
	"weir/internal/dialect/gemini"
	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/people"
	"weir/internal/signin"
	"weir/internal/store/opentest"
)

// public lists the patterns that need no key. A new one must be added by hand.
var public = []string{
	"GET /livez", "GET /readyz", "GET /openapi.json", "GET /metrics", "GET /docs", "GET /docs/{page...}",
}

// unready lists the patterns that need no key and have no answer without a request of their own, or without public_url.
// TestOAuth… has these.
var unready = []string{
	"GET /.well-known/oauth-protected-resource/mcp", "GET /.well-known/oauth-protected-resource/mcp/{bundle}",
	"GET /.well-known/oauth-authorization-server", "POST /oauth/token", "POST /oauth/revoke", "POST /oauth/register", "GET /oauth/clients/{server}",
}

// newInstance builds a gateway that does not listen.
func newInstance(t testing.TB) *instance {
	t.Helper()
	return newLogged(t, slog.New(slog.DiscardHandler))
}

// newLogged builds a gateway that does not listen, with a log.
func newLogged(t testing.TB, log *slog.Logger) *instance {
	t.Helper()
	return newChanged(t, log, func(*Options) {})
}

// newChanged builds a gateway that does not listen, with other options.
func newChanged(t testing.TB, log *slog.Logger, change func(*Options)) *instance {
	t.Helper()
	cfg := config.Default()
	cfg.Data, cfg.Hosts = t.TempDir(), []string{"gateway.example"}
	opentest.File(t, filepath.Join(cfg.Data, "weir.db"))
	o := &Options{
		Config: cfg, Getenv: func(string) string { return "" },
		People: func(_ *people.Options, o *signin.Options) { o.Light = true },
		Stdout: io.Discard, Stderr: io.Discard, Log: log,
	}
	change(o)
	g, err := build(context.Background(), o)
	must.Do(t, err)
	t.Cleanup(func() {
		if err := g.close(); err != nil {
			t.Error(err)
		}
	})
	return g
}

// newKey creates a key of a new account.
func newKey(t testing.TB, g *instance, name string, permissions ...account.Permission) string {
	t.Helper()
	must.Get(g.admin.Accounts.CreateAccount(context.Background(), audit.Gateway(), name))(t)
	_, token, err := g.admin.Accounts.CreateKey(context.Background(), audit.Gateway(), account.KeyOptions{Account: name, Label: "test", Permissions: permissions})
	must.Do(t, err)
	return token.Reveal()
}

// knock sends a request for a pattern, with a key or without.
func knock(g *instance, handler http.Handler, pattern, key string) *httptest.ResponseRecorder {
	method, path, _ := strings.Cut(pattern, " ")
	r := httptest.NewRequest(method, strings.NewReplacer("{token}", "x", "{$}", "", "{page...}", "search").Replace(path), strings.NewReader(""))
	r.Host = "localhost"
	if key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	return w
}

// TestEveryRouteIsGuarded checks that a pattern either is in the list of public ones, or refuses requests without a
// key, with an invalid key, and with a key without its permission.
func TestEveryRouteIsGuarded(t *testing.T) {
	t.Parallel()
	g := newInstance(t)
	g.site.tools.Stop() // its streams end at once
	handler := g.site.handler()
	lacking := map[account.Permission]string{
		account.Chat: newKey(t, g, "only-uses", account.Uses),
		account.Uses: newKey(t, g, "only-chat", account.Chat),
	}
	both := newKey(t, g, "both")
	lacking[account.Tools] = both
	lacking[account.Admin] = both
	having := map[account.Permission]string{account.Chat: both, account.Uses: both, account.Tools: newKey(t, g, "agents", account.Tools), account.Admin: newKey(t, g, "operators", account.Admin)}
	seen := map[string]bool{}
	for _, e := range g.site.routes() {
		if seen[e.pattern] {
			t.Errorf("%s is in the list twice", e.pattern)
		}
		seen[e.pattern] = true
		if e.right != "" { // TestWhoMayDoWhat has these
			continue
		}
		if slices.Contains(unready, e.pattern) {
			if got := knock(g, handler, e.pattern, "").Code; got != http.StatusNotFound {
				t.Errorf("%s without public_url: got %d, want 404", e.pattern, got)
			}
			continue
		}
		if isPublic := slices.Contains(public, e.pattern); isPublic != (e.permission == "") {
			t.Errorf("%s: permission %q, public %v: a pattern either has a permission or is in the list", e.pattern, e.permission, isPublic)
		}
		if e.permission == "" {
			if got := knock(g, handler, e.pattern, "").Code; got != http.StatusOK {
				t.Errorf("%s without a key: %d, want 200", e.pattern, got)
			}
			continue
		}
		other, known := lacking[e.permission]
		if !known {
			t.Errorf("%s: this test knows no key without the permission %q", e.pattern, e.permission)
		}
		for _, try := range []struct {
			who, key string
			want     int
		}{{"nobody", "", 401}, {"a bad key", "wk_bad", 401}, {"a key without the permission", other, 403}} {
			if got := knock(g, handler, e.pattern, try.key).Code; got != try.want {
				t.Errorf("%s by %s: %d, want %d", e.pattern, try.who, got, try.want)
			}
		}
		if got := knock(g, handler, e.pattern, having[e.permission]).Code; got == 401 || got == 403 {
			t.Errorf("%s by a key that may: %d", e.pattern, got)
		}
	}
	for _, pattern := range public {
		if !seen[pattern] {
			t.Errorf("%s is in the list of public patterns, and is not a route", pattern)
		}
	}
}

// TestDefectInRequest causes a panic in the middle of a request: the answer is one 500 without details, and the log has
// them.
func TestDefectInRequest(t *testing.T) {
	t.Parallel()
	g := newInstance(t)
	key := newKey(t, g, "unlucky")
	broken := *g.upstream.Dialects().Named("native")
	broken.Scan = func([]byte, *http.Request) (llm.Head, error) { panic("the secret of the house") }
	handler := g.gateway.Handler("POST /v1/chat", &broken, []*dialect.Operation{&broken.Operation}, account.Chat)
	w := knock(g, handler, "POST /v1/chat", key)
	if body := w.Body.String(); w.Code != 500 || !strings.Contains(body, `"INTERNAL_ERROR"`) || strings.Contains(body, "secret") {
		t.Errorf("got %d %s, want a 500 that does not say why", w.Code, body)
	}
	if n := g.gateway.Capacity().InFlight(); n != 0 {
		t.Errorf("%d requests in flight, want none", n)
	}
}

// documented returns the paths of a pattern in the OpenAPI document.
func documented(pattern string) []string {
	method, path, _ := strings.Cut(pattern, " ")
	path = strings.NewReplacer("{$}", "", "{target...}", "{model}", "...}", "}").Replace(path)
	method = strings.ToLower(method)
	if method == "post" && strings.HasSuffix(path, "/{model}") { // Google's methods follow the model's name
		methods := []string{":generateContent", ":streamGenerateContent"}
		if !strings.Contains(path, "/publishers/") { // Vertex AI's paths serve only chat
			methods = append(methods, gemini.CountSuffix, gemini.EmbedOneSuffix, gemini.EmbedSuffix)
		}
		for i := range methods {
			methods[i] = method + " " + path + methods[i]
		}
		return methods
	}
	return []string{method + " " + path}
}

// TestDocumentListsRoutes checks that the OpenAPI document lists exactly the routes, and requires a key where they do.
func TestDocumentListsRoutes(t *testing.T) {
	t.Parallel()
	g := newInstance(t)
	var document struct {
		Paths map[string]map[string]struct{ Security *[]map[string]any }
	}
	body := knock(g, g.site.handler(), "GET /openapi.json", "").Body.Bytes()
	must.Do(t, json.Unmarshal(body, &document))
	said := map[string]bool{}
	for path, item := range document.Paths {
		for method := range item {
			said[method+" "+path] = true
		}
	}
	for _, e := range g.site.routes() {
		page := e.right != "" && !strings.Contains(e.pattern, " /admin/")
		if page || strings.HasPrefix(e.pattern, "GET /docs") {
			continue
		}
		for _, place := range documented(e.pattern) {
			if !said[place] {
				t.Errorf("%s: got no %s in the document: describe it in internal/api/openapi (/admin/v1 in admin.yaml)", e.pattern, place)
				continue
			}
			delete(said, place)
			method, path, _ := strings.Cut(place, " ")
			keys := 1 // Bearer, by default
			if security := document.Paths[path][method].Security; security != nil {
				keys = len(*security)
			}
			if open := keys == 0; open != (e.permission == "") {
				t.Errorf("%s: permission %q, but open in the document: %t", place, e.permission, open)
			}
			if e.dialect != nil && keys != 1+len(e.dialect.KeyHeaders) {
				t.Errorf("%s: got %d ways for a key in the document, want Bearer and %q", place, keys, e.dialect.KeyHeaders)
			}
		}
	}
	for place := range said {
		t.Errorf("%s is in the document, and is not a route", place)
	}
}

// TestDocumentsAreOpenToEverybody checks that the documents are readable without a key, over plain http from other
// machines and with an invalid session, but not under a foreign name or by another method.
func TestDocumentsAreOpenToEverybody(t *testing.T) {
	t.Parallel()
	handler := newInstance(t).site.handler()
	for _, test := range []struct {
		method, path, host string
		secure             bool
		want               int
	}{
		{"GET", "/docs", "localhost", false, 200},
		{"GET", "/docs/quickstart", "192.0.2.7:8080", false, 200},
		{"GET", "/docs/quickstart", "gateway.example", true, 200},
		{"HEAD", "/docs/providers/openai", "localhost", false, 200},
		{"GET", "/docs/search?q=budget", "localhost", false, 200},
		{"GET", "/docs/none", "localhost", false, 404},
		{"GET", "/docs/", "localhost", false, 404},
		{"GET", "/docs/../sign-in", "localhost", false, 404},
		{"GET", "/docs", "evil.example", false, 421},
		{"POST", "/docs", "localhost", false, 405},
		{"DELETE", "/docs/search", "localhost", false, 405},
	} {
		r := httptest.NewRequest(test.method, test.path, nil)
		r.Host, r.RemoteAddr = test.host, "203.0.113.9:5000"
		r.AddCookie(&http.Cookie{Name: "weir", Value: "nobody's"})
		if test.secure {
			r.TLS = &tls.ConnectionState{}
		}
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		if w.Code != test.want {
			t.Errorf("%s %s at %s: got %d, want %d", test.method, test.path, test.host, w.Code, test.want)
		}
		if strict := w.Header().Get("Strict-Transport-Security") != ""; strict != test.secure {
			t.Errorf("%s %s at %s: got Strict-Transport-Security %t, want %t", test.method, test.path, test.host, strict, test.secure)
		}
	}
}

// TestMetricsAreGuarded checks that the metrics are on the main listener only if only the machine itself can request
// them.
func TestMetricsAreGuarded(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		address string
		proxies []netip.Prefix
		want    int
	}{
		{"127.0.0.1:8080", nil, http.StatusOK},
		{"[::1]:8080", nil, http.StatusOK},
		{"localhost:8080", nil, http.StatusOK},
		{"127.0.0.1:8080", []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}, http.StatusNotFound},
		{":8080", nil, http.StatusNotFound},
		{"0.0.0.0:8080", nil, http.StatusNotFound},
		{"192.0.2.1:8080", nil, http.StatusNotFound},
		{"gateway.example:8080", nil, http.StatusNotFound},
	} {
		g := newInstance(t)
		g.options.Config.Listen, g.options.Config.TrustedProxies = tt.address, tt.proxies
		for name, key := range map[string]string{"nobody": "", "a key for usage": newKey(t, g, "reader", account.Uses)} {
			if got := knock(g, g.site.handler(), metricsPattern, key).Code; got != tt.want {
				t.Errorf("listening on %s, proxies %v, %s: got %d, want %d", tt.address, tt.proxies, name, got, tt.want)
			}
		}
	}
}

// TestOtherMethodsAreRefused checks that each path refuses every method without a pattern, also paths that two patterns
// match (/keys/{id}, /keys/new), and lists all its methods.
func TestOtherMethodsAreRefused(t *testing.T) {
	t.Parallel()
	g := newInstance(t)
	handler := g.site.handler()
	has := map[string][]string{}
	for _, e := range g.site.routes() {
		method, path, _ := strings.Cut(e.pattern, " ")
		has[path] = append(has[path], method)
	}
	for path, methods := range has {
		if slices.Contains(methods, "GET") {
			methods = append(methods, "HEAD")
		}
		for _, method := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"} {
			if slices.Contains(methods, method) {
				continue
			}
			w := knock(g, handler, method+" "+path, "")
			allow := strings.Split(w.Header().Get("Allow"), ", ")
			slices.Sort(allow)
			slices.Sort(methods)
			if w.Code != http.StatusMethodNotAllowed || !slices.Equal(allow, methods) {
				t.Errorf("%s %s: got %d with Allow %q, want 405 and %q", method, path, w.Code, allow, methods)
			}
		}
	}
}
