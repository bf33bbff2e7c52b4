package config

import (
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"weir/internal/llm"
)

func (r *recorder) checkLimits(path string, limits Limits) {
	r.checkRange(join(path, "rpm"), limits.RPM, 0)
	r.checkRange(join(path, "tpm"), limits.TPM, 0)
	r.checkRange(join(path, "concurrency"), limits.Concurrency, 0)
}

func (r *recorder) checkRange(path string, n, least int64) {
	if n < least {
		r.report(path, "`%s` must be at least %d, not %d", path, least, n)
	}
}

func (r *recorder) checkWord(path, word string, words []string) {
	if !slices.Contains(words, word) {
		key := path[strings.LastIndexByte(path, '.')+1:]
		r.report(path, "unknown %s %s%s", key, r.quote(path, word), suggestOneOf(word, words))
	}
}

// checkAddress requires host:port. Port 0 selects any free port.
func (r *recorder) checkAddress(path, address string) {
	host, port, err := net.SplitHostPort(address)
	if err == nil && (host == "" || isHost(host)) {
		if _, err = strconv.ParseUint(port, 10, 16); err == nil {
			return
		}
	}
	r.report(path, "`%s` must be host:port such as 127.0.0.1:8080 or :8080, not %s", path, r.quote(path, address))
}

// checkSecretURL requires a URL with a host. It never shows the URL, which may contain a password.
func (r *recorder) checkSecretURL(path string, s llm.Secret, want string, schemes ...string) {
	if s.IsZero() {
		return
	}
	u, err := url.Parse(s.Reveal())
	switch {
	case err != nil || !slices.Contains(schemes, u.Scheme) || u.Host == "" && !u.Query().Has("host"):
		r.report(path, "`%s` must be %s", path, want)
	case u.Fragment != "" || strings.Contains(u.Path+u.RawQuery, "@"):
		// Part of the password would be treated as a part that may be shown.
		r.report(path, "`%s` has an unescaped character in its password: write %%2F for /, %%3F for ?, %%23 for #",
			path)
	}
}

// checkHTTP requires an http or https URL with only an address. It returns the URL without a trailing slash.
func (r *recorder) checkHTTP(path, text, credentials string) string {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		shown := ""
		if !strings.Contains(text, "@") {
			shown = ", not " + r.quote(path, text)
		}
		r.report(path, "`%s` must be an http or https URL such as https://api.example.com/v1%s", path, shown)
	case u.User != nil:
		r.report(path, "`%s` must not contain credentials; %s", path, credentials)
	case strings.ContainsAny(text, "?#"):
		r.report(path, "`%s` must not contain a query or a fragment", path)
	case u.Port() != "" && !isPort(u.Port()):
		r.report(path, "`%s` must have a port from 1 to 65535, not %s", path, u.Port())
	}
	return strings.TrimRight(text, "/")
}

func isHost(host string) bool {
	if _, err := netip.ParseAddr(host); err == nil {
		return true
	}
	return !strings.ContainsFunc(host, func(c rune) bool {
		return c > unicode.MaxASCII || !isWordByte(byte(c)) && c != '-' && c != '.'
	})
}

func isPort(port string) bool {
	n, err := strconv.ParseUint(port, 10, 16)
	return err == nil && n > 0
}
