// Package upstream builds providers, prices and routes from a configuration and the environment.
package upstream

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"weir/internal/config"
	"weir/internal/credential"
	"weir/internal/dialect"
	"weir/internal/dialect/registry"
	"weir/internal/pricing"
	"weir/internal/provider"
	"weir/internal/route"
	"weir/internal/simulator"
)

const (
	// DemoName and DemoModel name the simulator in the process, which answers if no provider is configured.
	DemoName    = "demo"
	DemoModel   = "chat"
	demoBaseURL = "http://demo.invalid/v1"
)

// Options holds a configuration and the values that complete it.
type Options struct {
	Config config.Config
	// Getenv looks up an environment variable, like os.Getenv.
	Getenv  func(string) string
	Log     *slog.Logger
	Version string
	// Dialects replaces the wire formats of this build, for tests.
	Dialects dialect.Set
	// Notify receives changes of targets' health; it may be nil.
	Notify func(route.Event)
	// Connections counts the connections to all providers; nil counts none.
	Connections *provider.Connections
}

// Builder builds the routes of configurations, which share prices, health and the demo provider.
type Builder struct {
	options  *Options
	dialects dialect.Set
	health   *route.Health
	demo     *simulator.Server
	prices   pricing.InForce
}

// New creates a builder.
func New(o *Options) *Builder {
	b := &Builder{options: o, dialects: o.Dialects, health: route.NewHealth(o.Notify)}
	if b.dialects == nil {
		b.dialects = registry.All()
	}
	b.demo = simulator.New(simulator.Options{Dialects: b.dialects, Seed: 1, MaxRecords: 1000})
	return b
}

// Close stops the demo provider.
func (b *Builder) Close() { b.demo.Close() }

// Config returns the configuration of the options.
func (b *Builder) Config() *config.Config { return &b.options.Config }

// Dialects returns the wire formats of the providers.
func (b *Builder) Dialects() dialect.Set { return b.dialects }

// Prices returns the prices in force: those of the last table.
func (b *Builder) Prices() *pricing.InForce { return &b.prices }

// Table builds the routes of a configuration, and puts its prices in force. An error of type config.Problems has all
// mistakes of the configuration.
func (b *Builder) Table(ctx context.Context, cfg *config.Config) (*route.Table, error) {
	table, prices, err := b.build(ctx, cfg, cfg.Report())
	if err != nil {
		return nil, err
	}
	b.prices.Use(prices, b.options.Log)
	return table, nil
}

// Check builds the routes of a configuration and reports its mistakes. The error is one of another kind.
func (b *Builder) Check(ctx context.Context, cfg *config.Config, found *config.Report) error {
	table, prices, err := b.build(ctx, cfg, found)
	if err == nil {
		for _, w := range prices.Book.Warnings() {
			cfg.Warnings = append(cfg.Warnings, strings.Replace(w.Error(), " warning: ", " ", 1))
		}
		table.Close()
	}
	if found.Err() != nil {
		return nil
	}
	return err
}

// build builds routes and prices, and reports the mistakes. The error contains those.
func (b *Builder) build(ctx context.Context, cfg *config.Config, found *config.Report) (
	*route.Table, *pricing.Edition, error,
) {
	catalogue, err := provider.LoadCatalogue()
	if err != nil {
		return nil, nil, err
	}
	cfg = CheckAuthorities(cfg, found)
	l := b.lineup(ctx, cfg, catalogue, found)
	providers := b.open(&l, found)
	b.checkTools(cfg, found)
	o := overrides(cfg, providers)
	o.Known = KnownProviders(cfg, catalogue)
	prices, err := b.prices.Read(o, cfg.PricesFile)
	if err != nil {
		reportPrices(cfg, err, found)
		prices.Book, err = pricing.NewBook(pricing.Overrides{})
	}
	if err != nil {
		return nil, nil, err
	}
	checkNames(cfg, &names{catalogue, providers, prices.Book}, found)
	if err := found.Err(); err != nil {
		for _, p := range providers {
			p.Close()
		}
		return nil, nil, err
	}
	table, err := route.NewTable(route.Options{
		Providers: providers, Book: prices.Book, Aliases: aliases(cfg), Health: b.health,
		Listed:           map[string][]string{DemoName: demoModels()},
		DefaultModel:     cmp.Or(cfg.DefaultModel, defaultModel(providers, catalogue, l.ambient)),
		DefaultMaxOutput: cfg.DefaultMaxOutput,
	})
	return table, prices, err
}

// open opens the providers of a lineup, and reports those that it cannot open.
func (b *Builder) open(l *lineup, found *config.Report) []*provider.Provider {
	all := make([]*provider.Provider, 0, len(l.options))
	for i := range l.options {
		l.options[i].Connections = b.options.Connections
		p, err := provider.New(l.options[i])
		if err != nil {
			reportProvider(l.options[i].Name, err, found)
			continue
		}
		all = append(all, p)
	}
	return all
}

// lineup holds the providers that can answer.
type lineup struct {
	options []provider.Options
	// ambient has the names of providers that are switched on only by variables that may be set for other programs.
	// They are used only if a request names them.
	ambient map[string]bool
}

// lineup returns the providers of the configuration, those that the environment switches on, and a server on this
// machine. If none of them is configured on purpose, it adds the demo. It reports incomplete providers.
func (b *Builder) lineup(ctx context.Context, cfg *config.Config, catalogue provider.Catalogue,
	found *config.Report,
) lineup {
	all, named, ambient := []provider.Options(nil), map[string]bool{}, map[string]bool{}
	for i := range cfg.Providers {
		p := &cfg.Providers[i]
		named[p.Name] = true
		o, err := b.configured(p, catalogue)
		if err != nil {
			reportProvider(p.Name, err, found)
			continue
		}
		all = append(all, o)
	}
	for i := range catalogue {
		e := &catalogue[i]
		env := e.FromEnv(b.options.Getenv)
		if named[e.Name] || !env.On {
			continue
		}
		if len(env.Missing) > 0 {
			b.options.Log.Info("a provider is not configured: set its environment variable",
				"provider", e.Name, "missing", env.Missing)
			continue
		}
		o := e.Options(b.dialects)
		env.Into(&o)
		named[e.Name], ambient[e.Name] = true, env.Ambient
		all = append(all, o)
	}
	for i := range catalogue {
		e := &catalogue[i]
		if e.Notice == "" || named[e.Name] || !e.IsHere(ctx, (&net.Dialer{}).DialContext) {
			continue
		}
		//nolint:sloglint // the message names the found server
		b.options.Log.Info(fmt.Sprintf("%s found on this machine; its models are %s/<name>", e.Title, e.Name))
		all = append(all, e.Options(b.dialects))
	}
	if !slices.ContainsFunc(all, func(o provider.Options) bool { return !ambient[o.Name] }) {
		all = append(all, b.demoOptions())
	}
	for i := range all {
		b.complete(&all[i], cfg)
	}
	return lineup{all, ambient}
}

// configured returns the options of a configured provider. The catalogue or the environment completes missing values.
func (b *Builder) configured(p *config.Provider, catalogue provider.Catalogue) (provider.Options, error) {
	o := provider.Options{Name: p.Name, Retries: provider.DefaultRetries}
	if e := catalogue.Speaking(p.Name, p.Dialect); e != nil {
		found := e.FromEnv(b.options.Getenv)
		o = e.Options(b.dialects)
		found.Into(&o)
		if o.BaseURL == "" && p.BaseURL == "" {
			missing := strings.Join(found.Missing, " and ")
			return o, &provider.Mistakes{Provider: p.Name, All: []provider.Mistake{{
				Key: "base_url", Err: fmt.Errorf("missing; set it, or %s in the environment", missing),
			}}}
		}
	}
	if p.Name == DemoName && p.BaseURL == "" {
		o = b.demoOptions()
	}
	if p.Dialect != "" {
		o.Dialect = b.dialects.Named(p.Dialect)
	} else if o.Dialect == nil {
		o.Dialect = b.dialects.Usual()
	}
	if p.BaseURL != "" {
		o.Move(p.BaseURL)
		o.AllowPrivate, o.WrittenURL = false, p.WrittenURL
	}
	if p.Counter != "" {
		o.Counter = b.dialects.Counter(p.Counter)
	}
	for _, name := range p.Also {
		if d := b.dialects.Named(name); d != nil { // else it has been reported
			o.Also = append(o.Also, d)
		}
	}
	if p.Auth != "" {
		o.Auth = credential.Scheme(p.Auth)
	}
	o.AllowPrivate = o.AllowPrivate || p.AllowPrivate
	if len(p.APIKeys) > 0 {
		o.APIKeys = p.APIKeys
	}
	o.Models = p.Models
	o.Quirks.Prefill = cmp.Or(p.Prefill, o.Quirks.Prefill)
	o.Quirks.AddCacheMarks = p.CacheMarks == string(route.AddMarks)
	if p.BillsAfterDisconnect != "" {
		o.BillsAfterDisconnect = p.BillsAfterDisconnect == "yes"
	}
	o.BillsItself = p.BillBy != "computed"
	o.Traces.Taken = p.TraceContext
	if p.WebSocket {
		o.Sockets = b.refusedSockets(p.Name)
	}
	o.Timeouts = provider.Timeouts(p.Timeouts)
	if p.Retries != nil {
		o.Retries = *p.Retries
	}
	return o, nil
}

// complete adds the options that all providers share.
func (b *Builder) complete(o *provider.Options, cfg *config.Config) {
	o.Proxy, o.CAFile = cfg.Outbound.Proxy.Reveal(), cfg.Outbound.CAFile
	o.UserAgent = "weir/" + cmp.Or(b.options.Version, "dev")
}

// demoOptions returns the options of the simulator in this process.
func (b *Builder) demoOptions() provider.Options {
	return provider.Options{
		Name: DemoName, Dialect: b.dialects.Usual(), BaseURL: demoBaseURL, Also: b.dialects.Below("/v1/"),
		Auth: credential.None, Local: b.demo.RoundTripper(), Retries: provider.DefaultRetries,
	}
}

// demoModels returns the models of the demo for listings. Those with faults are served, too, but puzzle newcomers.
func demoModels() []string {
	var names []string
	for _, m := range simulator.Models() {
		if !strings.Contains(m.Name, ":") {
			names = append(names, m.Name)
		}
	}
	return names
}

// defaultModel returns the first usable model in the shipped order, else the first model that a provider lists, else
// "".
func defaultModel(providers []*provider.Provider, catalogue provider.Catalogue, ambient map[string]bool) string {
	for i := range catalogue {
		e := &catalogue[i]
		for _, p := range providers {
			if p.Name() == e.Name && !ambient[e.Name] && e.DefaultModel != "" && p.Serves(e.DefaultModel) {
				return e.Name + "/" + e.DefaultModel
			}
		}
	}
	for _, p := range providers {
		if models := p.Models(); len(models) > 0 {
			return p.Name() + "/" + models[0]
		}
		if p.Name() == DemoName {
			return DemoName + "/" + DemoModel
		}
	}
	return ""
}

func aliases(cfg *config.Config) map[string]route.Alias {
	all := make(map[string]route.Alias, len(cfg.Aliases))
	for name, a := range cfg.Aliases {
		all[name] = route.Alias{
			Targets: a.Targets, Weights: a.Weights, Strategy: route.Strategy(a.Strategy), NoRescue: a.Rescue == "off",
			NoAffinity: a.Affinity == "none", ServedModel: route.ServedModel(a.ServedModel), On: a.On,
			CacheMarks: route.CacheMarks(a.CacheMarks), AnswerCache: a.AnswerCache,
		}
	}
	return all
}

func overrides(cfg *config.Config, providers []*provider.Provider) pricing.Overrides {
	o := pricing.Overrides{
		Prices: make(map[string]pricing.PriceOverride, len(cfg.Prices)),
		Models: make(map[string]pricing.ModelOverride, len(cfg.Models)), Sources: map[string]string{},
		Regions: map[string]string{},
		Assumed: pricing.Assumed(cfg.Pricing.Assumed), UsualTools: cfg.Pricing.Tools == "usual",
		Margin: 1000 + 10*cfg.Pricing.Margin, Resellers: map[string]bool{},
	}
	// These prices are invented, like the answers.
	o.Prices[DemoName+"/*"] = pricing.PriceOverride{"input": "0.10", "cache_read": "0.01", "output": "0.40"}
	for name := range cfg.MCPServers { // the protocol has no prices: those that the operator does not set are 0
		o.Prices[config.MCPPrefix+name+"/*"] = pricing.PriceOverride{"request": "0"}
	}
	for name, p := range cfg.Prices {
		o.Prices[name] = p
	}
	for name, m := range cfg.Models {
		o.Models[name] = pricing.ModelOverride(m)
	}
	for i := range cfg.Providers {
		if cfg.Providers[i].Resells {
			o.Resellers[cfg.Providers[i].Name] = true
		}
	}
	for _, p := range providers {
		if source := p.PriceSource(); source != "" {
			o.Sources[p.Name()] = source
		}
		if p.Quirks(p.Dialect()).CapsPrice {
			o.Resellers[p.Name()] = true
		}
		if region := p.Region(); region != "" {
			o.Regions[p.Name()] = region
		}
	}
	return o
}

// HealthFile returns the path where a running gateway reports the health of its providers.
func HealthFile(cfg *config.Config) string { return filepath.Join(cfg.Data, "providers.json") }

// With builds the routes of the configuration and calls do with them, in a process that does not serve.
func (o *Options) With(ctx context.Context, do func(*Builder, *route.Table) error) error {
	b := New(o)
	defer b.Close()
	table, err := b.Table(ctx, &o.Config)
	if err != nil {
		return err
	}
	defer table.Close()
	return do(b, table)
}

// Providers returns the configured providers and, if a gateway runs on the data directory, their health there.
func (o *Options) Providers(ctx context.Context) (all []route.ProviderCondition, running bool, err error) {
	if all, running, err = route.Reported(HealthFile(&o.Config)); running || err != nil {
		return all, running, err
	}
	err = o.With(ctx, func(_ *Builder, table *route.Table) error {
		all = table.Providers(time.Now())
		return nil
	})
	return all, false, err
}
