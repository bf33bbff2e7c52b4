package config

import (
	"net/url"
	"slices"
	"strings"
)

// CORS is which browser programs of other sites may use the client APIs
// (https://fetch.spec.whatwg.org/#http-cors-protocol).
type CORS struct {
	// Origins are scheme, host and port as browsers send them, in lower case, or "*" alone for
	// all. None: answers have no header of CORS.
	Origins []string `yaml:"origins"`
}

// AnyOrigin is all origins.
const AnyOrigin = "*"

const (
	mostOrigins   = 100
	longestOrigin = 300 // bytes: a host's name has 253 at most
)

func (l *loader) checkCORS(c *CORS) {
	if len(c.Origins) > mostOrigins {
		l.report("cors.origins", "`cors.origins` has %d entries, more than %d", len(c.Origins), mostOrigins)
		return
	}
	for i, text := range c.Origins {
		path := index("cors.origins", i)
		if text == AnyOrigin {
			if len(c.Origins) > 1 {
				l.report(path, "`cors.origins` has `*`, which is all origins: leave out the others, or the `*`")
			}
			continue
		}
		origin, ok := originOf(text)
		switch {
		case !ok:
			l.report(path, "`cors.origins[%d]` must be an origin such as https://app.example.com or "+
				"http://localhost:3000, without a path or a slash at its end, or `*` alone, not %s", i,
				l.quote(path, text))
		case slices.Contains(c.Origins[:i], origin):
			l.report(path, "`cors.origins` has %s twice", origin)
		}
		c.Origins[i] = origin
	}
}

// originOf is an origin as browsers send it (RFC 6454, section 6.2): in lower case, without the
// usual port of its scheme. The origin null is no origin: every site can have it.
func originOf(text string) (origin string, ok bool) {
	text = strings.ToLower(text)
	u, err := url.Parse(text)
	if err != nil || len(text) > longestOrigin || u.Scheme == "file" || u.Host == "" || u.Hostname() == "" ||
		u.Scheme+"://"+u.Host != text || !isHost(u.Hostname()) {
		return text, false
	}
	switch {
	case u.Scheme == "https" && u.Port() == "443", u.Scheme == "http" && u.Port() == "80":
		text = strings.TrimSuffix(text, ":"+u.Port())
	case u.Port() == "" && strings.HasSuffix(text, ":"):
		return text, false
	}
	return text, true
}
