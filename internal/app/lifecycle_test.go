package app_test

import (
	"context"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"weir/internal/account"
	"weir/internal/app"
	"weir/internal/audit"
)

// TestSecondServe is a data directory that is in use: the second gateway says
// why it does not start, and the first one does not notice.
func TestSecondServe(t *testing.T) {
	t.Parallel()
	h, _ := openSimulated(t)
	second := newGateway(t, setup{yaml: "", dir: h.data})
	err := app.Run(t.Context(), app.Options{
		Config: second.config(), Getenv: func(string) string { return "" }, Stdout: second.out, Stderr: second.log, Log: discard(),
	})
	if err == nil || !strings.Contains(err.Error(), "another weir serve runs on "+h.data) {
		t.Errorf("the second gateway ended with %v, want it to say that another one runs", err)
	}
	if second.out.String()+second.log.String() != "" {
		t.Errorf("the second gateway said %s%s", second.out, second.log)
	}
	h.mustAnswer(h.chat("house/echo"))
}

// TestPortInUse is an address that somebody else has.
func TestPortInUse(t *testing.T) {
	t.Parallel()
	h, _ := openSimulated(t)
	second := newGateway(t, setup{})
	cfg := second.config()
	cfg.Listen = strings.TrimPrefix(h.url, "http://")
	err := app.Run(t.Context(), app.Options{
		Config: cfg, Getenv: func(string) string { return "" }, Stdout: second.out, Stderr: second.log, Log: discard(),
	})
	if err == nil || !strings.Contains(err.Error(), "--listen") || !strings.Contains(err.Error(), "in use") {
		t.Errorf("got %v, want it to say that the address is in use and what to do", err)
	}
}

// TestChangesFromElsewhere is what another process changes: the gateway knows
// it within a second.
func TestChangesFromElsewhere(t *testing.T) {
	t.Parallel()
	h, _ := openSimulated(t)
	var key account.Key
	token := h.newKey(account.KeyOptions{Account: "default", Label: "mine"})
	h.administer(func(ctx context.Context, s *account.Service) error {
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
	h.mustAnswer(h.do(ask{path: "/v1/chat", body: hello("house/echo"), key: token}))
	for _, step := range steps {
		h.administer(step.change)
		began := time.Now()
		await(t, step.name, func() bool {
			return h.do(ask{path: "/v1/chat", body: hello("house/echo"), key: token}).status == step.status
		})
		took := time.Since(began)
		if took > 2*time.Second {
			t.Errorf("%s took %s, want at most one second", step.name, took)
		}
		t.Logf("%s took %s", step.name, took)
	}
	r := h.do(ask{path: "/v1/models", key: strangersKey()})
	wantError(t, r, 401, "AUTHENTICATION_ERROR")
	if fresh := h.newKey(account.KeyOptions{Account: "default"}); h.do(ask{path: "/v1/models", key: fresh}).status != http.StatusOK {
		t.Error("a key does not work as soon as it is made")
	}
}

// TestReload is a configuration that changes while the gateway runs. A wrong
// one changes nothing; requests under way go on as they began.
func TestReload(t *testing.T) {
	t.Parallel()
	h, up := openSimulated(t)
	first := make(chan reply, 1)
	go func() { first <- h.stream("house/echo:pace=200ms") }()
	await(t, "the stream", func() bool { return up.Ledger().Totals().Requests == 1 })

	good := "providers:" + providerYAML("shed", up.url) + "aliases:\n  quick: {targets: [shed/echo]}\nprices:\n  shed/*: {input: \"100\", output: \"100\"}\ndefault_model: quick\n"
	h.configure(good)
	h.reloads <- struct{}{}
	await(t, "the new provider", func() bool { return h.chat("quick").status == http.StatusOK })
	wantError(t, h.chat("house/echo"), 404, "MODEL_NOT_FOUND")
	r := h.do(ask{path: "/v1/chat", body: messages(`[{"role":"user","prompt":"Say it again, please"}]`)})
	wantHeaders(t, r.header, map[string]string{"X-Weir-Model": "shed/echo", "X-Weir-Cost-Usd": "0.0016"})

	for _, bad := range []string{
		strings.Replace(good, "dialect: openai", "dialekt: openai", 1),
		strings.Replace(good, "shed/echo", "nobody/echo", 1),
		strings.Replace(good, "dialect: openai", "dialect: morse", 1),
		"providers: [",
		"", // no file at all
	} {
		if h.configure(bad); bad == "" {
			if err := os.Remove(h.file); err != nil {
				t.Fatal(err)
			}
		}
		said := strings.Count(h.log.String(), "the new configuration is wrong")
		h.reloads <- struct{}{}
		await(t, "the complaint", func() bool { return strings.Count(h.log.String(), "the new configuration is wrong") > said })
		h.mustAnswer(h.chat("quick"))
	}
	if events, e := splitStream(t, (<-first).body); e != nil || text(events) != "Say it again, please" {
		t.Errorf("the stream that was under way: %q, %+v", text(events), e)
	}
}

// TestGracefulStop is a gateway that is told to stop: it takes no more, and
// what is in flight comes to its end.
func TestGracefulStop(t *testing.T) {
	t.Parallel()
	h, up := openSimulated(t)
	flying := make(chan reply, 2)
	go func() { flying <- h.stream("house/echo:pace=150ms") }()
	go func() { flying <- h.chat("house/echo:ttft=300ms") }()
	await(t, "the requests", func() bool { return up.Ledger().Totals().Requests == 2 })
	began := time.Now()
	h.cancel()
	await(t, "no more connections", func() bool {
		resp, err := http.Get(h.url + "/livez")
		if err == nil {
			resp.Body.Close()
		}
		return err != nil
	})
	for range cap(flying) {
		r := <-flying
		if r.status != http.StatusOK || !strings.Contains(r.body, `"usage"`) {
			t.Errorf("in flight: %d %s", r.status, r.body)
		}
	}
	if err := h.stop(); err != nil {
		t.Errorf("stop: %v", err)
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("the stop took %s", took)
	}
	for _, record := range up.records(t) {
		if row := h.row(requestOf(&record)); row.outcome != "ok" || row.provenance != "exact" {
			t.Errorf("ledger says %+v, want the whole answer", row)
		}
	}
}

// TestStopThatDoesNotWait is a request that lasts longer than the stop: it is
// cut short, and settled at what was counted.
func TestStopThatDoesNotWait(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	h := open(t, setup{yaml: "drain_timeout: 200ms\n" + providersYAML(up.url)})
	go func() {
		if resp, err := h.client.Do(h.request(ask{path: "/v1/chat", body: hello("house/chat:tokens=1000,pace=20ms"), header: []string{"Accept", "text/event-stream"}})); err == nil {
			buf := make([]byte, 1<<10)
			for err == nil {
				_, err = resp.Body.Read(buf)
			}
			resp.Body.Close()
		}
	}()
	await(t, "the request", func() bool { return up.Ledger().Totals().Requests == 1 })
	time.Sleep(100 * time.Millisecond)
	began := time.Now()
	if err := h.stop(); err != nil {
		t.Errorf("stop: %v", err)
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("the stop took %s, want little more than 200 ms", took)
	}
	record := up.newest(t)
	if row := h.row(requestOf(&record)); row.provenance != "estimated" || row.in == 0 || row.out == 0 {
		t.Errorf("ledger says %+v, want it settled at what was counted", row)
	}
}

// TestPlainPages are what needs no key.
func TestPlainPages(t *testing.T) {
	t.Parallel()
	h, _ := openSimulated(t)
	tests := []struct{ method, path, kind, body string }{
		{"GET", "/livez", "text/plain; charset=utf-8", "ok\n"},
		{"GET", "/readyz", "text/plain; charset=utf-8", "ok\n"},
		{"GET", "/readyz?verbose", "text/plain; charset=utf-8", "[+] journal"},
		{"GET", "/", "text/html; charset=utf-8", "Weir"},
		{"HEAD", "/", "text/html; charset=utf-8", ""},
		{"HEAD", "/livez", "text/plain; charset=utf-8", ""},
	}
	for _, test := range tests {
		r := h.do(ask{method: test.method, path: test.path, key: noKey})
		if r.status != http.StatusOK || r.header.Get("Content-Type") != test.kind || !strings.Contains(r.body, test.body) {
			t.Errorf("%s %s: %d %q %.200s", test.method, test.path, r.status, r.header.Get("Content-Type"), r.body)
		}
	}
	page := h.do(ask{path: "/", key: noKey})
	for _, name := range []string{"Content-Security-Policy", "X-Content-Type-Options", "Referrer-Policy"} {
		if page.header.Get(name) == "" {
			t.Errorf("the page has no %s", name)
		}
	}
}
