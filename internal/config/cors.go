package config

import (
	"net/url"
	"slices"
	"strings"
)

// CORS configures the browser programs of other sites that may use the client APIs
// (https://fetch.spec.whatwg.org/#http-cors-protocol).
type CORS struct {
	// Origins lists origins as browsers send them: scheme, host and port, in lower case; or only "*" for all. If empty,
	// responses have no CORS headers.
	Origins []string `yaml:"origins"`
}

// AnyOrigin permits all origins.
const AnyOrigin = "*"

const (
	mostOrigins   = 100
	longestOrigin = 300 // bytes; a host name has at most 253
)

func (ch *checker) checkCORS(c *CORS) {
	if len(c.Origins) > mostOrigins {
		ch.report("cors.origins", "`cors.origins` has %d entries; the maximum is %d", len(c.Origins), mostOrigins)
		return
	}
	for i, text := range c.Origins {
		path := index("cors.origins", i)
		if text == AnyOrigin {
			if len(c.Origins) > 1 {
				ch.report(path, "`cors.origins` has `*`, which permits all origins: remove the others, or the `*`")
			}
			continue
		}
		origin, ok := originOf(text)
		switch {
		case !ok:
			ch.report(path, "`cors.origins[%d]` must be an origin such as https://app.example.com or "+
				"http://localhost:3000, without a path or a trailing slash, or only `*`, not %s", i,
				ch.quote(path, text))
		case slices.Contains(c.Origins[:i], origin):
			ch.report(path, "`cors.origins` has %s twice: remove one", origin)
		}
		c.Origins[i] = origin
	}
}

// originOf normalizes an origin to the form that browsers send (RFC 6454, section 6.2): lower case, without the default
// port of its scheme. The origin null is invalid, because every site can have it.
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
