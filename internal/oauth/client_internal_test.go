package oauth

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/outbound"
	"weir/internal/worktest"
)

// roundTrip is a function that answers requests.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// answering returns documents that all have the same answer, and the number of requests for them.
func answering(t *testing.T, status int, kind, text string) (*documents, *int) {
	t.Helper()
	n := 0
	d := must.Get(newDocuments(&Options{Now: time.Now, Through: roundTrip(func(r *http.Request) (*http.Response, error) {
		n++
		h := http.Header{"Content-Type": {kind}, "Location": {"http://169.254.169.254/"}}
		return &http.Response{StatusCode: status, Header: h, Request: r, Body: io.NopCloser(strings.NewReader(text))}, nil
	})}))(t)
	return d, &n
}

const program = "https://programs.example/agent.json"

func describe(redirect string) string {
	return `{"client_id": "` + program + `", "client_name": "Agent", "redirect_uris": ["` + redirect + `"]}`
}

// TestDocumentsAreRead checks which answers are the description of a program, and that a good one is cached.
func TestDocumentsAreRead(t *testing.T) {
	t.Parallel()
	const good = "https://programs.example/callback"
	for name, test := range map[string]struct {
		status     int
		kind, text string
		want       string // of the error; empty for none
	}{
		"good":                 {200, "application/json; charset=utf-8", describe(good), ""},
		"on this machine":      {200, "application/cimd+json", describe("http://[::1]/callback"), ""},
		"of another":           {200, "application/json", strings.Replace(describe(good), "agent", "other", 1), "cannot be used"},
		"a redirect":           {302, "application/json", describe(good), "redirects"},
		"a page":               {200, "text/html", describe(good), "not with JSON"},
		"too long":             {200, "application/json", describe(good) + strings.Repeat(" ", maxDocument), "more than"},
		"no JSON":              {200, "application/json", "{", "not the JSON"},
		"an answer over http":  {200, "application/json", describe("http://programs.example/callback"), "must be https"},
		"an answer to a shell": {200, "application/json", describe("shell:callback"), "must be https"},
		"a policy":             {200, "application/json", describe("https://programs.example;script-src/callback"), "must be https"},
		"no answer":            {200, "application/json", `{"client_id": "` + program + `"}`, "needs 1 to"},
		"a secret":             {200, "application/json", strings.Replace(describe(good), "{", `{"token_endpoint_auth_method": "private_key_jwt", `, 1), "not none"},
	} {
		d, n := answering(t, test.status, test.kind, test.text)
		for range 2 {
			c, err := d.get(t.Context(), "ann", program)
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(llm.AsError(err).Message, test.want) || err == nil && (c.Name != "Agent" || c.Host != "programs.example") {
				t.Errorf("%s: got %+v, %v; want an error with %q", name, c, err, test.want)
			}
		}
		if cached := *n == 1; cached != (test.want == "") {
			t.Errorf("%s: got %d requests", name, *n)
		}
	}
}

// TestDocumentsStayOutside checks that no connection leads to this machine, also where a name leads to it, and that a
// request leaves when its person does.
func TestDocumentsStayOutside(t *testing.T) {
	t.Parallel()
	server := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("got a request") }))
	t.Cleanup(server.Close)
	d := must.Get(newDocuments(&Options{Now: time.Now}))(t)
	if _, err := d.fetch(t.Context(), server.URL+"/agent.json"); !outbound.Refused(err) {
		t.Errorf("got %v, want the refusal of the address", err)
	}
	for _, id := range []string{"https://localhost/a", "https://[::1]/a", "https://10.0.0.1/a", "https://169.254.169.254/a", "https://user@programs.example/a", "https://programs.example/a#b", "https://programs.example/../a"} {
		if _, err := d.get(t.Context(), "ann", id); llm.AsError(err).Code != llm.CodeInvalidRequest {
			t.Errorf("%s: got %v, want a refusal", id, err)
		}
	}
	hanging := must.Get(newDocuments(&Options{Now: time.Now, Through: roundTrip(func(r *http.Request) (*http.Response, error) {
		<-r.Context().Done()
		return nil, r.Context().Err()
	})}))(t)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := hanging.get(gone, "ann", program); err == nil {
		t.Error("got no error without an answer")
	}
}

// TestDocumentsOfOnePersonLeavePlaces checks that a person whose programs do not answer holds one place, waits with few
// more, and keeps nobody else waiting.
func TestDocumentsOfOnePersonLeavePlaces(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		answer := describe("https://programs.example/callback")
		reads := 0
		d := must.Get(newDocuments(&Options{Now: time.Now, Through: roundTrip(func(r *http.Request) (*http.Response, error) {
			if strings.Contains(r.URL.Path, "slow") {
				reads++
				<-r.Context().Done()
				return nil, r.Context().Err()
			}
			return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Request: r, Body: io.NopCloser(strings.NewReader(answer))}, nil
		})}))(t)
		refused := make(chan error, 20)
		for i := range cap(refused) {
			go func() {
				_, err := d.get(t.Context(), "mallory", "https://programs.example/slow"+strconv.Itoa(i))
				refused <- err
			}()
		}
		synctest.Wait()
		begun := time.Now()
		if _, err := d.get(t.Context(), "ann", program); err != nil || time.Since(begun) > 0 || reads != 1 {
			t.Errorf("another person: got %v after %v, beside %d reads, want the program at once beside one", err, time.Since(begun), reads)
		}
		for range cap(refused) - 1 - maxWaiting {
			if err := <-refused; llm.AsError(err).Code != llm.CodeOverloaded || time.Since(begun) > 0 {
				t.Errorf("one too many: got %v after %v, want that it is refused at once", err, time.Since(begun))
			}
		}
		for range 1 + maxWaiting {
			<-refused
		}
		if took := time.Since(begun); took > waitFor+documentFor || !d.places.Idle() {
			t.Errorf("the rest took %v, idle %t", took, d.places.Idle())
		}
	})
}

// TestRedirectsOfNativePrograms checks which addresses of a program's own scheme are accepted, and that no other one
// gets its answers.
func TestRedirectsOfNativePrograms(t *testing.T) {
	t.Parallel()
	const own = "com.example.app:/oauth/callback"
	c := Client{Redirects: []string{own}}
	for _, address := range []string{"com.example.app:/oauth/callback2", "com.example.app:/oauth/callback/", "COM.example.app:/oauth/callback", "com.example.apps:/oauth/callback", "com.example.app://oauth/callback", own + "?a=b"} {
		if c.permits(address) {
			t.Errorf("%s gets the answers of %s", address, own)
		}
	}
	for _, address := range []string{"app:/cb", "javascript:/cb", "com.example.app:cb", "com.example.app:", "com.example.app://cb", "com.example.app:///cb", "com.example.app://user@host/cb", "com..app:/cb", "com.example.:/cb", "com.example.app:/cb#f", "com.example.app:/c\\b", ".app:/cb"} {
		if checkRedirect(address) == nil {
			t.Errorf("%s is accepted, want a refusal", address)
		}
	}
	s := &Server{issuer: "https://weir.example"}
	r := &Request{Client: c, Redirect: own, state: "s"}
	host, local := r.RedirectHost()
	if !c.permits(own) || host != "com.example.app" || !local || r.FormTarget() != "com.example.app:" || c.identity(own) != host {
		t.Errorf("got %t, %q, %t, %q", c.permits(own), host, local, r.FormTarget())
	}
	must.Equal(t, s.answer(r, "code", "c"), own+"?code=c&iss=https%3A%2F%2Fweir.example&state=s", "address with the answer")
}

// TestRegistrationIsItsID checks that the id of a registered program has all of its registration, and that no other id
// is accepted.
func TestRegistrationIsItsID(t *testing.T) {
	t.Parallel()
	now := time.Now()
	s := must.Get(New(Options{
		PublicURL: "https://weir.example", Now: func() time.Time { return now },
		Seal: func(_ context.Context, text []byte, about string) (string, error) {
			return sealedPrefix + about + string(text), nil
		},
		Open: func(sealed, about string) ([]byte, error) {
			text, ok := strings.CutPrefix(sealed, sealedPrefix+about)
			if !ok {
				return nil, errors.New("not sealed here")
			}
			return []byte(text), nil
		},
	}))(t)
	c := must.Get(s.register(t.Context(), &metadata{Name: "A\u202egent\n", Redirects: []string{"http://localhost:1/cb"}, Method: "client_secret_basic"}))(t)
	got, err := s.client(t.Context(), "ann", c.ID)
	if err != nil || got.Name != "Agent" || !got.permits("http://localhost:2/cb") || got.permits("http://localhost:2/cb2") || got.Host != "" {
		t.Errorf("got %+v, %v", got, err)
	}
	for name, m := range map[string]metadata{
		"without an address": {}, "long": {Redirects: []string{"https://a.example/" + strings.Repeat("a", 500), "https://b.example/" + strings.Repeat("b", 500)}},
		"over http": {Redirects: []string{"http://a.example/"}},
	} {
		if _, err := s.register(t.Context(), &m); err == nil {
			t.Errorf("%s: got no error", name)
		}
	}
	now = now.Add(registeredFor)
	for name, id := range map[string]string{"expired": c.ID, "of another": "v1.x", "too long": strings.Repeat("a", maxClientID+1)} {
		if _, err := s.client(t.Context(), "ann", id); llm.AsError(err).Code != llm.CodeInvalidRequest {
			t.Errorf("%s: got %v, want a refusal", name, err)
		}
	}
}

// TestServerNeedsAnAddressThatProtects checks at which public addresses there is an authorization server.
func TestServerNeedsAnAddressThatProtects(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]bool{
		"": false, "http://weir.example": false, "https://weir.example": true, "http://localhost:8080": true,
		"http://127.0.0.1:8080": true, "https://weir.example/sub": false, "http://localhost.example": false,
	} {
		s := must.Get(New(Options{PublicURL: address, Now: time.Now}))(t)
		if got := s.IsOn(); got != want || strings.Contains(s.Challenge("/mcp", false), "resource_metadata") != want {
			t.Errorf("%q: got %t, %q, want %t", address, got, s.Challenge("/mcp", false), want)
		}
	}
}

func FuzzMetadata(f *testing.F) {
	f.Add([]byte(describe("https://programs.example/callback")))
	f.Add([]byte(`{"redirect_uris": ["http://[::1]:80/", "http://localhost"], "client_name": "\u202e"}`))
	f.Add([]byte(describe("com.example.app:/callback")))
	f.Fuzz(func(t *testing.T, text []byte) {
		worktest.Check(t, text, func(text []byte) {
			m, err := parseMetadata(text)
			if err == nil {
				err = m.check()
			}
			if err != nil {
				return
			}
			for _, address := range m.Redirects {
				r := Request{Client: Client{Redirects: m.Redirects}, Redirect: address}
				if target := r.FormTarget(); !r.Client.permits(address) || strings.ContainsAny(target, " ;,'\"") {
					t.Errorf("%q: got the source %q", address, target)
				}
			}
			_ = cleanName(m.Name)
		})
	})
}
