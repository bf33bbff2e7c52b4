package config_test

import (
	"strings"
	"testing"

	"weir/internal/config"
	"weir/internal/llm"
	"weir/internal/must"
)

func TestRedactedHidesSecrets(t *testing.T) {
	t.Parallel()
	cfg := mustLoad(t, world{files: map[string]string{"weir.yaml": `
database: postgres://weir:canary@db.example/weir?sslmode=require&sslpassword=canary
valkey: redis://canary@cache.example:6379/0
outbound: {proxy: "http://me:canary@proxy.example:3128"}
oidc: {issuer: https://id.example, client_id: weir, client_secret: "https://h/canary"}
smtp: {addr: "mail.example:587", username: weir, password: "https://h/canary", from: weir@example.com}
providers:
  a: {api_keys: [canary-1, "https://h/canary"]}
`}})
	got := string(cfg.Redacted())
	if strings.Contains(got, "canary") {
		t.Errorf("Redacted: got\n%s\nwant no secret", got)
	}
	for _, want := range []string{
		`database: "postgres://weir:xxxxx@db.example/weir?sslmode=require&sslpassword=xxxxx"`,
		`valkey: "redis://xxxxx@cache.example:6379/0"`,
		`  proxy: "http://me:xxxxx@proxy.example:3128"`,
		`  client_secret: "[redacted]"`,
		`  password: "[redacted]"`,
		`    api_keys: ["[redacted]", "[redacted]"]`,
	} {
		if !strings.Contains(got, want+"\n") {
			t.Errorf("Redacted: got\n%s\nwant the line %s", got, want)
		}
	}
}

// TestSettingsHideSecrets reads the values by their paths: all of Redacted, and no secret.
func TestSettingsHideSecrets(t *testing.T) {
	t.Parallel()
	cfg := mustLoad(t, world{files: map[string]string{"weir.yaml": `
database: postgres://weir:canary@db.example/weir
providers:
  a: {base_url: https://a.example/v1, api_keys: [canary-1, canary-2], timeouts: {idle: 20s}}
prices: {"a/x:free": {input: "0.5"}}
`}})
	got := map[string]string{}
	for _, s := range cfg.Settings() {
		if strings.Contains(s.Value, "canary") {
			t.Errorf("%s: got the secret in %s", s.Path, s.Value)
		}
		got[s.Path] = s.Value
	}
	for path, want := range map[string]string{
		"database": `"postgres://weir:xxxxx@db.example/weir"`, "providers.a.base_url": `"https://a.example/v1"`,
		"providers.a.api_keys": `["[redacted]", "[redacted]"]`, "providers.a.timeouts.idle": "20s", `prices."a/x:free".input`: `"0.5"`,
		"aliases": "{}", "trusted_proxies": "[]", "log.level": "info",
	} {
		if got[path] != want {
			t.Errorf("%s: got %q, want %q", path, got[path], want)
		}
	}
}

// TestSettingsNameTheirOrigin checks the reported origin of each value.
func TestSettingsNameTheirOrigin(t *testing.T) {
	t.Parallel()
	w := world{
		files: map[string]string{"weir.yaml": "max_body: 1025\nproviders:\n  a:\n    base_url: https://a.example/v1\nprices: {\"a/x:free\": {input: \"0.5\"}}\n"},
		env:   map[string]string{"WEIR_LOG_LEVEL": "debug", "WEIR_PROVIDERS_A_TIMEOUTS_IDLE": "20s"},
	}
	w.opts = config.Options{Listen: "127.0.0.1:1", Managed: []byte("aliases:\n  fast:\n    targets: [a/x]\n")}
	cfg := mustLoad(t, w)
	got := map[string]string{}
	for _, s := range cfg.Settings() {
		got[s.Path] = s.From
	}
	for path, want := range map[string]string{
		"max_body": "weir.yaml:1", "providers.a.base_url": "weir.yaml:4", `prices."a/x:free".input`: "weir.yaml:5",
		"log.level": "WEIR_LOG_LEVEL", "providers.a.timeouts.idle": "WEIR_PROVIDERS_A_TIMEOUTS_IDLE", "listen": "--listen",
		"aliases.fast.targets": config.FromManaged, "drain_timeout": config.FromDefault, "trusted_proxies": config.FromDefault,
	} {
		if got[path] != want {
			t.Errorf("%s: got %q, want %q", path, got[path], want)
		}
	}
}

// TestRedactedReadsBack checks that a shown configuration without secrets is read back unchanged.
func TestRedactedReadsBack(t *testing.T) {
	t.Parallel()
	text := strings.ReplaceAll(wholeFile, "api_keys", "# api_keys") + `
data: "a $$b \"c\" ${x:-é}
"
trusted_proxies: [10.0.0.0/8, "::1"]
drain_timeout: 1h30m
max_body: 1025
`
	for _, key := range []string{"data: ./", "trusted_proxies: [] ", "drain_timeout: 30s", "max_body: 32", "trusted_proxies: []\n"} {
		text = strings.Replace(text, key, "# "+key, 1)
	}
	want := must.Get(fromFile(text))(t)
	shown := string(want.Redacted())
	got, err := fromFile(shown)
	if err != nil {
		t.Fatalf("Load(%s): got error\n%v\nwant none", shown, err)
	}
	byName := func(cfg config.Config) map[string]config.Provider {
		out := map[string]config.Provider{}
		for _, p := range cfg.Providers {
			out[p.Name] = p
		}
		return out
	}
	if d := diff(byName(got), byName(want)); d != "" {
		t.Errorf("providers of %s: want -, got +\n%s", shown, d)
	}
	got.Providers, want.Providers = nil, nil
	for _, c := range []*config.Config{&got, &want} { // these are not shown
		c.OIDC.ClientSecret, c.SMTP.Password = llm.Secret{}, llm.Secret{}
	}
	if d := diff(got, want); d != "" {
		t.Errorf("Load(%s): want -, got +\n%s", shown, d)
	}
}
