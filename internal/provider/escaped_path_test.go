package provider_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"sync/atomic"
	"testing"

	"weir/internal/credential"
	"weir/internal/dialect"
	"weir/internal/dialect/registry/registrytest"
	"weir/internal/must"
	"weir/internal/provider"
)

// TestEscapedPath checks that a path escaped by a wire format is sent unchanged: Amazon's signature covers these bytes.
func TestEscapedPath(t *testing.T) {
	overTransports(t, func(t *testing.T, way transport) {
		var asked, accepts atomic.Value
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			asked.Store(r.RequestURI)
			accepts.Store(r.Header.Get("Accept"))
			w.Header().Set("Content-Type", "application/vnd.amazon.eventstream")
		}))
		t.Cleanup(server.Close)
		all := registrytest.All()
		bedrock := all[slices.IndexFunc(all, func(d *dialect.Dialect) bool { return d.Name == "bedrock" })]
		o := provider.Options{Name: "acme", BaseURL: server.URL, AllowPrivate: true, Dialect: bedrock, Auth: credential.None}
		way.reach(t, &o)
		p, err := provider.New(o)
		must.Do(t, err)
		t.Cleanup(p.Close)
		for _, model := range []string{
			"us.amazon.nova-2-lite-v1:0", "arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.anthropic.claude-v2:1",
			"100% of a/b?#é", "plain",
		} {
			c := chat(true)
			c.Model = model
			res := must.Get(p.Do(t.Context(), c))(t)
			_ = res.Body.Close()
			want := bedrock.Path(model, true)
			if asked.Load() != want || accepts.Load() != bedrock.Framing.ContentType || !res.Streamed {
				t.Errorf("%q: requested %v, which accepts %v, streamed %v; want %s", model, asked.Load(), accepts.Load(), res.Streamed, want)
			}
		}
	})
}

// TestPathsInTurn checks that each request goes to its own path, whatever the one before it asked for.
func TestPathsInTurn(t *testing.T) {
	t.Parallel()
	var asked atomic.Value
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { asked.Store(r.RequestURI) }))
	t.Cleanup(server.Close)
	gemini := registrytest.All()[slices.IndexFunc(registrytest.All(), func(d *dialect.Dialect) bool { return d.Name == "gemini" })]
	p := newProvider(t, provider.Options{BaseURL: server.URL + "/v9", Dialect: gemini})
	for i := range 6 {
		c := chat(i%2 == 0)
		c.Model = []string{"one", "two two", "one"}[i%3]
		if res, err := p.Do(t.Context(), c); err == nil {
			_ = res.Body.Close()
		}
		want := must.Get(url.Parse(server.URL + "/v9" + gemini.Path(c.Model, c.Stream)))(t).RequestURI()
		if got := asked.Load(); got != want {
			t.Errorf("%d: requested %v, want %s", i, got, want)
		}
	}
}
