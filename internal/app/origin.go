package app

import (
	"cmp"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"weir/internal/config"
	"weir/internal/llm"
)

// origin is from whom requests come and by which address of the gateway, as far as
// proxies that are trusted say so. Whatever needs a request's scheme, host or client
// asks here.
type origin struct {
	public  string   // the configured address of the gateway; empty for none
	secure  string   // its bare host, where it is https; empty for none
	hosts   []string // bare names of the gateway
	proxies []netip.Prefix
}

func originOf(cfg *config.Config) origin {
	o := origin{public: cfg.PublicURL, proxies: cfg.TrustedProxies}
	scheme, public, _ := strings.Cut(cfg.PublicURL, "://")
	public, _, _ = strings.Cut(public, "/")
	if scheme == "https" {
		o.secure = bareHost(public)
	}
	for _, host := range slices.Concat([]string{public, cfg.Listen, cfg.Telemetry.Listen}, cfg.Hosts, cfg.TLS.ACME.Domains) {
		if host = bareHost(host); host != "" {
			o.hosts = append(o.hosts, host)
		}
	}
	return o
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
	addr, _ := o.told(r)
	return addr
}

// told is client, and whether all that trusted proxies say of it could be read.
func (o *origin) told(r *http.Request) (addr netip.Addr, readable bool) {
	addr = peer(r)
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for i := len(hops) - 1; i >= 0 && o.trusts(addr); i-- {
		hop, ok := hopOf(strings.TrimSpace(hops[i]))
		if !ok {
			return addr, false
		}
		addr = hop
	}
	return addr, true
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

// reached is the scheme and the host, perhaps with a port, by which the client has
// reached the gateway: what the connection and the request say, or a trusted proxy. Where
// that has appended to what it got, the last value is its own; where it says nothing of
// the scheme, it is that of the configured address.
func (o *origin) reached(r *http.Request) (scheme, host string) {
	scheme = "http"
	if r.TLS != nil {
		scheme = "https"
	}
	if !o.trusts(peer(r)) {
		return scheme, r.Host
	}
	proto := strings.ToLower(lastOf(r.Header["X-Forwarded-Proto"]))
	switch {
	case proto == "https" || proto == "http":
		scheme = proto
	case proto == "" && o.secure != "":
		scheme = "https"
	}
	return scheme, cmp.Or(lastOf(r.Header["X-Forwarded-Host"]), r.Host)
}

// lastOf is the last one of the values of a header field that is a list.
func lastOf(values []string) string {
	all := strings.Join(values, ",")
	return strings.TrimSpace(all[strings.LastIndexByte(all, ',')+1:])
}

// base is the address by which the client has reached the gateway, without a
// slash at its end: the configured one, or what the request and a trusted proxy
// say.
func (o *origin) base(r *http.Request) string {
	if o.public != "" {
		return o.public
	}
	scheme, host := o.reached(r)
	return scheme + "://" + host
}

// isStrict reports whether browsers are to come over https alone: where they have, by a
// name at which no other programs of theirs answer.
func (o *origin) isStrict(r *http.Request) bool {
	scheme, host := o.reached(r)
	return scheme == "https" && !config.IsLoopbackHost(bareHost(host))
}

// isPrivate reports whether nobody on the way can read along: by https, or on this
// machine. A proxy on this machine that is not named counts as this machine, for the host
// of an https address too.
func (o *origin) isPrivate(r *http.Request) bool {
	scheme, host := o.reached(r)
	if scheme == "https" {
		return true
	}
	addr, readable := o.told(r)
	if o.trusts(peer(r)) && r.Header.Get("X-Forwarded-Proto") != "" && !readable {
		return false // a proxy passes on what came to it over http, and from whom is not known
	}
	host = bareHost(host)
	return addr.IsLoopback() && (config.IsLoopbackHost(host) || host != "" && host == o.secure)
}

// checkHost refuses a request for a host that is not the gateway's. Such a one comes
// from a browser whose page has its own name lead to the gateway, to read what the
// gateway tells (DNS rebinding); an address is nobody's name. RFC 9110, section 15.5.20.
func (o *origin) checkHost(r *http.Request) error {
	_, host := o.reached(r)
	host = bareHost(host)
	if _, err := netip.ParseAddr(host); err == nil || config.IsLoopbackHost(host) || slices.Contains(o.hosts, host) {
		return nil
	}
	return llm.Errorf(llm.CodeMisdirected, "The gateway is not known by the name %.100q. Use its address or, if the "+
		"name is its own, add it to hosts in the configuration.", host)
}

// bareHost is a host, as a Host header field has it (RFC 9110, section 7.2), in lower
// case, without the port, the brackets of an address or a dot at the end.
func bareHost(host string) string {
	if name, port, err := net.SplitHostPort(host); err == nil && strings.Trim(port, "0123456789") == "" {
		host = name
	}
	return strings.TrimSuffix(strings.ToLower(strings.Trim(host, "[]")), ".")
}
