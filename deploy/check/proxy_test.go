package check_test

import (
	"bufio"
	"bytes"
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
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"weir/internal/e2e/harness"
	"weir/internal/gateway"
	"weir/internal/must"
)

// site is the name of the gateway in the files of the proxies.
const site = "weir.example.com"

// chunk is a piece of a stream in OpenAI's wire format.
const chunk = `data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m",` +
	`"choices":[{"index":0,"delta":{"content":"%s"},"finish_reason":%s}]}` + "\n\n"

// thinking is a model that sends nothing until a signal.
const thinking = "thinks"

// slowProvider sends the first piece of a stream, and the rest on a signal.
type slowProvider struct {
	url  string
	goOn chan struct{}
	size chan int      // of each received body
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
	body, _ := io.ReadAll(r.Body) // missing bytes show in the size
	p.size <- len(body)
	w.Header().Set("Content-Type", "text/event-stream")
	if !strings.Contains(string(body), `"model":"`+thinking) {
		fmt.Fprintf(w, chunk, "one", "null")
		w.(http.Flusher).Flush()
	}
	select {
	case <-p.goOn:
		fmt.Fprintf(w, chunk+"data: [DONE]\n\n", "two", `"stop"`)
	case <-r.Context().Done():
		p.left <- struct{}{}
	}
}

// silence is the time after which the gateway writes a comment here.
const silence = 250 * time.Millisecond

// proxied is a gateway behind a proxy.
type proxied struct {
	*harness.Gateway
	provider *slowProvider
	between  *relay // the proxy and the gateway
	port     string // of the proxy
}

// relay forwards the bytes of both sides, counts the comments of streams, and can break off.
type relay struct {
	net.Listener
	to       string
	comments atomic.Int64

	mu    sync.Mutex
	conns map[net.Conn]struct{}
}

// relayTo starts a relay to the gateway at that address, until the test ends.
func relayTo(t *testing.T, address string) *relay {
	t.Helper()
	r := &relay{Listener: must.Get(net.Listen("tcp", "127.0.0.1:0"))(t), to: address, conns: map[net.Conn]struct{}{}}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			client, err := r.Accept()
			if err != nil {
				return
			}
			running.Go(func() { r.pass(client) })
		}
	})
	t.Cleanup(func() {
		_ = r.Close()
		r.breakOff()
		running.Wait()
	})
	return r
}

func (r *relay) pass(client net.Conn) {
	defer client.Close()
	gateway, err := net.Dial("tcp", r.to)
	if err != nil {
		return
	}
	defer gateway.Close()
	r.mu.Lock()
	r.conns[gateway] = struct{}{}
	r.mu.Unlock()
	var sending sync.WaitGroup
	sending.Go(func() {
		if _, err := io.Copy(gateway, client); err != nil {
			_ = gateway.Close()
		}
		_ = gateway.(*net.TCPConn).CloseWrite() // or it is over
	})
	if _, err := io.Copy(client, io.TeeReader(gateway, r)); err == nil { // the gateway may still read
		_ = client.(*net.TCPConn).CloseWrite()
	} else {
		_ = gateway.Close()
		_ = client.Close()
	}
	sending.Wait()
}

// Write counts the comments in the data that the gateway has sent.
func (r *relay) Write(b []byte) (int, error) {
	r.comments.Add(int64(bytes.Count(b, []byte(": keep-alive"))))
	return len(b), nil
}

// breakOff closes the connections to the gateway, as if its machine had failed.
func (r *relay) breakOff() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for c := range r.conns {
		_ = c.Close()
	}
	clear(r.conns)
}

// start starts a gateway with the lines that the proxy's file requires, and then the proxy.
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
		t.Fatal("the file does not name the lines that the gateway needs")
	}
	free := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	_, port, err := net.SplitHostPort(free.Addr().String())
	must.Do(t, err)
	must.Do(t, free.Close())
	h := harness.Open(t, harness.Setup{YAML: yaml, Timing: gateway.Timing{KeepAlive: silence}})
	p := &proxied{Gateway: h, provider: provider, between: relayTo(t, strings.TrimPrefix(h.URL, "http://")), port: port}
	proxy(p.between.Addr().String(), port)
	return p
}

// serve runs a proxy in the foreground until the test ends.
func serve(t *testing.T, port, name string, args ...string) {
	t.Helper()
	cmd := exec.Command(name, args...)
	said := &output{}
	cmd.Stdout, cmd.Stderr = said, said
	must.Do(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
		if t.Failed() {
			t.Logf("%s said: %s", name, said.String())
		}
	})
	awaitPort(t, port, said.String)
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

// ask requests a stream of a model, with a body of the given size.
func (p *proxied) ask(ctx context.Context, t *testing.T, client *http.Client, key, model string, size int) *http.Response {
	t.Helper()
	long := strings.Repeat("word ", size/len("word "))
	body := `{"model":"house/` + model + `","stream":true,"messages":[{"role":"user","content":"` + long + `"}]}`
	url := "https://" + site + "/v1/chat/completions"
	r := must.Get(http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body)))(t)
	r.Header.Set("Authorization", "Bearer "+key)
	r.Header.Set("Content-Type", "application/json")
	return must.Get(client.Do(r))(t)
}

// stream requests a stream with a body of some MB, and reads up to the line that contains want.
func (p *proxied) stream(ctx context.Context, t *testing.T, client *http.Client, model, want string) (*http.Response, *bufio.Reader) {
	t.Helper()
	const size = 5 << 19
	answer := p.ask(ctx, t, client, p.Key, model, size)
	must.Equal(t, answer.StatusCode, http.StatusOK, "the status of a stream")
	lines := bufio.NewReader(answer.Body)
	for first := ""; !strings.Contains(first, want); first = must.Get(lines.ReadString('\n'))(t) {
		if strings.HasPrefix(first, "data:") {
			t.Errorf("the first line is %q, want %q in it", first, want)
		}
	}
	if got := <-p.provider.size; got < size {
		t.Errorf("the provider got %d bytes, want at least %d", got, size)
	}
	return answer, lines
}

// holdProxy checks the common properties of a gateway behind any proxy, with clients of these versions of HTTP.
func (p *proxied) holdProxy(t *testing.T, versions ...string) {
	t.Helper()
	for _, name := range versions {
		http2 := name == "HTTP/2"
		t.Run(name, func(t *testing.T) {
			client := p.client(t, http2)
			t.Run("pieces come at once", func(t *testing.T) {
				answer, lines := p.stream(t.Context(), t, client, "m", `"one"`) // the provider waits after the first piece
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
				answer, _ := p.stream(ctx, t, client, "m", `"one"`)
				leave()
				answer.Body.Close()
				p.awaitLeft(t)
			})
			t.Run("a client that leaves while the model thinks is noticed", func(t *testing.T) { p.holdLeaving(t, client) })
			t.Run("a stream that breaks off does not look whole", func(t *testing.T) {
				answer, lines := p.stream(t.Context(), t, client, "m", `"one"`)
				defer answer.Body.Close()
				p.between.breakOff()
				if rest, err := io.ReadAll(lines); err == nil {
					t.Errorf("the stream ends with %q and without an error", rest)
				}
				p.awaitLeft(t)
			})
			t.Run("refusals of large requests arrive", func(t *testing.T) {
				for _, size := range []int{4 << 20, 12 << 20} {
					answer := p.ask(t.Context(), t, client, harness.StrangersKey(), "m", size)
					text := must.Get(io.ReadAll(answer.Body))(t)
					answer.Body.Close()
					client.CloseIdleConnections() // a proxy may read the rest of the body as another request
					if answer.StatusCode != http.StatusUnauthorized || !strings.Contains(string(text), "API key") {
						t.Errorf("%d bytes with an unknown key: got %d %.200q, want the gateway's 401", size, answer.StatusCode, text)
					}
				}
			})
			t.Run("pages know that they come over https", func(t *testing.T) { p.holdPage(t, client) })
		})
	}
}

// awaitLeft waits until the provider sees that its answer was cancelled.
func (p *proxied) awaitLeft(t *testing.T) {
	t.Helper()
	select {
	case <-p.provider.left:
	case <-time.After(patience):
		p.provider.goOn <- struct{}{}
		t.Error("the provider's request continues")
	}
}

// mostComments is the number of comments after which a proxy must report a disconnected client: two, and one in flight.
const mostComments = 3

// holdLeaving checks that a client that leaves while its model thinks is noticed by the second comment.
func (p *proxied) holdLeaving(t *testing.T, client *http.Client) {
	t.Helper()
	ctx, leave := context.WithCancel(t.Context())
	answer, _ := p.stream(ctx, t, client, thinking, ": keep-alive")
	leave()
	answer.Body.Close()
	before := p.between.comments.Load()
	p.awaitLeft(t)
	if n := p.between.comments.Load() - before; n > mostComments {
		t.Errorf("%d comments until the gateway knew that the client had left, want at most %d", n, mostComments)
	}
}

// holdPage checks that the gateway trusts the proxy, and not the client, about the client's address and scheme.
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
		t.Error("the gateway does not know that the request arrived over https")
	}
}

// certificate writes a certificate, followed by its key as HAProxy requires, and the key alone, and returns their
// paths.
func certificate(t *testing.T) (cert, key string) {
	t.Helper()
	server := httptest.NewUnstartedServer(nil)
	server.StartTLS()
	defer server.Close()
	pair := &server.TLS.Certificates[0]
	dir := t.TempDir()
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	der := must.Get(x509.MarshalPKCS8PrivateKey(pair.PrivateKey))(t)
	private := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
	public := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: pair.Certificate[0]})
	must.Do(t, os.WriteFile(cert, append(public, private...), 0o600))
	must.Do(t, os.WriteFile(key, private, 0o600))
	return cert, key
}

// awaitPort waits until the port accepts connections.
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
