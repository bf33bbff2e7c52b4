package check_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"weir/internal/e2e/harness"
	"weir/internal/must"
)

// site is the name of the gateway in the files of the proxies.
const site = "weir.example.com"

// chunk is a piece of a stream in OpenAI's wire format.
const chunk = `data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m",` +
	`"choices":[{"index":0,"delta":{"content":"%s"},"finish_reason":%s}]}` + "\n\n"

// slowProvider sends the first piece of a stream, and the rest when it is told to.
type slowProvider struct {
	url  string
	goOn chan struct{}
	size chan int      // of each body that came
	left chan struct{} // gets one for each client that left before the end
}

func newSlowProvider(t *testing.T) *slowProvider {
	t.Helper()
	p := &slowProvider{goOn: make(chan struct{}), size: make(chan int, 8), left: make(chan struct{}, 8)}
	server := httptest.NewServer(http.HandlerFunc(p.serve))
	t.Cleanup(server.Close)
	t.Cleanup(server.CloseClientConnections)
	p.url = server.URL
	return p
}

func (p *slowProvider) serve(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body) // what is missing shows in the size
	p.size <- len(body)
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprintf(w, chunk, "one", "null")
	w.(http.Flusher).Flush()
	select {
	case <-p.goOn:
		fmt.Fprintf(w, chunk+"data: [DONE]\n\n", "two", `"stop"`)
	case <-r.Context().Done():
		p.left <- struct{}{}
	}
}

// proxied is a gateway behind a proxy.
type proxied struct {
	*harness.Gateway
	provider *slowProvider
	port     string // of the proxy
}

// start starts a gateway with the lines that the proxy's file asks for, and then the proxy.
func start(t *testing.T, text string, proxy func(gateway, port string)) *proxied {
	t.Helper()
	provider := newSlowProvider(t)
	yaml := harness.ProvidersYAML(provider.url)
	found := false
	for line := range strings.Lines(text) {
		if at := strings.Index(line, "#   "); at >= 0 && strings.Contains(line, ": ") {
			yaml, found = yaml+strings.TrimPrefix(line[at:], "#   "), true
		}
	}
	if !found {
		t.Fatal("the file does not say which lines the gateway needs")
	}
	free := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	_, port, err := net.SplitHostPort(free.Addr().String())
	must.Do(t, err)
	must.Do(t, free.Close())
	p := &proxied{Gateway: harness.Open(t, harness.Setup{YAML: yaml}), provider: provider, port: port}
	proxy(strings.TrimPrefix(p.URL, "http://"), port)
	return p
}

// client speaks to the proxy by the name of the site.
func (p *proxied) client(t *testing.T, http2 bool) *http.Client {
	t.Helper()
	transport := &http.Transport{
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, "127.0.0.1:"+p.port)
		},
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true}, // the test made the certificate
		ForceAttemptHTTP2: http2,
	}
	if !http2 {
		transport.TLSNextProto = map[string]func(string, *tls.Conn) http.RoundTripper{}
	}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: patience}
}

// stream asks for a stream with a body of some MB, and reads its first piece.
func (p *proxied) stream(ctx context.Context, t *testing.T, client *http.Client) (*http.Response, *bufio.Reader) {
	t.Helper()
	long := strings.Repeat("word ", 1<<19)
	body := `{"model":"house/m","stream":true,"messages":[{"role":"user","content":"` + long + `"}]}`
	url := "https://" + site + "/v1/chat/completions"
	r := must.Get(http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body)))(t)
	r.Header.Set("Authorization", "Bearer "+p.Key)
	r.Header.Set("Content-Type", "application/json")
	answer := must.Get(client.Do(r))(t)
	must.Equal(t, answer.StatusCode, http.StatusOK, "the status of a stream")
	lines := bufio.NewReader(answer.Body)
	if first := must.Get(lines.ReadString('\n'))(t); !strings.Contains(first, `"one"`) {
		t.Errorf("the first line is %q, want the first piece", first)
	}
	if size := <-p.provider.size; size < len(long) {
		t.Errorf("the provider got %d bytes, want at least %d", size, len(long))
	}
	return answer, lines
}

// holdProxy checks what holds of a gateway behind any proxy.
func (p *proxied) holdProxy(t *testing.T) {
	t.Helper()
	for name, http2 := range map[string]bool{"HTTP/1.1": false, "HTTP/2": true} {
		t.Run(name, func(t *testing.T) {
			client := p.client(t, http2)
			t.Run("pieces come at once", func(t *testing.T) {
				answer, lines := p.stream(t.Context(), t, client) // the provider waits behind the first piece
				defer answer.Body.Close()
				must.Equal(t, answer.ProtoMajor == 2, http2, "whether it is HTTP/2")
				p.provider.goOn <- struct{}{}
				rest := string(must.Get(io.ReadAll(lines))(t))
				if !strings.Contains(rest, `"two"`) || !strings.Contains(rest, "[DONE]") {
					t.Errorf("the rest is %q, want the second piece and the end", rest)
				}
			})
			t.Run("a client that leaves is noticed", func(t *testing.T) {
				ctx, leave := context.WithCancel(t.Context())
				answer, _ := p.stream(ctx, t, client)
				leave()
				answer.Body.Close()
				select {
				case <-p.provider.left:
				case <-time.After(patience):
					p.provider.goOn <- struct{}{}
					t.Error("the provider goes on")
				}
			})
			t.Run("pages know that they come over https", func(t *testing.T) { p.holdPage(t, client) })
		})
	}
}

// holdPage checks that the gateway believes the proxy, and not the client, about how the client has come.
func (p *proxied) holdPage(t *testing.T, client *http.Client) {
	t.Helper()
	r := must.Get(http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+site+"/", http.NoBody))(t)
	r.Header.Set("Accept", "text/html")
	r.Header.Set("X-Forwarded-Proto", "http")
	r.Header.Set("X-Forwarded-Host", "elsewhere.example")
	r.Header.Set("X-Forwarded-For", "127.0.0.1")
	answer := must.Get(client.Do(r))(t)
	defer answer.Body.Close()
	must.Equal(t, answer.StatusCode, http.StatusOK, "the status of a page")
	if answer.Header.Get("Strict-Transport-Security") == "" {
		t.Error("the gateway does not know that the client came over https")
	}
}

// certificate writes a certificate and its key, and returns where.
func certificate(t *testing.T) (cert, key string) {
	t.Helper()
	server := httptest.NewUnstartedServer(nil)
	server.StartTLS()
	defer server.Close()
	pair := &server.TLS.Certificates[0]
	dir := t.TempDir()
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	private := must.Get(x509.MarshalPKCS8PrivateKey(pair.PrivateKey))(t)
	for name, block := range map[string]*pem.Block{
		cert: {Type: "CERTIFICATE", Bytes: pair.Certificate[0]}, key: {Type: "PRIVATE KEY", Bytes: private},
	} {
		must.Do(t, os.WriteFile(name, pem.EncodeToMemory(block), 0o600))
	}
	return cert, key
}

// awaitPort waits until somebody listens.
func awaitPort(t *testing.T, port string, said func() string) {
	t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		conn, err := net.Dial("tcp", "127.0.0.1:"+port)
		if err == nil {
			_ = conn.Close()
			return
		}
		if time.Now().After(end) {
			t.Fatalf("the proxy does not listen: %v: %s", err, said())
		}
	}
}
