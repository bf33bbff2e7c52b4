package app

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"weir/internal/config"
)

// corsHeaders returns an answer's headers of CORS, by their names without the prefix.
func corsHeaders(h http.Header) map[string]string {
	got := map[string]string{}
	for name, values := range h {
		if rest, ok := strings.CutPrefix(name, "Access-Control-"); ok {
			got[rest] = strings.Join(values, ",")
		}
	}
	return got
}

// fromOrigin sends a request as a browser program of that origin does.
func fromOrigin(handler http.Handler, method, path, origin string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, strings.NewReader(`{"messages":[{"role":"user","prompt":"Hi"}]}`))
	r.Host, r.RemoteAddr = "localhost", "127.0.0.1:5000"
	r.Header.Set("Content-Type", "application/json")
	if origin != "" {
		r.Header.Set("Origin", origin)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	return w
}

// TestCrossOrigin checks which browser programs may read the answers of the client APIs, errors too, and that other
// paths have no headers of CORS.
func TestCrossOrigin(t *testing.T) {
	t.Parallel()
	const app, other = "https://app.example.com", "https://other.example.com"
	for _, test := range []struct {
		name, origin, allowed string
		origins               []string
		credentials           bool
	}{
		{"nothing configured", app, "", nil, false},
		{"a named origin", app, app, []string{"http://localhost:3000", app}, true},
		{"another origin", other, "", []string{app}, false},
		{"a longer origin", app + ".evil.example", "", []string{app}, false},
		{"null", "null", "", []string{app}, false},
		{"no origin", "", "", []string{app}, false},
		{"no origin, all allowed", "", "", []string{"*"}, false},
		{"all allowed", other, "*", []string{"*"}, false},
	} {
		g := newInstance(t)
		g.options.Config.CORS.Origins = test.origins
		handler, key := g.site.handler(), "Bearer "+newKey(t, g, "browser")
		for _, ask := range []struct {
			method, path, key string
			status            int
			client            bool
		}{
			{"POST", "/v1/chat", key, 200, true},
			{"POST", "/v1/chat", "Bearer wk_no", 401, true},
			{"POST", "/v1/chat/completions", "", 401, true},
			{"POST", "/v1/messages", key, 400, true},
			{"GET", "/uses", key, 200, true},
			{"GET", "/v1/models", key, 200, true},
			{"GET", "/v1beta/models", key, 200, true},
			{"POST", "/v1/files", key, 404, true},
			{"PUT", "/v1/chat", key, 405, true},
			{"GET", "/admin/v1/accounts", key, 403, false},
			{"GET", "/sign-in", "", 200, false},
			{"GET", "/livez", "", 200, false},
		} {
			w := fromOrigin(handler, ask.method, ask.path, test.origin, "Authorization", ask.key)
			got := corsHeaders(w.Header())
			want := ""
			if ask.client {
				want = test.allowed
			}
			if w.Code != ask.status || got["Allow-Origin"] != want || (got["Allow-Credentials"] == "true") != (want != "" && test.credentials) || want == "" && len(got) > 0 {
				t.Errorf("%s: %s %s: %d, %v; want %d and origin %q", test.name, ask.method, ask.path, w.Code, got, ask.status, want)
			}
			if want != "" && !strings.Contains(got["Expose-Headers"], "X-Request-Id") {
				t.Errorf("%s: %s %s: exposed %q, want the headers of answers", test.name, ask.method, ask.path, got["Expose-Headers"])
			}
			varies := strings.Contains(strings.Join(w.Header().Values("Vary"), ","), "Origin")
			if named := len(test.origins) > 0 && test.origins[0] != "*"; ask.client && varies != named {
				t.Errorf("%s: %s %s: got the origin in Vary %t, want %t", test.name, ask.method, ask.path, varies, named)
			}
		}
		w := fromOrigin(handler, "OPTIONS", "/v1/chat/completions", test.origin, "Access-Control-Request-Method", "POST",
			"Access-Control-Request-Headers", "authorization,content-type,x-stainless-os")
		got := corsHeaders(w.Header())
		if allowed := test.allowed != ""; (w.Code == http.StatusNoContent) != allowed || (len(got) > 0) != allowed {
			t.Errorf("%s: preflight: %d, %v", test.name, w.Code, got)
		} else if allowed && (got["Allow-Headers"] != "authorization,content-type,x-stainless-os" || !strings.Contains(got["Allow-Methods"], "POST") || got["Max-Age"] == "") {
			t.Errorf("%s: preflight: %v, want the requested headers", test.name, got)
		}
	}
}

// TestPreflightHeaders checks that a preflight repeats only names of headers, and few of them.
func TestPreflightHeaders(t *testing.T) {
	t.Parallel()
	g := newInstance(t)
	g.options.Config.CORS.Origins = []string{"*"}
	handler := g.site.handler()
	for asked, want := range map[string]string{
		"":                             "",
		"x-api-key, anthropic-version": "x-api-key, anthropic-version",
		"x: y":                         "",
		"<script>":                     "",
		strings.Repeat("x,", 3000):     "",
	} {
		w := fromOrigin(handler, "OPTIONS", "/v1/messages", "https://a.example", "Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", asked)
		if got := w.Header().Get("Access-Control-Allow-Headers"); w.Code != http.StatusNoContent || got != want {
			t.Errorf("%.40q: %d, %q; want %q", asked, w.Code, got, want)
		}
	}
	for _, method := range []string{"GET", "OPTIONS"} { // neither is a preflight
		if w := fromOrigin(handler, method, "/v1/messages", "https://a.example"); w.Code != http.StatusMethodNotAllowed {
			t.Errorf("%s: %d, want 405", method, w.Code)
		}
	}
}

// TestCrossOriginReload checks that a reload applies other origins.
func TestCrossOriginReload(t *testing.T) {
	t.Parallel()
	g := newInstance(t)
	handler := g.site.handler()
	cfg := g.options.Config
	g.options.Reload = func([]byte) (config.Config, error) { return cfg, nil }
	for _, origins := range [][]string{{"https://a.example"}, {"*"}, nil} {
		cfg.CORS.Origins = origins
		if err := g.reloadOnce(t.Context()); err != nil {
			t.Fatal(err)
		}
		want := strings.Join(origins, "")
		if got := fromOrigin(handler, "GET", "/v1/models", "https://a.example").Header().Get("Access-Control-Allow-Origin"); got != want {
			t.Errorf("origins %q: got %q, want %q", origins, got, want)
		}
		if got := g.configInForce().CORS.Origins; strings.Join(got, "") != want {
			t.Errorf("shown %q, want %q", got, origins)
		}
	}
}
