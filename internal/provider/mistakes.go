package provider

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"weir/internal/credential"
	"weir/internal/dialect"
)

// Mistake is a wrong option of a provider.
type Mistake struct {
	Key string // the configuration key, such as base_url
	Err error
}

// Mistakes holds all wrong options of a provider.
type Mistakes struct {
	Provider string
	All      []Mistake
}

// Error returns one line per mistake.
func (m *Mistakes) Error() string {
	lines := make([]string, len(m.All))
	for i := range m.All {
		lines[i] = fmt.Sprintf("providers.%s.%s: %v", m.Provider, m.All[i].Key, m.All[i].Err)
	}
	return strings.Join(lines, "\n")
}

// check returns all mistakes, or nil.
func (o *Options) check() error {
	m := &Mistakes{Provider: o.Name}
	note := func(key string, err error) {
		if err != nil {
			m.All = append(m.All, Mistake{key, err})
		}
	}
	if !validName(o.Name) {
		note("name", errors.New(`use only lower-case letters, digits, "-", "_" and "."`))
	}
	note("dialect", checkDialect(o.Dialect))
	if o.Retries < 0 {
		note("retries", fmt.Errorf("%d is negative: set 0 or more", o.Retries))
	}
	if o.MaxReply < 0 {
		note("max_reply", fmt.Errorf("%d is negative: leave it out for the default", o.MaxReply))
	}
	if !isFieldValue(o.UserAgent) {
		note("user_agent", fmt.Errorf("%q contains %w", o.UserAgent, errValue))
	}
	note("base_url", checkBaseURL(o.BaseURL, o.AllowPrivate))
	note("auth", o.Auth.Check())
	note("websocket", o.checkSockets())
	for i, key := range o.APIKeys {
		note(fmt.Sprintf("api_keys[%d]", i), o.Auth.CheckKey(key.Reveal()))
	}
	o.Timeouts.check(note)
	if len(m.All) > 0 {
		return m
	}
	return nil
}

// checkSockets checks that the provider can be asked over WebSockets, if that is wanted.
func (o *Options) checkSockets() error {
	has := func(d *dialect.Dialect) bool { return d != nil && d.Framing.Socket != nil }
	switch {
	case o.Sockets == nil:
		return nil
	case o.Local != nil, !has(o.Dialect) && !slices.ContainsFunc(o.Also, has):
		return errors.New("the provider has no wire format with WebSockets: set dialect, or add to also, responses; " +
			"the demo has none")
	case o.Auth == credential.AWS && len(o.APIKeys) == 0:
		return errors.New("a signature of AWS is for one request, and a WebSocket serves several: set api_keys, or " +
			"remove websocket")
	}
	return nil
}

func checkDialect(d *dialect.Dialect) error {
	if d == nil {
		return errors.New("missing or unknown: name a wire format")
	}
	if d.Path == nil {
		return fmt.Errorf("%q is not supported for providers", d.Name)
	}
	return nil
}

func (t *Timeouts) check(note func(key string, err error)) {
	for _, limit := range []struct {
		name  string
		value time.Duration
	}{{"connect", t.Connect}, {"first_byte", t.FirstByte}, {"idle", t.Idle}, {"total", t.Total}} {
		if limit.value < 0 {
			note("timeouts."+limit.name, fmt.Errorf("%s is negative: leave it out for the default", limit.value))
		}
	}
}

func validName(s string) bool {
	const allowed = "abcdefghijklmnopqrstuvwxyz0123456789-_."
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool { return !strings.ContainsRune(allowed, r) })
}

func checkBaseURL(s string, allowPrivate bool) error {
	u, err := url.Parse(s)
	switch {
	case s == "":
		return errors.New(`missing: set a URL such as "https://api.example.com/v1"`)
	case err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https":
		return fmt.Errorf(`%q is not an http or https address such as "https://api.example.com/v1"`, hideUser(s))
	case u.User != nil:
		return errors.New("contains a user name or password: set credentials in api_keys instead")
	case u.RawQuery != "" || u.Fragment != "":
		return fmt.Errorf(`%q must end with its path, without "?" or "#"`, s)
	}
	return reach(allowPrivate).CheckHost(u.Hostname())
}

// hideUser removes from an address a part that may be a password.
func hideUser(s string) string {
	if i := strings.LastIndexByte(s, '@'); i >= 0 {
		return redacted + s[i:]
	}
	return s
}
