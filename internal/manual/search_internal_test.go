package manual

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"weir"
	"weir/internal/must"
)

func newTestServer(t *testing.T) *Server {
	t.Helper()
	return must.Get(New(Options{
		Documents: weir.Documents, Theme: func(r *http.Request) string { return r.Header.Get("X-Test-Theme") },
		Log: slog.New(slog.DiscardHandler),
	}))(t)
}

func get(ctx context.Context, s *Server, path string, theme ...string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	r := httptest.NewRequestWithContext(ctx, http.MethodGet, path, nil)
	r.Header["X-Test-Theme"] = theme
	s.ServeHTTP(w, r)
	return w
}

// TestSearchIsBounded checks that a search uses few words of two letters or more, and reports that.
func TestSearchIsBounded(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]string{
		"a e i o u n t r":                "",
		"aa bb cc dd ee ff gg":           "aa bb cc dd ee",
		"a budget":                       "budget",
		"how do I set a budget?":         "set budget",
		"how to":                         "how to",
		"budget, BUDGET (weir.yaml) \"x": "budget weir.yaml",
	} {
		got, _ := wordsOf(query)
		if strings.Join(got, " ") != want {
			t.Errorf("%q: got words %q, want %q", query, got, want)
		}
	}
	s := newTestServer(t)
	if body := get(t.Context(), s, "/docs/search?q=a+budget").Body.String(); !strings.Contains(body, "The search ignored") {
		t.Error("a word that was dropped: the page does not say so")
	}
}

// TestSearchesTakeTurns checks that few searches run at once, that others are told when to retry, and that none runs
// for a disconnected client.
func TestSearchesTakeTurns(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	gone, leave := context.WithCancel(t.Context())
	leave()
	if w := get(gone, s, "/docs/search?q=budget"); w.Body.Len() > 0 {
		t.Errorf("for a disconnected client: got %d bytes, want none", w.Body.Len())
	}
	for range searchesAtOnce {
		s.searching <- struct{}{}
	}
	w := get(t.Context(), s, "/docs/search?q=budget")
	if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" {
		t.Errorf("with the greatest number of running searches: got %d, Retry-After %q; want 503 with one", w.Code, w.Header().Get("Retry-After"))
	}
	if w := get(t.Context(), s, "/docs/limits"); w.Code != http.StatusOK {
		t.Errorf("a page meanwhile: got %d, want 200", w.Code)
	}
	<-s.searching
	if w := get(t.Context(), s, "/docs/search?q=budget"); w.Code != http.StatusOK {
		t.Errorf("when one is over: got %d, want 200", w.Code)
	}
}

// TestPagesAreMadeOnce checks that a page is built once for each of three themes, for any requests.
func TestPagesAreMadeOnce(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	for _, theme := range []string{"", "dark", "light", "odd", "odder"} {
		for range 3 {
			for _, path := range []string{"/docs", "/docs/none", "/docs/none/other", "/docs/search?q=budget", "/docs/search?q=key"} {
				get(t.Context(), s, path, theme)
			}
		}
	}
	if got := len(s.pages.pages); got != 9 {
		t.Errorf("got %d cached pages, want 3 in 3 themes", got)
	}
}

// TestSearchEscapes checks that HTML in a query or a document is escaped.
func TestSearchEscapes(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	for _, query := range []string{"<b onclick=x>", "<script", "&lt;", "amp", "\"><mark"} {
		body := get(t.Context(), s, "/docs/search?q="+url.QueryEscape(query)).Body.String()
		if strings.Contains(body, "<b onclick") || strings.Count(body, "<script") > 1 || strings.Contains(body, here) {
			t.Errorf("%q: got it unescaped", query)
		}
	}
}
