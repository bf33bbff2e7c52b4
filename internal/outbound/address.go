// Package outbound controls outgoing connections: the permitted addresses, the proxy, and the trusted certificates.
package outbound

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"syscall"

	"code.dny.dev/ssrf"
)

// Reach tells which addresses may be dialled. Addresses of cloud metadata services never may.
type Reach int

// The reaches.
const (
	Public   Reach = iota // only the public internet
	Local                 // only private, loopback and other local addresses
	Anywhere              // both
)

var (
	errLocal    = errors.New("a private, loopback or other local address; allow_private: true permits it")
	errPublic   = errors.New("an address of the public internet, for which plain http is not permitted")
	errMetadata = errors.New("the address of a cloud metadata service, which is never dialled")
)

// metadataAddresses return credentials of the machine to any client. They are never permitted.
var metadataAddresses = []netip.Addr{
	netip.MustParseAddr("169.254.169.254"), // AWS, Azure, Google Cloud, Oracle and more
	netip.MustParseAddr("169.254.170.2"),   // AWS ECS
	netip.MustParseAddr("169.254.170.23"),  // AWS EKS
	netip.MustParseAddr("100.100.100.200"), // Alibaba Cloud
	netip.MustParseAddr("168.63.129.16"),   // Azure's wire server
	netip.MustParseAddr("fd00:ec2::254"),   // AWS over IPv6
	netip.MustParseAddr("fd00:ec2::23"),    // AWS EKS over IPv6
	netip.MustParseAddr("fd20:ce::254"),    // Google Cloud over IPv6
}

// Check returns the reason why an address may not be dialled, or nil.
func (r Reach) Check(a netip.Addr) error {
	a = Embedded(a)
	local := IsLocal(a)
	switch {
	case slices.Contains(metadataAddresses, a):
		return errMetadata
	case local && r == Public:
		return errLocal
	case !local && r == Local:
		return errPublic
	}
	return nil
}

// CheckHost refuses a forbidden literal address or "localhost" at once. Other names are checked when they are dialled,
// by the addresses that they resolve to.
func (r Reach) CheckHost(host string) error {
	literal := host
	if host == "localhost" {
		literal = "127.0.0.1"
	}
	a, err := netip.ParseAddr(literal)
	if err != nil {
		return nil
	}
	if err := r.Check(a); err != nil {
		return fmt.Errorf("%s is %w", host, err)
	}
	return nil
}

// Control is a net.Dialer.Control. It checks the resolved address of every dial, so that DNS answers cannot bypass the
// check.
func (r Reach) Control(_, address string, _ syscall.RawConn) error {
	a, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("dial %q: %w", address, err)
	}
	if err := r.Check(a.Addr()); err != nil {
		return fmt.Errorf("%s is %w", a.Addr(), err)
	}
	return nil
}

// Refused reports whether an error is the refusal of an address by a Reach.
func Refused(err error) bool {
	return errors.Is(err, errLocal) || errors.Is(err, errPublic) || errors.Is(err, errMetadata)
}

var sixToFour = netip.MustParsePrefix("2002::/16") // RFC 3056

// Embedded returns the IPv4 address embedded in an IPv6 address, or else the address itself without a zone.
func Embedded(a netip.Addr) netip.Addr {
	a = a.WithZone("").Unmap()
	if !a.Is6() {
		return a
	}
	b := a.As16()
	switch {
	case ssrf.IPv6NAT64Prefix.Contains(a): // RFC 6052
		return netip.AddrFrom4([4]byte(b[12:]))
	case sixToFour.Contains(a):
		return netip.AddrFrom4([4]byte(b[2:6]))
	}
	return a
}

// IsLocal reports whether an address is not on the public internet, by the IANA registries of special-purpose
// addresses.
func IsLocal(a netip.Addr) bool {
	in := func(p netip.Prefix) bool { return p.Contains(a) }
	if a.Is4() {
		return slices.ContainsFunc(ssrf.IPv4DeniedPrefixes, in)
	}
	return !ssrf.IPv6GlobalUnicast.Contains(a) || slices.ContainsFunc(ssrf.IPv6DeniedPrefixes, in)
}
