package provider_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"weir/internal/credential"
	"weir/internal/provider"
)

// managedIdentity simulates the service of a machine in Azure (App Service), which issues numbered tokens. A library
// caches them by the client's id while they are valid for 5 more minutes.
func managedIdentity(t *testing.T, client string, life time.Duration) *granter {
	t.Helper()
	var g *granter
	g = newGranter(t, func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		if q.Get("resource") != "https://cognitiveservices.azure.com" || q.Get("client_id") != client || r.Header.Get("X-Identity-Header") != canary {
			t.Errorf("got %s with %v", r.URL, r.Header)
		}
		answer(http.StatusOK, fmt.Sprintf(`{"access_token":"entra-token-%d","expires_on":"%d","resource":"r","token_type":"Bearer"}`,
			g.hits.Load(), time.Now().Add(life).Unix()))(w, r)
	})
	inAnEmptyCloud(t, map[string]string{
		"AZURE_TOKEN_CREDENTIALS": "ManagedIdentityCredential", "AZURE_CLIENT_ID": client,
		"IDENTITY_ENDPOINT": g.URL + "/token", "IDENTITY_HEADER": canary,
	})
	return g
}

func TestEntraManagedIdentity(t *testing.T) {
	g := managedIdentity(t, "client-1", 4*time.Minute)
	u, now := newListener(t), newHandClock()
	p := identified(t, provider.Options{BaseURL: u.URL, Auth: credential.Entra, Now: now.now})
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			if _, f := exchange(t.Context(), p, chat(false)); f != nil {
				t.Error(f)
			}
		})
	}
	wg.Wait()
	if n := g.hits.Load(); n != 1 || u.count() != 50 {
		t.Errorf("got %d tokens for %d requests, want 1 for 50", n, u.count())
	}
	if got := u.last(t).Header; got.Get("Authorization") != "Bearer entra-token-1" || got.Get("Api-Key") != "" {
		t.Errorf("got %v", got)
	}
	now.advance(time.Minute) // and the next one is fetched in the background
	for end := time.Now().Add(patience); u.last(t).Header.Get("Authorization") != "Bearer entra-token-2"; {
		if _, f := exchange(t.Context(), p, chat(false)); f != nil || time.Now().After(end) {
			t.Fatalf("got %v and %q", f, u.last(t).Header.Get("Authorization"))
		}
	}
	if n := g.hits.Load(); n != 2 {
		t.Errorf("got %d tokens, want 2", n)
	}
}

func TestEntraSecretsStayOut(t *testing.T) {
	managedIdentity(t, "client-2", time.Hour)
	u := newListener(t)
	u.echo = true
	p := identified(t, provider.Options{BaseURL: u.URL, Auth: credential.Entra})
	_, f := exchange(t.Context(), p, chat(false))
	if f == nil || !strings.Contains(f.Err.Message, "Bearer [redacted]") || strings.Contains(fmt.Sprintf("%v %+v", f, f.Upstream), "entra-token") {
		t.Errorf("got %v", f)
	}
}

func TestEntraFails(t *testing.T) {
	refusing := newGranter(t, answer(http.StatusBadRequest, `{"error":"invalid_request","error_description":"AADSTS700016: `+canary+`"}`))
	for name, tc := range map[string]struct {
		env  map[string]string
		want string
	}{
		"nothing": {nil, "EnvironmentCredential"},
		"refused": {map[string]string{
			"AZURE_TOKEN_CREDENTIALS": "ManagedIdentityCredential", "AZURE_CLIENT_ID": "client-3", "IDENTITY_ENDPOINT": refusing.URL, "IDENTITY_HEADER": canary,
		}, "(Microsoft Entra ID) answered 400 AADSTS700016"},
		"misspelt": {map[string]string{"AZURE_TOKEN_CREDENTIALS": "managed"}, "AZURE_TOKEN_CREDENTIALS"},
	} {
		t.Run(name, func(t *testing.T) {
			inAnEmptyCloud(t, tc.env)
			u := newListener(t)
			p := identified(t, provider.Options{BaseURL: u.URL, Auth: credential.Entra})
			_, f := exchange(t.Context(), p, chat(false))
			wantNoCredential(t, f, tc.want)
			t.Log(f.Err.Err)
			if u.count() != 0 {
				t.Error("a request was sent")
			}
		})
	}
}
