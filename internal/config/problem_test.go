package config_test

import (
	"fmt"
	"strings"
	"testing"

	"weir/internal/config"
)

// mistakes returns files and all their mistakes, without the file's name.
func mistakes() map[string]struct {
	in   string
	want []string
} {
	const wantName = "<provider>/<model-name> such as openai/gpt-5-mini"
	return map[string]struct {
		in   string
		want []string
	}{
		// The text.
		"not YAML":         {"listen: [1,\n", []string{"1:9: not YAML: sequence end token ']' not found"}},
		"a tab":            {"limits:\n\trpm: 1\n", []string{"2:1: not YAML: the line has a tab, and YAML is indented with spaces only: replace it"}},
		"odd indent":       {"limits:\n    rpm: 1\n   tpm: 2\n", []string{"3:4: not YAML: the line does not fit the lines above it: the keys of one block begin in the same column, and each ends in a colon"}},
		"no colon":         {"limits:\n  rpm\n  tpm: 2\n", []string{"2:3: not YAML: the line does not fit the lines above it: the keys of one block begin in the same column, and each ends in a colon"}},
		"not UTF-8":        {"data: é\nlisten: \xff", []string{"2:9: the text is not UTF-8"}},
		"a bare reference": {"a: 1\nproviders: {a: {api_keys: [${K}]}}", []string{"2:29: not YAML: ',' or ']' must be specified; inside [ ] and { } write a ${NAME} in quotes: \"${NAME}\""}},
		"a list":           {"- a\n", []string{"1:1: the configuration must be keys with values, such as `listen: 127.0.0.1:8080`"}},
		"a word":           {"hello", []string{"1:1: the configuration must be keys with values, such as `listen: 127.0.0.1:8080`"}},
		"anchor and alias": {"data: &x y\nlisten: *x\n", []string{"1:7: an anchor `&` is not supported; write plain YAML without it", "2:9: a reference to an anchor `*` is not supported; write plain YAML without it"}},
		"merge key":        {"limits:\n  <<: {rpm: 1}", []string{"2:3: a merge key `<<` is not supported; write plain YAML without it"}},
		"tag":              {"data: !!str y", []string{"1:7: a tag `!!str` is not supported; write plain YAML without it"}},
		"explicit key":     {"? data\n: y", []string{"1:1: an explicit key `?` is not supported; write plain YAML without it"}},
		"directive":        {"%YAML 1.2\n---\ndata: x", []string{"1:1: a directive `%` is not supported; write plain YAML without it", "2:1: a second YAML document begins here; the configuration must be one document"}},
		"two documents":    {"data: x\n---\ndata: y", []string{"2:1: a second YAML document begins here; the configuration must be one document"}},
		"deep brackets":    {"data: " + strings.Repeat("[", 1000), []string{"1:39: the text is nested too deeply"}},
		"deep list":        {"data:\n  " + strings.Repeat("- ", 1000), []string{"2:11: the text is nested too deeply"}},
		// Keys.
		"unknown key":          {"provders: {}\n", []string{"1:1: unknown key `provders`; did you mean `providers`?"}},
		"unknown key, no hint": {"wholly_other: 1\n", []string{"1:1: unknown key `wholly_other`"}},
		"nested unknown key":   {"providers:\n  house:\n    basurl: x\n", []string{"3:5: unknown key `basurl`; did you mean `base_url`?"}},
		"case":                 {"Listen: ':1'", []string{"1:1: unknown key `Listen`; did you mean `listen`?"}},
		"columns in letters":   {`{"é": 1, lisen: 2}`, []string{"1:2: unknown key `é`", "1:10: unknown key `lisen`; did you mean `listen`?"}},
		"doubled key":          {"data: a\nlisten: :1\n\"data\": b\n", []string{"3:1: key `data` appears twice; it is already in line 1"}},
		"doubled provider":     {"providers:\n  a: {}\n  a: {}\n", []string{"3:3: key `a` appears twice; it is already in line 2"}},
		"control characters":   {`"a\nb": 1`, []string{"1:1: unknown key `a\\nb`"}},
		// Types.
		"block wanted":   {"limits: 5", []string{"1:9: `limits` must be a block of keys"}},
		"entries wanted": {"providers: [a]", []string{"1:12: `providers` must be a block of keys"}},
		"list wanted":    {"providers: {a: {api_keys: k}}", []string{"1:27: `providers.a.api_keys` must be a list such as [one, two]"}},
		"scalar wanted":  {"data: [x]\nlisten:\n  host: y\n", []string{"1:7: `data` must be a single value, not a list or a block of keys", "3:7: `listen` must be a single value, not a list or a block of keys"}},
		"whole number":   {"limits: {rpm: 1.5, tpm: many}", []string{"1:15: `limits.rpm` must be a whole number, not \"1.5\"", "1:25: `limits.tpm` must be a whole number, not \"many\""}},
		"boolean":        {"insecure_http: yes", []string{"1:16: `insecure_http` must be true or false, not \"yes\""}},
		"duration":       {"drain_timeout: 5\nretention: {requests: 9 weeks}", []string{"1:16: `drain_timeout` must be a duration such as 5s, 30m, 12h or 90d, not \"5\"", "2:23: `retention.requests` must be a duration such as 5s, 30m, 12h or 90d, not \"9 weeks\""}},
		"vast duration":  {"drain_timeout: 999999999d", []string{"1:16: `drain_timeout` must be a duration such as 5s, 30m, 12h or 90d, not \"999999999d\""}},
		"size":           {"max_body: 3MB", []string{"1:11: `max_body` must be a size such as 32MiB, 512KiB or 1048576, not \"3MB\""}},
		"network":        {"trusted_proxies: [10.0.0.0/99]", []string{"1:19: `trusted_proxies[0]` must be a network such as 10.0.0.0/8 or an address, not \"10.0.0.0/99\""}},
		"hosts":          {"hosts: ['weir.lan:8080', 'https://weir.lan', '*.lan', weir.lan]", []string{"1:9: `hosts[0]` must be a name without a port such as weir.example.com, not \"weir.lan:8080\"", "1:26: `hosts[1]` must be a name without a port such as weir.example.com, not \"https://weir.lan\"", "1:46: `hosts[2]` must be a name without a port such as weir.example.com, not \"*.lan\""}},
		"host":           {"host: [weir.lan]", []string{"1:1: unknown key `host`; did you mean `hosts`?"}},
		"labels":         {"telemetry: {labels: [team, account, account, \"tag:a-b\", \"tag:a.b\"]}", []string{"1:22: `telemetry.labels[0]` must be account, key, or tag:NAME for a tag, not \"team\"", "1:37: `telemetry.labels` has \"account\" twice: remove one", "1:57: `telemetry.labels` has two tags with the label tag_a_b: remove one"}},
		"many labels":    {"telemetry: {labels: [\"tag:a\", \"tag:b\", \"tag:c\", \"tag:d\", \"tag:e\"]}", []string{"1:13: `telemetry.labels` has 5 tags: choose at most 4"}},
		"alerts":         {"alerts: {refusals: -1}", []string{"1:20: `alerts.refusals` must be from 0 to 1000000; 0 switches the alert off"}},
		"empty item":     {"trusted_proxies:\n  -\n  - ::1", []string{"1:1: `trusted_proxies[0]` is empty"}},
		// References.
		"unset variable":   {"data: x${NOPE}y${NEITHER}", []string{"1:7: the environment variable NEITHER is not set; set it, or write ${NEITHER:-default}", "1:7: the environment variable NOPE is not set; set it, or write ${NOPE:-default}"}},
		"open reference":   {"data: ${NOPE", []string{"1:7: `${` has no closing `}`; write $$ for a dollar sign"}},
		"no reference":     {"data: ${a b}", []string{"1:7: `${a b}` is not a reference; write ${NAME}, ${NAME:-default}, ${file:/path}, or $$ for a dollar sign"}},
		"absent file":      {"data: ${file:/absent}", []string{"1:7: the file /absent cannot be read: file does not exist"}},
		"no file":          {"data: '${file:}'", []string{"1:7: `${file:}` names no file; write ${file:/path}"}},
		"hidden expansion": {"listen: ${SECRET}", []string{"1:9: `listen` must be host:port such as 127.0.0.1:8080 or :8080, not \"${SECRET}\""}},
		"hidden price":     {"prices: {a/b: {input: '${SECRET}'}}", []string{"1:23: price \"${SECRET}\": not a plain decimal number such as \"0.25\""}},
		"silent follower":  {"providers: {a: {api_keys: ['${NOPE}'], timeouts: {idle: x}}}", []string{"1:28: the environment variable NOPE is not set; set it, or write ${NOPE:-default}", "1:57: `providers.a.timeouts.idle` must be a duration such as 5s, 30m, 12h or 90d, not \"x\""}},
		// Content.
		"listen":           {"listen: 8080\ntelemetry:\n  listen: ':70000'", []string{"1:9: `listen` must be host:port such as 127.0.0.1:8080 or :8080, not \"8080\"", "3:11: `telemetry.listen` must be host:port such as 127.0.0.1:8080 or :8080, not \":70000\""}},
		"one listen twice": {"listen: ':80'\ntelemetry: {listen: ':80'}", []string{"2:21: `telemetry.listen` must be another address than `listen`; remove it to have the metrics there"}},
		"incomplete price": {"prices:\n  a/b: {cache_read: 1}\n  a/c: {}", []string{"2:3: the price `a/b` is incomplete: input or output is missing: set both, because absent classes take their price from these", "3:3: the price `a/c` is incomplete: no price is set; for a free model set input to \"0\""}},
		"listen at a URL":  {"listen: http://h:1", []string{"1:9: `listen` must be host:port such as 127.0.0.1:8080 or :8080, not \"http://h:1\""}},
		"no data":          {"data: ''", []string{"1:7: `data` must name a directory, such as ./weir-data"}},
		"database":         {"database: mysql://u:hidden@h/d", []string{"1:11: `database` must be a postgres:// URL, or empty for SQLite"}},
		"database's hash":  {"database: 'postgres://u:12#hidden@h/d'", []string{"1:11: `database` has an unescaped character in its password: write %2F for /, %3F for ?, %23 for #"}},
		"valkey":           {"valkey: h:6379", []string{"1:9: `valkey` must be a redis:// URL, or empty for memory"}},
		"outbound":         {"outbound: {proxy: 'ftp://h'}", []string{"1:19: `outbound.proxy` must be an http, https or socks5 URL, or empty"}},
		"durability":       {"durability: strikt", []string{"1:13: unknown durability \"strikt\"; did you mean `strict`?"}},
		"log":              {"log: {level: loud, format: jsn}", []string{"1:14: unknown level \"loud\"; it is one of debug, info, warn, error", "1:28: unknown format \"jsn\"; did you mean `json`?"}},
		"no way in":        {"sessions: {passwords: off}", []string{"1:23: `sessions.passwords: off` needs `oidc`: without both, nobody can sign in"}},
		"half a password":  {"sessions: {passwords: never}", []string{"1:23: unknown passwords \"never\"; it is one of on, off"}},
		"short session":    {"sessions: {idle: 5s, absolute: 1s}", []string{"1:18: `sessions.idle` must be at least 1m", "1:32: `sessions.absolute` must be at least `sessions.idle`, which is 5s"}},
		"no issuer":        {"oidc: {client_id: x}", []string{"1:19: `oidc.client_id` needs `oidc.issuer`, such as https://id.example.com"}},
		"bare issuer":      {"oidc: {issuer: 'https://id.example', scopes: [email], groups_claim: '', accounts: {a: {owner: []}}}", []string{"1:1: `oidc` needs `client_id`", "1:1: `oidc` needs `client_secret`", "1:38: `oidc.scopes` must include openid", "1:69: `oidc.groups_claim` must be the name of a claim, such as groups", "1:84: the account \"a\" needs groups for `owner`, `member` or `viewer`"}},
		"plain directory":  {"tls: {acme: {domains: [a.example], directory: 'http://ca.example/dir'}}", []string{"1:47: `tls.acme.directory` must be an https URL, as RFC 8555, section 6.1, requires"}},
		"plain issuer":     {"oidc: {issuer: 'http://id.example', client_id: x, client_secret: hidden}", []string{"1:16: `oidc.issuer` must be an https URL: over plain http an attacker on the network could sign in as any user"}},
		"smtp":             {"smtp: {addr: mail, from: nobody, username: x, tls: ssl}", []string{"1:1: `smtp` must have both `username` and `password`, or neither", "1:14: `smtp.addr` must be host:port such as mail.example.com:587, not \"mail\"", "1:26: `smtp.from` must be an e-mail address such as weir@example.com, not \"nobody\"", "1:52: unknown tls \"ssl\"; it is one of starttls, tls, none"}},
		"smtp in the open": {"smtp: {addr: 'mail.example:25', from: a@b.example, username: x, password: hidden, tls: none}", []string{"1:88: `smtp.tls` must not be none with a password: it would be sent over the network unencrypted"}},
		"half of smtp":     {"smtp: {from: a@b.example}", []string{"1:1: `smtp` needs `addr`, such as mail.example.com:587"}},
		"public_url":       {"public_url: w.example", []string{"1:13: `public_url` must be an http or https URL such as https://api.example.com/v1, not \"w.example\""}},
		"ranges of kept":   {"kept: {bytes_per_account: -1, replies_per_account: -2, min_free_disk: -3}", []string{"1:27: `kept.bytes_per_account` must be at least 0, not -1", "1:52: `kept.replies_per_account` must be at least 0, not -2", "1:71: `kept.min_free_disk` must be at least 0, not -3"}},
		"ranges of keys":   {"limits: {per_key: {tpm: -1}, per_account: {concurrency: -2}}", []string{"1:25: `limits.per_key.tpm` must be at least 0, not -1", "1:57: `limits.per_account.concurrency` must be at least 0, not -2"}},
		"ranges":           {"limits: {rpm: -1}\nmax_concurrency: 0\ndefault_max_output: 0\nmax_body: 2GiB\ndrain_timeout: -1s\nretention: {requests: 23h, responses: -1s, explanations: 1h, attribution: 1h, tags: [team, team]}", []string{"1:15: `limits.rpm` must be at least 0, not -1", "2:18: `max_concurrency` must be at least 1, not 0", "3:21: `default_max_output` must be at least 1, not 0", "4:11: `max_body` must be 1KiB to 1GiB, not 2GiB", "5:16: `drain_timeout` must not be negative", "6:23: `retention.requests` must be at least 1d", "6:39: `retention.responses` must not be negative; 0s stores none", "6:58: `retention.explanations` must be at least 1d", "6:75: `retention.attribution` must be at least 1d", "6:92: `retention.tags`: the tag \"team\" appears twice"}},
		"half of TLS":      {"tls: {cert: c}", []string{"1:1: `tls` must have both `cert` and `key`, or neither"}},
		"provider's name":  {"providers:\n  Open_AI: {}\n  'a b': {}\n", []string{"2:3: a provider's name must be at most 64 lower-case letters, digits, dashes, underscores and dots, not \"Open_AI\"; did you mean `open_ai`?", "3:3: a provider's name must be at most 64 lower-case letters, digits, dashes, underscores and dots, not \"a b\""}},
		"dialect":          {"providers: {a: {dialect: antropic}}", []string{"1:26: unknown dialect \"antropic\"; did you mean `anthropic`?"}},
		"base_url":         {"providers:\n  a: {base_url: 'ftp://h'}\n  b: {base_url: 'https://u:hidden@h'}\n  c: {base_url: 'https://h/v1?key=hidden'}\n  d: {base_url: 'https://h:0'}\n  e: {base_url: 'ftp://u:hidden@h'}", []string{"2:17: `providers.a.base_url` must be an http or https URL such as https://api.example.com/v1, not \"ftp://h\"", "3:17: `providers.b.base_url` must not contain credentials; set `api_keys` instead", "4:17: `providers.c.base_url` must not contain a query or a fragment", "5:17: `providers.d.base_url` must have a port from 1 to 65535, not 0", "6:17: `providers.e.base_url` must be an http or https URL such as https://api.example.com/v1"}},
		"api_keys":         {"providers: {a: {api_keys: [hidden, 'hid den', '', hidden]}}", []string{"1:36: an API key contains white space or a character that is invalid in an HTTP header", "1:47: an API key is empty; set or remove it", "1:51: the API key is the same as entry 1; remove one"}},
		"auth":             {"providers:\n  a: {auth: Bearer}\n  b:\n    auth: basic\n  c: {auth: none, api_keys: [hidden]}", []string{"2:13: unknown auth \"Bearer\"; did you mean `bearer`?", "4:11: unknown auth \"basic\"; it is one of bearer, api-key, x-api-key, x-goog-api-key, none, aws, google, entra", "5:13: `auth: none` sends no key, but there are `api_keys`; remove one of the two"}},
		"access key":       {"providers:\n  a:\n    auth: aws\n    api_keys: [\"AKIA:hidden\"]", []string{"4:16: an Amazon Bedrock API key has no colon; set access keys in the environment or a profile, not in `api_keys`"}},
		"models of one":    {"providers: {a: {models: [m, 'm n', m]}}", []string{"1:29: a model's name must be one word, not \"m n\"", "1:36: model \"m\" appears twice: remove one"}},
		"timeouts":         {"providers: {a: {timeouts: {connect: -1s, total: 0s}}}", []string{"1:37: the timeout `connect` must be above zero; remove it for the default", "1:49: the timeout `total` must be above zero; remove it for the default"}},
		"retries":          {"providers: {a: {retries: 11}, b: {retries: -1}}", []string{"1:26: `retries` must be 0 to 10, not 11", "1:44: `retries` must be 0 to 10, not -1"}},
		"models":           {"models:\n  gpt: {}\n  a/b: {context: 5, max_output: 6}\n  a/c: {context: 0}", []string{"2:3: a key of `models` must be " + wantName + ", not \"gpt\"", "3:33: `max_output` must be at most `context`, which is 5", "4:18: `context` must be at least 1, not 0"}},
		"abilities":        {"models:\n  a/b: {images: maybe, tolls: true}\n  a/c: {documents: 'yes', audio: [true]}", []string{"2:17: `models[\"a/b\"].images` must be true or false, not \"maybe\"", "2:24: unknown key `tolls`; did you mean `tools`?", "3:20: `models[\"a/c\"].documents` must be true or false, not \"yes\"", "3:34: `models[\"a/c\"].audio` must be a single value, not a list or a block of keys"}},
		"prices":           {"prices:\n  gpt: {}\n  a/b: {input: free, inptu: 1, output: -1, wings: 1}\n  a/c: {input: '0.0000001', second: '0.0000000000001'}", []string{"2:3: a key of `prices` must be " + wantName + ", not \"gpt\"", "3:16: price \"free\": not a plain decimal number such as \"0.25\"", "3:22: unknown key `inptu`; did you mean `input`?", "3:40: price \"-1\": negative", "3:44: unknown key `wings`; it is one of input, output, cache_read, cache_write, cache_write_1h, cache_read_audio, audio_in, audio_out, image_in, image_out, citation, reasoning, request, image, character, second, search, maps, x_search, file_search, code_interpreter, tool_image, other_tool", "4:16: price \"0.0000001\": more than 6 decimals", "4:37: price \"0.0000000000001\": more than 12 decimals"}},
		"weights":          {"aliases:\n  a: {targets: [x/y, x/z], weights: [0, 0]}\n  b: {targets: [x/y, x/z], weights: [-1, 1001]}", []string{"2:28: one of the `weights` must be above 0: a target of weight 0 is only a fallback", "3:38: a weight must be 0 to 1000, not -1", "3:42: a weight must be 0 to 1000, not 1001"}},
		"aliases":          {"aliases:\n  a/b: {targets: [x/y]}\n  c: {}\n  d: {targets: [small, a/b, a/b], strategy: weighed}", []string{"2:3: an alias must be one word without a slash, not \"a/b\"", "3:3: the alias `c` needs `targets`, such as [openai/gpt-5-mini]", "4:17: a target must be " + wantName + ", not \"small\"", "4:29: target \"a/b\" appears twice: remove one", "4:45: unknown strategy \"weighed\"; did you mean `weighted`?"}},
		"causes": {"aliases:\n  a: {targets: [x/y], on: [overloaded, overload, BUDGET]}", []string{
			"2:40: unknown cause \"overload\"; choose from unreachable, timeout, broken_off, bad_answer, server_error, overloaded, rate_limited, quota, credentials, forbidden, model_not_found, max_price, context_length, content_policy, invalid_request",
			"2:50: unknown cause \"BUDGET\"; choose from unreachable, timeout, broken_off, bad_answer, server_error, overloaded, rate_limited, quota, credentials, forbidden, model_not_found, max_price, context_length, content_policy, invalid_request",
		}},
		"default_model":    {"default_model: fasst\naliases: {fast: {targets: [a/b]}}", []string{"1:16: `default_model` must be " + wantName + ", or an alias, not \"fasst\"; did you mean `fast`?"}},
		"default_model, /": {"default_model: a/", []string{"1:16: `default_model` must be " + wantName + ", or an alias, not \"a/\""}},
	}
}

func TestMistakesAreReportedWithPlace(t *testing.T) {
	t.Parallel()
	for name, c := range mistakes() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := world{
				files: map[string]string{"weir.yaml": c.in},
				env:   map[string]string{"SECRET": "hidden"},
			}.load()
			if err == nil {
				t.Fatalf("Load(%s): got no error, want %q", c.in, c.want)
			}
			got := strings.Split(strings.ReplaceAll(err.Error(), "weir.yaml:", ""), "\n")
			if d := diff(got, c.want); d != "" {
				t.Errorf("Load(%s): want -, got +\n%s", c.in, d)
			}
			if c.in != "" && strings.Contains(err.Error(), "hidden") {
				t.Errorf("Load(%s): got %v, want nothing that is secret", c.in, err)
			}
		})
	}
}

func TestManyMistakes(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&text, "wrong%d: 1\n", i)
	}
	_, err := fromFile(text.String())
	got := strings.Split(err.Error(), "\n")
	if last := got[len(got)-1]; len(got) != 201 || last != "weir.yaml: too many mistakes; the rest is not shown" {
		t.Errorf("1000 mistakes: got %d lines, the last %q, want 201 and a word about the rest", len(got), last)
	}
}

func TestFilesAreBounded(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		strings.Repeat("# long\n", 1<<18):         "weir.yaml: the file is longer than 1024 KiB",
		strings.Repeat("#\r\n", 20_001):           "weir.yaml:20001:1: the file has more than 20000 lines",
		"data: |\n x" + strings.Repeat("\n", 600): "weir.yaml:503:1: the file has more than 500 blank lines in a row",
		"#\r" + strings.Repeat(" \r", 600):        "weir.yaml:502:1: the file has more than 500 blank lines in a row",
	} {
		if _, err := fromFile(text); err == nil || err.Error() != want {
			t.Errorf("a file of %d bytes: got error %v, want %q", len(text), err, want)
		}
	}
	w := world{files: map[string]string{"weir.yaml": "data: ${file:/long}", "/long": strings.Repeat("x", 1<<17)}}
	if _, err := w.load(); err == nil || !strings.Contains(err.Error(), "the file /long is longer than 64 KiB") {
		t.Errorf("a long secret: got error %v, want one about its length", err)
	}
	_, err := fromFile(strings.Repeat("k", 100_000) + ": 1")
	if err == nil || len(err.Error()) > 1000 {
		t.Errorf("a long key: got an error of %d bytes, want at most 1000", len(err.Error()))
	}
}

func TestNearestWordIsSuggested(t *testing.T) {
	t.Parallel()
	words := []string{"providers", "prices", "listen", "limits", "tls", "rpm", "tpm"}
	cases := []struct {
		word, want string
	}{
		{"provders", "providers"},
		{"PROVIDERS", "providers"},
		{"provdiers", "providers"},
		{"lsiten", "listen"},
		{"listen", "listen"},
		{"limit", "limits"},
		{"ttls", "tls"},
		{"rmp", "rpm"},
		{"pm", "rpm"},
		{"completely", ""},
		{"x", ""},
		{"", ""},
		{"prïces", "prices"},
		{strings.Repeat("listen", 100), ""},
	}
	for _, c := range cases {
		got, ok := config.Nearest(c.word, words)
		if got != c.want || ok != (c.want != "") {
			t.Errorf("Nearest(%q): got %q, %v, want %q", c.word, got, ok, c.want)
		}
	}
	if got, ok := config.Nearest("a", nil); ok {
		t.Errorf("Nearest without candidates: got %q, want none", got)
	}
}
