package provider_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"weir/internal/must"
)

func TestNoticeOllama(t *testing.T) {
	t.Parallel()
	answer := func(status int, body string) string {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/api/version" {
				status = http.StatusNotFound
			}
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		}))
		t.Cleanup(server.Close)
		return strings.TrimPrefix(server.URL, "http://")
	}
	silent := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	t.Cleanup(func() { _ = silent.Close() })
	closed := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	_ = closed.Close()
	for name, tc := range map[string]struct {
		address string
		want    bool
	}{
		"an Ollama":      {answer(200, `{"version":"0.40.1"}`), true},
		"something else": {answer(200, `{"name":"elasticsearch"}`), false},
		"not JSON":       {answer(200, `Ollama is running`), false},
		"an error":       {answer(500, `{"version":"0.40.1"}`), false},
		"silence":        {silent.Addr().String(), false},
		"nothing":        {closed.Addr().String(), false},
	} {
		asked := ""
		dial := func(ctx context.Context, network, address string) (net.Conn, error) {
			asked = address
			return (&net.Dialer{}).DialContext(ctx, network, tc.address)
		}
		got := catalogue(t).Find("ollama").IsHere(t.Context(), dial)
		if got != tc.want || asked != "127.0.0.1:11434" {
			t.Errorf("%s: got %t at %s, want %t", name, got, asked, tc.want)
		}
	}
}
