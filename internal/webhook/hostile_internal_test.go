package webhook

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"weir/internal/must"
	"weir/internal/outbound"
)

// dialled records the addresses that would have been connected to. It runs after the guard, which knows the resolved
// address.
type dialled struct {
	mu   sync.Mutex
	all  []netip.AddrPort
	real bool // connect, too
}

var errNotConnected = errors.New("the test connects to nothing")

// behind wraps a dialer's check before it connects.
func (d *dialled) behind(dialer *net.Dialer) {
	guard := dialer.Control
	dialer.Control = func(network, address string, c syscall.RawConn) error {
		if err := guard(network, address, c); err != nil {
			return err
		}
		d.mu.Lock()
		defer d.mu.Unlock()
		d.all = append(d.all, netip.MustParseAddrPort(address))
		if d.real {
			return nil
		}
		return errNotConnected
	}
}

// names is a name server on loopback. Each name has addresses that it returns in turn, one a query, so that a public
// name can be rebound.
type names struct {
	conn  *net.UDPConn
	mu    sync.Mutex
	turns map[string][]string
	asked map[string]int
}

func newNames(t *testing.T, turns map[string][]string) *net.Resolver {
	t.Helper()
	conn := must.Get(net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)}))(t)
	n := &names{conn: conn, turns: turns, asked: map[string]int{}}
	done := make(chan struct{})
	go func() { defer close(done); n.serve() }()
	t.Cleanup(func() { _ = conn.Close(); <-done })
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", conn.LocalAddr().String())
	}}
}

func (n *names) serve() {
	buf := make([]byte, 1500)
	for {
		size, from, err := n.conn.ReadFromUDPAddrPort(buf)
		if err != nil {
			return
		}
		var m dnsmessage.Message
		if m.Unpack(buf[:size]) != nil || len(m.Questions) != 1 {
			continue
		}
		q := m.Questions[0]
		m.Response, m.Authoritative = true, true
		if a, ok := n.answer(strings.TrimSuffix(q.Name.String(), "."), q.Type); ok {
			m.Answers = []dnsmessage.Resource{a}
			m.Answers[0].Header = dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class}
		}
		m.Additionals = nil
		if out, err := m.Pack(); err == nil {
			_, _ = n.conn.WriteToUDPAddrPort(out, from)
		}
	}
}

func (n *names) answer(name string, kind dnsmessage.Type) (r dnsmessage.Resource, ok bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	turns := n.turns[name]
	if len(turns) == 0 {
		return r, false
	}
	a := netip.MustParseAddr(turns[n.asked[name]%len(turns)])
	if a.Is4() && kind == dnsmessage.TypeA {
		n.asked[name]++
		return dnsmessage.Resource{Body: &dnsmessage.AResource{A: a.As4()}}, true
	}
	if a.Is6() && kind == dnsmessage.TypeAAAA {
		n.asked[name]++
		return dnsmessage.Resource{Body: &dnsmessage.AAAAResource{AAAA: a.As16()}}, true
	}
	return r, false
}

// hostileHosts returns hosts that lead, or would lead a careless parser, to addresses that no tenant may reach.
func hostileHosts() []string {
	return []string{
		"127.0.0.1", "127.0.0.2", "127.255.255.254", "127.1", "127.0.1", "0", "0.0.0.0", "0.0.0.1", "localhost", "LOCALHOST", "localhost.", "a.localhost",
		"2130706433", "017700000001", "0x7f000001", "0x7f.0.0.1", "0177.0.0.1", "0177.0.1", "127.0.0.1.", "①②⑦.0.0.1", "127。0。0。1",
		"10.0.0.1", "10.255.255.255", "172.16.0.1", "172.31.255.255", "192.168.0.1", "100.64.0.1", "100.127.255.255", "169.254.0.1", "198.18.0.1", "192.0.0.8",
		"224.0.0.1", "255.255.255.255", "240.0.0.1", "169.254.169.254", "169.254.170.2", "100.100.100.200", "168.63.129.16", "2852039166", "0xa9fea9fe", "0251.0376.0251.0376",
		"[::1]", "[::]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::ffff:169.254.169.254]", "[::127.0.0.1]", "[fc00::1]", "[fd00:ec2::254]", "[fd20:ce::254]", "[fe80::1]", "[fe80::1%25lo]",
		"[ff02::1]", "[fec0::1]", "[64:ff9b::7f00:1]", "[64:ff9b::a9fe:a9fe]", "[64:ff9b:1::7f00:1]", "[2002:7f00:1::]", "[2002:a9fe:a9fe::1]", "[2001:0:7f00:1::]", "[2001:db8::1]", "[100::1]",
		"loopback.test", "mapped.test", "metadata.test", "private.test", "nat64.test", "sixtofour.test", "v6loopback.test", "rebound.test", "rebound6.test",
	}
}

func hostileNames() map[string][]string {
	return map[string][]string{
		"loopback.test": {"127.0.0.1"}, "mapped.test": {"::ffff:127.0.0.1"}, "metadata.test": {"169.254.169.254"}, "private.test": {"10.0.0.7"},
		"nat64.test": {"64:ff9b::7f00:1"}, "sixtofour.test": {"2002:7f00:1::1"}, "v6loopback.test": {"::1"},
		"rebound.test": {"8.8.8.8", "127.0.0.1", "169.254.169.254", "10.0.0.1"}, "rebound6.test": {"2606:4700::1111", "::1", "fd00:ec2::254"},
		"good.test": {"8.8.8.8"},
	}
}

// TestHostileAddresses sends to hostile hosts, and checks that only public addresses are about to be connected to.
func TestHostileAddresses(t *testing.T) {
	t.Parallel()
	var seen dialled
	resolver := newNames(t, hostileNames())
	s := newSender(nil, nil, "test", func(d *net.Dialer) {
		d.Resolver = resolver
		seen.behind(d)
	})
	defer s.close()
	hosts := hostileHosts()
	for _, host := range append(hosts, "good.test") {
		for range 6 { // so that a rebound name has all its turns
			for _, address := range []string{"https://" + host + "/", "https://" + host + ":8443/", "https://user:pass@" + host + "/"} {
				j := &Job{URL: address, Event: "e", Payload: []byte("{}")}
				if a, err := s.send(t.Context(), j, false, time.Now(), "v1,x"); err == nil {
					t.Errorf("%s: got an answer, %d", address, a.status)
				}
			}
		}
	}
	if len(hosts) < 60 {
		t.Errorf("%d hostile hosts, want at least 60", len(hosts))
	}
	good := map[string]bool{}
	for _, a := range seen.all {
		if outbound.Public.Check(a.Addr()) != nil {
			t.Errorf("about to connect to %s", a)
		}
		good[a.Addr().String()] = true
	}
	if !good["8.8.8.8"] || !good["2606:4700::1111"] {
		t.Errorf("about to connect to %v, want the public ones among them: else this test sees nothing", good)
	}
}

// TestHostileAddressesWithoutGuard removes the guard: then the same hosts lead to forbidden addresses, which the test
// above would find.
func TestHostileAddressesWithoutGuard(t *testing.T) {
	t.Parallel()
	var seen dialled
	resolver := newNames(t, hostileNames())
	s := newSender(nil, nil, "test", func(d *net.Dialer) {
		d.Resolver = resolver
		d.Control = func(string, string, syscall.RawConn) error { return nil }
		seen.behind(d)
	})
	defer s.close()
	for _, host := range []string{"loopback.test", "private.test", "metadata.test"} {
		_, _ = s.send(t.Context(), &Job{URL: "https://" + host + "/"}, false, time.Now(), "v1,x")
	}
	bad := 0
	for _, a := range seen.all {
		if outbound.Public.Check(a.Addr()) != nil {
			bad++
		}
	}
	if bad < 3 {
		t.Errorf("without the guard %v would have been connected to, want forbidden ones among them", seen.all)
	}
}

// TestPlainHTTPStaysHome checks that http reaches only private addresses, for every name.
func TestPlainHTTPStaysHome(t *testing.T) {
	t.Parallel()
	var seen dialled
	resolver := newNames(t, map[string][]string{"turns.test": {"10.0.0.1", "8.8.8.8"}, "metadata.test": {"169.254.169.254"}})
	s := newSender(nil, nil, "test", func(d *net.Dialer) {
		d.Resolver = resolver
		seen.behind(d)
	})
	defer s.close()
	for range 6 {
		for _, host := range []string{"turns.test", "metadata.test", "8.8.8.8", "10.1.1.1"} {
			_, _ = s.send(t.Context(), &Job{URL: "http://" + host + "/"}, true, time.Now(), "v1,x")
		}
	}
	home := 0
	for _, a := range seen.all {
		if !a.Addr().IsPrivate() {
			t.Errorf("about to connect to %s over plain http", a)
		}
		home++
	}
	if home == 0 {
		t.Error("no private address was about to be connected to: the test sees nothing")
	}
}

// TestRedirectsAreNotFollowed has a receiver redirect the gateway, in every way there is; it follows none.
func TestRedirectsAreNotFollowed(t *testing.T) {
	t.Parallel()
	var inside, outside atomic.Int64
	secret := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { inside.Add(1) }))
	defer secret.Close()
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		outside.Add(1)
		status := 0
		_, _ = fmt.Sscan(r.URL.Query().Get("status"), &status)
		w.Header().Set("Location", secret.URL)
		w.Header().Set("Refresh", "0; url="+secret.URL)
		w.Header().Set("Alt-Svc", `h2="`+secret.Listener.Addr().String()+`"`)
		w.WriteHeader(status)
	}))
	defer receiver.Close()
	s := newSender(nil, nil, "test", nil)
	defer s.close()
	for _, status := range []int{300, 301, 302, 303, 305, 307, 308} {
		j := &Job{URL: fmt.Sprintf("%s/?status=%d", receiver.URL, status), AllowPrivate: true, Payload: []byte("{}")}
		a, err := s.send(t.Context(), j, true, time.Now(), "v1,x")
		o := Outcome{Job: j}
		o.judge(j, &a, err)
		if a.status != status || o.State != Pending || !strings.Contains(o.Try.Error, "redirect") {
			t.Errorf("%d: got %+v, %v and %+v; want a failed try with the reason", status, a, err, o)
		}
	}
	if inside.Load() > 0 || outside.Load() != 7 {
		t.Errorf("got %d requests at the receiver and %d where it led, want 7 and 0", outside.Load(), inside.Load())
	}
}

// TestProxyGetsNoForbiddenAddress checks that names go to a proxy, which resolves them by itself, but no forbidden
// address does, in any notation.
func TestProxyGetsNoForbiddenAddress(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	asked := map[string]bool{}
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		host, _, _ := net.SplitHostPort(r.Host)
		asked[host] = true
		w.WriteHeader(http.StatusForbidden)
	}))
	defer proxy.Close()
	at, err := outbound.ParseProxy(proxy.URL)
	must.Do(t, err)
	s := newSender(at, nil, "test", nil)
	defer s.close()
	odd := []string{"127.0.0.①", "127.0.0.%EF%BC%91", "ⓛocalhost", "127。0。0。①", "１２７.0.0.1", "localhost..", "x.localhost", "x.LOCALHOST.", "169.254.169.２５４"}
	for _, host := range append(append(hostileHosts(), odd...), "example.com", "bücher.example") {
		j := &Job{URL: "https://" + host + "/", Event: "e", Payload: []byte("{}")}
		if a, err := s.send(t.Context(), j, false, time.Now(), "v1,x"); err == nil {
			t.Errorf("%s: got an answer, %d", host, a.status)
		}
	}
	for host := range asked {
		name := strings.TrimRight(strings.ToLower(host), ".")
		if _, err := netip.ParseAddr(name); err == nil || name == "localhost" || strings.HasSuffix(name, ".localhost") || isOddNumber(name) {
			t.Errorf("the proxy got %q", host)
		}
	}
	if !asked["example.com"] || !asked["xn--bcher-kva.example"] {
		t.Errorf("the proxy got %v, want the permitted ones among them", asked)
	}
}
