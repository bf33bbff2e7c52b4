package provider_test

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"weir/internal/credential"
	"weir/internal/must"
	"weir/internal/provider"
)

// serviceAccount writes the file of a service account that fetches its tokens from that address.
func serviceAccount(t *testing.T, tokens string) string {
	t.Helper()
	key := must.Get(rsa.GenerateKey(rand.Reader, 2048))(t)
	der := must.Get(x509.MarshalPKCS8PrivateKey(key))(t)
	text, err := json.Marshal(map[string]string{
		"type": "service_account", "project_id": "p", "private_key_id": "k", "client_email": "weir@p.iam.gserviceaccount.com", "token_uri": tokens,
		"private_key": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})),
	})
	must.Do(t, err)
	return file(t, string(text))
}

// tokens issues numbered access tokens (RFC 6749, section 5.1).
func tokens(t *testing.T, life time.Duration) *granter {
	t.Helper()
	var g *granter
	g = newGranter(t, func(w http.ResponseWriter, r *http.Request) {
		if err := r.ParseForm(); err != nil {
			t.Error(err)
		}
		answer(http.StatusOK, fmt.Sprintf(`{"access_token":"google-token-%d","token_type":"Bearer","expires_in":%d}`, g.hits.Load(), int(life.Seconds())))(w, r)
	})
	return g
}

func TestGoogleServiceAccount(t *testing.T) {
	g := tokens(t, time.Hour)
	inAnEmptyCloud(t, map[string]string{"GOOGLE_APPLICATION_CREDENTIALS": serviceAccount(t, g.URL)})
	u, now := newListener(t), newHandClock()
	p := identified(t, provider.Options{BaseURL: u.URL, Auth: credential.Google, Now: now.now})
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
	if got := u.last(t).Header; got.Get("Authorization") != "Bearer google-token-1" || got.Get("X-Goog-User-Project") != "" || got.Get("X-Goog-Api-Key") != "" {
		t.Errorf("got %v", got)
	}
	now.advance(2 * time.Hour)
	g.Close() // an expired token is useless, even if the service is away
	_, f := exchange(t.Context(), p, chat(false))
	wantNoCredential(t, f, "connection refused")
}

func TestGoogleQuotaProject(t *testing.T) {
	g := tokens(t, time.Hour)
	inAnEmptyCloud(t, map[string]string{
		"GOOGLE_APPLICATION_CREDENTIALS": serviceAccount(t, g.URL), "GOOGLE_CLOUD_QUOTA_PROJECT": "billed",
	})
	u := newListener(t)
	p := identified(t, provider.Options{BaseURL: u.URL, Auth: credential.Google})
	if _, f := exchange(t.Context(), p, chat(false)); f != nil {
		t.Fatal(f)
	}
	if got := u.last(t).Header.Get("X-Goog-User-Project"); got != "billed" {
		t.Errorf("got the project %q", got)
	}
}

func TestGoogleMachine(t *testing.T) {
	g := newGranter(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Metadata-Flavor") != "Google" {
			t.Errorf("got %v", r.Header)
		}
		answer(http.StatusOK, `{"access_token":"machine-token","token_type":"Bearer","expires_in":3000}`)(w, r)
	})
	inAnEmptyCloud(t, map[string]string{"GCE_METADATA_HOST": strings.TrimPrefix(g.URL, "http://")})
	u := newListener(t)
	p := identified(t, provider.Options{BaseURL: u.URL, Auth: credential.Google})
	if _, f := exchange(t.Context(), p, chat(false)); f != nil {
		t.Fatal(f)
	}
	if got := u.last(t).Header.Get("Authorization"); got != "Bearer machine-token" {
		t.Errorf("got %q", got)
	}
}

func TestGoogleFails(t *testing.T) {
	refusing := newGranter(t, answer(http.StatusBadRequest, `{"error":"invalid_grant","error_description":"`+canary+`"}`))
	broken := newGranter(t, answer(http.StatusBadGateway, canary))
	split := newGranter(t, answer(http.StatusOK, `{"access_token":"anary\r\nX-Evil: 1","token_type":"Bearer","expires_in":3000}`))
	garbled := newGranter(t, answer(http.StatusOK, `{"access_token":"`+canary))
	for name, tc := range map[string]struct{ file, want string }{
		"no file":   {"/absent", "GOOGLE_APPLICATION_CREDENTIALS"},
		"no JSON":   {file(t, canary), "GOOGLE_APPLICATION_CREDENTIALS"},
		"refused":   {serviceAccount(t, refusing.URL), "the token server answered 400 invalid_grant"},
		"broken":    {serviceAccount(t, broken.URL), "the token server answered 502"},
		"split":     {serviceAccount(t, split.URL), "a character that is not allowed in a header"},
		"garbled":   {serviceAccount(t, garbled.URL), ""},
		"not there": {serviceAccount(t, "http://127.0.0.1:1"), "refused"},
	} {
		t.Run(name, func(t *testing.T) {
			inAnEmptyCloud(t, map[string]string{"GOOGLE_APPLICATION_CREDENTIALS": tc.file})
			u := newListener(t)
			p := identified(t, provider.Options{BaseURL: u.URL, Auth: credential.Google})
			_, f := exchange(t.Context(), p, chat(false))
			wantNoCredential(t, f, tc.want)
			t.Log(f.Err.Err)
			if u.count() != 0 {
				t.Error("a request was sent")
			}
		})
	}
}
