package app

import (
	"crypto/tls"
	"net/http"
	"net/netip"
	"testing"

	"weir/internal/worktest"
)

// TestClientAddress checks the client's address of a request, as far as trusted proxies report it, in every form that
// they write.
func TestClientAddress(t *testing.T) {
	t.Parallel()
	from := origin{proxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")}}
	for _, test := range []struct {
		peer string
		hops []string // headers X-Forwarded-For
		want string
	}{
		{"10.0.0.1:4000", nil, "10.0.0.1"},
		{"203.0.113.9:4000", []string{"198.51.100.1"}, "203.0.113.9"}, // a stranger is not trusted
		{"10.0.0.1:4000", []string{"203.0.113.7"}, "203.0.113.7"},
		{"10.0.0.1:4000", []string{"203.0.113.7:4711"}, "203.0.113.7"},
		{"10.0.0.1:4000", []string{" 203.0.113.7:4711 , 10.1.2.3:80"}, "203.0.113.7"},
		{"10.0.0.1:4000", []string{"198.51.100.1:1", "203.0.113.7:2"}, "203.0.113.7"}, // written by the client itself
		{"10.0.0.1:4000", []string{"2001:db8::1"}, "2001:db8::1"},
		{"10.0.0.1:4000", []string{"[2001:db8::1]:443"}, "2001:db8::1"},
		{"10.0.0.1:4000", []string{"[2001:db8::1]"}, "2001:db8::1"},
		{"[fd00::1]:4000", []string{"[2001:db8::1%eth0]:443,[fd00::2]:80"}, "2001:db8::1"},
		{"10.0.0.1:4000", []string{"[::ffff:203.0.113.7]:443"}, "203.0.113.7"},
		{"10.0.0.1:4000", []string{"203.0.113.7, unknown"}, "10.0.0.1"}, // not an address
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

// TestReachedByAddress checks the address by which a request reaches the gateway, and whether it is the gateway's own.
func TestReachedByAddress(t *testing.T) {
	t.Parallel()
	from := origin{proxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}, hosts: []string{"weir.example.com"}}
	for _, test := range []struct {
		peer, host  string
		tls         bool
		proto, name []string // of X-Forwarded-Proto and X-Forwarded-Host
		want        string
		known       bool
	}{
		{"10.0.0.1:1", "weir.internal", false, []string{"https"}, []string{"weir.example.com"}, "https://weir.example.com", true},
		{"10.0.0.1:1", "weir.internal", false, []string{"HTTPS"}, []string{"Weir.Example.com:443"}, "https://Weir.Example.com:443", true},
		{"10.0.0.1:1", "weir.internal", true, []string{"http"}, nil, "http://weir.internal", false},
		{"10.0.0.1:1", "weir.example.com", false, nil, nil, "http://weir.example.com", true},
		{"10.0.0.1:1", "weir.example.com", true, []string{"gopher"}, nil, "https://weir.example.com", true},
		{"10.0.0.1:1", "127.0.0.1:8080", false, nil, []string{"evil.example"}, "http://evil.example", false},
		{"10.0.0.1:1", "127.0.0.1:8080", false, []string{"http, https"}, []string{"evil.example, weir.example.com"}, "https://weir.example.com", true}, // the value before it is written by the client itself
		{"10.0.0.1:1", "127.0.0.1:8080", false, []string{"http", "https"}, []string{"weir.example.com", "evil.example"}, "https://evil.example", false},
		{"203.0.113.9:1", "evil.example", false, []string{"https"}, []string{"weir.example.com"}, "http://evil.example", false}, // a stranger is not trusted
		{"203.0.113.9:1", "weir.example.com", true, []string{"http"}, []string{"evil.example"}, "https://weir.example.com", true},
		{"203.0.113.9:1", "", false, nil, nil, "http://", false},
		{"203.0.113.9:1", "[2001:db8::1]:8080", false, nil, nil, "http://[2001:db8::1]:8080", true},
		{"203.0.113.9:1", "[fe80::1%25eth0]", false, nil, nil, "http://[fe80::1%25eth0]", true},
		{"203.0.113.9:1", "localhost:80@evil.example", false, nil, nil, "http://localhost:80@evil.example", false},
		{"203.0.113.9:1", "2130706433", false, nil, nil, "http://2130706433", false},
	} {
		r := &http.Request{RemoteAddr: test.peer, Host: test.host, Header: http.Header{"X-Forwarded-Proto": test.proto, "X-Forwarded-Host": test.name}}
		if test.tls {
			r.TLS = &tls.ConnectionState{}
		}
		scheme, host := from.reached(r)
		if got, known := scheme+"://"+host, from.checkHost(r) == nil; got != test.want || known != test.known {
			t.Errorf("%+v: got %s, known %t", test, got, known)
		}
	}
}

// FuzzOrigin checks that the address, scheme and host that a client claims are ignored without a trusted proxy, and
// that reading them needs linear work.
func FuzzOrigin(f *testing.F) {
	f.Add("203.0.113.7:1, [2001:db8::1]", "https", "weir.example, x", "evil.example:80")
	f.Add("[", ",", "[::1", "[::1]")
	trusting, alone := origin{proxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}}, origin{}
	asked := func(hops, proto, forwarded, host string) *http.Request {
		return &http.Request{RemoteAddr: "10.0.0.1:4000", Host: host, Header: http.Header{"X-Forwarded-For": {hops}, "X-Forwarded-Proto": {proto}, "X-Forwarded-Host": {forwarded}}}
	}
	f.Fuzz(func(t *testing.T, hops, proto, forwarded, host string) {
		worktest.Check(t, []byte(hops), func(b []byte) {
			r := asked(string(b), string(b), string(b), string(b))
			trusting.client(r)
			trusting.reached(r)
			_ = trusting.checkHost(r)
			trusting.isPrivate(r)
		})
		r := asked(hops, proto, forwarded, host)
		scheme, reached := alone.reached(r)
		if got := alone.client(r).String(); got != "10.0.0.1" || scheme != "http" || reached != host {
			t.Errorf("%q %q %q %q: got %s, %s://%s", hops, proto, forwarded, host, got, scheme, reached)
		}
	})
}

// TestIsPrivate checks which clients count as being on this machine, directly and behind a trusted proxy there: never
// one for which the proxy reports nothing readable.
func TestIsPrivate(t *testing.T) {
	t.Parallel()
	o := origin{proxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}}
	for _, test := range []struct {
		proto, hops string
		want        bool
	}{
		{"", "", true},
		{"https", "", true},
		{"http", "127.0.0.1", true},
		{"http", "", false},
		{"http", "203.0.113.7", false},
		{"http", "unknown", false},
		{"http", "203.0.113.7, garbage", false},
		{"http", "garbage, 127.0.0.1", false},
	} {
		r := &http.Request{RemoteAddr: "127.0.0.1:4000", Host: "localhost:8080", Header: http.Header{}}
		if test.proto != "" {
			r.Header.Set("X-Forwarded-Proto", test.proto)
		}
		if test.hops != "" {
			r.Header.Set("X-Forwarded-For", test.hops)
		}
		if got := o.isPrivate(r); got != test.want {
			t.Errorf("%q for %q: got %t, want %t", test.proto, test.hops, got, test.want)
		}
	}
}
