package app

import (
	"bytes"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"weir/internal/account"
	"weir/internal/audit"
	"weir/internal/config"
	"weir/internal/must"
)

// started returns the output and the log of a gateway's first start on that address.
func started(t *testing.T, addr string, change func(*Options)) (out, log string) {
	t.Helper()
	var logged, printed bytes.Buffer
	g := newLogged(t, slog.New(slog.NewTextHandler(&logged, nil)))
	g.options.Stdout = &printed
	change(g.options)
	must.Do(t, g.announce(t.Context(), net.TCPAddrFromAddrPort(netip.MustParseAddrPort(addr))))
	return printed.String(), logged.String()
}

// TestPlainListenerIsLogged checks that a start on a reachable address without TLS logs one line about it.
func TestPlainListenerIsLogged(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		addr   string
		change func(*config.Config)
		want   int
	}{
		{"0.0.0.0:8080", func(*config.Config) {}, 1},
		{"[::]:8080", func(c *config.Config) { c.InsecureHTTP = true }, 1},
		{"192.0.2.7:8080", func(c *config.Config) { c.PublicURL = "https://gateway.example" }, 1},
		{"192.0.2.7:8080", func(c *config.Config) { c.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("192.0.2.1/32")} }, 0},
		{"192.0.2.7:8080", func(c *config.Config) { c.TLS = config.TLS{Cert: "c.pem", Key: "k.pem"} }, 0},
		{"127.0.0.1:8080", func(*config.Config) {}, 0},
		{"[::1]:8080", func(*config.Config) {}, 0},
	} {
		_, log := started(t, test.addr, func(o *Options) { test.change(&o.Config) })
		lines := 0
		for line := range strings.Lines(log) {
			if strings.Contains(line, "level=WARN") && strings.Contains(line, "plain http") && strings.Contains(line, "tls") {
				lines++
			}
		}
		if lines != test.want {
			t.Errorf("listening on %s: got %d lines, want %d: %s", test.addr, lines, test.want, log)
		}
	}
}

// TestFirstKeyIsNotInServiceLog checks that a service manager's log has no key, but the command that creates one.
func TestFirstKeyIsNotInServiceLog(t *testing.T) {
	t.Parallel()
	for stream, want := range map[string]bool{"": true, "8:306630": false} {
		var data string
		out, log := started(t, "127.0.0.1:8080", func(o *Options) {
			data = o.Config.Data
			o.Getenv = func(name string) string { return map[string]string{"JOURNAL_STREAM": stream}[name] }
		})
		if got := strings.Contains(out, "wk_"); got != want || strings.Contains(log, "wk_") {
			t.Errorf("JOURNAL_STREAM %q: got a key printed %t, want %t: %s%s", stream, got, want, out, log)
		}
		if got := strings.Contains(out, "weir keys create --account default --label first --data '"+data+"'\n"); got == want {
			t.Errorf("JOURNAL_STREAM %q: got the command that makes a key %t, want %t: %s", stream, got, !want, out)
		}
		if !strings.Contains(out, "/setup/") {
			t.Errorf("JOURNAL_STREAM %q: got no set-up link: %s", stream, out)
		}
	}
}

// TestFirstKeyOnTerminal checks that the key is still printed on a terminal with the service manager's variable, which
// desktop terminals inherit.
func TestFirstKeyOnTerminal(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]int{os.DevNull: 1, filepath.Join(t.TempDir(), "log"): 0} { // a terminal is a device as well
		out := must.Get(os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o600))(t)
		defer out.Close()
		g := newInstance(t)
		g.options.Stdout, g.options.Getenv = out, func(string) string { return "8:306630" }
		must.Do(t, g.announce(t.Context(), net.TCPAddrFromAddrPort(netip.MustParseAddrPort("127.0.0.1:8080"))))
		if keys, err := g.admin.Accounts.Keys(t.Context(), account.DefaultName); err != nil || len(keys) != want {
			t.Errorf("printed to %s: got %d keys made, %v, want %d", path, len(keys), err, want)
		}
	}
}

// TestFirstRequestNamesModel checks that the printed first request names a model if there is no default, or a
// placeholder with an explanation.
func TestFirstRequestNamesModel(t *testing.T) {
	t.Parallel()
	house := config.Provider{Name: "house", Dialect: "openai", BaseURL: "http://127.0.0.1:9/v1", AllowPrivate: true}
	listing := house
	listing.Models = []string{"small"}
	target := config.Alias{Targets: []string{"house/small"}}
	for name, test := range map[string]struct {
		change  func(*config.Config)
		want    string
		replace bool
	}{
		"a default": {func(c *config.Config) { c.Providers = []config.Provider{listing} }, `'{"messages"`, false},
		"an alias":  {func(c *config.Config) { c.Aliases = map[string]config.Alias{"fast": target} }, `'{"model":"fast","messages"`, false},
		"a price": {func(c *config.Config) {
			c.Prices = map[string]map[string]string{"house/small": {"input": "1", "output": "1"}}
		}, `'{"model":"house/small","messages"`, false},
		"nothing known": {func(*config.Config) {}, `'{"model":"house/<model-name>","messages"`, true},
	} {
		g := newInstance(t)
		var printed bytes.Buffer
		g.options.Stdout = &printed
		cfg := g.options.Config
		cfg.Providers = []config.Provider{house}
		test.change(&cfg)
		g.router.Use(must.Get(g.upstream.Table(t.Context(), &cfg))(t))
		must.Do(t, g.announce(t.Context(), net.TCPAddrFromAddrPort(netip.MustParseAddrPort("127.0.0.1:8080"))))
		if out := printed.String(); !strings.Contains(out, test.want) || strings.Contains(out, "no default_model is configured") != test.replace {
			t.Errorf("%s: got %s, want %s, with a note on the placeholder: %t", name, out, test.want, test.replace)
		}
	}
}

// TestSecondStartPrintsHowToBegin checks that a start on a database with accounts, and without a user who can sign in,
// prints how to begin.
func TestSecondStartPrintsHowToBegin(t *testing.T) {
	t.Parallel()
	const says = "weir operators add"
	out, log := started(t, "127.0.0.1:8080", func(*Options) {})
	if strings.Contains(log, says) || out == "" {
		t.Errorf("the first start: got %s", log)
	}
	var logged bytes.Buffer
	g := newLogged(t, slog.New(slog.NewTextHandler(&logged, nil)))
	must.Get(g.admin.Accounts.CreateAccount(t.Context(), audit.Gateway(), "research"))(t)
	must.Do(t, g.announce(t.Context(), net.TCPAddrFromAddrPort(netip.MustParseAddrPort("127.0.0.1:8080"))))
	if !strings.Contains(logged.String(), says) {
		t.Errorf("with an account: got %s, want %q", logged.String(), says)
	}
}
