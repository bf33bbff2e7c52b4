package config_test

import (
	"testing"
	"time"

	"weir/internal/config"
	"weir/internal/llm"
)

func TestEveryPlainKeyIsAVariable(t *testing.T) {
	t.Parallel()
	got := mustLoad(t, world{env: map[string]string{
		"WEIR_DATABASE":               "postgres://u:$p@h/d",
		"WEIR_VALKEY":                 "redis://h",
		"WEIR_DURABILITY":             "strict",
		"WEIR_DEFAULT_MODEL":          "a/b",
		"WEIR_DEFAULT_MAX_OUTPUT":     "5",
		"WEIR_LIMITS_RPM":             "60",
		"WEIR_LIMITS_TPM":             "",
		"WEIR_MAX_CONCURRENCY":        "9",
		"WEIR_MAX_BODY":               "1MiB",
		"WEIR_PUBLIC_URL":             "https://w.example",
		"WEIR_TRUSTED_PROXIES":        "10.0.0.0/8, 192.0.2.1",
		"WEIR_HOSTS":                  "weir.lan, Gateway.Example.",
		"WEIR_TLS_CERT":               "c.pem",
		"WEIR_TLS_KEY":                "k.pem",
		"WEIR_INSECURE_HTTP":          "true",
		"WEIR_OUTBOUND_PROXY":         "http://p:1",
		"WEIR_OUTBOUND_CA_FILE":       "ca.pem",
		"WEIR_RETENTION_REQUESTS":     "30d",
		"WEIR_RETENTION_RESPONSES":    "0d",
		"WEIR_RETENTION_EXPLANATIONS": "3650d",
		"WEIR_RETENTION_TAGS":         "team,project",
		"WEIR_LIMITS_PER_KEY_TPM":     "9000",
		"WEIR_TELEMETRY_LISTEN":       ":9090",
		"WEIR_WEBHOOKS":               "{allow_private: true}",
		"WEIR_DRAIN_TIMEOUT":          "5s",
		"WEIR_CORS_ORIGINS":           "https://App.example:443,http://localhost:3000",
		"WEIR_LOG_LEVEL":              "debug",
		"WEIR_TEST_REQUIRE":           "all",
		"WEIR_KEY":                    "wk_of_a_client",
		"WEIR_SERVICE_HOST":           "10.0.0.1",
		"WEIR_PORT":                   "tcp://10.0.0.1:80",
		"WEIR_PORT_80_TCP_PROTO":      "tcp",
		"NOT_WEIR_AT_ALL":             "x",
		"WEIR_ALIASES_FAST_TARGETS":   "a/b,c/d",
	}})
	want := config.Default()
	want.Database, want.Valkey = llm.NewSecret("postgres://u:$p@h/d"), llm.NewSecret("redis://h")
	want.Durability, want.DefaultModel, want.DefaultMaxOutput = "strict", "a/b", 5
	want.Limits.PerKey.TPM = 9000
	want.Limits.RPM, want.MaxConcurrency, want.MaxBody = 60, 9, 1<<20
	want.PublicURL, want.InsecureHTTP = "https://w.example", true
	want.Hosts = []string{"weir.lan", "gateway.example"}
	want.CORS.Origins = []string{"https://app.example", "http://localhost:3000"}
	want.TrustedProxies = got.TrustedProxies
	want.TLS.Cert, want.TLS.Key = "c.pem", "k.pem"
	want.Outbound = config.Outbound{Proxy: llm.NewSecret("http://p:1"), CAFile: "ca.pem"}
	want.Retention.Requests = 30 * 24 * time.Hour
	want.Retention.Responses = 0
	want.Retention.Explanations = 3650 * 24 * time.Hour
	want.Retention.Tags = []string{"team", "project"}
	want.Telemetry.Listen, want.Webhooks.AllowPrivate = ":9090", true
	want.DrainTimeout, want.Log.Level = 5*time.Second, "debug"
	want.Aliases = map[string]config.Alias{"fast": {Targets: []string{"a/b", "c/d"}, Strategy: "fallback"}}
	if d := diff(got, want); d != "" {
		t.Errorf("Load: want -, got +\n%s", d)
	}
	if len(got.TrustedProxies) != 2 || got.TrustedProxies[1].String() != "192.0.2.1/32" {
		t.Errorf("trusted_proxies: got %v, want 10.0.0.0/8 and 192.0.2.1/32", got.TrustedProxies)
	}
}

func TestVariablesInsideEntries(t *testing.T) {
	t.Parallel()
	got := mustLoad(t, world{
		files: map[string]string{
			"weir.yaml": "providers:\n  my-house: {api_keys: [a], base_url: http://h}\n  my: {api_keys: [b]}\n" +
				"prices:\n  my-house/m-1: {input: 1}\nmodels:\n  my/m: {context: 5, audio: true}\n",
			"/k": "k1,k2\n",
		},
		env: map[string]string{
			"WEIR_PROVIDERS":                     `{yours: {dialect: gemini, models: [g]}}`,
			"WEIR_PROVIDERS_MY_HOUSE_BASE_URL":   "http://other",
			"WEIR_PROVIDERS_MY_API_KEYS_FILE":    "/k",
			"WEIR_PROVIDERS_MY_TIMEOUTS_TOTAL":   "9s",
			"WEIR_PROVIDERS_NEW_ONE_DIALECT":     "cohere",
			"WEIR_PROVIDERS_YOURS_RETRIES":       "1",
			"WEIR_PRICES_MY_HOUSE_M_1_INPUT":     "2",
			"WEIR_PRICES_MY_HOUSE_M_1_AUDIO_OUT": "3.5",
			"WEIR_MODELS_MY_M_MAX_OUTPUT":        "4",
			"WEIR_MODELS_MY_M_REASONING":         "false",
		},
	})
	one, yes, no := 1, true, false
	want := config.Default()
	want.File = "weir.yaml"
	want.Providers = []config.Provider{
		{Name: "my-house", APIKeys: secrets("a"), BaseURL: "http://other"},
		{Name: "my", APIKeys: secrets("k1", "k2"), Timeouts: config.Timeouts{Total: 9 * time.Second}},
		{Name: "yours", Dialect: "gemini", Models: []string{"g"}, Retries: &one},
		{Name: "new_one", Dialect: "cohere"},
	}
	want.Prices = map[string]map[string]string{"my-house/m-1": {"input": "2", "audio_out": "3.5"}}
	want.Models = map[string]config.Model{"my/m": {Context: 5, MaxOutput: 4, Audio: &yes, Reasoning: &no}}
	if d := diff(got, want); d != "" {
		t.Errorf("Load: want -, got +\n%s", d)
	}
}

func TestVariableWarnings(t *testing.T) {
	t.Parallel()
	cases := []struct{ name, want string }{
		{"WEIR_DATABSE", "unknown variable WEIR_DATABSE is ignored; did you mean `WEIR_DATABASE`?"},
		{"WEIR_LIMITS_RMP", "unknown variable WEIR_LIMITS_RMP is ignored; did you mean `WEIR_LIMITS_RPM`?"},
		{"WEIR_CONFG", "unknown variable WEIR_CONFG is ignored; did you mean `WEIR_CONFIG`?"},
		{"WEIR_SOMETHING_ELSE", "unknown variable WEIR_SOMETHING_ELSE is ignored"},
		{"WEIR_FILE", "unknown variable WEIR_FILE is ignored"},
		{"WEIR_", "unknown variable WEIR_ is ignored"},
		{"WEIR_LIMITS_", "unknown variable WEIR_LIMITS_ is ignored; did you mean `WEIR_LIMITS`?"},
		{"WEIR_PRICES_A_B_INPUT", "unknown variable WEIR_PRICES_A_B_INPUT is ignored"},
		{"WEIR_PROVIDERS__DIALECT", "unknown variable WEIR_PROVIDERS__DIALECT is ignored"},
	}
	for _, c := range cases {
		cfg := mustLoad(t, world{env: map[string]string{c.name: "hidden-value"}})
		if d := diff(cfg.Warnings, []string{c.want}); d != "" {
			t.Errorf("%s: want -, got +\n%s", c.name, d)
		}
	}
}

func TestVariableProblems(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name string
		env  map[string]string
		file string
		want string
	}{
		{"type", map[string]string{"WEIR_LIMITS_RPM": "many"}, "", "WEIR_LIMITS_RPM: `limits.rpm` must be a whole number, not \"many\""},
		{"content", map[string]string{"WEIR_LISTEN": "here"}, "", "WEIR_LISTEN: `listen` must be host:port such as 127.0.0.1:8080 or :8080, not \"here\""},
		{"item", map[string]string{"WEIR_TRUSTED_PROXIES": "10.0.0.1,x"}, "", "WEIR_TRUSTED_PROXIES: `trusted_proxies[1]` must be a network such as 10.0.0.0/8 or an address, not \"x\""},
		{"block", map[string]string{"WEIR_LIMITS": "{rpm: 1,\n tmp: 2}"}, "", "WEIR_LIMITS:2:2: unknown key `tmp`; did you mean `tpm`?"},
		{"absent file", map[string]string{"WEIR_DATABASE_FILE": "/absent"}, "", "WEIR_DATABASE_FILE: the file /absent cannot be read: file does not exist"},
		{"both", map[string]string{"WEIR_DATABASE": "", "WEIR_DATABASE_FILE": "/s"}, "", "WEIR_DATABASE_FILE: WEIR_DATABASE is set too; remove one of the two"},
		{"content of a file stays hidden", map[string]string{"WEIR_LISTEN_FILE": "/s"}, "", "WEIR_LISTEN_FILE: `listen` must be host:port such as 127.0.0.1:8080 or :8080, not \"${file:/s}\""},
		{"a new entry", map[string]string{"WEIR_ALIASES_X_STRATEGY": "latency"}, "", "WEIR_ALIASES_X_STRATEGY: the alias `x` needs `targets`, such as [openai/gpt-5-mini]"},
		{
			"two providers of one name",
			map[string]string{"WEIR_PROVIDERS_A_B_DIALECT": "openai"},
			"providers: {a-b: {}, a.b: {}}", "WEIR_PROVIDERS_A_B_DIALECT: the name is ambiguous: it could mean `a-b` or `a.b`; set it in the file",
		},
		{
			"an item of the environment, not of the file",
			map[string]string{"WEIR_PROVIDERS_A_MODELS": "x,y z"},
			"providers:\n  a:\n    models: [1, 2]", "WEIR_PROVIDERS_A_MODELS: a model's name must be one word, not \"y z\"",
		},
	}
	for _, c := range cases {
		w := world{env: c.env, files: map[string]string{"weir.yaml": c.file, "/s": "secret text"}}
		if _, err := w.load(); err == nil || err.Error() != c.want {
			t.Errorf("%s: %v: got error %v, want %s", c.name, c.env, err, c.want)
		}
	}
	_, err := world{opts: config.Options{Listen: "x"}}.load()
	if want := "--listen: `listen` must be host:port such as 127.0.0.1:8080 or :8080, not \"x\""; err == nil || err.Error() != want {
		t.Errorf("--listen x: got error %v, want %s", err, want)
	}
}
