package config

import (
	"maps"
	"net"
	"net/mail"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// checkPeople reports invalid values of the sign-in settings.
func (ch *checker) checkPeople(c *Config) {
	if c.Sessions.Idle < time.Minute {
		ch.report("sessions.idle", "`sessions.idle` must be at least 1m")
	}
	if c.Sessions.Absolute < c.Sessions.Idle {
		ch.report("sessions.absolute", "`sessions.absolute` must be at least `sessions.idle`, which is %s",
			formatDuration(c.Sessions.Idle))
	}
	ch.checkWord("sessions.passwords", c.Sessions.Passwords, []string{"on", "off"})
	if c.Sessions.Passwords == "off" && c.OIDC.Issuer == "" {
		ch.report("sessions.passwords", "`sessions.passwords: off` needs `oidc`: without both, nobody can sign in")
	}
	ch.checkOIDC(c)
	ch.checkSMTP(&c.SMTP)
}

func (ch *checker) checkOIDC(c *Config) {
	o := &c.OIDC
	if o.Issuer == "" {
		for key, set := range map[string]bool{
			"client_id": o.ClientID != "", "client_secret": !o.ClientSecret.IsZero(), "operators": len(o.Operators) > 0,
			"accounts": len(o.Accounts) > 0,
		} {
			if set {
				ch.report(join("oidc", key), "`oidc.%s` needs `oidc.issuer`, such as https://id.example.com", key)
			}
		}
		return
	}
	ch.checkIssuer(o.Issuer, c.InsecureHTTP)
	if o.ClientID == "" {
		ch.report("oidc", "`oidc` needs `client_id`")
	}
	if o.ClientSecret.IsZero() {
		ch.report("oidc", "`oidc` needs `client_secret`")
	}
	if !slices.Contains(o.Scopes, "openid") {
		ch.report("oidc.scopes", "`oidc.scopes` must include openid")
	}
	if o.GroupsClaim == "" {
		ch.report("oidc.groups_claim", "`oidc.groups_claim` must be the name of a claim, such as groups")
	}
	for _, name := range slices.Sorted(maps.Keys(o.Accounts)) {
		if g := o.Accounts[name]; len(g.Owner)+len(g.Member)+len(g.Viewer) == 0 {
			ch.report(join("oidc.accounts", name), "the account %s needs groups for `owner`, `member` or `viewer`",
				strconv.Quote(clip(name, maxQuote)))
		}
	}
}

// checkIssuer requires the URL exactly as the provider writes it; a trailing slash is significant.
func (ch *checker) checkIssuer(issuer string, insecure bool) {
	const path = "oidc.issuer"
	before := len(ch.problems)
	ch.checkHTTP(path, issuer, "set `client_id` and `client_secret` instead")
	u, err := url.Parse(issuer)
	if err == nil && len(ch.problems) == before && u.Scheme != "https" && !insecure && !IsLoopbackHost(u.Hostname()) {
		ch.report(path, "`%s` must be an https URL: over plain http an attacker on the network could "+
			"sign in as any user", path)
	}
}

// IsLoopbackHost reports whether a lower-case host is this machine: a loopback address, localhost, or a name below it
// (RFC 6761, section 6.3).
func IsLoopbackHost(host string) bool {
	a, err := netip.ParseAddr(host)
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || err == nil && a.IsLoopback()
}

func (ch *checker) checkSMTP(s *SMTP) {
	ch.checkWord("smtp.tls", s.TLS, []string{"starttls", "tls", "none"})
	if s.Addr == "" {
		if s.From != "" || s.Username != "" {
			ch.report("smtp", "`smtp` needs `addr`, such as mail.example.com:587")
		}
		return
	}
	host, port, err := net.SplitHostPort(s.Addr)
	if err != nil || host == "" || !isHost(host) || !isPort(port) {
		ch.report("smtp.addr", "`smtp.addr` must be host:port such as mail.example.com:587, not %s",
			ch.quote("smtp.addr", s.Addr))
	}
	if _, err := mail.ParseAddress(s.From); err != nil {
		ch.report("smtp.from", "`smtp.from` must be an e-mail address such as weir@example.com, not %s",
			ch.quote("smtp.from", s.From))
	}
	if (s.Username == "") != s.Password.IsZero() {
		ch.report("smtp", "`smtp` must have both `username` and `password`, or neither")
	}
	if s.TLS == "none" && s.Username != "" && !IsLoopbackHost(host) {
		ch.report("smtp.tls",
			"`smtp.tls` must not be none with a password: it would be sent over the network unencrypted")
	}
}
