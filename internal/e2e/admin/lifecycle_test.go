package admin_test

import (
	"context"
	"net/http"
	"net/http/httptrace"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"weir/internal/account"
	"weir/internal/app"
	"weir/internal/audit"
	"weir/internal/e2e/harness"
	"weir/internal/must"
)

// TestSecondServe starts a gateway on a data directory in use: the second gateway reports the reason, and the first one
// is undisturbed.
func TestSecondServe(t *testing.T) {
	t.Parallel()
	h, _ := harness.OpenSimulated(t)
	second := harness.NewGateway(t, harness.Setup{YAML: "", Dir: h.Data})
	err := app.Run(t.Context(), app.Options{
		Config: second.Config(), Getenv: func(string) string { return "" }, Stdout: second.Out, Stderr: second.Log, Log: harness.Discard(),
	})
	if err == nil || !strings.Contains(err.Error(), "another weir serve runs on "+h.Data) {
		t.Errorf("the second gateway ended with %v, want it to say that another one runs", err)
	}
	if second.Out.String()+second.Log.String() != "" {
		t.Errorf("the second gateway's output: %s%s", second.Out, second.Log)
	}
	h.MustAnswer(h.Chat("house/echo"))
}

// TestPortInUse starts a gateway on an address in use.
func TestPortInUse(t *testing.T) {
	t.Parallel()
	h, _ := harness.OpenSimulated(t)
	second := harness.NewGateway(t, harness.Setup{})
	cfg := second.Config()
	cfg.Listen = strings.TrimPrefix(h.URL, "http://")
	err := app.Run(t.Context(), app.Options{
		Config: cfg, Getenv: func(string) string { return "" }, Stdout: second.Out, Stderr: second.Log, Log: harness.Discard(),
	})
	if err == nil || !strings.Contains(err.Error(), "--listen") || !strings.Contains(err.Error(), "in use") {
		t.Errorf("got %v, want an error about the address in use, with the remedy", err)
	}
}

// TestChangesFromElsewhere changes objects in another process: the gateway knows the change within a second.
func TestChangesFromElsewhere(t *testing.T) {
	t.Parallel()
	h, _ := harness.OpenSimulated(t)
	var key account.Key
	token := h.NewKey(account.KeyOptions{Account: "default", Label: "mine"})
	h.Administer(func(ctx context.Context, s *account.Service) error {
		keys, err := s.Keys(ctx, "default")
		for _, k := range keys {
			if k.Label == "mine" {
				key = k
			}
		}
		return err
	})
	steps := []struct {
		name   string
		change func(ctx context.Context, s *account.Service) error
		status int
	}{
		{"suspend", func(ctx context.Context, s *account.Service) error {
			_, err := s.Suspend(ctx, audit.Gateway(), "default")
			return err
		}, 403},
		{"resume", func(ctx context.Context, s *account.Service) error {
			_, err := s.Resume(ctx, audit.Gateway(), "default")
			return err
		}, 200},
		{"revoke", func(ctx context.Context, s *account.Service) error {
			_, err := s.RevokeKey(ctx, audit.Gateway(), key.ID)
			return err
		}, 401},
	}
	h.MustAnswer(h.Do(harness.Ask{Path: "/v1/chat", Body: harness.Hello("house/echo"), Key: token}))
	for _, step := range steps {
		h.Administer(step.change)
		began := time.Now()
		harness.Await(t, step.name, func() bool {
			return h.Do(harness.Ask{Path: "/v1/chat", Body: harness.Hello("house/echo"), Key: token}).Status == step.status
		})
		t.Logf("%s took %s", step.name, time.Since(began))
	}
	r := h.Do(harness.Ask{Path: "/v1/models", Key: harness.StrangersKey()})
	harness.WantError(t, r, 401, "AUTHENTICATION_ERROR")
	if fresh := h.NewKey(account.KeyOptions{Account: "default"}); h.Do(harness.Ask{Path: "/v1/models", Key: fresh}).Status != http.StatusOK {
		t.Error("a key does not work as soon as it is made")
	}
}

// TestReloadWhileRunning changes the configuration while the gateway runs. A wrong one changes nothing; requests in
// flight continue with the earlier one.
func TestReloadWhileRunning(t *testing.T) {
	t.Parallel()
	h, up := harness.OpenSimulated(t)
	first := make(chan harness.Reply, 1)
	go func() { first <- h.Stream("house/echo:pace=200ms") }()
	harness.Await(t, "the stream", func() bool { return up.Ledger().Totals().Requests == 1 })

	good := "providers:" + harness.ProviderYAML("shed", up.URL) + "aliases:\n  quick: {targets: [shed/echo]}\nprices:\n  shed/*: {input: \"100\", output: \"100\"}\ndefault_model: quick\n"
	h.Configure(good)
	h.Reloads <- struct{}{}
	harness.Await(t, "the new provider", func() bool { return h.Chat("quick").Status == http.StatusOK })
	harness.WantError(t, h.Chat("house/echo"), 404, "MODEL_NOT_FOUND")
	r := h.Do(harness.Ask{Path: "/v1/chat", Body: harness.Messages(`[{"role":"user","prompt":"Say it again, please"}]`)})
	harness.WantHeaders(t, r.Header, map[string]string{"X-Weir-Model": "shed/echo", "X-Weir-Cost-Usd": "0.0016"})

	for _, bad := range []string{
		strings.Replace(good, "dialect: openai", "dialekt: openai", 1),
		strings.Replace(good, "shed/echo", "nobody/echo", 1),
		strings.Replace(good, "dialect: openai", "dialect: morse", 1),
		"providers: [",
		"", // no file at all
	} {
		if h.Configure(bad); bad == "" {
			must.Do(t, os.Remove(h.File))
		}
		said := strings.Count(h.Log.String(), "the new configuration is invalid")
		h.Reloads <- struct{}{}
		harness.Await(t, "the complaint", func() bool { return strings.Count(h.Log.String(), "the new configuration is invalid") > said })
		h.MustAnswer(h.Chat("quick"))
	}
	if events, e := harness.SplitStream(t, (<-first).Body); e != nil || harness.Text(events) != "Say it again, please" {
		t.Errorf("the stream in flight: %q, %+v", harness.Text(events), e)
	}
}

// TestGracefulStop stops a gateway: it accepts no more requests, and those in flight complete.
func TestGracefulStop(t *testing.T) {
	t.Parallel()
	h, up := harness.OpenSimulated(t)
	flying := make(chan harness.Reply, 2)
	go func() { flying <- h.Stream("house/echo:pace=150ms") }()
	go func() { flying <- h.Chat("house/echo:ttft=2s") }()
	harness.Await(t, "the requests", func() bool { return up.Ledger().Totals().Requests == 2 })
	h.Cancel()
	harness.Await(t, "no more connections", func() bool {
		resp, err := http.Get(h.URL + "/livez")
		if err == nil {
			resp.Body.Close()
		}
		return err != nil
	})
	for range cap(flying) {
		r := <-flying
		if r.Status != http.StatusOK || !strings.Contains(r.Body, `"usage"`) {
			t.Errorf("in flight: %d %s", r.Status, r.Body)
		}
	}
	if err := h.Stop(); err != nil {
		t.Errorf("stop: %v", err)
	}
	for _, record := range up.Records(t) {
		if row := h.Row(harness.RequestOf(&record)); row.Outcome != "ok" || row.Provenance != "exact" {
			t.Errorf("the row is %+v, want the whole answer", row)
		}
	}
}

// TestStopThatDoesNotWait has requests outlast the stop: they are cut, their clients are notified, and they are settled
// at the counted usage.
func TestStopThatDoesNotWait(t *testing.T) {
	t.Parallel()
	up := harness.NewUpstream(t)
	h := harness.Open(t, harness.Setup{YAML: "drain_timeout: 200ms\n" + harness.ProvidersYAML(up.URL)})
	const members = `"model":"house/chat:tokens=1000,uncapped,pace=20ms","max_tokens":2000,"messages":[{"role":"user","content":"Hi"}]`
	asks := []struct {
		path, body string
		status     int
	}{
		{"/v1/chat/completions", `{` + members + `}`, http.StatusServiceUnavailable},
		{"/v1/messages", `{` + members + `}`, 529},
		{"/v1/chat/completions", `{"stream":true,` + members + `}`, http.StatusOK},
		{"/v1/messages", `{"stream":true,` + members + `}`, http.StatusOK},
		{"/v1/responses", `{"stream":true,"model":"house/chat:tokens=1000,uncapped,pace=20ms","input":"Hi"}`, http.StatusOK},
	}
	replies := make([]harness.Reply, len(asks))
	var begun atomic.Int32
	begins := httptrace.ClientTrace{GotFirstResponseByte: func() { begun.Add(1) }}
	var running sync.WaitGroup
	for i, ask := range asks {
		running.Go(func() {
			r := h.Request(harness.Ask{Path: ask.path, Body: ask.body})
			replies[i] = h.Send(r.WithContext(httptrace.WithClientTrace(t.Context(), &begins)))
		})
	}
	harness.Await(t, "the requests", func() bool { return up.Ledger().Totals().Requests == int64(len(asks)) })
	harness.Await(t, "the three streams", func() bool { return begun.Load() == 3 })
	if err := h.Stop(); err != nil {
		t.Errorf("stop: %v", err)
	}
	running.Wait()
	for i, r := range replies {
		if r.Status != asks[i].status || !strings.Contains(r.Body, "The gateway is stopping") {
			t.Errorf("%s: %d, ends with %s; want %d, and the message that the gateway is stopping",
				asks[i].path, r.Status, r.Body[max(0, len(r.Body)-300):], asks[i].status)
		}
	}
	for _, record := range up.Records(t) {
		if row := h.Row(harness.RequestOf(&record)); row.Provenance != "estimated" || row.In == 0 || row.Outcome == "client_gone" {
			t.Errorf("the row is %+v, want it settled at the counted usage, with its client connected", row)
		}
	}
}

// TestPlainPages checks the pages that need no key.
func TestPlainPages(t *testing.T) {
	t.Parallel()
	h, _ := harness.OpenSimulated(t)
	tests := []struct{ method, path, kind, body string }{
		{"GET", "/livez", "text/plain; charset=utf-8", "ok\n"},
		{"GET", "/readyz", "text/plain; charset=utf-8", "ok\n"},
		{"GET", "/readyz?verbose", "text/plain; charset=utf-8", "[+] journal"},
		{"GET", "/", "text/html; charset=utf-8", "Weir"},
		{"HEAD", "/", "text/html; charset=utf-8", ""},
		{"HEAD", "/livez", "text/plain; charset=utf-8", ""},
	}
	for _, test := range tests {
		r := h.Do(harness.Ask{Method: test.method, Path: test.path, Key: harness.NoKey})
		if r.Status != http.StatusOK || r.Header.Get("Content-Type") != test.kind || !strings.Contains(r.Body, test.body) {
			t.Errorf("%s %s: %d %q %.200s", test.method, test.path, r.Status, r.Header.Get("Content-Type"), r.Body)
		}
	}
	page := h.Do(harness.Ask{Path: "/", Key: harness.NoKey})
	for _, name := range []string{"Content-Security-Policy", "X-Content-Type-Options", "Referrer-Policy"} {
		if page.Header.Get(name) == "" {
			t.Errorf("the page has no %s", name)
		}
	}
}
