package app_test

import (
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
	"weir/internal/app"
	"weir/internal/audit"
	"weir/internal/config"
	"weir/internal/dialect/registry"
	"weir/internal/gateway"
	"weir/internal/ledger"
	"weir/internal/people"
	"weir/internal/ratelimit"
	"weir/internal/simulator"
	"weir/internal/store"
)

// patience is how long a test waits for what has to come.
const patience = 20 * time.Second

// setup says what a gateway is to be. Its zero value, with one provider, will
// do for most tests.
type setup struct {
	yaml   string // the configuration, but for listen and data
	dir    string // the data directory of an earlier house; empty for a new one
	key    string // a key that is good there
	timing gateway.Timing
	now    func() time.Time // nil for time.Now

	journal func(*ledger.Options)
	limits  func(*ratelimit.Options)
}

// testGateway is a gateway that runs, as a program sees it.
type testGateway struct {
	t       testing.TB
	url     string
	key     string // of the account default
	data    string // the data directory
	file    string // the configuration file
	client  *http.Client
	log     *transcript
	out     *transcript
	reloads chan struct{}

	cancel context.CancelFunc
	done   chan struct{}
	err    error // of Run, once done is closed
}

// open starts a gateway and stops it when the test ends.
func open(t testing.TB, o setup) *testGateway {
	t.Helper()
	h := newGateway(t, o)
	h.start(o)
	if h.key = o.key; o.dir == "" {
		await(t, "the first key", func() bool { return tokenForm.MatchString(h.out.String()) })
		h.key = tokenForm.FindString(h.out.String())
	}
	return h
}

// emptyDatabase is a database with a schema and nothing in it. Making one takes seconds
// under the race detector, and every house would.
var emptyDatabase = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "weir-empty-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "weir.db")
	db, err := store.Open(context.Background(), store.Options{Path: path})
	if err == nil {
		err = db.Close()
	}
	if err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})

func newGateway(t testing.TB, o setup) *testGateway {
	dir := cmp.Or(o.dir, t.TempDir())
	if o.dir == "" {
		empty, err := emptyDatabase()
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, "weir.db"), empty, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	transport := &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 16}
	h := &testGateway{
		t: t, data: dir, file: filepath.Join(t.TempDir(), "weir.yaml"),
		client: &http.Client{Transport: transport, Timeout: patience},
		log:    &transcript{}, out: &transcript{},
		reloads: make(chan struct{}),
	}
	h.configure(o.yaml)
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		if t.Failed() {
			t.Logf("the gateway's log:\n%s", h.log)
		}
	})
	return h
}

// configure writes the configuration file.
func (h *testGateway) configure(yaml string) {
	h.t.Helper()
	if err := os.WriteFile(h.file, []byte(yaml), 0o600); err != nil {
		h.t.Fatal(err)
	}
}

func (h *testGateway) load() (config.Config, error) {
	return config.Load(config.Options{
		File: h.file, Data: h.data, Listen: "127.0.0.1:0",
		Getenv: func(string) (string, bool) { return "", false }, Environ: func() []string { return nil },
	})
}

func (h *testGateway) config() config.Config {
	h.t.Helper()
	cfg, err := h.load()
	if err != nil {
		h.t.Fatalf("configuration: %v", err)
	}
	return cfg
}

// start runs the gateway and returns when it answers.
func (h *testGateway) start(s setup) {
	h.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ready := make(chan string, 1)
	h.cancel, h.done = cancel, make(chan struct{})
	o := app.Options{
		Config: h.config(), Reload: h.load, ReloadSignals: h.reloads, Getenv: func(string) string { return "" },
		People: func(o *people.Options) { o.Light = true },
		Stdout: h.out, Stderr: h.log, Version: "test", Timing: s.timing, Now: s.now, Journal: s.journal, Limits: s.limits,
		Log:   slog.New(slog.NewTextHandler(h.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Ready: func(addr string) { ready <- addr },
	}
	go func() {
		defer close(h.done)
		h.err = app.Run(ctx, o)
	}()
	h.t.Cleanup(func() {
		if err := h.stop(); err != nil {
			h.t.Errorf("the gateway stopped with %v", err)
		}
	})
	select {
	case addr := <-ready:
		h.url = "http://" + addr
	case <-h.done:
		h.t.Fatalf("the gateway did not start: %v", h.err)
	case <-time.After(patience):
		h.t.Fatal("the gateway does not start")
	}
}

// stop ends the gateway in order and waits for it.
func (h *testGateway) stop() error {
	h.client.CloseIdleConnections() // net/http waits 5 s for one that was never used
	h.cancel()
	<-h.done
	return h.err
}

var tokenForm = regexp.MustCompile(account.TokenPattern)

// administer does something as a command beside the gateway would: as another
// user of the same database.
func (h *testGateway) administer(do func(ctx context.Context, s *account.Service) error) {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	data, err := app.OpenData(ctx, h.config(), discard())
	if err != nil {
		h.t.Fatalf("open data: %v", err)
	}
	defer data.Close()
	if err := do(ctx, data.Accounts); err != nil {
		h.t.Fatalf("administer: %v", err)
	}
}

// newKey makes a key.
func (h *testGateway) newKey(o account.KeyOptions) (token string) {
	h.t.Helper()
	if o.Label == "" {
		o.Label = "test"
	}
	h.administer(func(ctx context.Context, s *account.Service) error {
		_, secret, err := s.CreateKey(ctx, audit.Gateway(), o)
		token = secret.Reveal()
		return err
	})
	return token
}

func discard() *slog.Logger { return slog.New(slog.DiscardHandler) }

// await polls until what is waited for has come.
func await(t testing.TB, what string, come func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !come(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s did not come within %s", what, patience)
		}
	}
}

// transcript collects what is written by many at once.
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

// upstream is a simulator behind a socket, with what it wrote.
type upstream struct {
	*simulator.Server
	url string
}

// newUpstream starts a provider.
func newUpstream(t testing.TB) *upstream {
	s := simulator.New(simulator.Options{Dialects: registry.All(), Seed: 1})
	ts := httptest.NewServer(s)
	t.Cleanup(func() {
		s.Close()
		ts.CloseClientConnections()
		ts.Close()
	})
	return &upstream{Server: s, url: ts.URL}
}

// upstreamKey is the credential that the gateway has for its providers. No
// client ever sees it.
const upstreamKey = "sk-upstream-0123456789"

// providerYAML is a provider of the configuration, with timers that only a
// defect meets.
func providerYAML(name, url string) string {
	return fmt.Sprintf(`
  %s:
    dialect: openai
    base_url: %s/v1
    allow_private: true
    api_keys: [%s]
    retries: 0
    timeouts: {connect: 10s, first_byte: 15s, idle: 15s, total: 1m}
`, name, url, upstreamKey)
}

// hasty is a configuration in which providers have less time.
func hasty(yaml, wait, total string) string {
	return strings.ReplaceAll(yaml, "first_byte: 15s, idle: 15s, total: 1m", fmt.Sprintf("first_byte: %s, idle: %s, total: %s", wait, wait, total))
}

// pricesYAML prices whatever the provider house serves.
const pricesYAML = `
prices:
  house/*: {input: "0.15", output: "0.60"}
default_model: house/chat
`

// providersYAML is the configuration with one provider, "house".
func providersYAML(url string) string { return "providers:" + providerYAML("house", url) + pricesYAML }

// openSimulated starts a simulator and a gateway before it.
func openSimulated(t testing.TB) (*testGateway, *upstream) {
	t.Helper()
	up := newUpstream(t)
	return open(t, setup{yaml: providersYAML(up.url)}), up
}

// openHasty is openHoused, but that the provider has less time.
func openHasty(t testing.TB) (*testGateway, *upstream) {
	t.Helper()
	up := newUpstream(t)
	return open(t, setup{yaml: hasty(providersYAML(up.url), "700ms", "20s")}), up
}

// records are what the upstream truly served, once all of it has ended.
func (u *upstream) records(t testing.TB) []simulator.Record {
	t.Helper()
	var all []simulator.Record
	await(t, "the end of the upstream's answers", func() bool {
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
