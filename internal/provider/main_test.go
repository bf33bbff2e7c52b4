package provider_test

import (
	"bufio"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/pem"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"weir/internal/dialect"
	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/provider"
	"weir/internal/rawjson"
	"weir/internal/worktest"
)

func TestMain(m *testing.M) {
	worktest.Begin(8)
	goleak.VerifyTestMain(m)
}

// transport is a connection to a provider without a proxy.
type transport struct {
	name   string
	secure bool
}

// transports must differ only in their cost.
var transports = []transport{{name: "plain"}, {name: "TLS", secure: true}}

func (way transport) provider(t testing.TB, o provider.Options) *provider.Provider {
	t.Helper()
	way.reach(t, &o)
	return newProvider(t, o)
}

// reach sets the options for a server of plain HTTP on this transport.
func (way transport) reach(t testing.TB, o *provider.Options) {
	if way.secure {
		o.BaseURL, o.CAFile = encrypted(t, o.BaseURL)
	}
}

// encrypted puts TLS before a server of plain HTTP, and returns its address and the file of its certificate.
func encrypted(t testing.TB, base string) (secured, authority string) {
	t.Helper()
	example := httptest.NewTLSServer(nil)
	example.Close()
	authority = filepath.Join(t.TempDir(), "ca.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: example.Certificate().Raw})
	must.Do(t, os.WriteFile(authority, text, 0o600))
	u := must.Get(url.Parse(base))(t)
	server := u.Host
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	must.Do(t, err)
	var all sync.WaitGroup
	all.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			all.Go(func() { decrypt(tls.Server(c, &tls.Config{Certificates: example.TLS.Certificates}), server) })
		}
	})
	t.Cleanup(func() {
		_ = ln.Close()
		all.Wait()
	})
	u.Scheme, u.Host = "https", ln.Addr().String()
	return u.String(), authority
}

// decrypt forwards the bytes of both sides, and their end.
func decrypt(c *tls.Conn, to string) {
	defer func() { _ = c.NetConn().Close() }()
	_ = c.SetDeadline(time.Now().Add(patience))
	if c.Handshake() != nil {
		return
	}
	server, err := net.Dial("tcp", to)
	if err != nil {
		return
	}
	var there sync.WaitGroup
	there.Go(func() {
		_, _ = io.Copy(server, c)
		_ = server.Close()
	})
	if _, err := io.Copy(c, server); errors.Is(err, syscall.ECONNRESET) {
		_ = c.NetConn().(*net.TCPConn).SetLinger(0)
		_ = c.NetConn().Close()
	}
	_ = c.CloseWrite()
	there.Wait()
}

// overTransports runs a test for every transport.
func overTransports(t *testing.T, test func(t *testing.T, way transport)) {
	t.Helper()
	t.Parallel()
	overTransportsNamed(t, "", test)
}

func overTransportsNamed(t *testing.T, name string, test func(t *testing.T, way transport)) {
	t.Helper()
	for _, way := range transports {
		t.Run(name+"/"+way.name, func(t *testing.T) {
			t.Parallel()
			test(t, way)
		})
	}
}

// testKey stands for a credential; no text may ever contain it.
const testKey = "sk-canary-0123456789"

// patience is longer than any exchange of these tests: reaching it means "hangs".
const patience = time.Minute

// openaiLike returns the parts of a wire format that the client needs.
func openaiLike() *dialect.Dialect {
	return &dialect.Dialect{
		Name: "openai",
		Operation: dialect.Operation{
			Framing: dialect.Framing{ContentType: "text/event-stream"},
			Path:    func(string, bool) string { return "/chat/completions" },
		},
		DecodeError: func(body []byte) llm.ProviderError {
			text := func(name string) string { return rawjson.Text(rawjson.Get(body, "error", name)) }
			status, _ := rawjson.AsInt(rawjson.Get(body, "error", "really"))
			seconds, _ := rawjson.AsInt(rawjson.Get(body, "error", "again"))
			return llm.ProviderError{
				Message: text("message"), Code: text("type"), Param: text("param"),
				Status: int(status), RetryAfter: time.Duration(seconds) * time.Second,
			}
		},
	}
}

// permit counts its acquisitions.
type permit struct {
	err  error
	used int
}

func (p *permit) Use() error {
	p.used++
	return p.err
}

func newProvider(t testing.TB, o provider.Options) *provider.Provider {
	t.Helper()
	o.Name = "acme"
	if o.Dialect == nil {
		o.Dialect = openaiLike()
	}
	o.AllowPrivate = true
	o.Timeouts.Connect = cmp.Or(o.Timeouts.Connect, patience) // on a busy machine a handshake may take long
	if o.APIKeys == nil {
		o.APIKeys = []llm.Secret{llm.NewSecret(testKey)}
	}
	p, err := provider.New(o)
	if err != nil {
		t.Fatalf("New(%q): %v", o.BaseURL, err)
	}
	t.Cleanup(p.Close)
	return p
}

func chat(stream bool) provider.Call {
	return provider.Call{
		Op: llm.OpChat, Model: "small", Stream: stream, Body: []byte(`{"model":"small"}`),
		AttemptID: "attempt-1", Hold: &permit{},
	}
}

// exchange makes one attempt and reads its answer to the end.
func exchange(ctx context.Context, p *provider.Provider, c provider.Call) ([]byte, *provider.Failure) {
	res, err := p.Do(ctx, c)
	if err != nil {
		return nil, failureOf(err)
	}
	defer res.Release()
	if !res.Streamed {
		text, err := res.ReadAll()
		return text, failureOf(err)
	}
	text, err := io.ReadAll(res.Body)
	return text, failureOf(err)
}

func failureOf(err error) *provider.Failure {
	if err == nil {
		return nil
	}
	f, ok := errors.AsType[*provider.Failure](err)
	if !ok {
		panic("not a *Failure: " + err.Error())
	}
	return f
}

// script simulates a provider on one connection whose request has been read.
type script func(c *net.TCPConn)

// rawServer answers every connection with the script and returns the base URL.
func rawServer(t testing.TB, play script) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	must.Do(t, err)
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			wg.Go(func() {
				defer func() { _ = c.Close() }()
				_ = c.SetDeadline(time.Now().Add(patience))
				req, err := http.ReadRequest(bufio.NewReader(c))
				if err != nil {
					return
				}
				_, _ = io.Copy(io.Discard, req.Body)
				play(c.(*net.TCPConn))
			})
		}
	})
	t.Cleanup(func() {
		_ = ln.Close()
		wg.Wait()
	})
	return "http://" + ln.Addr().String() + "/v1"
}

// say sends text and closes the connection.
func say(text string) script {
	return func(c *net.TCPConn) { _, _ = io.WriteString(c, text) }
}

// sayAndHang sends text and then waits for the client to go.
func sayAndHang(text string) script {
	return func(c *net.TCPConn) {
		_, _ = io.WriteString(c, text)
		_, _ = io.Copy(io.Discard, c)
	}
}
