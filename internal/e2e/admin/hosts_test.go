package admin_test

import (
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"weir/internal/e2e/harness"
	"weir/internal/must"
)

// askAt sends a request to a path under another name of the gateway.
func askAt(h *harness.Gateway, host string, a harness.Ask) harness.Reply {
	h.T.Helper()
	a.Header = append(a.Header, "Host", host)
	return h.Do(a)
}

// TestForeignHostRefused sends requests like those of a page whose own name leads to this machine (DNS rebinding): it
// reaches only the client APIs and health, which require a key or reveal nothing.
func TestForeignHostRefused(t *testing.T) {
	t.Parallel()
	up := harness.NewUpstream(t)
	h := harness.Open(t, harness.Setup{YAML: "hosts: [Weir.LAN.]\npublic_url: http://weir.example.com:8080/behind\n" + harness.ProvidersYAML(up.URL)})
	checked := []string{
		"/metrics", "/readyz?verbose", "/readyz?x=y&%76erbose", "/openapi.json", "/", "/sign-in", "/nothing", "//metrics",
		"/livez/", "/admin/v1/accounts", "/admin/v1/nothing", "/admin/v1",
	}
	for _, host := range []string{"evil.example", "evil.example:8080", "127.0.0.1.evil.example", "localhost.evil.example", "notlocalhost", "weir.lan.evil.example", "127.1"} {
		for _, path := range checked {
			r := askAt(h, host, harness.Ask{Path: path, Key: harness.NoKey})
			if r.Status != http.StatusMisdirectedRequest || !strings.Contains(r.Body, "hosts") {
				t.Errorf("%s of %s: got %d %.200s, want 421 that names the key to set", path, host, r.Status, r.Body)
			}
		}
	}
	own := strings.TrimPrefix(h.URL, "http://")
	for _, host := range []string{own, "localhost", "LocalHost.:8080", "weir.localhost:8080", "[::1]:8080", "[::1]", "192.0.2.7", "10.1.2.3:8080", "weir.lan", "weir.lan.:80", "WEIR.example.com:8080"} {
		for _, path := range checked {
			if r := askAt(h, host, harness.Ask{Path: path, Key: harness.NoKey}); r.Status == http.StatusMisdirectedRequest {
				t.Errorf("%s of %s: got %d %.200s, want an answer", path, host, r.Status, r.Body)
			}
		}
	}
	for _, a := range []harness.Ask{
		{Path: "/v1/chat", Body: harness.Hello("house/echo")},
		{Path: "/api/chat", Body: harness.Hello("house/echo")},
		{Path: "/v1/models"},
		{Path: "/v1/uses"},
		{Path: "/uses"},
		{Path: "/livez", Key: harness.NoKey},
		{Path: "/readyz", Key: harness.NoKey},
	} {
		if r := askAt(h, "weir.docker.internal", a); r.Status != http.StatusOK {
			t.Errorf("%s of any name: got %d %.200s, want 200", a.Path, r.Status, r.Body)
		}
	}
	harness.WantError(t, askAt(h, "weir.docker.internal", harness.Ask{Path: "/v1/nothing"}), 404, "NOT_FOUND")
	harness.WantError(t, askAt(h, "evil.example", harness.Ask{Path: "/openapi.json"}), 421, "MISDIRECTED_REQUEST")
}

// TestForeignHostRefusedInFormatOfClient checks that a browser receives a page, and a program of the administration a
// problem.
func TestForeignHostRefusedInFormatOfClient(t *testing.T) {
	t.Parallel()
	h, _ := harness.OpenSimulated(t)
	for path, want := range map[string]string{"/sign-in": "text/html", "/metrics": "text/html", "/admin/v1/accounts": "application/problem+json"} {
		r := askAt(h, "weir.lan", harness.Ask{Path: path, Key: harness.NoKey, Header: []string{"Accept", "text/html,*/*"}})
		if got := r.Header.Get("Content-Type"); r.Status != http.StatusMisdirectedRequest || !strings.HasPrefix(got, want) || !strings.Contains(r.Body, "weir.lan") {
			t.Errorf("%s: got %d %s %s, want 421 in %s with the name", path, r.Status, got, r.Body, want)
		}
	}
}

// TestForeignHostOfMetrics checks the listener of the metrics: scrapers use its address or its name, load balancers the
// address.
func TestForeignHostOfMetrics(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must.Do(t, err)
	_, port, _ := net.SplitHostPort(l.Addr().String())
	must.Do(t, l.Close())
	up := harness.NewUpstream(t)
	h := harness.Open(t, harness.Setup{YAML: "telemetry: {listen: \"localhost:" + port + "\"}\n" + harness.ProvidersYAML(up.URL)})
	for host, want := range map[string]int{"evil.example": 421, "127.0.0.1:9090": 200, "10.0.0.7": 200, "localhost": 200} {
		for path, want := range map[string]int{"/metrics": want, "/readyz?verbose": want, "/readyz": 200, "/livez": 200} {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost:"+port+path, nil)
			must.Do(t, err)
			r.Host = host
			if got := h.Send(r); got.Status != want || want == 421 && !strings.Contains(got.Body, "hosts") {
				t.Errorf("%s of %s: got %d %.200s, want %d", path, host, got.Status, got.Body, want)
			}
		}
	}
}

// TestDashboardOfThisMachine checks that people sign in by the address and by the name of their own machine, in
// browsers that send the origin of a form.
func TestDashboardOfThisMachine(t *testing.T) {
	t.Parallel()
	h, _ := newcomers(t)
	for _, name := range []string{"127.0.0.1", "localhost"} {
		named := *h
		named.URL = strings.Replace(h.URL, "127.0.0.1", name, 1)
		b := newBrowser(&named)
		form := url.Values{"email": {"ada@example.com"}, "password": {leakedPassword}}
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, named.URL+"/sign-in", strings.NewReader(form.Encode()))
		if err == nil {
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			r.Header.Set("Origin", named.URL)
		}
		if got := b.do(r, err); got.Status != http.StatusOK || !b.isIn() {
			t.Errorf("%s: got %d %.200s, want to be signed in", named.URL, got.Status, got.Body)
		}
	}
}
