package connection

import "testing"

// TestSitesAreRegistrableDomains checks which addresses count as of one site, so that none of two owners do.
func TestSitesAreRegistrableDomains(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		one, other string
		want       bool
	}{
		{"https://mcp.example.com/authorize", "https://cf.mcp.example.com/token", true},
		{"https://id.example.com", "https://ID.EXAMPLE.com:8443/token", true},
		{"https://id.example.co.uk", "https://token.example.co.uk", true},
		{"http://127.0.0.1:9000", "http://127.0.0.1:9000/token", true},
		{"https://example.com", "https://example.com.evil.net", false},
		{"https://example.com", "https://evilexample.com", false},
		{"https://honest.co.uk", "https://evil.co.uk", false},
		{"https://honest.github.io", "https://evil.github.io", false},
		{"http://127.0.0.1:9000", "http://127.0.0.1:9001", false},
		{"http://10.0.0.1", "http://11.0.0.1", false},
		{"http://localhost:9000", "http://localhost:9001", false},
		{"http://[::1]:9000", "http://[::2]:9000", false},
		{"https://id.example.com", "", false},
		{"", "", false},
		{"https://id.example.com", "https://%zz/", false},
	} {
		if got := isOfOneSite(test.one, test.other); got != test.want {
			t.Errorf("%q and %q: got %t, want %t", test.one, test.other, got, test.want)
		}
	}
}
