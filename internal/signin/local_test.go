package signin_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"weir/internal/signin"

	"weir/internal/worktest"
)

func TestLocalPath(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"/": "/", "/me": "/me", "/accounts/a%2Fb/keys?show=past&x=%2F%2F#f": "/accounts/a%2Fb/keys?show=past&x=%2F%2F#f", "/a//b": "/a//b", "/?u=https://x.example": "/?u=https://x.example",
		"": "/", "me": "/", "//x.example": "/", "///x.example": "/", `/\x.example`: "/", `\\x.example`: "/", `/\/x.example`: "/", "https://x.example/": "/", "https:x.example": "/",
		"javascript:alert(1)": "/", "/\t/x.example": "/", "\t//x.example": "/", "/\n/x.example": "/", " //x.example": "/", "/%": "/", "data:text/html,x": "/", "@x.example": "/", "/a b": "/", "?x": "/",
	} {
		if got := signin.LocalPath(path); got != want {
			t.Errorf("%q: got %q, want %q", path, got, want)
		}
	}
}

// FuzzLocalPath checks that any path stays on the site, as a browser reads it: with a backslash for a slash, and
// without tabs and line breaks.
func FuzzLocalPath(f *testing.F) {
	for _, seed := range []string{"/me", "//x", `/\x`, "/\t/x", "https://x", "/..//x", "/.//x"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, path string) {
		worktest.Check(t, []byte(path), func(path []byte) { signin.LocalPath(string(path)) })
		base := &url.URL{Scheme: "https", Host: "weir.example.com", Path: "/sign-in"}
		w := httptest.NewRecorder()
		http.Redirect(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/sign-in", nil), signin.LocalPath(path), http.StatusSeeOther)
		location := strings.NewReplacer(`\`, "/", "\t", "", "\r", "", "\n", "").Replace(w.Header().Get("Location"))
		to, err := base.Parse(location)
		if err != nil || to.Host != base.Host || to.Scheme != "https" || to.User != nil {
			t.Errorf("%q: got %v, %v, want one of this site", path, to, err)
		}
	})
}
