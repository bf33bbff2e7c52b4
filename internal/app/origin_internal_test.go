package app

import (
	"net/http"
	"net/netip"
	"testing"
)

// TestClientAddress is whom a request comes from, as far as proxies that are trusted
// say so, in every form that they write an address.
func TestClientAddress(t *testing.T) {
	t.Parallel()
	from := origin{proxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")}}
	for _, test := range []struct {
		peer string
		hops []string // headers X-Forwarded-For
		want string
	}{
		{"10.0.0.1:4000", nil, "10.0.0.1"},
		{"203.0.113.9:4000", []string{"198.51.100.1"}, "203.0.113.9"}, // nobody believes a stranger
		{"10.0.0.1:4000", []string{"203.0.113.7"}, "203.0.113.7"},
		{"10.0.0.1:4000", []string{"203.0.113.7:4711"}, "203.0.113.7"},
		{"10.0.0.1:4000", []string{" 203.0.113.7:4711 , 10.1.2.3:80"}, "203.0.113.7"},
		{"10.0.0.1:4000", []string{"198.51.100.1:1", "203.0.113.7:2"}, "203.0.113.7"}, // what the client wrote itself
		{"10.0.0.1:4000", []string{"2001:db8::1"}, "2001:db8::1"},
		{"10.0.0.1:4000", []string{"[2001:db8::1]:443"}, "2001:db8::1"},
		{"10.0.0.1:4000", []string{"[2001:db8::1]"}, "2001:db8::1"},
		{"[fd00::1]:4000", []string{"[2001:db8::1%eth0]:443,[fd00::2]:80"}, "2001:db8::1"},
		{"10.0.0.1:4000", []string{"[::ffff:203.0.113.7]:443"}, "203.0.113.7"},
		{"10.0.0.1:4000", []string{"203.0.113.7, unknown"}, "10.0.0.1"}, // no address stands there
		{"10.0.0.1:4000", []string{"203.0.113.7, 203.0.113.8:port"}, "10.0.0.1"},
		{"10.0.0.1:4000", []string{"203.0.113.7, [2001:db8::1"}, "10.0.0.1"},
		{"10.0.0.1:4000", []string{"203.0.113.7, []"}, "10.0.0.1"},
		{"10.0.0.1:4000", []string{"203.0.113.7, ["}, "10.0.0.1"},
		{"10.0.0.1:4000", []string{"203.0.113.7, :80"}, "10.0.0.1"},
		{"10.0.0.1:4000", []string{""}, "10.0.0.1"},
	} {
		r := &http.Request{RemoteAddr: test.peer, Header: http.Header{"X-Forwarded-For": test.hops}}
		if got := from.client(r).String(); got != test.want {
			t.Errorf("peer %s, X-Forwarded-For %q: got %s, want %s", test.peer, test.hops, got, test.want)
		}
	}
}
