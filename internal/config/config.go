package config

import (
	"net/netip"
	"time"

	"weir/internal/llm"
)

// Config is the whole configuration. Its yaml tags are the keys of the file and, in capitals with the prefix WEIR_, the
// names of the environment variables.
type Config struct {
	// Listen is the address, host:port, that the gateway listens on.
	Listen string `yaml:"listen"`
	// Data is the directory of the journal and of the embedded database.
	Data string `yaml:"data"`
	// Database is a postgres:// URL; empty for SQLite in Data.
	Database llm.Secret `yaml:"database"`
	// Valkey is a redis:// URL; empty for limits in memory.
	Valkey llm.Secret `yaml:"valkey"`
	// Durability is "batched" or "strict".
	Durability string `yaml:"durability"`
	// DefaultModel is a <provider>/<model-name> or an alias; empty for the first usable model in the built-in order.
	DefaultModel string `yaml:"default_model"`
	// Providers are in the order of the file, followed by those that only the environment defines. Their names are
	// unique.
	Providers []Provider `yaml:"providers"`
	// Models overrides and extends the catalogue's data about models, by <provider>/<model-name>.
	Models map[string]Model `yaml:"models"`
	// DefaultMaxOutput is the cap on output tokens, at least 1, if neither the client nor the catalogue sets one.
	DefaultMaxOutput int64 `yaml:"default_max_output"`
	// Prices are plain decimals of US dollars by <provider>/<model-name> and
	// class: per million tokens, or per unit for the classes of UnitClasses.
	Prices map[string]map[string]string `yaml:"prices"`
	// PricesFile lists the paths of price files. Later files override earlier ones, and Prices overrides all.
	PricesFile Paths `yaml:"prices_file,omitempty"`
	// Pricing configures the use of prices.
	Pricing Pricing `yaml:"pricing"`
	// Aliases are keyed by name; a name contains no slash.
	Aliases map[string]Alias `yaml:"aliases"`
	// MCPServers are servers of tools by name, and MCPBundles selections of their tools.
	MCPServers map[string]MCPServer `yaml:"mcp_servers,omitempty"`
	MCPBundles map[string]MCPBundle `yaml:"mcp_bundles,omitempty"`
	// Limits holds the limits of the whole installation, and the defaults for keys and accounts without limits of their
	// own.
	Limits InstallationLimits `yaml:"limits"`
	// MaxConcurrency is the number of requests in flight, at least 1, above which this node sheds load.
	MaxConcurrency int `yaml:"max_concurrency"`
	// MaxBody is the maximum size of a request body, 1 KiB to 1 GiB.
	MaxBody Bytes `yaml:"max_body"`
	// PublicURL is the base address of links, without a trailing slash; empty for the address that the gateway listens
	// on.
	PublicURL string `yaml:"public_url"`
	// Hosts lists further names of the gateway, in lower case, without a port or a trailing dot. Requests for other
	// names are refused, except at the client APIs.
	Hosts []string `yaml:"hosts"`
	// CORS configures the browser programs of other sites that may use the client APIs.
	CORS CORS `yaml:"cors"`
	// TrustedProxies are the networks of proxies with trusted X-Forwarded-* headers.
	TrustedProxies []netip.Prefix `yaml:"trusted_proxies"`
	// TLS is empty, or complete.
	TLS TLS `yaml:"tls"`
	// InsecureHTTP permits sign-in and operators' keys over plain http on non-loopback addresses.
	InsecureHTTP bool `yaml:"insecure_http"`
	// Sessions configures the sessions of people.
	Sessions Sessions `yaml:"sessions"`
	// OIDC configures single sign-on; off without an issuer.
	OIDC OIDC `yaml:"oidc"`
	// SMTP configures mail; off without an address.
	SMTP SMTP `yaml:"smtp"`
	// Outbound configures the connections to providers.
	Outbound Outbound `yaml:"outbound"`
	// Retention configures how long data is stored.
	Retention Retention `yaml:"retention"`
	// Kept bounds the data that is stored for clients.
	Kept Kept `yaml:"kept"`
	// Content bounds the content log.
	Content Content `yaml:"content"`
	// AnswerCache configures stored answers to equal requests.
	AnswerCache AnswerCache `yaml:"answer_cache"`
	// Backup configures the backups of the running installation.
	Backup Backup `yaml:"backup"`
	// Telemetry configures the address of metrics.
	Telemetry Telemetry `yaml:"telemetry"`
	// Alerts holds the limits of alerts.
	Alerts Alerts `yaml:"alerts"`
	// Webhooks configures the permitted endpoints.
	Webhooks Webhooks `yaml:"webhooks"`
	// Secrets configures the keys that encrypt secrets in the database.
	Secrets Secrets `yaml:"secrets"`
	// DrainDelay is how long a graceful stop still accepts requests while /readyz already reports the stop.
	DrainDelay time.Duration `yaml:"drain_delay"`
	// DrainTimeout is how long a graceful stop waits for requests in flight; 0 for no wait.
	DrainTimeout time.Duration `yaml:"drain_timeout"`
	// Log configures the log.
	Log Log `yaml:"log"`

	// File is the path of the file that was read; empty for none.
	File string `yaml:"-"`
	// Warnings are messages that an operator may ignore, such as an unknown WEIR_ variable. They contain no values.
	Warnings []string `yaml:"-"`
	// origins maps the path of each value to the place where it was set.
	origins map[string]origin `yaml:"-"`
}

// Reloaded returns c with the settings of next that can change while the gateway runs.
func (c Config) Reloaded(next *Config) Config {
	c.Providers, c.Models, c.Prices, c.PricesFile, c.Pricing, c.Aliases = next.Providers, next.Models, next.Prices,
		next.PricesFile, next.Pricing, next.Aliases
	c.DefaultModel, c.DefaultMaxOutput, c.Limits, c.Outbound = next.DefaultModel, next.DefaultMaxOutput, next.Limits,
		next.Outbound
	c.MCPServers, c.MCPBundles = next.MCPServers, next.MCPBundles
	c.CORS, c.Retention, c.Alerts = next.CORS, next.Retention, next.Alerts
	c.Warnings, c.origins = next.Warnings, next.origins
	return c
}

// Paths is a list of file names. In the file, a single name needs no list.
type Paths []string

// Limits are requests a minute, tokens a minute and concurrent requests; 0 means no limit.
type Limits struct {
	RPM         int64 `yaml:"rpm"`
	TPM         int64 `yaml:"tpm"`
	Concurrency int64 `yaml:"concurrency"`
}

// InstallationLimits holds the limits of all requests together, and defaults.
type InstallationLimits struct {
	RPM         int64 `yaml:"rpm"`
	TPM         int64 `yaml:"tpm"`
	Concurrency int64 `yaml:"concurrency"`
	// PerKey and PerAccount are the defaults for each key and each account, number by number.
	PerKey     Limits `yaml:"per_key"`
	PerAccount Limits `yaml:"per_account"`
	// RejectedPerKey and RejectedPerAccount bound the attempts a minute that providers reject free of charge; 0 for no
	// bound.
	RejectedPerKey     int64 `yaml:"rejected_per_key"`
	RejectedPerAccount int64 `yaml:"rejected_per_account"`
}

// TLS configures the certificate: a certificate file and a key file, both or neither, or ACME.
type TLS struct {
	Cert string `yaml:"cert"`
	Key  string `yaml:"key"`
	ACME ACME   `yaml:"acme"`
	// ClientCA is a PEM file of certificate authorities. If it is set, the pages, the administration and the metrics
	// require a client certificate of these.
	ClientCA string `yaml:"client_ca"`
}

// On reports whether clients connect over TLS.
func (t *TLS) On() bool { return t.Cert != "" || len(t.ACME.Domains) > 0 }

// ACME configures an authority that issues certificates (RFC 8555). Its use accepts the authority's terms.
type ACME struct {
	// Domains are the names on the certificates; empty to disable ACME.
	Domains []string `yaml:"domains,omitempty"`
	// Email is the contact address for the authority; empty for none.
	Email string `yaml:"email"`
	// Directory is the https address of the authority's directory.
	Directory string `yaml:"directory"`
}

// Outbound configures outgoing connections.
type Outbound struct {
	// Proxy is a URL with one of outbound.ProxySchemes, which may contain a password.
	Proxy llm.Secret `yaml:"proxy"`
	// CAFile is a PEM file of certificate authorities that are trusted in addition to the system's.
	CAFile string `yaml:"ca_file"`
}

// Kept bounds the data that is stored for clients: replies for an Idempotency-Key, and responses of the Responses API.
// 0 means no bound.
type Kept struct {
	// BytesPerAccount bounds the stored size of replies and responses together.
	BytesPerAccount Bytes `yaml:"bytes_per_account"`
	// RepliesPerAccount bounds the number of replies and responses.
	RepliesPerAccount int64 `yaml:"replies_per_account"`
	// MinFreeDisk is the space that must be free on the disk of Data, with SQLite, for storing any.
	MinFreeDisk Bytes `yaml:"min_free_disk"`
}

// Content configures the log of requests and answers, of accounts that have it switched on. 0 means no bound.
type Content struct {
	// MaxBytes bounds the stored bytes of a request, and of an answer, 1 KiB to 1 MiB.
	MaxBytes Bytes `yaml:"max_bytes"`
	// BytesPerAccount and TotalBytes bound the encrypted bytes of an account, and of all. The oldest are deleted.
	BytesPerAccount Bytes `yaml:"bytes_per_account"`
	TotalBytes      Bytes `yaml:"total_bytes"`
	// Operators permits operators to read the content of all accounts.
	Operators bool `yaml:"operators"`
}

// Telemetry configures the address of metrics, and traces.
type Telemetry struct {
	// Listen is a separate address for metrics, host:port; empty for the main one.
	Listen string `yaml:"listen"`
	// OTLP is the base URL of an OpenTelemetry collector, such as http://localhost:4318; empty for that of the
	// environment, or for no traces.
	OTLP string `yaml:"otlp"`
	// GenAI is the version of the conventions that name the attributes: 1.41 or latest.
	GenAI string `yaml:"gen_ai"`
	// Labels are labels of metrics in addition to provider and model: account, key, or tag:NAME for a tag.
	Labels []string `yaml:"labels,omitempty"`
}

// Secrets configures the keys that encrypt secrets in the database. Keys are 32 random bytes in base64 or hexadecimal.
type Secrets struct {
	// Key is the current key; empty for a key file in Data.
	Key llm.Secret `yaml:"key"`
	// Previous are the keys that Key has replaced, until all secrets are encrypted again.
	Previous []llm.Secret `yaml:"previous,omitempty"`
}

// Webhooks configures the permitted webhook endpoints.
type Webhooks struct {
	// AllowPrivate permits loopback and private addresses, and plain http there.
	AllowPrivate bool `yaml:"allow_private"`
}

// Log configures the log.
type Log struct {
	// Level is "debug", "info", "warn" or "error".
	Level string `yaml:"level"`
	// Format is "text", "json" or "auto": text on a terminal, otherwise JSON.
	Format string `yaml:"format"`
}

// Sessions configures the sessions of people.
type Sessions struct {
	// Idle is the lifetime of an unused session, from one minute.
	Idle time.Duration `yaml:"idle"`
	// Absolute is the maximum lifetime of a session, at least Idle.
	Absolute time.Duration `yaml:"absolute"`
	// Passwords is "on" or "off"; off permits only single sign-on.
	Passwords string `yaml:"passwords"`
}

// OIDC is an OpenID Connect provider. It is empty, or has an issuer, a client id
// and a client secret.
type OIDC struct {
	// Issuer is an https URL. http is permitted on this machine, and with insecure_http.
	Issuer       string     `yaml:"issuer"`
	ClientID     string     `yaml:"client_id"`
	ClientSecret llm.Secret `yaml:"client_secret"`
	// Name is the label of the button.
	Name string `yaml:"name"`
	// Scopes are the requested scopes, including openid.
	Scopes []string `yaml:"scopes"`
	// GroupsClaim is the name of the claim with a person's groups.
	GroupsClaim string `yaml:"groups_claim"`
	// Operators are the groups of operators; if empty, groups do not affect the operator role.
	Operators []string `yaml:"operators,omitempty"`
	// Accounts holds the groups of each role, by account name.
	Accounts map[string]RoleGroups `yaml:"accounts"`
	// SignUp admits everybody that the provider knows.
	SignUp bool `yaml:"sign_up"`
}

// RoleGroups holds the groups that grant roles in an account.
type RoleGroups struct {
	Owner  []string `yaml:"owner,omitempty"`
	Member []string `yaml:"member,omitempty"`
	Viewer []string `yaml:"viewer,omitempty"`
}

// SMTP configures a mail server. It is empty, or has an address and a sender.
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

// Default returns the configuration without any settings.
func Default() Config {
	return Config{
		Listen:           "127.0.0.1:8080",
		Data:             "./weir-data",
		Durability:       "batched",
		Telemetry:        Telemetry{GenAI: "1.41"},
		Alerts:           usualAlerts(),
		DefaultMaxOutput: 8192,
		Pricing:          Pricing{Assumed: "accept", Tools: "bound", Margin: defaultMargin},
		MaxConcurrency:   4096,
		Limits:           InstallationLimits{RejectedPerKey: 600, RejectedPerAccount: 3000},
		MaxBody:          32 << 20,
		Retention: Retention{
			Requests: 90 * day, Responses: 30 * day, Explanations: 2557 * day, Attribution: 400 * day,
			Content: 30 * day,
		},
		Content:     Content{MaxBytes: 256 << 10, BytesPerAccount: 1 << 30, TotalBytes: 10 << 30},
		AnswerCache: usualAnswerCache(),
		Kept:        Kept{BytesPerAccount: 1 << 30, RepliesPerAccount: 100_000, MinFreeDisk: 1 << 30},
		TLS:         TLS{ACME: ACME{Directory: "https://acme-v02.api.letsencrypt.org/directory"}},
		Backup:      Backup{Every: 10 * time.Second, Full: day, Keep: 7},
		Sessions:    Sessions{Idle: 12 * time.Hour, Absolute: 7 * day, Passwords: "on"},
		OIDC: OIDC{
			Name: "single sign-on", Scopes: []string{"openid", "profile", "email"}, GroupsClaim: "groups",
		},
		SMTP:         SMTP{TLS: "starttls"},
		DrainTimeout: 30 * time.Second,
		Log:          Log{Level: "info", Format: "auto"},
	}
}

// Strategies returns the strategies by which an alias chooses among its targets. The first is the default.
func Strategies() []string { return []string{"fallback", "weighted", "latency"} }

// TokenClasses returns the price classes in US dollars per million tokens.
func TokenClasses() []string {
	return []string{
		"input", "output", "cache_read", "cache_write", "cache_write_1h",
		"cache_read_audio", "audio_in", "audio_out", "image_in", "image_out", "citation", "reasoning",
	}
}

// UnitClasses returns the price classes in US dollars per unit. "second" is a second of audio; llm.Milliseconds counts
// it in thousandths.
func UnitClasses() []string {
	return []string{
		"request", "image", "character", "second",
		"search", "maps", "x_search", "file_search", "code_interpreter", "tool_image", "other_tool",
	}
}
