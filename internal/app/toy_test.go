package app_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"weir/internal/account"
	"weir/internal/app"
	"weir/internal/config"
	"weir/internal/dialect"
	"weir/internal/dialect/registry"
	"weir/internal/dialect/toytest"
	"weir/internal/must"
	"weir/internal/people"
	"weir/internal/signin"
	"weir/internal/simulator"
)

// withToy returns the list of wire formats with one more line.
func withToy() dialect.Set { return dialect.NewSet(append(registry.All(), toytest.Dialect())...) }

// TestWireFormatAddedByOneLine chats through a gateway with one more wire format, in a package of its own and one line
// of the list: as the client's, as the provider's, as both, in whole replies and in streams. Its usage is metered.
func TestWireFormatAddedByOneLine(t *testing.T) {
	t.Parallel()
	sim := simulator.New(simulator.Options{Dialects: withToy(), Seed: 1})
	defer sim.Close()
	upstream := httptest.NewServer(sim)
	defer upstream.Close()
	base, key := runWithToy(t, upstream.URL+"/v1")
	for _, model := range []string{"toybox/echo", "plain/echo"} {
		for path, body := range map[string]string{
			"/v1/toy":              `{"model":%q,"stream":%t,"turns":[{"by":"user","say":"Well met"}]}`,
			"/v1/chat/completions": `{"model":%q,"stream":%t,"messages":[{"role":"user","content":"Well met"}],"stream_options":null}`,
		} {
			for _, stream := range []bool{false, true} {
				got := request(t, http.MethodPost, base+path, key, fmt.Sprintf(body, model, stream))
				if !strings.Contains(strings.Join(texts.FindAllString(got, -1), ""), "Well") || strings.Contains(got, "error") {
					t.Errorf("%s of %s, stream %t: got %s", path, model, stream, got)
				}
			}
		}
	}
	uses := request(t, http.MethodGet, base+"/v1/uses", key, "")
	if n := strings.Count(uses, `"tokens":44,"requests":4,"cost":0.000052}`); n != 2 { // the same in both
		t.Errorf("got %d such uses, want 2: %s", n, uses)
	}
}

var texts = regexp.MustCompile(`"(?:say|content)":"[^"]*"`)

// runWithToy runs a gateway with two providers at one address, one of them with the toy's format. It returns the
// gateway's address and a key.
func runWithToy(t *testing.T, upstream string) (base, key string) {
	t.Helper()
	cfg, err := config.Load(config.Options{
		Data: t.TempDir(), Listen: "127.0.0.1:0",
		Getenv: func(string) (string, bool) { return "", false }, Environ: func() []string { return nil },
		ReadFile: func(string) ([]byte, error) {
			return fmt.Appendf(nil, "providers:\n  toybox: {base_url: %q, allow_private: true, models: [echo]}\n"+
				"  plain: {base_url: %q, allow_private: true, models: [echo]}\n"+
				"prices:\n  toybox/*: {input: 1, output: 2}\n  plain/*: {input: 1, output: 2}\n", upstream, upstream), nil
		},
	})
	must.Do(t, err)
	for i := range cfg.Providers {
		if p := &cfg.Providers[i]; p.Name == "toybox" {
			p.Dialect = toytest.Name // valid in the configuration as soon as the list has it
		}
	}
	said, out := io.Pipe()
	keys := make(chan string, 1)
	reading := make(chan struct{})
	go func() {
		defer close(reading)
		lines := bufio.NewScanner(said)
		for lines.Scan() {
			if key := regexp.MustCompile(account.TokenPattern).FindString(lines.Text()); key != "" && len(keys) == 0 {
				keys <- key
			}
		}
	}()
	ready, done := make(chan string, 1), make(chan error, 1)
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		done <- app.Run(ctx, app.Options{
			Config: cfg, Dialects: withToy(), Getenv: func(string) string { return "" },
			People: func(_ *people.Options, o *signin.Options) { o.Light = true }, Stdout: out, Stderr: io.Discard, Version: "test",
			Log: slog.New(slog.DiscardHandler), Ready: func(addr string) { ready <- addr },
		})
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("the gateway stopped with %v", err)
		}
		_ = out.Close()
		<-reading
		http.DefaultClient.CloseIdleConnections()
	})
	select {
	case addr := <-ready:
		return "http://" + addr, <-keys
	case <-time.After(time.Minute):
		t.Fatal("the gateway does not start")
		return "", ""
	}
}

func request(t *testing.T, method, url, key, body string) string {
	t.Helper()
	r := must.Get(http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body)))(t)
	r.Header.Set("Authorization", "Bearer "+key)
	r.Header.Set("Content-Type", "application/json")
	reply := must.Get(http.DefaultClient.Do(r))(t)
	defer reply.Body.Close()
	text := must.Get(io.ReadAll(reply.Body))(t)
	return string(text)
}
