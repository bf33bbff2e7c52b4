package harness

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"weir/internal/account"
	"weir/internal/admin"
	"weir/internal/app"
	"weir/internal/audit"
	"weir/internal/config"
	"weir/internal/dialect/registry/registrytest"
	"weir/internal/gateway"
	"weir/internal/ledger"
	"weir/internal/must"
	"weir/internal/people"
	"weir/internal/ratelimit"
	"weir/internal/signin"
	"weir/internal/simulator"
	"weir/internal/store/opentest"
)

// Patience bounds a test's wait for an event.
const Patience = time.Minute

// Setup describes a gateway. Its zero value with one provider suits most tests.
type Setup struct {
	YAML   string // the configuration without listen and data
	Dir    string // data directory of an earlier gateway; empty for a new one
	Key    string // a valid key of that gateway
	Timing gateway.Timing
	Now    func() time.Time // nil for time.Now

	Journal    func(*ledger.Options)
	JournalDir string // if it is not the data directory's
	Limits     func(*ratelimit.Options)
}

// Gateway is a running gateway with a client.
type Gateway struct {
	T       testing.TB
	URL     string
	Key     string // of the account default
	Data    string // the data directory
	File    string // the configuration file
	Client  *http.Client
	Log     *transcript
	Out     *transcript
	Reloads chan struct{}

	Cancel context.CancelFunc
	done   chan struct{}
	err    error // of Run, set when done is closed
	reader *reader
}

// Open starts a gateway and stops it when the test ends.
func Open(t testing.TB, o Setup) *Gateway {
	t.Helper()
	h := NewGateway(t, o)
	h.Start(o)
	if h.Key = o.Key; o.Dir == "" {
		Await(t, "the first key", func() bool { return TokenForm.MatchString(h.Out.String()) })
		h.Key = TokenForm.FindString(h.Out.String())
	}
	return h
}

// NewGateway makes a gateway for Start.
func NewGateway(t testing.TB, o Setup) *Gateway {
	dir := cmp.Or(o.Dir, t.TempDir())
	if o.Dir == "" {
		opentest.File(t, filepath.Join(dir, "weir.db"))
	}
	transport := &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 16}
	h := &Gateway{
		T: t, Data: dir, File: filepath.Join(t.TempDir(), "weir.yaml"),
		Client: &http.Client{Transport: transport, Timeout: Patience},
		Log:    &transcript{}, Out: &transcript{},
		Reloads: make(chan struct{}), reader: &reader{},
	}
	h.Configure(o.YAML)
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		if t.Failed() {
			t.Logf("the gateway's log%s", h.Log.told())
		}
	})
	return h
}

// Configure writes the configuration file.
func (h *Gateway) Configure(yaml string) {
	h.T.Helper()
	must.Do(h.T, os.WriteFile(h.File, []byte(yaml), 0o600))
}

func (h *Gateway) load(managed []byte) (config.Config, error) {
	o := h.from()
	o.Managed = managed
	return config.Load(o)
}

// from returns the sources of the configuration.
func (h *Gateway) from() config.Options {
	return config.Options{
		File: h.File, Data: h.Data, Listen: "127.0.0.1:0",
		Getenv: func(string) (string, bool) { return "", false }, Environ: func() []string { return nil },
	}
}

// Config returns the configuration as the gateway reads it.
func (h *Gateway) Config() config.Config {
	h.T.Helper()
	cfg, err := h.load(nil)
	if err != nil {
		h.T.Fatalf("configuration: %v", err)
	}
	return cfg
}

// Start runs the gateway and returns when it answers.
func (h *Gateway) Start(s Setup) {
	h.T.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ready := make(chan string, 1)
	h.Cancel, h.done = cancel, make(chan struct{})
	o := app.Options{
		Config: h.Config(), ConfigFrom: h.from(), Reload: h.load, ReloadSignals: h.Reloads,
		Getenv: func(string) string { return "" },
		People: func(_ *people.Options, o *signin.Options) { o.Light = true },
		Stdout: h.Out, Stderr: h.Log, Version: "test", Timing: s.Timing, Now: s.Now, Journal: s.Journal,
		JournalDir: s.JournalDir, Limits: s.Limits, Opened: h.reader.opened,
		Log:   slog.New(slog.NewTextHandler(h.Log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Ready: func(addr string) { ready <- addr },
	}
	go func() {
		defer close(h.done)
		h.err = app.Run(ctx, o)
	}()
	h.T.Cleanup(func() {
		if err := h.Stop(); err != nil {
			h.T.Errorf("the gateway stopped with %v", err)
		}
	})
	select {
	case addr := <-ready:
		h.URL = "http://" + addr
	case <-h.done:
		h.T.Fatalf("the gateway did not start: %v", h.err)
	case <-time.After(Patience):
		h.T.Fatal("the gateway does not start")
	}
}

// Stop shuts the gateway down and waits for its end.
func (h *Gateway) Stop() error {
	h.reader.close(h.T)
	h.Client.CloseIdleConnections() // net/http waits 5 s for an unused one
	h.Cancel()
	<-h.done
	return h.err
}

// TokenForm finds an API key in a text.
var TokenForm = regexp.MustCompile(account.TokenPattern)

// Administer runs an administrative operation as a command would: as another user of the same database.
func (h *Gateway) Administer(do func(ctx context.Context, s *account.Service) error) {
	h.T.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	data, err := admin.Open(ctx, h.Config(), config.Options{}, Discard())
	if err != nil {
		h.T.Fatalf("open data: %v", err)
	}
	defer data.Close()
	if err := do(ctx, data.Accounts); err != nil {
		h.T.Fatalf("administer: %v", err)
	}
}

// NewKey creates a key.
func (h *Gateway) NewKey(o account.KeyOptions) (token string) {
	h.T.Helper()
	if o.Label == "" {
		o.Label = "test"
	}
	h.Administer(func(ctx context.Context, s *account.Service) error {
		_, secret, err := s.CreateKey(ctx, audit.Gateway(), o)
		token = secret.Reveal()
		return err
	})
	return token
}

// Discard returns a logger that writes nothing.
func Discard() *slog.Logger { return slog.New(slog.DiscardHandler) }

// Await polls until the condition is true.
func Await(t testing.TB, what string, come func() bool) {
	t.Helper()
	pause := 2 * time.Millisecond // longer each time, because a check may take long
	for end := time.Now().Add(Patience); !come(); time.Sleep(pause) {
		pause = min(pause*3/2, 50*time.Millisecond)
		if time.Now().After(end) {
			t.Fatalf("%s did not happen within %s", what, Patience)
		}
	}
}

// transcript collects the output of several goroutines.
type transcript struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (w *transcript) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.buf.Write(b)
}

func (w *transcript) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.buf.String()
}

// told returns the end of the output, so that the failure stays visible; all of it with -v.
func (w *transcript) told() string {
	const end = 4 << 10
	text := w.String()
	if from := len(text) - end; from > 0 && !testing.Verbose() {
		return " (its end; -v shows all):\n…" + text[from:]
	}
	return ":\n" + text
}

// Upstream is a simulator behind a socket.
type Upstream struct {
	*simulator.Server
	URL string
}

// NewUpstream starts a provider.
func NewUpstream(t testing.TB) *Upstream {
	s := simulator.New(simulator.Options{Dialects: registrytest.All(), Seed: 1, Strict: true})
	ts := httptest.NewServer(s)
	t.Cleanup(func() {
		s.Close()
		ts.CloseClientConnections()
		ts.Close()
	})
	return &Upstream{Server: s, URL: ts.URL}
}

// UpstreamKey is the gateway's credential for its providers. Clients never see it.
const UpstreamKey = "sk-upstream-0123456789"

// ProviderYAML returns a provider of the configuration, with timeouts that only a defect reaches.
func ProviderYAML(name, url string) string {
	return fmt.Sprintf(`
  %s:
    dialect: openai
    base_url: %s/v1
    allow_private: true
    api_keys: [%s]
    retries: 0
    timeouts: {connect: 10s, first_byte: 15s, idle: 15s, total: 1m}
`, name, url, UpstreamKey)
}

// Hasty returns the configuration with shorter timeouts of providers.
func Hasty(yaml, wait, total string) string {
	return strings.ReplaceAll(yaml, "first_byte: 15s, idle: 15s, total: 1m",
		fmt.Sprintf("first_byte: %s, idle: %s, total: %s", wait, wait, total))
}

// PricesYAML sets prices for all models of the provider house.
const PricesYAML = `
prices:
  house/*: {input: "0.15", output: "0.60"}
default_model: house/chat
`

// ProvidersYAML returns the configuration with one provider, "house".
func ProvidersYAML(url string) string { return "providers:" + ProviderYAML("house", url) + PricesYAML }

// OpenSimulated starts a simulator and a gateway before it.
func OpenSimulated(t testing.TB) (*Gateway, *Upstream) {
	t.Helper()
	up := NewUpstream(t)
	return Open(t, Setup{YAML: ProvidersYAML(up.URL)}), up
}

// OpenHasty is like OpenSimulated, with a second provider, "hasty", whose timeouts are short: for requests that run
// into one. Others have to use "house", because an answer on a busy machine may take longer.
func OpenHasty(t testing.TB) *Gateway {
	t.Helper()
	up := NewUpstream(t)
	return Open(t, Setup{YAML: "providers:" + ProviderYAML("house", up.URL) + Hasty(ProviderYAML("hasty", up.URL), "2s",
		"20s") +
		strings.Replace(PricesYAML, "house/", "hasty/*: {input: \"0.15\", output: \"0.60\"}\n  house/", 1)})
}

// Records returns the upstream's records after all of its answers have ended.
func (u *Upstream) Records(t testing.TB) []simulator.Record {
	t.Helper()
	var all []simulator.Record
	Await(t, "the end of the upstream's answers", func() bool {
		all = all[:0]
		for r := range u.Ledger().Records(0) {
			if r.Ended.IsZero() {
				return false
			}
			all = append(all, r)
		}
		return true
	})
	return all
}

// Leave sends a request and disconnects after that many lines of the reply, or when the provider has the request. It
// returns the request's id.
func (h *Gateway) Leave(a Ask, up *Upstream, lines int) (requestID string) {
	h.T.Helper()
	before := up.Ledger().Totals().Requests
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	answered := make(chan string, 1)
	go func() {
		defer close(answered)
		resp, err := h.Client.Do(h.Request(a).WithContext(ctx))
		if err != nil {
			return
		}
		defer resp.Body.Close()
		body := bufio.NewScanner(resp.Body)
		for range lines {
			body.Scan()
		}
		answered <- resp.Header.Get("X-Request-Id")
		<-ctx.Done()
	}()
	if lines > 0 {
		requestID = <-answered
	} else {
		Await(h.T, "the request at the provider", func() bool { return up.Ledger().Totals().Requests > before })
		time.Sleep(20 * time.Millisecond)
	}
	cancel()
	<-answered
	return requestID
}

// Newest returns the provider's latest record after it has ended.
func (u *Upstream) Newest(t testing.TB) simulator.Record {
	all := u.Records(t)
	return all[len(all)-1]
}

// RequestOf returns the id of the client's request from an attempt's id.
func RequestOf(r *simulator.Record) string {
	id, _, _ := strings.Cut(r.Attempt, ".")
	return id
}

// SetOnDisconnect sets how the account default handles answers of clients that disconnect.
func (h *Gateway) SetOnDisconnect(way account.OnDisconnect) {
	h.T.Helper()
	h.Administer(func(ctx context.Context, s *account.Service) error {
		_, err := s.SetOnDisconnect(ctx, audit.Gateway(), "default", way)
		return err
	})
}

// KeyOfNew creates an account of that name and a key for it.
func (h *Gateway) KeyOfNew(name string) string {
	h.T.Helper()
	h.Administer(func(ctx context.Context, s *account.Service) error {
		_, err := s.CreateAccount(ctx, audit.Gateway(), name)
		return err
	})
	return h.NewKey(account.KeyOptions{Account: name})
}
