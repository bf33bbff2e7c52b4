package provider

import (
	"errors"
	"fmt"
	"net/netip"
	"syscall"
)

var (
	errPrivate  = errors.New("a private, loopback or otherwise local address; allow_private: true permits it")
	errMetadata = errors.New("the address of a cloud's metadata service, which is never a provider")
)

// metadataAddresses give credentials of the machine to whoever asks. Nothing
// permits them.
var metadataAddresses = []netip.Addr{
	netip.MustParseAddr("169.254.169.254"), // AWS, Azure, Google Cloud, Oracle and more
	netip.MustParseAddr("169.254.170.2"),   // AWS ECS
	netip.MustParseAddr("100.100.100.200"), // Alibaba Cloud
	netip.MustParseAddr("fd00:ec2::254"),   // AWS over IPv6
}

// localPrefixes are not on the public internet, beside those that netip knows
// (IANA special-purpose address registries).
var localPrefixes = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"),
	netip.MustParsePrefix("100.64.0.0/10"),
	netip.MustParsePrefix("192.0.0.0/24"),
	netip.MustParsePrefix("198.18.0.0/15"),
	netip.MustParsePrefix("240.0.0.0/4"),
	netip.MustParsePrefix("64:ff9b:1::/48"),
	netip.MustParsePrefix("100::/64"),
	netip.MustParsePrefix("2001::/32"),
	netip.MustParsePrefix("fec0::/10"),
}

// checkAddress says why an address may not be dialled, or nil.
func checkAddress(a netip.Addr, allowPrivate bool) error {
	a = embedded(a.WithZone(""))
	for _, m := range metadataAddresses {
		if a == m {
			return errMetadata
		}
	}
	if !allowPrivate && isLocal(a) {
		return errPrivate
	}
	return nil
}

// embedded is the IPv4 address that stands in an IPv6 one, where one does, and
// the address itself otherwise.
func embedded(a netip.Addr) netip.Addr {
	a = a.Unmap()
	if !a.Is6() {
		return a
	}
	b := a.As16()
	switch {
	case netip.MustParsePrefix("64:ff9b::/96").Contains(a): // NAT64
		return netip.AddrFrom4([4]byte(b[12:16]))
	case netip.MustParsePrefix("2002::/16").Contains(a): // 6to4
		return netip.AddrFrom4([4]byte(b[2:6]))
	}
	return a
}

func isLocal(a netip.Addr) bool {
	if !a.IsValid() || a.IsUnspecified() || a.IsLoopback() || a.IsPrivate() ||
		a.IsLinkLocalUnicast() || a.IsMulticast() {
		return true
	}
	for _, p := range localPrefixes {
		if p.Contains(a) {
			return true
		}
	}
	return false
}

// checkHost refuses a literal address at once; a name is judged by what it
// resolves to whenever it is dialled.
func checkHost(host string, allowPrivate bool) error {
	if host == "localhost" {
		host = "127.0.0.1"
	}
	a, err := netip.ParseAddr(host)
	if err != nil {
		return nil
	}
	if err := checkAddress(a, allowPrivate); err != nil {
		return fmt.Errorf("%s is %w", host, err)
	}
	return nil
}

// guard is a net.Dialer.Control: it sees the resolved address of every dial,
// so that no answer of a name server leads past it.
func guard(allowPrivate bool) func(network, address string, _ syscall.RawConn) error {
	return func(_, address string, _ syscall.RawConn) error {
		a, err := netip.ParseAddrPort(address)
		if err != nil {
			return fmt.Errorf("dial %q: %w", address, err)
		}
		if err := checkAddress(a.Addr(), allowPrivate); err != nil {
			return fmt.Errorf("%s is %w", a.Addr(), err)
		}
		return nil
	}
}
