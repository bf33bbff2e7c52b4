package provider_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"weir/internal/credential"
	"weir/internal/dialect"
	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/provider"
)

// These tests are not parallel, because they read the environment.

// canary stands for each secret of these tests, which must not appear anywhere. It is long and mixed, as secrets are.
const canary = "Canary0123456789+abcdefghijklmnopqrstuvwxyz/ABC"

// inAnEmptyCloud removes the machine's cloud variables from the environment, and sets the given ones.
func inAnEmptyCloud(t *testing.T, vars map[string]string) {
	t.Helper()
	for _, v := range os.Environ() {
		name, _, _ := strings.Cut(v, "=")
		for _, prefix := range []string{"AWS_", "AZURE_", "GOOGLE_", "GCE_", "IDENTITY_", "MSI_", "CLOUDSDK_"} {
			if strings.HasPrefix(name, prefix) {
				t.Setenv(name, "")
				if err := os.Unsetenv(name); err != nil { // the former value is restored after the test
					t.Fatal(err)
				}
			}
		}
	}
	t.Setenv("HOME", t.TempDir())
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	t.Setenv("AZURE_TOKEN_CREDENTIALS", "EnvironmentCredential")
	for name, value := range vars {
		t.Setenv(name, value)
	}
}

// bedrockLike returns a wire format with the model in its path, escaped as in the real one.
func bedrockLike() *dialect.Dialect {
	d := openaiLike()
	d.Name, d.Path, d.Auth = "bedrock", dialects("bedrock").Path, dialects("bedrock").Auth
	return d
}

// identified builds a provider without a key.
func identified(t *testing.T, o provider.Options) *provider.Provider {
	t.Helper()
	o.Name, o.AllowPrivate = "acme", true
	if o.Dialect == nil {
		o.Dialect = bedrockLike()
	}
	p := must.Get(provider.New(o))(t)
	t.Cleanup(p.Close)
	return p
}

// seen holds a received request.
type seen struct {
	*http.Request
	body []byte
}

// listener is a provider that records its requests.
type listener struct {
	*httptest.Server
	mu   sync.Mutex
	got  []seen
	echo bool // refuses, and repeats its request
}

func newListener(t *testing.T) *listener {
	t.Helper()
	u := &listener{}
	u.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		u.mu.Lock()
		u.got = append(u.got, seen{r, body})
		u.mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		if u.echo {
			w.WriteHeader(http.StatusBadRequest)
			_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{"message": fmt.Sprint("you sent ", r.Header)}})
			return
		}
		_, _ = io.WriteString(w, "{}")
	}))
	t.Cleanup(u.Close)
	return u
}

// last returns the latest request.
func (u *listener) last(t *testing.T) seen {
	t.Helper()
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.got) == 0 {
		t.Fatal("the provider got no request")
	}
	return u.got[len(u.got)-1]
}

func (u *listener) count() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return len(u.got)
}

// granter is a service that issues credentials.
type granter struct {
	*httptest.Server
	hits atomic.Int32
}

func newGranter(t *testing.T, handle http.HandlerFunc) *granter {
	t.Helper()
	g := &granter{}
	g.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g.hits.Add(1)
		handle(w, r)
	}))
	t.Cleanup(g.Close)
	return g
}

// answer returns a handler with one text.
func answer(status int, text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, text)
	}
}

// file writes a file with that content.
func file(t *testing.T, content string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "file")
	must.Do(t, os.WriteFile(name, []byte(content), 0o700))
	return name
}

// handClock is a clock that is moved by hand.
type handClock struct{ at atomic.Int64 }

func newHandClock() *handClock {
	c := &handClock{}
	c.at.Store(time.Now().UnixNano())
	return c
}

func (c *handClock) now() time.Time          { return time.Unix(0, c.at.Load()) }
func (c *handClock) advance(d time.Duration) { c.at.Add(int64(d)) }

// wantNoCredential checks the failure of a missing credential: nothing was sent, another provider is tried and this one
// is not, and no secret is in its text.
func wantNoCredential(t *testing.T, f *provider.Failure, because string) {
	t.Helper()
	if f == nil {
		t.Fatal("got an answer, want no credential")
	}
	if f.Kind != provider.KindCredential || f.Kind.String() != "credential" || f.Sent() || f.Ours() || f.Status != 0 {
		t.Errorf("got %v, sent %t, ours %t", f, f.Sent(), f.Ours())
	}
	if f.Err.Code != llm.CodeProviderError || f.Err.Message != "The gateway has no valid credentials for the provider acme." {
		t.Errorf("got %s %q", f.Err.Code, f.Err.Message)
	}
	told := f.Err.Err.Error()
	if !strings.Contains(told, because) {
		t.Errorf("got %q, want %q in it", told, because)
	}
	for _, text := range []string{f.Error(), told, fmt.Sprintf("%+v %#v %+v", f, f, f.Err)} {
		if strings.Contains(text, "anary") {
			t.Errorf("a secret is in %q", text)
		}
	}
	if strings.ContainsAny(told, "\n\r\t") || len(told) > 800 {
		t.Errorf("got %d bytes of %q for the log", len(told), told)
	}
}

// TestIdentitiesAreLazy checks that no credential is fetched before the first request.
func TestIdentitiesAreLazy(t *testing.T) {
	g := newGranter(t, answer(http.StatusInternalServerError, ""))
	inAnEmptyCloud(t, map[string]string{
		"AWS_EC2_METADATA_DISABLED": "false", "AWS_EC2_METADATA_SERVICE_ENDPOINT": g.URL,
		"GCE_METADATA_HOST":                 strings.TrimPrefix(g.URL, "http://"),
		"AZURE_TOKEN_CREDENTIALS":           "ManagedIdentityCredential",
		"AZURE_POD_IDENTITY_AUTHORITY_HOST": g.URL,
	})
	for _, auth := range []credential.Scheme{credential.AWS, credential.Google, credential.Entra} {
		p := identified(t, provider.Options{BaseURL: "http://127.0.0.1:9", Auth: auth})
		if p.Keys() != 1 {
			t.Errorf("%s: got %d keys, want 1", auth, p.Keys())
		}
		p.Close()
	}
	if n := g.hits.Load(); n != 0 {
		t.Errorf("got %d requests for credentials before there was a request", n)
	}
}

// TestKeyReplacesIdentity checks the use of a key instead of an identity.
func TestKeyReplacesIdentity(t *testing.T) {
	inAnEmptyCloud(t, map[string]string{"AWS_ACCESS_KEY_ID": "AKIA1", "AWS_SECRET_ACCESS_KEY": canary})
	u := newListener(t)
	for auth, want := range map[credential.Scheme][2]string{
		credential.AWS:    {"Authorization", "Bearer " + testKey},
		credential.Google: {"X-Goog-Api-Key", testKey},
		credential.Entra:  {"Api-Key", testKey},
	} {
		p := identified(t, provider.Options{BaseURL: u.URL, Auth: auth, APIKeys: []llm.Secret{llm.NewSecret(testKey)}})
		if _, f := exchange(t.Context(), p, chat(false)); f != nil {
			t.Fatal(f)
		}
		if got := u.last(t).Header.Get(want[0]); got != want[1] {
			t.Errorf("%s: got %s %q, want %q", auth, want[0], got, want[1])
		}
	}
}

// TestDefaultAuthOfWireFormat checks the scheme of a provider with only a known wire format.
func TestDefaultAuthOfWireFormat(t *testing.T) {
	inAnEmptyCloud(t, nil)
	u := newListener(t)
	for name, want := range map[string]string{
		"openai": "Authorization", "cohere": "Authorization", "anthropic": "X-Api-Key", "gemini": "X-Goog-Api-Key", "bedrock": "Authorization",
	} {
		d := openaiLike()
		d.Name, d.Auth = name, dialects(name).Auth
		p := identified(t, provider.Options{BaseURL: u.URL, Dialect: d, APIKeys: []llm.Secret{llm.NewSecret(testKey)}})
		if _, f := exchange(t.Context(), p, chat(false)); f != nil {
			t.Fatal(f)
		}
		if got := u.last(t).Header.Get(want); !strings.HasSuffix(got, testKey) {
			t.Errorf("%s: got %s %q", name, want, got)
		}
	}
	p := identified(t, provider.Options{BaseURL: u.URL, Dialect: bedrockLike()})
	_, f := exchange(t.Context(), p, chat(false))
	wantNoCredential(t, f, "")
}

// TestIdentityWaitIsCanceled checks that a client who leaves no longer waits for a credential, and blocks no other.
func TestIdentityWaitIsCanceled(t *testing.T) {
	asked, release := make(chan struct{}), make(chan struct{})
	g := newGranter(t, func(w http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		<-release
		awsContainer(time.Now().Add(time.Hour))(w, r)
	})
	inAnEmptyCloud(t, map[string]string{"AWS_CONTAINER_CREDENTIALS_FULL_URI": g.URL, "AWS_REGION": "us-east-1"})
	u := newListener(t)
	p := identified(t, provider.Options{BaseURL: u.URL})
	ctx, cancel := context.WithCancel(t.Context())
	leaver, stayer := make(chan *provider.Failure), make(chan *provider.Failure)
	go func() {
		_, f := exchange(ctx, p, chat(false))
		leaver <- f
	}()
	<-asked
	go func() {
		_, f := exchange(t.Context(), p, chat(false))
		stayer <- f
	}()
	cancel()
	if f := <-leaver; f == nil || f.Kind != provider.KindCanceled || f.Sent() {
		t.Errorf("got %v for who left, want canceled", f)
	}
	close(release)
	if f := <-stayer; f != nil {
		t.Errorf("got %v for who stayed, want an answer", f)
	}
	if n := g.hits.Load(); n != 1 || u.count() != 1 {
		t.Errorf("got %d fetches and %d requests, want 1 and 1", n, u.count())
	}
}

// TestIdentityTimers checks that the timers of the exchange bound the wait for its credential.
func TestIdentityTimers(t *testing.T) {
	release := make(chan struct{})
	g := newGranter(t, func(http.ResponseWriter, *http.Request) { <-release })
	defer close(release)
	inAnEmptyCloud(t, map[string]string{"AWS_CONTAINER_CREDENTIALS_FULL_URI": g.URL, "AWS_REGION": "us-east-1"})
	u := newListener(t)
	p := identified(t, provider.Options{BaseURL: u.URL, Timeouts: provider.Timeouts{FirstByte: 50 * time.Millisecond}})
	_, f := exchange(t.Context(), p, chat(false))
	wantNoCredential(t, f, "context canceled")
	if u.count() != 0 {
		t.Error("a request was sent")
	}
}
