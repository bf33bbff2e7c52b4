package config

import (
	"net/netip"
	"time"

	"weir/internal/llm"
)

// Config is the whole configuration. Its yaml tags are the keys of the file,
// and, in capitals behind WEIR_, the names of the environment variables.
type Config struct {
	// Listen is the address, host:port, at which the gateway answers.
	Listen string `yaml:"listen"`
	// Data is the directory of the journal and of the embedded database.
	Data string `yaml:"data"`
	// Database is a postgres:// URL; empty for SQLite in Data.
	Database llm.Secret `yaml:"database"`
	// Valkey is a redis:// URL; empty for limits in memory.
	Valkey llm.Secret `yaml:"valkey"`
	// Durability is "batched" or "strict".
	Durability string `yaml:"durability"`
	// DefaultModel is a <provider>/<model-name> or an alias; empty for the
	// first usable model of the shipped order.
	DefaultModel string `yaml:"default_model"`
	// Providers are in the order of the file; those of the environment alone
	// follow. Their names are unique.
	Providers []Provider `yaml:"providers"`
	// Models says what the catalogue does not know, or knows otherwise, by
	// <provider>/<model-name>.
	Models map[string]Model `yaml:"models"`
	// DefaultMaxOutput is the cap on output tokens, at least 1, where neither
	// the client nor the catalogue gives one.
	DefaultMaxOutput int64 `yaml:"default_max_output"`
	// Prices are plain decimals of US dollars by <provider>/<model-name> and
	// class: per million tokens, or per unit for the classes of UnitClasses.
	Prices map[string]map[string]string `yaml:"prices"`
	// PricesFile are the paths of price files, of which a later one beats an earlier one,
	// and Prices beat all.
	PricesFile Paths `yaml:"prices_file,omitempty"`
	// Pricing is what prices are taken for.
	Pricing Pricing `yaml:"pricing"`
	// Aliases are by name; a name holds no slash.
	Aliases map[string]Alias `yaml:"aliases"`
	// Limits are those of the installation as a whole, and what keys and
	// accounts have that have none of their own.
	Limits InstallationLimits `yaml:"limits"`
	// MaxConcurrency is how many requests are in flight on this node, at least
	// 1, before it sheds load.
	MaxConcurrency int `yaml:"max_concurrency"`
	// MaxBody is the limit of a request's body, 1 KiB to 1 GiB.
	MaxBody Bytes `yaml:"max_body"`
	// PublicURL is the address that links carry, without a slash at its end;
	// empty for what the gateway listens on.
	PublicURL string `yaml:"public_url"`
	// Hosts are further names of the gateway, in lower case, without a port or a
	// dot at the end. Requests for other names are refused, but at the client APIs.
	Hosts []string `yaml:"hosts"`
	// CORS is which browser programs of other sites may use the client APIs.
	CORS CORS `yaml:"cors"`
	// TrustedProxies are the networks whose X-Forwarded-* headers count.
	TrustedProxies []netip.Prefix `yaml:"trusted_proxies"`
	// TLS is empty, or complete.
	TLS TLS `yaml:"tls"`
	// InsecureHTTP lets people sign in, and takes keys of operators, over plain http
	// beyond loopback.
	InsecureHTTP bool `yaml:"insecure_http"`
	// Sessions is how long people stay signed in.
	Sessions Sessions `yaml:"sessions"`
	// OIDC is who signs people in beside passwords; nobody without an issuer.
	OIDC OIDC `yaml:"oidc"`
	// SMTP is how mail is sent; not at all without an address.
	SMTP SMTP `yaml:"smtp"`
	// Outbound is how providers are reached.
	Outbound Outbound `yaml:"outbound"`
	// Retention is how long data lives.
	Retention Retention `yaml:"retention"`
	// Kept is how much is kept for clients.
	Kept Kept `yaml:"kept"`
	// Backup is where the installation is backed up to while it runs.
	Backup Backup `yaml:"backup"`
	// Telemetry is where metrics are served.
	Telemetry Telemetry `yaml:"telemetry"`
	// Webhooks is what endpoints may be.
	Webhooks Webhooks `yaml:"webhooks"`
	// Secrets is what secrets in the database are sealed with.
	Secrets Secrets `yaml:"secrets"`
	// DrainDelay is how long a graceful stop still takes requests, while /readyz says that it stops.
	DrainDelay time.Duration `yaml:"drain_delay"`
	// DrainTimeout is how long a graceful stop waits for requests in flight; 0
	// for not at all.
	DrainTimeout time.Duration `yaml:"drain_timeout"`
	// Log is how the log is written.
	Log Log `yaml:"log"`

	// File is the file that was read; empty for none.
	File string `yaml:"-"`
	// Warnings are what an operator should know and may ignore, such as an
	// unknown WEIR_ variable. They hold no values.
	Warnings []string `yaml:"-"`
	// origins are where each value was set, by path.
	origins map[string]origin `yaml:"-"`
}

// Reloaded is the configuration that counts once next was read: what of it can change while the gateway runs, and the
// rest as it was.
func (c Config) Reloaded(next *Config) Config {
	c.Providers, c.Models, c.Prices, c.PricesFile, c.Pricing, c.Aliases = next.Providers, next.Models, next.Prices,
		next.PricesFile, next.Pricing, next.Aliases
	c.DefaultModel, c.DefaultMaxOutput, c.Limits, c.Outbound = next.DefaultModel, next.DefaultMaxOutput, next.Limits,
		next.Outbound
	c.CORS, c.Retention, c.Warnings, c.origins = next.CORS, next.Retention, next.Warnings, next.origins
	return c
}

// Paths are names of files; in the file, a single one needs no list.
type Paths []string

// Limits are requests a minute, tokens a minute and requests at a time; 0 is
// no limit.
type Limits struct {
	RPM         int64 `yaml:"rpm"`
	TPM         int64 `yaml:"tpm"`
	Concurrency int64 `yaml:"concurrency"`
}

// InstallationLimits are Limits of all requests together, and defaults.
type InstallationLimits struct {
	RPM         int64 `yaml:"rpm"`
	TPM         int64 `yaml:"tpm"`
	Concurrency int64 `yaml:"concurrency"`
	// PerKey and PerAccount hold for each key and each account, number by number
	// where it has none of its own.
	PerKey     Limits `yaml:"per_key"`
	PerAccount Limits `yaml:"per_account"`
	// RejectedPerKey and RejectedPerAccount are how many attempts a minute providers may reject for nothing; 0 for any
	// number.
	RejectedPerKey     int64 `yaml:"rejected_per_key"`
	RejectedPerAccount int64 `yaml:"rejected_per_account"`
}

// TLS is where the certificate comes from: from the files of it and its key, both or neither, or by ACME.
type TLS struct {
	Cert string `yaml:"cert"`
	Key  string `yaml:"key"`
	ACME ACME   `yaml:"acme"`
	// ClientCA is a PEM file of the authorities whose clients alone come to the pages, the administration and the
	// metrics; empty for no such condition.
	ClientCA string `yaml:"client_ca"`
}

// On reports whether clients are talked to over TLS.
func (t *TLS) On() bool { return t.Cert != "" || len(t.ACME.Domains) > 0 }

// ACME is how certificates are obtained from an authority (RFC 8555), whose terms are accepted by that.
type ACME struct {
	// Domains are the names that certificates are for; none for no ACME.
	Domains []string `yaml:"domains,omitempty"`
	// Email is where the authority writes to; empty for nowhere.
	Email string `yaml:"email"`
	// Directory is the https address of the authority's directory.
	Directory string `yaml:"directory"`
}

// Outbound is how the gateway reaches out.
type Outbound struct {
	// Proxy is a URL of one of outbound.ProxySchemes, which may carry a password.
	Proxy llm.Secret `yaml:"proxy"`
	// CAFile is a PEM file of certificate authorities trusted beside the
	// system's.
	CAFile string `yaml:"ca_file"`
}

// Kept is how much is kept for clients: replies for an Idempotency-Key, and what the
// Responses API keeps. 0 is no bound.
type Kept struct {
	// BytesPerAccount is for replies and responses together, as they are stored.
	BytesPerAccount Bytes `yaml:"bytes_per_account"`
	// RepliesPerAccount is how many replies and responses that may be.
	RepliesPerAccount int64 `yaml:"replies_per_account"`
	// MinFreeDisk is what has to be free on the disk of Data, with SQLite, for anything
	// to be kept.
	MinFreeDisk Bytes `yaml:"min_free_disk"`
}

// Telemetry is where metrics are served.
type Telemetry struct {
	// Listen is an address, host:port, of its own; empty for the main one.
	Listen string `yaml:"listen"`
}

// Secrets is what secrets in the database are sealed with. Keys are 32 random bytes in
// base64 or hexadecimal digits.
type Secrets struct {
	// Key is the key to seal with; empty for one in a file in Data.
	Key llm.Secret `yaml:"key"`
	// Previous are keys that Key has replaced, until everything is sealed anew.
	Previous []llm.Secret `yaml:"previous,omitempty"`
}

// Webhooks is what webhook endpoints may be.
type Webhooks struct {
	// AllowPrivate allows loopback and private addresses, and http there.
	AllowPrivate bool `yaml:"allow_private"`
}

// Log is how the log is written.
type Log struct {
	// Level is "debug", "info", "warn" or "error".
	Level string `yaml:"level"`
	// Format is "text", "json", or "auto": text on a terminal, else JSON.
	Format string `yaml:"format"`
}

// Sessions is how long people stay signed in.
type Sessions struct {
	// Idle is how long a session lives that nobody uses, from one minute.
	Idle time.Duration `yaml:"idle"`
	// Absolute is how long a session lives at the longest, at least as long.
	Absolute time.Duration `yaml:"absolute"`
	// Passwords is "on", or "off": people come by single sign-on alone.
	Passwords string `yaml:"passwords"`
}

// OIDC is an OpenID Connect provider. It is empty, or has an issuer, a client id
// and a client secret.
type OIDC struct {
	// Issuer is an https URL; http on this machine, and with insecure_http.
	Issuer       string     `yaml:"issuer"`
	ClientID     string     `yaml:"client_id"`
	ClientSecret llm.Secret `yaml:"client_secret"`
	// Name is on the button.
	Name string `yaml:"name"`
	// Scopes are asked for, openid among them.
	Scopes []string `yaml:"scopes"`
	// GroupsClaim is where the provider says in which groups somebody is.
	GroupsClaim string `yaml:"groups_claim"`
	// Operators are the groups whose people are operators; none: groups say
	// nothing of operators.
	Operators []string `yaml:"operators,omitempty"`
	// Accounts are the groups of each role, by name of the account.
	Accounts map[string]RoleGroups `yaml:"accounts"`
	// SignUp lets in everybody whom the provider knows.
	SignUp bool `yaml:"sign_up"`
}

// RoleGroups are the groups whose people have a role in an account.
type RoleGroups struct {
	Owner  []string `yaml:"owner,omitempty"`
	Member []string `yaml:"member,omitempty"`
	Viewer []string `yaml:"viewer,omitempty"`
}

// SMTP is a mail server. It is empty, or has an address and a sender.
type SMTP struct {
	// Addr is host:port.
	Addr     string     `yaml:"addr"`
	Username string     `yaml:"username"`
	Password llm.Secret `yaml:"password"`
	// From is an e-mail address, with or without a name.
	From string `yaml:"from"`
	// TLS is "starttls", "tls" or "none".
	TLS string `yaml:"tls"`
}

const day = 24 * time.Hour

// Default is the configuration where nobody says anything.
func Default() Config {
	return Config{
		Listen:           "127.0.0.1:8080",
		Data:             "./weir-data",
		Durability:       "batched",
		DefaultMaxOutput: 8192,
		Pricing:          Pricing{Assumed: "accept", Tools: "bound", Margin: defaultMargin},
		MaxConcurrency:   4096,
		Limits:           InstallationLimits{RejectedPerKey: 600, RejectedPerAccount: 3000},
		MaxBody:          32 << 20,
		Retention:        Retention{Requests: 90 * day, Responses: 30 * day, Explanations: 2557 * day, Attribution: 400 * day},
		Kept:             Kept{BytesPerAccount: 1 << 30, RepliesPerAccount: 100_000, MinFreeDisk: 1 << 30},
		TLS:              TLS{ACME: ACME{Directory: "https://acme-v02.api.letsencrypt.org/directory"}},
		Backup:           Backup{Every: 10 * time.Second, Full: day, Keep: 7},
		Sessions:         Sessions{Idle: 12 * time.Hour, Absolute: 7 * day, Passwords: "on"},
		OIDC: OIDC{
			Name: "single sign-on", Scopes: []string{"openid", "profile", "email"}, GroupsClaim: "groups",
		},
		SMTP:         SMTP{TLS: "starttls"},
		DrainTimeout: 30 * time.Second,
		Log:          Log{Level: "info", Format: "auto"},
	}
}

// Strategies are the ways in which an alias chooses among its targets. The
// first is the default.
func Strategies() []string { return []string{"fallback", "weighted", "latency"} }

// TokenClasses are the price classes in US dollars per million tokens.
func TokenClasses() []string {
	return []string{
		"input", "output", "cache_read", "cache_write", "cache_write_1h",
		"cache_read_audio", "audio_in", "audio_out", "image_in", "image_out", "citation", "reasoning",
	}
}

// UnitClasses are the price classes in US dollars per unit. "second" is a
// second of audio, which llm.Milliseconds counts in thousandths.
func UnitClasses() []string {
	return []string{
		"request", "image", "character", "second",
		"search", "maps", "x_search", "file_search", "code_interpreter", "tool_image", "other_tool",
	}
}
