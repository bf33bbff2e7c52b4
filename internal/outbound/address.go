// Package outbound is how the gateway reaches out: which addresses it may dial, by
// which proxy, and whose certificates it trusts.
package outbound

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"syscall"

	"code.dny.dev/ssrf"
)

// Reach says which addresses may be dialled. Those of clouds' metadata services
// never may.
type Reach int

// The reaches.
const (
	Public   Reach = iota // those of the public internet alone
	Local                 // private, loopback and otherwise local ones alone
	Anywhere              // both
)

var (
	errLocal    = errors.New("a private, loopback or otherwise local address; allow_private: true permits it")
	errPublic   = errors.New("an address of the public internet, where plain http is not permitted")
	errMetadata = errors.New("the address of a cloud's metadata service, which is never dialled")
)

// metadataAddresses give credentials of the machine to whoever asks. Nothing
// permits them.
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

// Check says why an address may not be dialled, or nil.
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

// CheckHost refuses a literal address, or "localhost", at once; any other name is
// judged by what it resolves to whenever it is dialled.
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

// Control is a net.Dialer.Control: it sees the resolved address of every dial, so
// that no answer of a name server leads past it.
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

// Refused reports whether an error is one of those with which a reach refuses an
// address.
func Refused(err error) bool {
	return errors.Is(err, errLocal) || errors.Is(err, errPublic) || errors.Is(err, errMetadata)
}

var sixToFour = netip.MustParsePrefix("2002::/16") // RFC 3056

// Embedded is the IPv4 address that stands in an IPv6 one, where one does, and the
// address itself, without a zone, otherwise.
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

// IsLocal reports whether an address is not on the public internet, as the IANA
// registries of special-purpose addresses have it.
func IsLocal(a netip.Addr) bool {
	in := func(p netip.Prefix) bool { return p.Contains(a) }
	if a.Is4() {
		return slices.ContainsFunc(ssrf.IPv4DeniedPrefixes, in)
	}
	return !ssrf.IPv6GlobalUnicast.Contains(a) || slices.ContainsFunc(ssrf.IPv6DeniedPrefixes, in)
}
