package webhook

import (
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"

	"golang.org/x/net/idna"

	"weir/internal/llm"
	"weir/internal/outbound"
	"weir/internal/rawjson"
)

// Endpoint is an address that receives events.
type Endpoint struct {
	ID           string // UUIDv7
	Account      string // id; empty for an endpoint of the installation, which receives every event
	URL          string
	Types        []Type // subscribed types; empty for all
	Format       Format
	AllowPrivate bool // permits a private address, and plain http there
	Created      time.Time
	// Rotated is the time until which the previous secret also signs; nil if it no longer does.
	Rotated *time.Time
	// Failing is the time since when every try has failed; nil if the last one succeeded.
	Failing *time.Time
	// Disabled is the time since when no events are sent, and Why is the reason; nil if the endpoint is enabled.
	Disabled *time.Time
	Why      string
	// Dropped is the number of events that were dropped because too many deliveries were waiting. It restarts when the
	// endpoint is enabled, changes its address or recovers events.
	Dropped int64
}

// Wants reports whether the endpoint subscribes to events of type t.
func (e *Endpoint) Wants(t Type) bool {
	return len(e.Types) == 0 || slices.Contains(e.Types, t)
}

// EndpointHealth summarizes the state of an endpoint.
type EndpointHealth string

const (
	Active   EndpointHealth = "active"   // neither of the others
	Failing  EndpointHealth = "failing"  // every try since some time failed
	Disabled EndpointHealth = "disabled" // gets no deliveries
)

// Health returns the state of the endpoint.
func (e *Endpoint) Health() EndpointHealth {
	switch {
	case e.Disabled != nil:
		return Disabled
	case e.Failing != nil:
		return Failing
	}
	return Active
}

// These are reasons to disable an endpoint: a person did, or it is an endpoint of the installation whose creator lost
// the operator role.
const (
	ByHand           = "by hand"
	ByFormerOperator = "its creator, or the last person who changed its address, is no longer an operator"
)

const maxURL = 2048 // bytes

// checkAddress returns an error for an address that no endpoint with the format can have.
func checkAddress(f Format, text string, allowPrivate bool) error {
	if f == Mail {
		return checkMailTo(text)
	}
	return checkURL(text, allowPrivate)
}

// checkURL returns an error for an address that no endpoint can have. The addresses that a host name resolves to are
// checked on each dial.
func checkURL(text string, allowPrivate bool) error {
	u, err := url.Parse(text)
	wrong := func(format string, args ...any) error { return llm.Invalid("url", fmt.Sprintf(format, args...)) }
	switch {
	case err != nil || u.Hostname() == "" || u.Scheme != "https" && u.Scheme != "http" || u.Opaque != "":
		return wrong(`The address %.200q is invalid. Write it like "https://example.com/hooks/weir".`, text)
	case len(text) > maxURL:
		return wrong("The address is longer than %d bytes.", maxURL)
	case u.User != nil:
		return wrong("The address contains a user name or a password. Remove it: events are signed, and the receiver " +
			"checks the signature.")
	case u.Fragment != "" || strings.HasSuffix(text, "#"):
		return wrong(`The address has a fragment, "#…", which is never sent. Remove it.`)
	case u.Scheme == "http" && !allowPrivate:
		return wrong("Events are sent only over https. Plain http needs a private address and the permission of an " +
			"operator (allow_private).")
	case u.Port() != "" && !isPort(u.Port()):
		return wrong("The port %q is invalid: write a number from 1 to 65535.", u.Port())
	}
	if err := checkHost(u, allowPrivate); err != nil {
		return wrong("The address cannot be an endpoint: %v.", err)
	}
	return nil
}

// checkHost refuses a forbidden host in any notation. Behind a proxy this is the only check.
func checkHost(u *url.URL, allowPrivate bool) error {
	host, err := asciiHost(u.Hostname())
	if err != nil {
		return fmt.Errorf("%q is not a valid host name", u.Hostname())
	}
	if isOddNumber(host) {
		return fmt.Errorf("the host %q is an unusual notation of an address; write it as 192.0.2.1 or [2001:db8::1]",
			u.Hostname())
	}
	name := strings.TrimRight(strings.ToLower(host), ".")
	if strings.HasSuffix(name, ".localhost") { // RFC 6761, section 6.3
		name = "localhost"
	}
	return reach(u.Scheme, allowPrivate).CheckHost(name)
}

// asciiHost returns the ASCII form of a host, as net/http dials it. Some non-ASCII characters are other notations of
// digits and dots (UTS 46).
func asciiHost(host string) (string, error) {
	if !strings.ContainsFunc(host, func(r rune) bool { return r > unicode.MaxASCII }) {
		return host, nil
	}
	return idna.Lookup.ToASCII(host)
}

// isOddNumber reports whether some resolvers would read a host as an address in octal, hexadecimal or with omitted
// parts: https://url.spec.whatwg.org/#concept-ipv4-parser parses hosts whose last label is a number.
func isOddNumber(host string) bool {
	if _, err := netip.ParseAddr(host); err == nil {
		return false
	}
	parts := strings.Split(strings.TrimSuffix(host, "."), ".")
	last := strings.ToLower(parts[len(parts)-1])
	return last != "" && (strings.Trim(last, "0123456789") == "" || strings.HasPrefix(last, "0x") &&
		strings.Trim(last[2:], "0123456789abcdef") == "")
}

func isPort(text string) bool {
	a, err := netip.ParseAddrPort("0.0.0.0:" + text)
	return err == nil && a.Port() > 0
}

// reach returns the addresses that may be dialled for an endpoint. Plain http is limited to local addresses.
func reach(scheme string, allowPrivate bool) outbound.Reach {
	switch {
	case scheme != "https":
		return outbound.Local
	case allowPrivate:
		return outbound.Anywhere
	}
	return outbound.Public
}

// checkTypes returns an error for a type that endpoints of the account (of the installation if it is empty) never
// receive. It returns the other types in the order of Kinds.
func checkTypes(account string, types []Type) ([]Type, error) {
	var all []string
	for _, k := range Kinds() {
		if account == "" || k.To != ToOperators {
			all = append(all, string(k.Type))
		}
	}
	place := func(t Type) int { return slices.Index(all, string(t)) }
	for i, t := range types {
		if k, ok := KindOf(t); ok && place(t) < 0 {
			return nil, llm.Invalidf(fmt.Sprintf("events[%d]", i), "Only endpoints of the installation receive "+
				"%q. An account's endpoints receive: %s.", k.Type, strings.Join(all, ", "))
		}
		if place(t) < 0 {
			hint := ""
			if near, ok := rawjson.Names(all).Nearest(string(t)); ok {
				hint = fmt.Sprintf(" Did you mean %q?", near)
			}
			return nil, llm.Invalidf(fmt.Sprintf("events[%d]", i), "There is no event %q.%s Choose from: %s.", t, hint,
				strings.Join(all, ", "))
		}
	}
	sorted := slices.Clone(types)
	slices.SortFunc(sorted, func(a, b Type) int { return place(a) - place(b) })
	return slices.Compact(sorted), nil
}
