package chat_test

import (
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"weir/internal/certtest"
	"weir/internal/must"
)

// TestCrossOrigin checks that a browser's preflight and a readable error are the same over HTTP/1.1 and HTTP/2.
func TestCrossOrigin(t *testing.T) {
	t.Parallel()
	const origin = "https://app.example.com"
	cert, key := certtest.Write(t, t.TempDir(), 1)
	address := serve(t, "127.0.0.1:0", fmt.Sprintf("tls: {cert: %q, key: %q}\ncors: {origins: [%q]}\n", cert, key, origin))
	for major, transport := range map[int]*http.Transport{
		1: {TLSClientConfig: &tls.Config{RootCAs: certtest.Pool(t, cert)}},
		2: {TLSClientConfig: &tls.Config{RootCAs: certtest.Pool(t, cert)}, ForceAttemptHTTP2: true},
	} {
		client := &http.Client{Transport: transport}
		t.Cleanup(client.CloseIdleConnections)
		for method, status := range map[string]int{http.MethodOptions: http.StatusNoContent, http.MethodPost: http.StatusUnauthorized} {
			r := must.Get(http.NewRequestWithContext(t.Context(), method, "https://"+address+"/v1/chat/completions", strings.NewReader("")))(t)
			r.Header.Set("Origin", origin)
			if method == http.MethodOptions {
				r.Header.Set("Access-Control-Request-Method", "POST")
				r.Header.Set("Access-Control-Request-Headers", "authorization")
			}
			resp := must.Get(client.Do(r))(t)
			_, _ = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
			if got := resp.Header.Get("Access-Control-Allow-Origin"); resp.ProtoMajor != major || resp.StatusCode != status || got != origin {
				t.Errorf("HTTP/%d, %s: HTTP/%d, %d, origin %q; want %d and %q", major, method, resp.ProtoMajor, resp.StatusCode, got, status, origin)
			}
		}
	}
}
