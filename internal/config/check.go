package config

import (
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

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
)

// checker checks a configuration.
type checker struct{ *recorder }

// check reports every value of the right type with invalid content, and normalizes the valid ones.
func (ch *checker) check(c *Config) {
	ch.checkAddress("listen", c.Listen)
	if t := c.Telemetry.Listen; t != "" {
		ch.checkAddress("telemetry.listen", t)
		if t == c.Listen && !strings.HasSuffix(t, ":0") {
			ch.report("telemetry.listen", "`telemetry.listen` must be another address than `listen`; remove it to "+
				"have the metrics there")
		}
	}
	if o := c.Telemetry.OTLP; o != "" {
		c.Telemetry.OTLP = ch.checkHTTP("telemetry.otlp", o, "set OTEL_EXPORTER_OTLP_HEADERS in the environment")
	}
	ch.checkWord("telemetry.gen_ai", c.Telemetry.GenAI, []string{"1.41", "latest"})
	ch.checkLabels(c.Telemetry.Labels)
	ch.checkAlerts(&c.Alerts)
	if c.Data == "" {
		ch.report("data", "`data` must name a directory, such as ./weir-data")
	}
	ch.checkStores(c)
	ch.checkWord("durability", c.Durability, []string{"batched", "strict"})
	ch.checkWord("pricing.assumed", c.Pricing.Assumed, []string{"accept", "refuse", "unpriced"})
	ch.checkWord("pricing.tools", c.Pricing.Tools, []string{"bound", "usual"})
	ch.checkWord("log.level", c.Log.Level, []string{"debug", "info", "warn", "error"})
	ch.checkWord("log.format", c.Log.Format, []string{"auto", "text", "json"})
	if c.PublicURL != "" {
		c.PublicURL = ch.checkHTTP("public_url", c.PublicURL, "remove them")
	}
	for i, host := range c.Hosts {
		if host == "" || !isHost(host) {
			ch.report(index("hosts", i), "`hosts[%d]` must be a name without a port such as weir.example.com, not %s",
				i, ch.quote(index("hosts", i), host))
		}
		c.Hosts[i] = strings.TrimSuffix(strings.ToLower(host), ".")
	}
	ch.checkCORS(&c.CORS)
	ch.checkNumbers(c)
	ch.checkTLS(&c.TLS)
	for i := range c.Providers {
		ch.checkProvider(&c.Providers[i])
	}
	ch.checkModels(c)
	ch.checkPrices(c)
	for i, path := range c.PricesFile {
		if path == "" || slices.Contains(c.PricesFile[:i], path) {
			ch.report(index("prices_file", i), "`prices_file` has an empty or repeated path: remove it")
		}
	}
	ch.checkAliases(c)
	checkMCP(ch, c)
	ch.checkDefaultModel(c)
	ch.checkPeople(c)
	ch.checkSecrets(&c.Secrets)
	ch.checkBackup(c)
}

func (ch *checker) checkStores(c *Config) {
	ch.checkSecretURL("database", c.Database, "a postgres:// URL, or empty for SQLite", "postgres", "postgresql")
	ch.checkSecretURL("valkey", c.Valkey, "a redis:// URL, or empty for memory", "redis", "rediss", "valkey", "valkeys")
	ch.checkSecretURL("outbound.proxy", c.Outbound.Proxy, "an http, https or socks5 URL, or empty",
		outbound.ProxySchemes()...)
}

func (ch *checker) checkTLS(t *TLS) {
	switch {
	case (t.Cert == "") != (t.Key == ""):
		ch.report("tls", "`tls` must have both `cert` and `key`, or neither")
	case t.Cert != "" && len(t.ACME.Domains) > 0:
		ch.report("tls.acme", "`tls` must have either `cert` and `key`, or `acme`")
	case t.ClientCA != "" && !t.On():
		ch.report("tls.client_ca", "`tls.client_ca` needs `tls.cert` and `tls.key`, or `tls.acme`")
	}
	for i, d := range t.ACME.Domains {
		if !isHost(d) || !strings.Contains(d, ".") {
			path := index("tls.acme.domains", i)
			ch.report(path, "`tls.acme.domains[%d]` must be a name such as weir.example.com, not %s", i,
				ch.quote(path, d))
		}
		t.ACME.Domains[i] = strings.ToLower(d)
	}
	before := len(ch.problems)
	t.ACME.Directory = ch.checkHTTP("tls.acme.directory", t.ACME.Directory, "remove them")
	if u, err := url.Parse(t.ACME.Directory); err == nil && len(ch.problems) == before && u.Scheme != "https" &&
		!IsLoopbackHost(u.Hostname()) {
		ch.report("tls.acme.directory", "`tls.acme.directory` must be an https URL, as RFC 8555, section 6.1, requires")
	}
}

func (ch *checker) checkBackup(c *Config) {
	b := &c.Backup
	if b.To != "" && !c.Database.IsZero() {
		ch.report("backup.to", "`backup.to` works only with SQLite, but `database` is set: "+
			"back up PostgreSQL with its own tools")
	}
	if name, isBucket := strings.CutPrefix(b.To, "s3://"); isBucket && (name == "" || name[0] == '/') {
		ch.report("backup.to", "`backup.to` must be a directory, or s3://BUCKET/PREFIX, not %s",
			ch.quote("backup.to", b.To))
	}
	if b.Every < time.Second {
		ch.report("backup.every", "`backup.every` must be at least 1s")
	}
	if b.Full < time.Minute {
		ch.report("backup.full", "`backup.full` must be at least 1m")
	}
	ch.checkRange("backup.keep", int64(b.Keep), 1)
	if b.S3.Endpoint != "" {
		b.S3.Endpoint = ch.checkHTTP("backup.s3.endpoint", b.S3.Endpoint,
			"set `access_key_id` and `secret_access_key` instead")
	}
	if (b.S3.AccessKeyID == "") != b.S3.SecretAccessKey.IsZero() {
		ch.report("backup.s3", "`backup.s3` must have both `access_key_id` and `secret_access_key`, or neither")
	}
}

func (ch *checker) checkNumbers(c *Config) {
	ch.checkLimits("limits", Limits{c.Limits.RPM, c.Limits.TPM, c.Limits.Concurrency})
	ch.checkLimits("limits.per_key", c.Limits.PerKey)
	ch.checkLimits("limits.per_account", c.Limits.PerAccount)
	ch.checkRange("limits.rejected_per_key", c.Limits.RejectedPerKey, 0)
	ch.checkRange("limits.rejected_per_account", c.Limits.RejectedPerAccount, 0)
	ch.checkRange("default_max_output", c.DefaultMaxOutput, 1)
	ch.checkRange("max_concurrency", int64(c.MaxConcurrency), 1)
	if c.Pricing.Margin < 0 || c.Pricing.Margin > maxMargin {
		ch.report("pricing.margin", "`pricing.margin` must be 0 to %d percent, not %d", maxMargin, c.Pricing.Margin)
	}
	if c.MaxBody < minBody || c.MaxBody > maxBody {
		ch.report("max_body", "`max_body` must be 1KiB to 1GiB, not %s", c.MaxBody)
	}
	ch.checkRange("kept.bytes_per_account", int64(c.Kept.BytesPerAccount), 0)
	ch.checkRange("kept.replies_per_account", c.Kept.RepliesPerAccount, 0)
	ch.checkRange("kept.min_free_disk", int64(c.Kept.MinFreeDisk), 0)
	ch.checkContent(&c.Content)
	ch.checkAnswerCache(&c.AnswerCache)
	if c.DrainTimeout < 0 {
		ch.report("drain_timeout", "`drain_timeout` must not be negative")
	}
	if c.DrainDelay < 0 {
		ch.report("drain_delay", "`drain_delay` must not be negative")
	}
	ch.checkRetention(&c.Retention)
}

const wantFullName = "<provider>/<model-name> such as openai/gpt-5-mini"

func (ch *checker) checkModels(c *Config) {
	for _, name := range slices.Sorted(maps.Keys(c.Models)) {
		path, m := join("models", name), c.Models[name]
		if !isFullName(name) {
			ch.report(path, "a key of `models` must be %s, not %s", wantFullName, strconv.Quote(clip(name, maxQuote)))
		}
		for key, n := range map[string]int64{"context": m.Context, "max_output": m.MaxOutput} {
			if p := join(path, key); n < 0 || n == 0 && ch.isSet(p) {
				ch.report(p, "`%s` must be at least 1, not %d", key, n)
			}
		}
		if m.Context > 0 && m.MaxOutput > m.Context {
			ch.report(join(path, "max_output"), "`max_output` must be at most `context`, which is %d", m.Context)
		}
	}
}

func (ch *checker) checkPrices(c *Config) {
	for _, name := range slices.Sorted(maps.Keys(c.Prices)) {
		path, before := join("prices", name), len(ch.problems)
		if base, _, err := pricing.CutSince(name); err != nil {
			ch.report(path, "a dated key of `prices` must end like ` since 2027-01-31`: %v", err)
		} else if !isFullName(base) {
			ch.report(path, "a key of `prices` must be %s, not %s", wantFullName, strconv.Quote(clip(name, maxQuote)))
		}
		for class, text := range c.Prices[name] {
			p := join(path, class)
			if err := checkPrice(class, text); err != nil {
				ch.report(p, "%s", strings.Replace(err.Error(), strconv.Quote(text), ch.quote(p, text), 1))
			}
		}
		if err := pricing.PriceOverride(c.Prices[name]).Check(); err != nil && len(ch.problems) == before {
			ch.report(path, "the price %s is incomplete: %v", ticks(name), err)
		}
	}
}

func checkPrice(class, text string) error {
	if !slices.Contains(UnitClasses(), class) {
		_, err := llm.ParseRate(text)
		return err
	}
	_, err := llm.ParseUnitRate(text)
	return err
}

func (ch *checker) checkAliases(c *Config) {
	for _, name := range slices.Sorted(maps.Keys(c.Aliases)) {
		path, a := join("aliases", name), c.Aliases[name]
		if strings.Contains(name, "/") || !isModelName(name) {
			ch.report(path, "an alias must be one word without a slash, not %s", strconv.Quote(clip(name, maxQuote)))
		}
		if at := strings.IndexByte(name, '*'); at >= 0 && at < len(name)-1 {
			ch.report(path, "an asterisk must be the last character of an alias, as in `claude-*`, not as in %s",
				ticks(name))
		}
		if len(a.Targets) == 0 {
			ch.report(path, "the alias %s needs `targets`, such as [openai/gpt-5-mini]", ticks(name))
		}
		ch.checkTargets(join(path, "targets"), a.Targets)
		if a.Strategy == "" {
			a.Strategy = Strategies()[0]
			c.Aliases[name] = a
		}
		ch.checkWord(join(path, "strategy"), a.Strategy, Strategies())
		ch.checkWeights(join(path, "weights"), &a)
		ch.checkCauses(join(path, "on"), a.On)
		if a.Rescue != "" {
			ch.checkWord(join(path, "rescue"), a.Rescue, []string{"on", "off"})
		}
		if a.Affinity != "" {
			ch.checkWord(join(path, "affinity"), a.Affinity, []string{"conversation", "none"})
		}
		if a.ServedModel != "" {
			ch.checkWord(join(path, "served_model"), a.ServedModel, []string{"accept", "flag", "refuse"})
		}
		checkAnswerAge(ch, join(path, "answer_cache"), a.AnswerCache)
		checkCacheMarks(ch, path, a.CacheMarks)
	}
}

func checkCacheMarks(ch *checker, path, word string) {
	if word != "" {
		ch.checkWord(join(path, "cache_marks"), word, []string{"client", "add"})
	}
}

// checkCauses reports unknown causes and lists all causes, because a user who misspells one wants to see the others.
func (ch *checker) checkCauses(path string, on []llm.Cause) {
	for i, cause := range on {
		if all := llm.Causes(); !slices.Contains(all, cause) {
			ch.report(index(path, i), "unknown cause %s; choose from %s", ch.quote(index(path, i), string(cause)),
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

func (ch *checker) checkWeights(path string, a *Alias) {
	if n := len(a.Weights); n > 0 && n != len(a.Targets) {
		ch.report(path, "`weights` must have one number for each of the %d targets, not %d", len(a.Targets), n)
	}
	for i, w := range a.Weights {
		if w < 0 || w > maxWeight {
			ch.report(index(path, i), "a weight must be 0 to %d, not %d", maxWeight, w)
		}
	}
	if len(a.Weights) > 0 && !slices.ContainsFunc(a.Weights, func(w int) bool { return w > 0 }) {
		ch.report(path, "one of the `weights` must be above 0: a target of weight 0 is only a fallback")
	}
}

func (ch *checker) checkTargets(path string, targets []string) {
	for i, t := range targets {
		p := index(path, i)
		switch {
		case !isFullName(t):
			ch.report(p, "a target must be %s, not %s", wantFullName, ch.quote(p, t))
		case slices.Contains(targets[:i], t):
			ch.report(p, "target %s appears twice: remove one", ch.quote(p, t))
		}
	}
}

func (ch *checker) checkDefaultModel(c *Config) {
	name := c.DefaultModel
	if _, alias := c.Aliases[name]; name == "" || alias || isFullName(name) {
		return
	}
	hint := ""
	if !strings.Contains(name, "/") {
		hint = suggest(name, slices.Sorted(maps.Keys(c.Aliases)))
	}
	ch.report("default_model", "`default_model` must be %s, or an alias, not %s%s", wantFullName,
		ch.quote("default_model", name), hint)
}

// checkSecrets reports invalid encryption keys without showing them.
func (ch *checker) checkSecrets(s *Secrets) {
	if !s.Key.IsZero() {
		if _, err := seal.ParseKey(s.Key.Reveal()); err != nil {
			ch.report("secrets.key", "`secrets.key` is %v", err)
		}
	} else if len(s.Previous) > 0 {
		ch.report("secrets.previous", "`secrets.previous` needs `secrets.key`: set the key that replaces them")
	}
	for i, old := range s.Previous {
		if _, err := seal.ParseKey(old.Reveal()); err != nil {
			ch.report(join("secrets.previous", strconv.Itoa(i)), "`secrets.previous` has one that is %v", err)
		}
	}
}
