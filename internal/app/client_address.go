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

// origin determines the scheme, host and client of a request, with the headers of trusted proxies. All code that
// needs them uses it.
type origin struct {
	public  string   // configured address of the gateway; empty for none
	secure  string   // its bare host if it is https, else empty
	hosts   []string // bare host names of the gateway
	proxies []netip.Prefix
}

func originOf(cfg *config.Config) origin {
	o := origin{public: cfg.PublicURL, proxies: cfg.TrustedProxies}
	scheme, public, _ := strings.Cut(cfg.PublicURL, "://")
	public, _, _ = strings.Cut(public, "/")
	if scheme == "https" {
		o.secure = bareHost(public)
	}
	own := []string{public, cfg.Listen, cfg.Telemetry.Listen}
	for _, host := range slices.Concat(own, cfg.Hosts, cfg.TLS.ACME.Domains) {
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

// peer returns the address at the other end of the connection; it is not valid if that is not an IP address.
func peer(r *http.Request) netip.Addr {
	addr, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	return addr.Addr().Unmap().WithZone("")
}

// client returns the address of the client: the last one that is not a trusted proxy, of X-Forwarded-For and the
// peer.
func (o *origin) client(r *http.Request) netip.Addr {
	addr, _ := o.forwarded(r)
	return addr
}

// forwarded returns the address of the client, and whether all addresses from trusted proxies were readable.
func (o *origin) forwarded(r *http.Request) (addr netip.Addr, readable bool) {
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

// hopOf parses one address of X-Forwarded-For. Some proxies add the port, or write an IPv6 address in brackets as in
// RFC 7239, section 6.
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

// reached returns the scheme and the host, with or without a port, by which the client reached the gateway: from the
// connection and the request, or from a trusted proxy. Of a list of values the last is the proxy's own. If the proxy
// does not send a scheme, the scheme of the configured address applies.
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

// lastOf returns the last value of a header field that is a list.
func lastOf(values []string) string {
	all := strings.Join(values, ",")
	return strings.TrimSpace(all[strings.LastIndexByte(all, ',')+1:])
}

// base returns the address by which the client reached the gateway, without a slash at its end: the configured one,
// or that of the request and a trusted proxy.
func (o *origin) base(r *http.Request) string {
	if o.public != "" {
		return o.public
	}
	scheme, host := o.reached(r)
	return scheme + "://" + host
}

// isStrict reports whether browsers should use only https from now on: if this request did, by a name at which no
// other local programs answer.
func (o *origin) isStrict(r *http.Request) bool {
	scheme, host := o.reached(r)
	return scheme == "https" && !config.IsLoopbackHost(bareHost(host))
}

// isPrivate reports whether the connection cannot be read by others, because it uses https or stays on this machine.
// An unnamed proxy on this machine counts as this machine, also for the host of an https address.
func (o *origin) isPrivate(r *http.Request) bool {
	scheme, host := o.reached(r)
	if scheme == "https" {
		return true
	}
	addr, readable := o.forwarded(r)
	if o.trusts(peer(r)) && r.Header.Get("X-Forwarded-Proto") != "" && !readable {
		return false // the proxy forwards a request over http from an unknown client
	}
	host = bareHost(host)
	return addr.IsLoopback() && (config.IsLoopbackHost(host) || host != "" && host == o.secure)
}

// checkHost refuses a request for a host that is not the gateway's. A browser sends such a request if a page points
// its own host name at the gateway, to read the gateway's answers (DNS rebinding). Addresses are allowed, because
// they belong to no name. RFC 9110, section 15.5.20.
func (o *origin) checkHost(r *http.Request) error {
	_, host := o.reached(r)
	host = bareHost(host)
	if _, err := netip.ParseAddr(host); err == nil || config.IsLoopbackHost(host) || slices.Contains(o.hosts, host) {
		return nil
	}
	return llm.Errorf(llm.CodeMisdirected, "The gateway does not know the host name %.100q. Use its address or, "+
		"if the "+
		"name belongs to the gateway, add it to hosts in the configuration.", host)
}

// bareHost returns the host of a Host header field (RFC 9110, section 7.2) in lower case, without the port, the
// brackets of an address or a final dot.
func bareHost(host string) string {
	if name, port, err := net.SplitHostPort(host); err == nil && strings.Trim(port, "0123456789") == "" {
		host = name
	}
	return strings.TrimSuffix(strings.ToLower(strings.Trim(host, "[]")), ".")
}
