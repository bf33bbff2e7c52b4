package provider_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"weir/internal/dialect"
	"weir/internal/llm"
	"weir/internal/must"
	"weir/internal/provider"
)

func TestNewNamesTheKeyAtFault(t *testing.T) {
	t.Parallel()
	notPEM := filepath.Join(t.TempDir(), "ca.pem")
	must.Do(t, os.WriteFile(notPEM, []byte("no"), 0o600))
	secret := func(s string) []llm.Secret { return []llm.Secret{llm.NewSecret("good"), llm.NewSecret(s)} }
	for want, change := range map[string]func(*provider.Options){
		"providers.Acme.name":                func(o *provider.Options) { o.Name = "Acme" },
		"providers.a/b.name":                 func(o *provider.Options) { o.Name = "a/b" },
		"providers.acme.dialect: missing":    func(o *provider.Options) { o.Dialect = nil },
		"providers.acme.dialect: \"x\"":      func(o *provider.Options) { o.Dialect = &dialect.Dialect{Name: "x"} },
		"providers.acme.base_url: missing":   func(o *provider.Options) { o.BaseURL = "" },
		"base_url: \"api.example.com\"":      func(o *provider.Options) { o.BaseURL = "api.example.com" },
		"base_url: \"ftp://x\"":              func(o *provider.Options) { o.BaseURL = "ftp://x" },
		"base_url: contains a user name":     func(o *provider.Options) { o.BaseURL = "http://u:secret@x/v1" },
		"base_url: \"[redacted]@x\"":         func(o *provider.Options) { o.BaseURL = "ftp://u:secret@x" },
		"must end with its path":             func(o *provider.Options) { o.BaseURL = "http://x/v1?key=1" },
		"allow_private: true permits it":     func(o *provider.Options) { o.BaseURL = "http://127.0.0.1/v1" },
		"metadata service":                   func(o *provider.Options) { o.BaseURL, o.AllowPrivate = "http://169.254.169.254", true },
		"providers.acme.auth: \"basic\"":     func(o *provider.Options) { o.Auth = "basic" },
		"providers.acme.api_keys[1]: empty":  func(o *provider.Options) { o.APIKeys = secret(" ") },
		"api_keys[1]: contains a space":      func(o *provider.Options) { o.APIKeys = secret("secret\n") },
		"providers.acme.retries: -1":         func(o *provider.Options) { o.Retries = -1 },
		"providers.acme.max_reply: -1":       func(o *provider.Options) { o.MaxReply = -1 },
		"providers.acme.timeouts.connect":    func(o *provider.Options) { o.Timeouts.Connect = -1 },
		"providers.acme.timeouts.first_byte": func(o *provider.Options) { o.Timeouts.FirstByte = -1 },
		"providers.acme.timeouts.idle":       func(o *provider.Options) { o.Timeouts.Idle = -1 },
		"providers.acme.timeouts.total":      func(o *provider.Options) { o.Timeouts.Total = -1 },
		"outbound.proxy":                     func(o *provider.Options) { o.Proxy = "ftp://u:secret@x" },
		"outbound.ca_file":                   func(o *provider.Options) { o.CAFile = notPEM },
		"outbound.ca_file: open":             func(o *provider.Options) { o.CAFile = notPEM + "x" },
	} {
		o := provider.Options{Name: "acme", Dialect: openaiLike(), BaseURL: "https://api.example.com/v1"}
		change(&o)
		_, err := provider.New(o)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("got %v, want an error with %q and no secret", err, want)
		}
	}
}

func TestPrivateAddressesAreRefused(t *testing.T) {
	t.Parallel()
	refused := []string{
		"127.0.0.1", "127.8.8.8", "10.1.2.3", "172.16.0.1", "192.168.1.1", "100.64.0.1", "0.0.0.0", "0.1.2.3",
		"169.254.1.1", "198.18.0.1", "224.0.0.1", "255.255.255.255", "[::1]", "[::]", "[::ffff:127.0.0.1]",
		"[64:ff9b::7f00:1]", "[2002:7f00:1::]", "[fe80::1]", "[fc00::1]", "[ff02::1]", "[fec0::1]", "localhost",
	}
	never := []string{"169.254.169.254", "100.100.100.200", "[fd00:ec2::254]", "[::ffff:169.254.169.254]", "[64:ff9b::a9fe:a9fe]"}
	public := []string{"8.8.8.8", "[2606:4700::1111]", "[64:ff9b::808:808]", "172.32.0.1", "api.example.com"}
	try := func(host string, allow bool) error {
		_, err := provider.New(provider.Options{Name: "acme", Dialect: openaiLike(), BaseURL: "http://" + host + "/v1", AllowPrivate: allow})
		return err
	}
	for _, host := range slices.Concat(refused, never) {
		if try(host, false) == nil {
			t.Errorf("%s is accepted, want an error", host)
		}
	}
	for _, host := range never {
		if try(host, true) == nil {
			t.Errorf("%s is accepted with allow_private, want an error", host)
		}
	}
	for _, host := range refused {
		if err := try(host, true); err != nil {
			t.Errorf("%s with allow_private: %v", host, err)
		}
	}
	for _, host := range public {
		if err := try(host, false); err != nil {
			t.Errorf("%s: %v", host, err)
		}
	}
}

func TestAccessorsReturnOptions(t *testing.T) {
	t.Parallel()
	models := []string{"small", "large"}
	o := provider.Options{
		BaseURL: "https://acme.example/v1", Models: models, Retries: 2, PriceSource: "acme-prices",
		Quirks: llm.Quirks{MaxOutputField: "max_tokens"}, Timeouts: provider.Timeouts{Idle: time.Second},
		APIKeys: []llm.Secret{llm.NewSecret("one"), llm.NewSecret("two")},
	}
	o.Name, o.Dialect = "acme", openaiLike()
	p := must.Get(provider.New(o))(t)
	t.Cleanup(p.Close)
	models[0] = "changed"
	if !p.Serves("small") || p.Serves("changed") || len(p.Models()) != 2 {
		t.Errorf("got the models %q", p.Models())
	}
	want := provider.Timeouts{Connect: 5 * time.Second, FirstByte: 2 * time.Minute, Idle: time.Second, Total: 30 * time.Minute}
	if p.Timeouts() != want {
		t.Errorf("got the timeouts %+v, want %+v", p.Timeouts(), want)
	}
	if p.Name() != "acme" || p.Keys() != 2 || p.Retries() != 2 || p.PriceSource() != "acme-prices" ||
		p.BaseURL() != o.BaseURL || p.Dialect().Name != "openai" || p.Quirks(p.Dialect()).MaxOutputField != "max_tokens" {
		t.Errorf("got %q, %d keys, %d retries, %q, %q", p.Name(), p.Keys(), p.Retries(), p.PriceSource(), p.BaseURL())
	}
	bare := newProvider(t, provider.Options{BaseURL: o.BaseURL, APIKeys: []llm.Secret{}})
	if !bare.Serves("anything") || bare.Keys() != 1 {
		t.Errorf("got %d keys for a provider without, want 1", bare.Keys())
	}
}
