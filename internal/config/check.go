package config

import (
	"fmt"
	"maps"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"weir/internal/llm"
	"weir/internal/outbound"
	"weir/internal/pricing"
	"weir/internal/seal"
)

const (
	minBody, maxBody = 1 << 10, 1 << 30
	maxRetries       = 10
	maxProviderName  = 64
	defaultMargin    = 50 // percent
	maxMargin        = 900
	milliPerSecond   = 1000
)

// check reports every value of the right type with invalid content, and normalizes the valid ones.
func (l *loader) check(c *Config) {
	l.checkAddress("listen", c.Listen)
	if t := c.Telemetry.Listen; t != "" {
		l.checkAddress("telemetry.listen", t)
		if t == c.Listen && !strings.HasSuffix(t, ":0") {
			l.report("telemetry.listen", "`telemetry.listen` must be another address than `listen`; remove it to "+
				"have the metrics there")
		}
	}
	if c.Data == "" {
		l.report("data", "`data` must name a directory, such as ./weir-data")
	}
	l.checkStores(c)
	l.checkWord("durability", c.Durability, []string{"batched", "strict"})
	l.checkWord("pricing.assumed", c.Pricing.Assumed, []string{"accept", "refuse", "unpriced"})
	l.checkWord("pricing.tools", c.Pricing.Tools, []string{"bound", "usual"})
	l.checkWord("log.level", c.Log.Level, []string{"debug", "info", "warn", "error"})
	l.checkWord("log.format", c.Log.Format, []string{"auto", "text", "json"})
	if c.PublicURL != "" {
		c.PublicURL = l.checkHTTP("public_url", c.PublicURL, "remove them")
	}
	for i, host := range c.Hosts {
		if host == "" || !isHost(host) {
			l.report(index("hosts", i), "`hosts[%d]` must be a name without a port such as weir.example.com, not %s", i,
				l.quote(index("hosts", i), host))
		}
		c.Hosts[i] = strings.TrimSuffix(strings.ToLower(host), ".")
	}
	l.checkCORS(&c.CORS)
	l.checkNumbers(c)
	l.checkTLS(&c.TLS)
	for i := range c.Providers {
		l.checkProvider(&c.Providers[i])
	}
	l.checkModels(c)
	l.checkPrices(c)
	for i, path := range c.PricesFile {
		if path == "" || slices.Contains(c.PricesFile[:i], path) {
			l.report(index("prices_file", i), "`prices_file` has an empty or repeated path: remove it")
		}
	}
	l.checkAliases(c)
	l.checkDefaultModel(c)
	l.checkPeople(c)
	l.checkSecrets(&c.Secrets)
	l.checkBackup(c)
}

func (l *loader) checkStores(c *Config) {
	l.checkSecretURL("database", c.Database, "a postgres:// URL, or empty for SQLite", "postgres", "postgresql")
	l.checkSecretURL("valkey", c.Valkey, "a redis:// URL, or empty for memory", "redis", "rediss", "valkey", "valkeys")
	l.checkSecretURL("outbound.proxy", c.Outbound.Proxy, "an http, https or socks5 URL, or empty",
		outbound.ProxySchemes()...)
}

func (l *loader) checkTLS(t *TLS) {
	switch {
	case (t.Cert == "") != (t.Key == ""):
		l.report("tls", "`tls` must have both `cert` and `key`, or neither")
	case t.Cert != "" && len(t.ACME.Domains) > 0:
		l.report("tls.acme", "`tls` must have either `cert` and `key`, or `acme`")
	case t.ClientCA != "" && !t.On():
		l.report("tls.client_ca", "`tls.client_ca` needs `tls.cert` and `tls.key`, or `tls.acme`")
	}
	for i, d := range t.ACME.Domains {
		if !isHost(d) || !strings.Contains(d, ".") {
			path := index("tls.acme.domains", i)
			l.report(path, "`tls.acme.domains[%d]` must be a name such as weir.example.com, not %s", i,
				l.quote(path, d))
		}
		t.ACME.Domains[i] = strings.ToLower(d)
	}
	before := len(l.problems)
	t.ACME.Directory = l.checkHTTP("tls.acme.directory", t.ACME.Directory, "remove them")
	if u, err := url.Parse(t.ACME.Directory); err == nil && len(l.problems) == before && u.Scheme != "https" &&
		!IsLoopbackHost(u.Hostname()) {
		l.report("tls.acme.directory", "`tls.acme.directory` must be an https URL, as RFC 8555, section 6.1, requires")
	}
}

func (l *loader) checkBackup(c *Config) {
	b := &c.Backup
	if b.To != "" && !c.Database.IsZero() {
		l.report("backup.to", "`backup.to` works only with SQLite, but `database` is set: "+
			"back up PostgreSQL with its own tools")
	}
	if name, isBucket := strings.CutPrefix(b.To, "s3://"); isBucket && (name == "" || name[0] == '/') {
		l.report("backup.to", "`backup.to` must be a directory, or s3://BUCKET/PREFIX, not %s",
			l.quote("backup.to", b.To))
	}
	if b.Every < time.Second {
		l.report("backup.every", "`backup.every` must be at least 1s")
	}
	if b.Full < time.Minute {
		l.report("backup.full", "`backup.full` must be at least 1m")
	}
	l.checkRange("backup.keep", int64(b.Keep), 1)
	if b.S3.Endpoint != "" {
		b.S3.Endpoint = l.checkHTTP("backup.s3.endpoint", b.S3.Endpoint,
			"set `access_key_id` and `secret_access_key` instead")
	}
	if (b.S3.AccessKeyID == "") != b.S3.SecretAccessKey.IsZero() {
		l.report("backup.s3", "`backup.s3` must have both `access_key_id` and `secret_access_key`, or neither")
	}
}

func (l *loader) checkNumbers(c *Config) {
	l.checkLimits("limits", Limits{c.Limits.RPM, c.Limits.TPM, c.Limits.Concurrency})
	l.checkLimits("limits.per_key", c.Limits.PerKey)
	l.checkLimits("limits.per_account", c.Limits.PerAccount)
	l.checkRange("limits.rejected_per_key", c.Limits.RejectedPerKey, 0)
	l.checkRange("limits.rejected_per_account", c.Limits.RejectedPerAccount, 0)
	l.checkRange("default_max_output", c.DefaultMaxOutput, 1)
	l.checkRange("max_concurrency", int64(c.MaxConcurrency), 1)
	if c.Pricing.Margin < 0 || c.Pricing.Margin > maxMargin {
		l.report("pricing.margin", "`pricing.margin` must be 0 to %d percent, not %d", maxMargin, c.Pricing.Margin)
	}
	if c.MaxBody < minBody || c.MaxBody > maxBody {
		l.report("max_body", "`max_body` must be 1KiB to 1GiB, not %s", c.MaxBody)
	}
	l.checkRange("kept.bytes_per_account", int64(c.Kept.BytesPerAccount), 0)
	l.checkRange("kept.replies_per_account", c.Kept.RepliesPerAccount, 0)
	l.checkRange("kept.min_free_disk", int64(c.Kept.MinFreeDisk), 0)
	if c.DrainTimeout < 0 {
		l.report("drain_timeout", "`drain_timeout` must not be negative")
	}
	if c.DrainDelay < 0 {
		l.report("drain_delay", "`drain_delay` must not be negative")
	}
	l.checkRetention(&c.Retention)
}

func (l *loader) checkLimits(path string, limits Limits) {
	l.checkRange(join(path, "rpm"), limits.RPM, 0)
	l.checkRange(join(path, "tpm"), limits.TPM, 0)
	l.checkRange(join(path, "concurrency"), limits.Concurrency, 0)
}

func (l *loader) checkRange(path string, n, least int64) {
	if n < least {
		l.report(path, "`%s` must be at least %d, not %d", path, least, n)
	}
}

func (l *loader) checkWord(path, word string, words []string) {
	if !slices.Contains(words, word) {
		key := path[strings.LastIndexByte(path, '.')+1:]
		l.report(path, "unknown %s %s%s", key, l.quote(path, word), suggestOneOf(word, words))
	}
}

// checkAddress requires host:port. Port 0 selects any free port.
func (l *loader) checkAddress(path, address string) {
	host, port, err := net.SplitHostPort(address)
	if err == nil && (host == "" || isHost(host)) {
		if _, err = strconv.ParseUint(port, 10, 16); err == nil {
			return
		}
	}
	l.report(path, "`%s` must be host:port such as 127.0.0.1:8080 or :8080, not %s", path, l.quote(path, address))
}

func isHost(host string) bool {
	if _, err := netip.ParseAddr(host); err == nil {
		return true
	}
	return !strings.ContainsFunc(host, func(c rune) bool {
		return c > unicode.MaxASCII || !isWordByte(byte(c)) && c != '-' && c != '.'
	})
}

// checkSecretURL requires a URL with a host. It never shows the URL, which may contain a password.
func (l *loader) checkSecretURL(path string, s llm.Secret, want string, schemes ...string) {
	if s.IsZero() {
		return
	}
	u, err := url.Parse(s.Reveal())
	switch {
	case err != nil || !slices.Contains(schemes, u.Scheme) || u.Host == "" && !u.Query().Has("host"):
		l.report(path, "`%s` must be %s", path, want)
	case u.Fragment != "" || strings.Contains(u.Path+u.RawQuery, "@"):
		// Part of the password would be treated as a part that may be shown.
		l.report(path, "`%s` has an unescaped character in its password: write %%2F for /, %%3F for ?, %%23 for #",
			path)
	}
}

// checkHTTP requires an http or https URL with only an address. It returns the URL without a trailing slash.
func (l *loader) checkHTTP(path, text, credentials string) string {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		shown := ""
		if !strings.Contains(text, "@") {
			shown = ", not " + l.quote(path, text)
		}
		l.report(path, "`%s` must be an http or https URL such as https://api.example.com/v1%s", path, shown)
	case u.User != nil:
		l.report(path, "`%s` must not contain credentials; %s", path, credentials)
	case strings.ContainsAny(text, "?#"):
		l.report(path, "`%s` must not contain a query or a fragment", path)
	case u.Port() != "" && !isPort(u.Port()):
		l.report(path, "`%s` must have a port from 1 to 65535, not %s", path, u.Port())
	}
	return strings.TrimRight(text, "/")
}

func isPort(port string) bool {
	n, err := strconv.ParseUint(port, 10, 16)
	return err == nil && n > 0
}

const wantFullName = "<provider>/<model-name> such as openai/gpt-5-mini"

func (l *loader) checkModels(c *Config) {
	for _, name := range slices.Sorted(maps.Keys(c.Models)) {
		path, m := join("models", name), c.Models[name]
		if !isFullName(name) {
			l.report(path, "a key of `models` must be %s, not %s", wantFullName, strconv.Quote(clip(name, maxQuote)))
		}
		for key, n := range map[string]int64{"context": m.Context, "max_output": m.MaxOutput} {
			if p := join(path, key); n < 0 || n == 0 && l.isSet(p) {
				l.report(p, "`%s` must be at least 1, not %d", key, n)
			}
		}
		if m.Context > 0 && m.MaxOutput > m.Context {
			l.report(join(path, "max_output"), "`max_output` must be at most `context`, which is %d", m.Context)
		}
	}
}

func (l *loader) checkPrices(c *Config) {
	for _, name := range slices.Sorted(maps.Keys(c.Prices)) {
		path, before := join("prices", name), len(l.problems)
		if base, _, err := pricing.CutSince(name); err != nil {
			l.report(path, "a dated key of `prices` must end like ` since 2027-01-31`: %v", err)
		} else if !isFullName(base) {
			l.report(path, "a key of `prices` must be %s, not %s", wantFullName, strconv.Quote(clip(name, maxQuote)))
		}
		for class, text := range c.Prices[name] {
			p := join(path, class)
			if err := checkPrice(class, text); err != nil {
				l.report(p, "%s", strings.Replace(err.Error(), strconv.Quote(text), l.quote(p, text), 1))
			}
		}
		if err := pricing.PriceOverride(c.Prices[name]).Check(); err != nil && len(l.problems) == before {
			l.report(path, "the price %s is incomplete: %v", ticks(name), err)
		}
	}
}

func checkPrice(class, text string) error {
	if !slices.Contains(UnitClasses(), class) {
		_, err := llm.ParseRate(text)
		return err
	}
	pico, err := llm.ParseUnitRate(text)
	if err == nil && class == "second" && pico%milliPerSecond != 0 {
		return fmt.Errorf("price %q has more than 9 decimals", text)
	}
	return err
}

func (l *loader) checkAliases(c *Config) {
	for _, name := range slices.Sorted(maps.Keys(c.Aliases)) {
		path, a := join("aliases", name), c.Aliases[name]
		if strings.Contains(name, "/") || !isModelName(name) {
			l.report(path, "an alias must be one word without a slash, not %s", strconv.Quote(clip(name, maxQuote)))
		}
		if at := strings.IndexByte(name, '*'); at >= 0 && at < len(name)-1 {
			l.report(path, "an asterisk must be the last character of an alias, as in `claude-*`, not as in %s",
				ticks(name))
		}
		if len(a.Targets) == 0 {
			l.report(path, "the alias %s needs `targets`, such as [openai/gpt-5-mini]", ticks(name))
		}
		l.checkTargets(join(path, "targets"), a.Targets)
		if a.Strategy == "" {
			a.Strategy = Strategies()[0]
			c.Aliases[name] = a
		}
		l.checkWord(join(path, "strategy"), a.Strategy, Strategies())
		l.checkWeights(join(path, "weights"), &a)
		l.checkCauses(join(path, "on"), a.On)
		if a.Rescue != "" {
			l.checkWord(join(path, "rescue"), a.Rescue, []string{"on", "off"})
		}
	}
}

// checkCauses reports unknown causes and lists all causes, because a user who misspells one wants to see the others.
func (l *loader) checkCauses(path string, on []llm.Cause) {
	for i, cause := range on {
		if all := llm.Causes(); !slices.Contains(all, cause) {
			l.report(index(path, i), "unknown cause %s; choose from %s", l.quote(index(path, i), string(cause)),
				words(all))
		}
	}
}

// words returns the causes as a list for messages.
func words(all []llm.Cause) string {
	var s []string
	for _, cause := range all {
		s = append(s, string(cause))
	}
	return strings.Join(s, ", ")
}

const maxWeight = 1000

func (l *loader) checkWeights(path string, a *Alias) {
	if n := len(a.Weights); n > 0 && n != len(a.Targets) {
		l.report(path, "`weights` must have one number for each of the %d targets, not %d", len(a.Targets), n)
	}
	for i, w := range a.Weights {
		if w < 0 || w > maxWeight {
			l.report(index(path, i), "a weight must be 0 to %d, not %d", maxWeight, w)
		}
	}
	if len(a.Weights) > 0 && !slices.ContainsFunc(a.Weights, func(w int) bool { return w > 0 }) {
		l.report(path, "one of the `weights` must be above 0: a target of weight 0 is only a fallback")
	}
}

func (l *loader) checkTargets(path string, targets []string) {
	for i, t := range targets {
		p := index(path, i)
		switch {
		case !isFullName(t):
			l.report(p, "a target must be %s, not %s", wantFullName, l.quote(p, t))
		case slices.Contains(targets[:i], t):
			l.report(p, "target %s appears twice: remove one", l.quote(p, t))
		}
	}
}

func (l *loader) checkDefaultModel(c *Config) {
	name := c.DefaultModel
	if _, alias := c.Aliases[name]; name == "" || alias || isFullName(name) {
		return
	}
	hint := ""
	if !strings.Contains(name, "/") {
		hint = suggest(name, slices.Sorted(maps.Keys(c.Aliases)))
	}
	l.report("default_model", "`default_model` must be %s, or an alias, not %s%s", wantFullName,
		l.quote("default_model", name), hint)
}

// checkSecrets reports invalid encryption keys without showing them.
func (l *loader) checkSecrets(s *Secrets) {
	if !s.Key.IsZero() {
		if _, err := seal.ParseKey(s.Key.Reveal()); err != nil {
			l.report("secrets.key", "`secrets.key` is %v", err)
		}
	} else if len(s.Previous) > 0 {
		l.report("secrets.previous", "`secrets.previous` needs `secrets.key`: set the key that replaces them")
	}
	for i, old := range s.Previous {
		if _, err := seal.ParseKey(old.Reveal()); err != nil {
			l.report(join("secrets.previous", strconv.Itoa(i)), "`secrets.previous` has one that is %v", err)
		}
	}
}
