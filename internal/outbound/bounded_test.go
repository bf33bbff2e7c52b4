package outbound_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"weir/internal/must"
	"weir/internal/outbound"
)

// TestBoundedAnswers checks that an answer may have the bound's bytes, and not one more, unless it is passed on whole.
func TestBoundedAnswers(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, strings.Repeat("x", len(r.URL.Path)))
	}))
	defer server.Close()
	client := http.Client{Transport: &outbound.Bounded{
		Through: http.DefaultTransport, Most: 10,
		Whole: func(r *http.Response) bool { return strings.HasPrefix(r.Request.URL.Path, "/whole") },
	}}
	for path, want := range map[string]bool{"/": true, "/123456789": true, "/1234567890": false, "/12345678901234567890": false, "/whole/12345678901234567890": true} {
		response := must.Get(client.Get(server.URL + path))(t)
		body, err := io.ReadAll(response.Body)
		must.Do(t, response.Body.Close())
		if (err == nil) != want || want && len(body) != len(path) || len(body) > len(path) {
			t.Errorf("%d bytes: got %d, %v; want them whole: %t", len(path), len(body), err, want)
		}
	}
}
