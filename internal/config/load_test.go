package config_test

import (
	"errors"
	"io/fs"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"weir/internal/config"
	"weir/internal/llm"
	"weir/internal/must"
)

// world is a file system and an environment to load from.
type world struct {
	files map[string]string
	env   map[string]string
	opts  config.Options
}

// load loads the configuration of that world.
func (w world) load() (config.Config, error) {
	o := w.opts
	o.Getenv = func(name string) (string, bool) { v, ok := w.env[name]; return v, ok }
	o.Environ = func() []string {
		var out []string
		for name, value := range maps.All(w.env) {
			out = append(out, name+"="+value)
		}
		return out
	}
	o.ReadFile = func(path string) ([]byte, error) {
		if text, ok := w.files[path]; ok {
			return []byte(text), nil
		}
		return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
	}
	return config.Load(o)
}

// fromFile loads a weir.yaml of that text, with no environment.
func fromFile(text string) (config.Config, error) {
	return world{files: map[string]string{"weir.yaml": text}}.load()
}

func mustLoad(t *testing.T, w world) config.Config {
	t.Helper()
	cfg, err := w.load()
	if err != nil {
		t.Fatalf("Load(%+v): got error\n%v\nwant none", w, err)
	}
	return cfg
}

func diff(got, want any) string {
	return cmp.Diff(want, got, cmp.Comparer(func(a, b netip.Prefix) bool { return a == b }),
		cmpopts.IgnoreUnexported(config.Config{})) // the origins of values
}

func secrets(texts ...string) []llm.Secret {
	var out []llm.Secret
	for _, s := range texts {
		out = append(out, llm.NewSecret(s))
	}
	return out
}

const wholeFile = `listen: 127.0.0.1:8080
data: ./weir-data                    # journal, embedded database
database: ""                         # empty: SQLite in data; or postgres://…
valkey: ""
durability: batched                  # or strict
default_model: ""
providers:
  openai:
    api_keys: ["${OPENAI_API_KEY}"]
  house:
    dialect: openai
    base_url: http://127.0.0.1:9000/v1
    allow_private: true
    auth: x-api-key
    api_keys: [one, two]
    models: ["small", "large"]
    timeouts: {connect: 5s, first_byte: 120s, idle: 60s, total: 30m}
    retries: 2
models:
  house/small: {context: 32768, max_output: 4096, tools: true, images: false}
default_max_output: 8192
prices_file: [a.json, b.json]
pricing: {assumed: refuse}
prices:
  house/small: {input: "0.15", output: "0.60"}
  house/large: {input: "2.50", output: "10", cache_read: "0.25"}   # also the others
                                     # and so on
aliases:
  fast:
    targets: [house/small, openai/gpt-5-mini]
    strategy: fallback
    on: [overloaded, content_policy]
  alone: {targets: [house/small], on: []}
limits: {rpm: 0, tpm: 0, concurrency: 0}
max_concurrency: 4096
public_url: ""
hosts: [weir.lan, Weir.Example.COM.]
cors: {origins: ["https://App.Example.com", "http://localhost:3000"]}
trusted_proxies: []
tls: {cert: "", key: ""}
outbound: {proxy: "", ca_file: ""}
retention: {requests: 90d, responses: 30d, tags: [team]}
max_body: 32MiB
telemetry: {listen: ""}
insecure_http: false
sessions: {idle: 12h, absolute: 7d, passwords: on}
oidc:
  issuer: https://id.example.com/realms/x/
  client_id: weir
  client_secret: hidden
  name: Example
  scopes: [openid, email]
  groups_claim: roles
  operators: [admins]
  accounts: {default: {owner: [leads], viewer: [all, others]}}
  sign_up: true
smtp: {addr: mail.example.com:587, username: weir, password: hidden, from: Weir <weir@example.com>, tls: starttls}
webhooks: {allow_private: false}
drain_timeout: 30s
log: {level: info, format: auto}
`

// whole returns the content of wholeFile.
func whole() config.Config {
	retries, yes, no := 2, true, false
	want := config.Default()
	want.File = "weir.yaml"
	want.Providers = []config.Provider{
		{Name: "openai", APIKeys: secrets("sk-1")},
		{
			Name: "house", Dialect: "openai", BaseURL: "http://127.0.0.1:9000/v1", AllowPrivate: true,
			Auth: "x-api-key", APIKeys: secrets("one", "two"), Models: []string{"small", "large"}, Retries: &retries,
			Timeouts: config.Timeouts{Connect: 5 * time.Second, FirstByte: 2 * time.Minute, Idle: time.Minute, Total: 30 * time.Minute},
		},
	}
	want.Models = map[string]config.Model{"house/small": {Context: 32768, MaxOutput: 4096, Tools: &yes, Images: &no}}
	want.Prices = map[string]map[string]string{
		"house/small": {"input": "0.15", "output": "0.60"},
		"house/large": {"input": "2.50", "output": "10", "cache_read": "0.25"},
	}
	want.PricesFile, want.Pricing.Assumed = config.Paths{"a.json", "b.json"}, "refuse"
	want.Aliases = map[string]config.Alias{
		"fast": {
			Targets: []string{"house/small", "openai/gpt-5-mini"}, Strategy: "fallback",
			On: []llm.Cause{llm.CauseOverloaded, llm.CauseContentPolicy},
		},
		"alone": {Targets: []string{"house/small"}, Strategy: "fallback", On: []llm.Cause{}},
	}
	want.Hosts = []string{"weir.lan", "weir.example.com"}
	want.CORS.Origins = []string{"https://app.example.com", "http://localhost:3000"}
	want.TrustedProxies = []netip.Prefix{}
	want.Retention.Tags = []string{"team"}
	want.OIDC = config.OIDC{
		Issuer: "https://id.example.com/realms/x/", ClientID: "weir", ClientSecret: llm.NewSecret("hidden"), Name: "Example",
		Scopes: []string{"openid", "email"}, GroupsClaim: "roles", Operators: []string{"admins"}, SignUp: true,
		Accounts: map[string]config.RoleGroups{"default": {Owner: []string{"leads"}, Viewer: []string{"all", "others"}}},
	}
	want.SMTP = config.SMTP{Addr: "mail.example.com:587", Username: "weir", Password: llm.NewSecret("hidden"), From: "Weir <weir@example.com>", TLS: "starttls"}
	return want
}

func TestWholeFile(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"as documented":           wholeFile,
		"with a byte-order mark":  "\xef\xbb\xbf" + wholeFile,
		"with CR LF":              strings.ReplaceAll(wholeFile, "\n", "\r\n"),
		"as an explicit document": "---\n" + wholeFile,
	}
	for name, text := range files {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := mustLoad(t, world{
				files: map[string]string{"weir.yaml": text},
				env:   map[string]string{"OPENAI_API_KEY": "sk-1"},
			})
			if d := diff(got, whole()); d != "" {
				t.Errorf("Load(%s): want -, got +\n%s", text, d)
			}
		})
	}
}

func TestDefaultWithoutAFile(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"no file": "-", "empty": "", "comments": "# nothing\n", "keys without values": "listen:\nproviders:\n  # openai:\nlimits:\n",
	} {
		w := world{files: map[string]string{"weir.yaml": text}}
		want := config.Default()
		want.File = "weir.yaml"
		if text == "-" {
			w.files, want.File = nil, ""
		}
		if d := diff(mustLoad(t, w), want); d != "" {
			t.Errorf("%s: want -, got +\n%s", name, d)
		}
	}
}

func TestFlagsPrecedeEnvironmentAndFile(t *testing.T) {
	t.Parallel()
	file := map[string]string{"weir.yaml": "listen: 127.0.0.1:1\ndata: file\n"}
	env := map[string]string{"WEIR_LISTEN": "127.0.0.1:2", "WEIR_DATA": "env"}
	flags := config.Options{Listen: "127.0.0.1:3", Data: "flag"}
	cases := []struct {
		name         string
		w            world
		listen, data string
	}{
		{"default", world{}, "127.0.0.1:8080", "./weir-data"},
		{"file", world{files: file}, "127.0.0.1:1", "file"},
		{"environment", world{files: file, env: env}, "127.0.0.1:2", "env"},
		{"flags", world{files: file, env: env, opts: flags}, "127.0.0.1:3", "flag"},
		{"flags alone", world{opts: flags}, "127.0.0.1:3", "flag"},
	}
	for _, c := range cases {
		got := mustLoad(t, c.w)
		if got.Listen != c.listen || got.Data != c.data {
			t.Errorf("%s: got listen %q and data %q, want %q and %q", c.name, got.Listen, got.Data, c.listen, c.data)
		}
	}
}

func TestWhichFile(t *testing.T) {
	t.Parallel()
	files := map[string]string{"weir.yaml": "data: here", "env.yaml": "data: env", "flag.yaml": "data: flag"}
	env := map[string]string{"WEIR_CONFIG": "env.yaml"}
	cases := []struct {
		name       string
		w          world
		data, file string
	}{
		{"working directory", world{files: files}, "here", "weir.yaml"},
		{"WEIR_CONFIG", world{files: files, env: env}, "env", "env.yaml"},
		{"--config", world{files: files, env: env, opts: config.Options{File: "flag.yaml"}}, "flag", "flag.yaml"},
	}
	for _, c := range cases {
		got := mustLoad(t, c.w)
		if got.Data != c.data || got.File != c.file || got.Warnings != nil {
			t.Errorf("%s: got data %q, file %q, warnings %q, want %q, %q, none", c.name, got.Data, got.File, got.Warnings, c.data, c.file)
		}
	}
	for name, w := range map[string]world{
		"--config":    {files: files, opts: config.Options{File: "absent.yaml"}},
		"WEIR_CONFIG": {files: files, env: map[string]string{"WEIR_CONFIG": "absent.yaml"}},
	} {
		_, err := w.load()
		if want := "absent.yaml: cannot be read: file does not exist"; err == nil || err.Error() != want {
			t.Errorf("%s names no file: got error %v, want %q", name, err, want)
		}
	}
}

func TestRealFileSystem(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "w.yaml")
	must.Do(t, os.WriteFile(path, []byte("data: from-disk\n"), 0o600))
	got, err := config.Load(config.Options{File: path, Environ: func() []string { return nil }})
	if err != nil || got.Data != "from-disk" {
		t.Errorf("Load(%s): got data %q, error %v, want from-disk, none", path, got.Data, err)
	}
	_, err = config.Load(config.Options{File: filepath.Dir(path), Environ: func() []string { return nil }})
	if err == nil || !strings.Contains(err.Error(), "cannot be read") {
		t.Errorf("Load of a directory: got error %v, want one about a directory", err)
	}
}

func TestReferencesAreReplaced(t *testing.T) {
	t.Parallel()
	w := world{
		env:   map[string]string{"NAME": "value", "EMPTY": "", "N": "7", "TRICKY": "${NAME} $$"},
		files: map[string]string{"/run/secret": "from-file\r\n"},
	}
	cases := []struct{ in, want string }{
		{"${NAME}", "value"},
		{"a-${NAME}-b-${NAME}", "a-value-b-value"},
		{"'${ABSENT:-fallback}'", "fallback"},
		{"'${EMPTY:-fallback}'", "fallback"},
		{"'${NAME:-fallback}'", "value"},
		{"'${ABSENT:-a:-b}'", "a:-b"},
		{"x${EMPTY}", "x"},
		{"'${file:/run/secret}'", "from-file"},
		{"$$", "$"},
		{"$${NAME}", "${NAME}"},
		{"$NAME", "$NAME"},
		{"cost$", "cost$"},
		{"$$$$", "$$"},
		{"'${TRICKY}'", "${NAME} $$"},
		{"|-\n  ${NAME}\n", "value"},
	}
	for _, c := range cases {
		w.files["weir.yaml"] = "data: " + c.in
		if got := mustLoad(t, w); got.Data != c.want {
			t.Errorf("data: %s: got %q, want %q", c.in, got.Data, c.want)
		}
	}
	w.files["weir.yaml"] = "max_concurrency: ${N}\ndrain_timeout: ${N}s"
	if got := mustLoad(t, w); got.MaxConcurrency != 7 || got.DrainTimeout != 7*time.Second {
		t.Errorf("numbers by reference: got %d and %v, want 7 and 7s", got.MaxConcurrency, got.DrainTimeout)
	}
}

func TestScalarsAreParsed(t *testing.T) {
	t.Parallel()
	durations := map[string]time.Duration{
		"5s": 5 * time.Second, "30m": 30 * time.Minute, "720h": 720 * time.Hour, "1d": 24 * time.Hour,
		"1d12h": 36 * time.Hour, "1m30s": 90 * time.Second, "0": 0, "0s": 0, "0d": 0, "250ms": 250 * time.Millisecond,
	}
	for in, want := range durations {
		got, err := fromFile("drain_timeout: " + in)
		if err != nil || got.DrainTimeout != want {
			t.Errorf("drain_timeout: %s: got %v, error %v, want %v", in, got.DrainTimeout, err, want)
		}
	}
	sizes := map[string]config.Bytes{"1KiB": 1 << 10, "2MiB": 2 << 20, "1GiB": 1 << 30, "4096": 4096, "8 MiB": 8 << 20}
	for in, want := range sizes {
		got, err := fromFile("max_body: " + in)
		if err != nil || got.MaxBody != want {
			t.Errorf("max_body: %s: got %d, error %v, want %d", in, got.MaxBody, err, want)
		}
	}
	got, err := fromFile("trusted_proxies: [10.1.2.3/8, 192.0.2.1, '::1', '2001:db8::/32']\npublic_url: https://w.example/\nproviders: {a: {base_url: 'https://h/v1//', retries: 0}}\nprices: {a/b: {input: 0.10, second: 0.000000001}}")
	must.Do(t, err)
	want := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("192.0.2.1/32"), netip.MustParsePrefix("::1/128"), netip.MustParsePrefix("2001:db8::/32")}
	if !slices.Equal(got.TrustedProxies, want) {
		t.Errorf("trusted_proxies: got %v, want %v", got.TrustedProxies, want)
	}
	if p := got.Providers[0]; got.PublicURL != "https://w.example" || p.BaseURL != "https://h/v1" || *p.Retries != 0 {
		t.Errorf("got public_url %q, base_url %q, retries %d, want no slash at the end of either, and 0", got.PublicURL, p.BaseURL, *p.Retries)
	}
	if d := diff(got.Prices["a/b"], map[string]string{"input": "0.10", "second": "0.000000001"}); d != "" {
		t.Errorf("prices keep their digits: want -, got +\n%s", d)
	}
}

func TestErrorIsProblems(t *testing.T) {
	t.Parallel()
	_, err := fromFile("listen: x\nprovider: {}\n")
	got, ok := errors.AsType[config.Problems](err)
	want := config.Problems{
		{File: "weir.yaml", Line: 1, Column: 9, Path: "listen", Message: "`listen` must be host:port such as 127.0.0.1:8080 or :8080, not \"x\""},
		{File: "weir.yaml", Line: 2, Column: 1, Path: "provider", Message: "unknown key `provider`; did you mean `providers`?"},
	}
	if d := diff(got, want); !ok || d != "" {
		t.Errorf("Load: want -, got +\n%s", d)
	}
}

// TestPricesFile checks that a single price file needs no list, in the file or in the environment.
func TestPricesFile(t *testing.T) {
	t.Parallel()
	for _, w := range []world{
		{files: map[string]string{"weir.yaml": "prices_file: p.json\n"}},
		{files: map[string]string{"weir.yaml": "prices_file: [p.json]\n"}},
		{files: map[string]string{"weir.yaml": "prices_file: \"${DIR}.json\"\n"}, env: map[string]string{"DIR": "p"}},
		{env: map[string]string{"WEIR_PRICES_FILE": "p.json"}},
	} {
		if got := mustLoad(t, w).PricesFile; !slices.Equal(got, config.Paths{"p.json"}) {
			t.Errorf("%v: got %v, want p.json", w, got)
		}
	}
	for text, want := range map[string]string{
		"prices_file: [a, a]":          "weir.yaml:1:18: `prices_file` has an empty or repeated path: remove it",
		"prices_file: {a: b}":          "weir.yaml:1:14: `prices_file` must be a list",
		"trusted_proxies: 10.0.0.0/8 ": "weir.yaml:1:18: `trusted_proxies` must be a list",
	} {
		if _, err := fromFile(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
}
