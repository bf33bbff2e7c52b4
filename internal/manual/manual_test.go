package manual_test

import (
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"weir"
	"weir/internal/manual"
	"weir/internal/must"
)

func newServer(t *testing.T, documents fs.FS) *manual.Server {
	t.Helper()
	return must.Get(manual.New(manual.Options{
		Documents: documents, StyleSheet: []byte("body{}"), Icon: []byte("<svg/>"),
		Theme: func(r *http.Request) string { return r.Header.Get("X-Test-Theme") }, Version: "1.2.3",
		Log: slog.New(slog.DiscardHandler),
	}))(t)
}

func ask(s http.Handler, address string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, address, nil)
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

// small returns a library of few documents.
func small() fs.FS {
	return fstest.MapFS{
		"docs/README.md": {Data: []byte("# Start\n\n## Use\n\n- [First page](one.md): it\n- [Makers](makers.md)\n\n" +
			"## Rest\n\n- [Second](../TWO.md)\n")},
		"docs/one.md": {Data: []byte("# One\n\nGo [on](../TWO.md#some-part) or [code](../internal/x.go) or [out](https://example.com/).\n\n" +
			"<script>alert(1)</script>\n\nA <b onclick=x>bold</b> x<sup>1</sup> [bad](javascript:alert(1)).\n\n" +
			"| a | b |\n|---|--:|\n| `x` | 1 |\n\n![A drawing](pictures/p.svg)\n")},
		"docs/makers.md":      {Data: []byte("# Makers\n\nAll.\n")},
		"docs/makers/acme.md": {Data: []byte("# Acme\n\nAnvils, and budgets.\n")},
		"TWO.md":              {Data: []byte("# Two\n\n## Some part\n\nThe budget is a Budget.\n\n## Budget\n\nWords.\n")},
		"docs/pictures/p.svg": {Data: []byte("<svg/>")},
	}
}

// TestMarkdownBecomesSafePages checks the page of a document: links lead to pages, and HTML is left out.
func TestMarkdownBecomesSafePages(t *testing.T) {
	t.Parallel()
	s := newServer(t, small())
	body := ask(s, "/docs/one").Body.String()
	for _, want := range []string{
		`<h1 id="one">One</h1>`, `<a href="/docs/TWO#some-part">on</a>`, " or code or ", `<a href="https://example.com/">out</a>`,
		"x<sup>1</sup>", `<td align="right">1</td>`, `<img src="/docs/pictures/p.svg" alt="A drawing">`,
		`aria-current="page">First page</a>`, `rel="prev"><small>Previous</small>Start</a>`, `rel="next"><small>Next</small>Makers</a>`,
	} {
		if !strings.Contains(body, want) {
			t.Errorf("got no %s in\n%s", want, body)
		}
	}
	for _, bad := range []string{"<script>", "<b ", "javascript:", "style=", "x.go", "/docs/makers/acme"} {
		if strings.Contains(body, bad) {
			t.Errorf("got %s in\n%s", bad, body)
		}
	}
	if body := ask(s, "/docs/makers").Body.String(); !strings.Contains(body, `<a href="/docs/makers/acme">Acme</a>`) {
		t.Errorf("got no page below the page of its folder in\n%s", body)
	}
}

// TestSearchRanksSections checks the found sections, and their order.
func TestSearchRanksSections(t *testing.T) {
	t.Parallel()
	s := newServer(t, small())
	link := regexp.MustCompile(`<li><a href="([^"]*)">[^<]*</a>\n<p>`)
	for query, want := range map[string]string{
		"budget":                 "/docs/TWO#budget /docs/TWO#some-part /docs/makers/acme",
		"BUDGET anvils":          "/docs/makers/acme",
		"how to do a budget":     "/docs/TWO#budget /docs/TWO#some-part /docs/makers/acme",
		"budgt":                  "/docs/TWO#budget /docs/TWO#some-part /docs/makers/acme",
		"anvlis nonsense":        "/docs/makers/acme",
		"two words":              "/docs/TWO#budget",
		"nothing-has-this":       "",
		"":                       "",
		"<script>":               "",
		strings.Repeat("ü", 100): "",
		"b a":                    "",
	} {
		w := ask(s, "/docs/search?q="+url.QueryEscape(query))
		var got []string
		for _, m := range link.FindAllStringSubmatch(w.Body.String(), -1) {
			got = append(got, m[1])
		}
		if strings.Join(got, " ") != want || w.Code != http.StatusOK {
			t.Errorf("%q: got %d %q, want 200 %q", query, w.Code, got, want)
		}
	}
	if w := ask(s, "/docs/search?q="+strings.Repeat("a", 101)); w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), "100 characters") {
		t.Errorf("101 characters: got %d, want 400 with the limit", w.Code)
	}
	if body := ask(s, "/docs/search?q=%3Cb%3E%22").Body.String(); strings.Contains(body, "<b>") {
		t.Errorf("got the query unescaped in\n%s", body)
	}
	if body := ask(s, "/docs/search?q=budgt").Body.String(); !strings.Contains(body, "results for <strong>budget</strong>") {
		t.Errorf("got no corrected word in\n%s", body)
	}
	if body := ask(s, "/docs/search?q=budget").Body.String(); strings.Contains(body, "results for") || !strings.Contains(body, "The <mark>budget</mark> is a <mark>Budget</mark>.") {
		t.Errorf("got no marked words in\n%s", body)
	}
}

// BenchmarkSearch measures a search that reads all documents as often as permitted.
func BenchmarkSearch(b *testing.B) {
	s := must.Get(manual.New(manual.Options{
		Documents: weir.Documents, Theme: func(*http.Request) string { return "" }, Log: slog.New(slog.DiscardHandler),
	}))(b)
	for b.Loop() {
		ask(s, "/docs/search?q=co+re+in+th+pr")
	}
}

// TestHeadersIsolatePages checks the headers that isolate a page, and those for the browser's cache.
func TestHeadersIsolatePages(t *testing.T) {
	t.Parallel()
	s := newServer(t, small())
	first := ask(s, "/docs/one")
	for name, want := range map[string]string{
		"Cache-Control": "no-cache", "Vary": "Cookie", "X-Content-Type-Options": "nosniff", "Content-Type": "text/html; charset=utf-8",
		"Referrer-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin",
	} {
		if got := first.Header().Get(name); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
	policy := first.Header().Get("Content-Security-Policy")
	if !strings.HasPrefix(policy, "default-src 'none'; ") || !strings.Contains(policy, "script-src 'self';") || strings.Contains(policy, "unsafe") {
		t.Errorf("got the policy %q, want one that allows only scripts of this site", policy)
	}
	tag := first.Header().Get("ETag")
	for _, test := range []struct {
		path string
		tag  string
		dark string
		want int
	}{
		{"/docs/one", tag, "", http.StatusNotModified},
		{"/docs/one", `"x", ` + tag, "", http.StatusNotModified},
		{"/docs/one", tag, "dark", http.StatusOK},
		{"/docs/makers", tag, "", http.StatusOK},
		{"/docs/none", "", "", http.StatusNotFound},
		{"/docs/assets/none.css", "", "", http.StatusNotFound},
		{"/docs/pictures/p.svg", "", "", http.StatusOK},
		{"/docs/one.md", "", "", http.StatusNotFound},
	} {
		if got := ask(s, test.path, "If-None-Match", test.tag, "X-Test-Theme", test.dark).Code; got != test.want {
			t.Errorf("%s with %s, theme %q: got %d, want %d", test.path, test.tag, test.dark, got, test.want)
		}
	}
	style := regexp.MustCompile(`<link rel="stylesheet" href="([^"]*)">`).FindStringSubmatch(first.Body.String())[1]
	if w := ask(s, style); w.Code != http.StatusOK || !strings.Contains(w.Header().Get("Cache-Control"), "immutable") {
		t.Errorf("%s: got %d, Cache-Control %q; want it cached for ever", style, w.Code, w.Header().Get("Cache-Control"))
	}
}

// TestEveryDocumentIsListed checks that the start page lists each document, by itself or in a folder, and that each is
// served with a title.
func TestEveryDocumentIsListed(t *testing.T) {
	t.Parallel()
	s := newServer(t, weir.Documents)
	seen := map[string]bool{}
	next := regexp.MustCompile(`<a href="([^"]*)" rel="next">`)
	for at := "/docs"; at != "" && !seen[at]; {
		seen[at] = true
		w := ask(s, at)
		body := w.Body.String()
		if w.Code != http.StatusOK || !strings.Contains(body, "<h1") {
			t.Errorf("%s: got %d, want a page with a heading", at, w.Code)
		}
		if bad := regexp.MustCompile(`(href|src)="[^":]*\.md|style=`).FindString(body); bad != "" {
			t.Errorf("%s: got %s", at, bad)
		}
		at = ""
		if m := next.FindStringSubmatch(body); m != nil {
			at = m[1]
		}
	}
	count := 0
	must.Do(t, fs.WalkDir(weir.Documents, ".", func(file string, _ fs.DirEntry, err error) error {
		if err != nil || path.Ext(file) != ".md" {
			return err
		}
		count++
		name := strings.TrimSuffix(strings.TrimSuffix(strings.TrimPrefix(file, "docs/"), ".md"), "README")
		if address := strings.TrimSuffix("/docs/"+name, "/"); !seen[address] {
			t.Errorf("%s is not in the navigation: list it in docs/README.md", file)
		}
		return nil
	}))
	if len(seen) != count {
		t.Errorf("got %d pages one after the other, want the %d documents", len(seen), count)
	}
}

// TestNoStartPage checks that documents without a start page are an error, not a panic.
func TestNoStartPage(t *testing.T) {
	t.Parallel()
	if w := ask(newServer(t, fstest.MapFS{"docs/one.md": {Data: []byte("# One\n")}}), "/docs"); w.Code != http.StatusInternalServerError {
		t.Errorf("got %d, want 500", w.Code)
	}
}
