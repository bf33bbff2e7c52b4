package signin

import (
	"net/url"
	"strings"
)

// LocalPath returns path if it leads to a page of this site, else "/". Browsers treat a backslash as a slash, and drop
// tabs and line breaks (WHATWG URL, 4.4), so paths with these could lead elsewhere.
func LocalPath(path string) string {
	odd := func(r rune) bool { return r <= ' ' || r == '\\' || r == 0x7f }
	if !strings.HasPrefix(path, "/") || strings.HasPrefix(path, "//") || strings.ContainsFunc(path, odd) {
		return "/"
	}
	u, err := url.Parse(path)
	if err != nil || u.Scheme != "" || u.Host != "" || u.User != nil {
		return "/"
	}
	return path
}
