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
)

// Endpoint is an address that is told of events.
type Endpoint struct {
	ID           string // UUIDv7
	Account      string // id; empty for the installation's, which is told of every event
	URL          string
	Types        []Type // that it wants; empty for all
	AllowPrivate bool   // it may be on a private address, and plain http there
	Created      time.Time
	// Rotated is until when the secret before the present one signs too; nil for
	// not any more.
	Rotated *time.Time
	// Failing is since when every try has failed; nil where the last one did not.
	Failing *time.Time
	// Disabled is since when nothing is sent, and Why says the reason; nil while it
	// is.
	Disabled *time.Time
	Why      string
	// Dropped is how many events were not sent because too many waited, since it was enabled, got
	// its address or was sent what it had not taken.
	Dropped int64
}

// Wants reports whether the endpoint is to be told of events of a type.
func (e *Endpoint) Wants(t Type) bool {
	return len(e.Types) == 0 || slices.Contains(e.Types, t)
}

// EndpointHealth is how an endpoint fares, in a word.
type EndpointHealth string

// The states.
const (
	Active   EndpointHealth = "active"
	Failing  EndpointHealth = "failing"
	Disabled EndpointHealth = "disabled"
)

// Health is how the endpoint fares.
func (e *Endpoint) Health() EndpointHealth {
	switch {
	case e.Disabled != nil:
		return Disabled
	case e.Failing != nil:
		return Failing
	}
	return Active
}

// Why an endpoint is disabled that somebody disabled, and one of the installation whose
// maker lost the role of an operator.
const (
	ByHand           = "by hand"
	ByFormerOperator = "whoever made it, or changed its address last, is no operator any more"
)

const maxURL = 2048 // bytes

// checkURL says what is wrong with an address. A name is judged by what it resolves
// to whenever it is dialled.
func checkURL(text string, allowPrivate bool) error {
	u, err := url.Parse(text)
	wrong := func(format string, args ...any) error { return llm.Invalid("url", fmt.Sprintf(format, args...)) }
	switch {
	case err != nil || u.Hostname() == "" || u.Scheme != "https" && u.Scheme != "http" || u.Opaque != "":
		return wrong(`%.200q is not an address such as "https://example.com/hooks/weir".`, text)
	case len(text) > maxURL:
		return wrong("The address is longer than %d bytes.", maxURL)
	case u.User != nil:
		return wrong("The address holds a user name or a password. Events are signed; what they come with is the " +
			"receiver's to check.")
	case u.Fragment != "" || strings.HasSuffix(text, "#"):
		return wrong(`The address ends with a fragment, "#…", which is never sent.`)
	case u.Scheme == "http" && !allowPrivate:
		return wrong("Events are sent over https alone. Plain http is for private addresses, where an operator " +
			"permits them (allow_private).")
	case u.Port() != "" && !isPort(u.Port()):
		return wrong("The port %q is none: it is from 1 to 65535.", u.Port())
	}
	if err := checkHost(u, allowPrivate); err != nil {
		return wrong("The address cannot be an endpoint: %v.", err)
	}
	return nil
}

// checkHost refuses a host that is forbidden as it stands, however it is written. Where
// there is a proxy nobody else does.
func checkHost(u *url.URL, allowPrivate bool) error {
	host, err := asciiHost(u.Hostname())
	if err != nil {
		return fmt.Errorf("%q is no name of a host", u.Hostname())
	}
	if isOddNumber(host) {
		return fmt.Errorf("the host %q is a number that is no usual address; write it as 192.0.2.1 or [2001:db8::1]",
			u.Hostname())
	}
	name := strings.TrimRight(strings.ToLower(host), ".")
	if strings.HasSuffix(name, ".localhost") { // RFC 6761, section 6.3
		name = "localhost"
	}
	return reach(u.Scheme, allowPrivate).CheckHost(name)
}

// asciiHost is a host as net/http asks for it: what is not ASCII becomes it, and some of
// that are other ways to write digits and dots (UTS 46).
func asciiHost(host string) (string, error) {
	if !strings.ContainsFunc(host, func(r rune) bool { return r > unicode.MaxASCII }) {
		return host, nil
	}
	return idna.Lookup.ToASCII(host)
}

// isOddNumber reports whether some resolvers would take a host for an address in
// octal, hexadecimal or with parts left out: https://url.spec.whatwg.org/#concept-ipv4-parser
// reads those whose last part is a number.
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

// reach is what may be dialled for an endpoint: plain http on local addresses alone.
func reach(scheme string, allowPrivate bool) outbound.Reach {
	switch {
	case scheme != "https":
		return outbound.Local
	case allowPrivate:
		return outbound.Anywhere
	}
	return outbound.Public
}

// checkTypes refuses a type that an endpoint of the account, of the installation where
// it is empty, is never told of, and puts the others into the order of Kinds.
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
			return nil, llm.Invalidf(fmt.Sprintf("events[%d]", i), "Endpoints of the installation alone are told of "+
				"%q. An account's are told of: %s.", k.Type, strings.Join(all, ", "))
		}
		if place(t) < 0 {
			return nil, llm.Invalidf(fmt.Sprintf("events[%d]", i), "There is no event %q. There are: %s.", t,
				strings.Join(all, ", "))
		}
	}
	sorted := slices.Clone(types)
	slices.SortFunc(sorted, func(a, b Type) int { return place(a) - place(b) })
	return slices.Compact(sorted), nil
}
