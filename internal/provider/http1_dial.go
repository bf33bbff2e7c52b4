package provider

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strings"
	"time"

	"golang.org/x/net/idna"
	"golang.org/x/net/proxy"

	"weir/internal/outbound"
	"weir/internal/rawio"
)

const (
	// keptSessions is how many TLS sessions are stored for resumption: a server issues several.
	keptSessions = 64
	// handshakesAtOnce bounds the concurrent TLS handshakes with one provider: among a thousand at once, each would
	// exceed its timeout.
	handshakesAtOnce = 64
)

// route opens connections to a provider: directly or through a proxy, in plain text or over TLS. It uses the first of
// the host's addresses that answers (RFC 8305, net.Dialer).
type route struct {
	dialer  net.Dialer
	limit   time.Duration // for all handshakes after dialling
	address string        // of the provider, host and port
	secure  *tls.Config   // nil for plain HTTP
	turns   chan struct{} // semaphore of connections being opened; nil for plain HTTP
	proxy   *url.URL      // nil for none
	toProxy *tls.Config   // nil for a proxy without TLS
	all     *Connections  // connections to all providers
	tunnels bool          // a proxy makes a tunnel also for plain HTTP
}

func newRoute(u *url.URL, o *Options) (*route, error) {
	through, err := outbound.ParseProxyURL(o.Proxy)
	if err != nil {
		return nil, err
	}
	roots, err := outbound.Certificates(o.CAFile)
	if err != nil {
		return nil, err
	}
	config := func(host string) *tls.Config {
		return &tls.Config{
			RootCAs: roots, ServerName: host, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"},
			ClientSessionCache: tls.NewLRUClientSessionCache(keptSessions),
			// A request is one record and one write.
			DynamicRecordSizingDisabled: true,
		}
	}
	// The operator chose the proxy, which usually has a private address.
	control := reach(o.AllowPrivate || through != nil).Control
	r := &route{
		all: o.Connections, dialer: net.Dialer{Timeout: o.Timeouts.Connect, Control: control},
		limit: o.Timeouts.Connect, proxy: through,
	}
	host, err := asciiHost(u)
	if err != nil {
		return nil, err
	}
	r.address = addressOf(u, host)
	if u.Scheme == "https" {
		r.secure, r.turns = config(withoutZone(host)), make(chan struct{}, handshakesAtOnce)
	}
	if through != nil && through.Scheme == "https" {
		r.toProxy = config(through.Hostname())
	}
	return r, nil
}

// reach returns which addresses a provider may have.
func reach(allowPrivate bool) outbound.Reach {
	if allowPrivate {
		return outbound.Anywhere
	}
	return outbound.Public
}

// asciiHost returns the host of a URL as name servers and certificates spell it (RFC 5891).
func asciiHost(u *url.URL) (string, error) {
	host := u.Hostname()
	if strings.IndexFunc(host, func(r rune) bool { return r > '~' }) < 0 {
		return host, nil
	}
	ascii, err := idna.Lookup.ToASCII(host)
	if err != nil {
		return "", fmt.Errorf("base_url: the host %q: %w", host, err)
	}
	return ascii, nil
}

// addressOf returns the address to dial for a URL.
func addressOf(u *url.URL, host string) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443", "socks5": "1080", "socks5h": "1080"}[u.Scheme]
	}
	return net.JoinHostPort(host, port)
}

// withoutZone returns a host without the zone of an IPv6 address, which is only valid on this machine.
func withoutZone(host string) string {
	name, _, _ := strings.Cut(host, "%")
	return name
}

// isRelayed reports whether requests are sent to a proxy with absolute URLs, without a tunnel.
func (r *route) isRelayed() bool {
	return !r.tunnels && r.proxy != nil && r.secure == nil && strings.HasPrefix(r.proxy.Scheme, "http")
}

// authorization returns the header line with the proxy's credentials; empty if its URL has none (RFC 7617).
func (r *route) authorization() string {
	if r.proxy == nil || r.proxy.User == nil {
		return ""
	}
	password, _ := r.proxy.User.Password()
	credentials := base64.StdEncoding.EncodeToString([]byte(r.proxy.User.Username() + ":" + password))
	return "Proxy-Authorization: Basic " + credentials + "\r\n"
}

// dial opens a connection, unless ctx ends first.
func (r *route) dial(ctx context.Context) (*conn, error) {
	if r.turns != nil {
		select {
		case r.turns <- struct{}{}:
			defer func() { <-r.turns }()
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	address := r.address
	if r.proxy != nil {
		address = addressOf(r.proxy, r.proxy.Hostname())
	}
	s, err := r.open(ctx, address)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, r.limit)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = s.Close() })
	c, err := r.layers(ctx, s)
	if !stop() { // the socket was closed
		err = ctx.Err()
	}
	if err != nil {
		_ = s.Close()
		return nil, err
	}
	return newConn(c, s), nil
}

// open opens a socket. If the process lacks a file, idle connections to providers are closed.
func (r *route) open(ctx context.Context, address string) (*socket, error) {
	if err := r.all.take(); err != nil {
		return nil, err
	}
	tcp, err := r.dialer.DialContext(ctx, "tcp", address)
	if err != nil && isShortage(err) && r.all.Release() {
		tcp, err = r.dialer.DialContext(ctx, "tcp", address)
	}
	if err != nil {
		r.all.giveBack()
		return nil, err
	}
	return newSocket(rawio.Socket(tcp), r.all), nil
}

// layers adds the layers above the socket: TLS to the proxy, the tunnel, TLS to the provider.
func (r *route) layers(ctx context.Context, c net.Conn) (_ net.Conn, err error) {
	if r.toProxy != nil {
		if c, err = handshake(ctx, c, r.toProxy); err != nil {
			return nil, fmt.Errorf("outbound.proxy: %w", err)
		}
	}
	switch {
	case r.proxy == nil, r.isRelayed():
	case strings.HasPrefix(r.proxy.Scheme, "http"):
		err = r.tunnel(c)
	default:
		c, err = r.socks(ctx, c)
	}
	if err != nil {
		return nil, fmt.Errorf("outbound.proxy: %w", err)
	}
	if r.secure != nil {
		return handshake(ctx, c, r.secure)
	}
	return c, nil
}

func handshake(ctx context.Context, c net.Conn, config *tls.Config) (net.Conn, error) {
	secure := tls.Client(c, config)
	return secure, secure.HandshakeContext(ctx)
}

// tunnel lets an HTTP proxy connect to the provider (RFC 9110, section 9.3.6).
func (r *route) tunnel(c net.Conn) error {
	request := "CONNECT " + r.address + " HTTP/1.1\r\nHost: " + r.address + "\r\n" + r.authorization() + "\r\n"
	if _, err := io.WriteString(c, request); err != nil {
		return err
	}
	buf := make([]byte, 0, 1<<10)
	h, rest, err := readHead(c, &buf)
	switch {
	case err != nil:
		return err
	case h.status/100 != 2:
		return fmt.Errorf("status %d for CONNECT %s", h.status, r.address)
	case len(rest) > 0:
		return errors.New("the answer to CONNECT has data behind its head")
	}
	return nil
}

// socks lets a SOCKS5 proxy connect to the provider and resolve its name (RFC 1928, RFC 1929).
func (r *route) socks(ctx context.Context, c net.Conn) (net.Conn, error) {
	var auth *proxy.Auth
	if u := r.proxy.User; u != nil {
		password, _ := u.Password()
		auth = &proxy.Auth{User: u.Username(), Password: password}
	}
	d, err := proxy.SOCKS5("tcp", r.proxy.Host, auth, opened{c})
	if err != nil {
		return nil, err
	}
	return d.(proxy.ContextDialer).DialContext(ctx, "tcp", r.address)
}

// opened is a dialer that returns the existing connection to the proxy.
type opened struct{ net.Conn }

// Dial implements proxy.Dialer.
func (o opened) Dial(string, string) (net.Conn, error) { return o.Conn, nil }

// DialContext implements proxy.ContextDialer.
func (o opened) DialContext(context.Context, string, string) (net.Conn, error) { return o.Conn, nil }
