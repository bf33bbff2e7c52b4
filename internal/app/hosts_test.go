package app_test

import (
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// at asks at a path under another name of the gateway.
func (h *testGateway) at(host string, a ask) reply {
	h.t.Helper()
	a.header = append(a.header, "Host", host)
	return h.do(a)
}

// TestForeignHostRefused is what a page gets that has its own name lead to this machine
// (DNS rebinding): nothing but the client APIs and health, which ask for a key or tell
// nothing.
func TestForeignHostRefused(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	h := open(t, setup{yaml: "hosts: [Weir.LAN.]\npublic_url: http://weir.example.com:8080/behind\n" + providersYAML(up.url)})
	checked := []string{
		"/metrics", "/readyz?verbose", "/readyz?x=y&%76erbose", "/openapi.json", "/", "/sign-in", "/nothing", "//metrics",
		"/livez/", "/admin/v1/accounts", "/admin/v1/nothing", "/admin/v1",
	}
	for _, host := range []string{"evil.example", "evil.example:8080", "127.0.0.1.evil.example", "localhost.evil.example", "notlocalhost", "weir.lan.evil.example", "127.1"} {
		for _, path := range checked {
			r := h.at(host, ask{path: path, key: noKey})
			if r.status != http.StatusMisdirectedRequest || !strings.Contains(r.body, "hosts") {
				t.Errorf("%s of %s: got %d %.200s, want 421 that names the key to set", path, host, r.status, r.body)
			}
		}
	}
	own := strings.TrimPrefix(h.url, "http://")
	for _, host := range []string{own, "localhost", "LocalHost.:8080", "weir.localhost:8080", "[::1]:8080", "[::1]", "192.0.2.7", "10.1.2.3:8080", "weir.lan", "weir.lan.:80", "WEIR.example.com:8080"} {
		for _, path := range checked {
			if r := h.at(host, ask{path: path, key: noKey}); r.status == http.StatusMisdirectedRequest {
				t.Errorf("%s of %s: got %d %.200s, want an answer", path, host, r.status, r.body)
			}
		}
	}
	for _, a := range []ask{
		{path: "/v1/chat", body: hello("house/echo")},
		{path: "/api/chat", body: hello("house/echo")},
		{path: "/v1/models"},
		{path: "/v1/uses"},
		{path: "/uses"},
		{path: "/livez", key: noKey},
		{path: "/readyz", key: noKey},
	} {
		if r := h.at("weir.docker.internal", a); r.status != http.StatusOK {
			t.Errorf("%s of any name: got %d %.200s, want 200", a.path, r.status, r.body)
		}
	}
	wantError(t, h.at("weir.docker.internal", ask{path: "/v1/nothing"}), 404, "NOT_FOUND")
	wantError(t, h.at("evil.example", ask{path: "/openapi.json"}), 421, "MISDIRECTED_REQUEST")
}

// TestForeignHostRefusedInItsWords is that a browser gets a page, and a program of the
// administration a problem.
func TestForeignHostRefusedInItsWords(t *testing.T) {
	t.Parallel()
	h, _ := openSimulated(t)
	for path, want := range map[string]string{"/sign-in": "text/html", "/metrics": "text/html", "/admin/v1/accounts": "application/problem+json"} {
		r := h.at("weir.lan", ask{path: path, key: noKey, header: []string{"Accept", "text/html,*/*"}})
		if got := r.header.Get("Content-Type"); r.status != http.StatusMisdirectedRequest || !strings.HasPrefix(got, want) || !strings.Contains(r.body, "weir.lan") {
			t.Errorf("%s: got %d %s %s, want 421 in %s that tells the name", path, r.status, got, r.body, want)
		}
	}
}

// TestForeignHostOfMetrics is the listener of the metrics: scrapers come by its address
// or its name, load balancers by the address.
func TestForeignHostOfMetrics(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	up := newUpstream(t)
	h := open(t, setup{yaml: "telemetry: {listen: \"localhost:" + port + "\"}\n" + providersYAML(up.url)})
	for host, want := range map[string]int{"evil.example": 421, "127.0.0.1:9090": 200, "10.0.0.7": 200, "localhost": 200} {
		for path, want := range map[string]int{"/metrics": want, "/readyz?verbose": want, "/readyz": 200, "/livez": 200} {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost:"+port+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			r.Host = host
			if got := h.send(r); got.status != want || want == 421 && !strings.Contains(got.body, "hosts") {
				t.Errorf("%s of %s: got %d %.200s, want %d", path, host, got.status, got.body, want)
			}
		}
	}
}

// TestDashboardOfThisMachine is that people sign in by the address and by the name of
// their own machine, in browsers that say the origin of a form.
func TestDashboardOfThisMachine(t *testing.T) {
	t.Parallel()
	h, _ := newcomers(t)
	for _, name := range []string{"127.0.0.1", "localhost"} {
		named := *h
		named.url = strings.Replace(h.url, "127.0.0.1", name, 1)
		b := named.browser()
		form := url.Values{"email": {"ada@example.com"}, "password": {leakedPassword}}
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, named.url+"/sign-in", strings.NewReader(form.Encode()))
		if err == nil {
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			r.Header.Set("Origin", named.url)
		}
		if got := b.do(r, err); got.status != http.StatusOK || !b.isIn() {
			t.Errorf("%s: got %d %.200s, want to be signed in", named.url, got.status, got.body)
		}
	}
}
