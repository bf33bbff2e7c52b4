package app

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path"
	"strings"
	"sync"
	"testing"

	"weir/internal/audit"
	"weir/internal/must"
	"weir/internal/people"
)

// lines is a log that permits concurrent writes.
type lines struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

// Write records a line.
func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

// TestLinksAreNotLogged uses a link in every way that fails and leaves it valid: the log does not have it.
func TestLinksAreNotLogged(t *testing.T) {
	t.Parallel()
	log := &lines{}
	g := newLogged(t, slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})))
	one, err := g.admin.People.Invite(t.Context(), audit.Gateway(), people.Invitation{Email: "ada@example.com", Operator: true}, "")
	must.Do(t, err)
	handler := g.site.handler()
	left, leave := context.WithCancel(t.Context())
	leave()
	for _, test := range []struct {
		ctx          context.Context
		method, path string
	}{
		{left, http.MethodGet, "/invite/"},
		{left, http.MethodPost, "/invite/"},
		{t.Context(), http.MethodDelete, "/invite/"},
		{t.Context(), http.MethodPost, "//invite/"},
		{t.Context(), "PROPFIND", "/invite/"},
		{t.Context(), http.MethodPost, "/invite/x/../"},
		{t.Context(), http.MethodPut, "/v1/invite/"},
		{t.Context(), http.MethodGet, "/admin/v1/invite/"},
	} {
		r := httptest.NewRequestWithContext(test.ctx, test.method, "https://gateway.example"+test.path+path.Base(one.Link.Reveal()), nil)
		handler.ServeHTTP(httptest.NewRecorder(), r)
		log.mu.Lock()
		if text := log.buf.String(); strings.Contains(text, path.Base(one.Link.Reveal())) {
			t.Errorf("%s %s: got the link in the log:\n%s", test.method, test.path, text)
		}
		log.buf.Reset()
		log.mu.Unlock()
	}
}
