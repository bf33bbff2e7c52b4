package dashboard

import (
	"net/http"
	"net/url"
	"strings"
)

// localPath is the path when it leads to a page of this site, and "/" for all
// else. A browser takes a backslash for a slash, and leaves out tabs and line
// breaks (WHATWG URL, 4.4), so that those would lead elsewhere.
func localPath(path string) string {
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

// signInPath is where to sign in and come back to what was asked for. What a
// form sent cannot be sent again.
func signInPath(r *http.Request) string {
	if r.Method != http.MethodGet || r.URL.Path == "/" {
		return "/sign-in"
	}
	return "/sign-in?next=" + url.QueryEscape(localPath(r.URL.RequestURI()))
}
