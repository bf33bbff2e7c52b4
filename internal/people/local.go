package people

import (
	"net/url"
	"strings"
)

// LocalPath is the path when it leads to a page of this site, and "/" for all
// else. A browser takes a backslash for a slash, and leaves out tabs and line
// breaks (WHATWG URL, 4.4), so that those would lead elsewhere.
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
