package app

import (
	"net"
	"net/http"
	"net/netip"
	"strings"

	"weir/internal/config"
)

// origin is where requests come from, as far as proxies that are trusted say so.
type origin struct {
	public  string // the configured address of the gateway; empty for none
	proxies []netip.Prefix
}

func originOf(cfg *config.Config) origin {
	return origin{public: cfg.PublicURL, proxies: cfg.TrustedProxies}
}

func (o *origin) trusts(addr netip.Addr) bool {
	for _, network := range o.proxies {
		if network.Contains(addr) {
			return true
		}
	}
	return false
}

// peer is who holds the connection; not valid where that is no IP address.
func peer(r *http.Request) netip.Addr {
	addr, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	return addr.Addr().Unmap().WithZone("")
}

// client is the address of the client: the last one that is not a trusted
// proxy's, of X-Forwarded-For and whoever holds the connection.
func (o *origin) client(r *http.Request) netip.Addr {
	addr := peer(r)
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for i := len(hops) - 1; i >= 0 && o.trusts(addr); i-- {
		hop, ok := hopOf(strings.TrimSpace(hops[i]))
		if !ok {
			break
		}
		addr = hop
	}
	return addr
}

// hopOf is one address of X-Forwarded-For, which some proxies write with the
// port, or an IPv6 one in brackets as RFC 7239, section 6, has it.
func hopOf(text string) (netip.Addr, bool) {
	addr, err := netip.ParseAddr(text)
	if err != nil {
		var with netip.AddrPort
		with, err = netip.ParseAddrPort(text)
		addr = with.Addr()
	}
	if inner, ok := strings.CutPrefix(text, "["); err != nil && ok {
		if inner, ok = strings.CutSuffix(inner, "]"); ok {
			addr, err = netip.ParseAddr(inner)
		}
	}
	return addr.Unmap().WithZone(""), err == nil
}

// base is the address by which the client has reached the gateway, without a
// slash at its end: the configured one, or what the request and a trusted proxy
// say.
func (o *origin) base(r *http.Request) string {
	if o.public != "" {
		return o.public
	}
	scheme, host := "http", r.Host
	if r.TLS != nil {
		scheme = "https"
	}
	if o.trusts(peer(r)) {
		if proto := r.Header.Get("X-Forwarded-Proto"); proto == "https" || proto == "http" {
			scheme = proto
		}
		if forwarded := r.Header.Get("X-Forwarded-Host"); forwarded != "" {
			host = forwarded
		}
	}
	return scheme + "://" + host
}

// isPrivate reports whether nobody on the way can read along: by https, or on
// this machine.
func (o *origin) isPrivate(r *http.Request) bool {
	if strings.HasPrefix(o.base(r), "https://") {
		return true
	}
	host := r.Host
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	addr, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return peer(r).IsLoopback() && (host == "localhost" || strings.HasSuffix(host, ".localhost") || err == nil && addr.IsLoopback())
}
