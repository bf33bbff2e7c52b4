package upstream

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"weir/internal/config"
	"weir/internal/outbound"
	"weir/internal/pricing"
	"weir/internal/provider"
)

// names holds the names that a configuration may use.
type names struct {
	catalogue provider.Catalogue
	providers []*provider.Provider
	book      *pricing.Book
}

// checkNames reports names of unknown providers and models.
func checkNames(cfg *config.Config, n *names, found *config.Report) {
	for _, alias := range slices.Sorted(maps.Keys(cfg.Aliases)) {
		for i, target := range cfg.Aliases[alias].Targets {
			n.target(cfg, config.Path("aliases", alias, "targets", i), target, found)
		}
	}
	if _, alias := cfg.Aliases[cfg.DefaultModel]; cfg.DefaultModel != "" && !alias {
		n.target(cfg, "default_model", cfg.DefaultModel, found)
	}
	known := append(KnownProviders(cfg, n.catalogue), DemoName)
	for _, name := range slices.Sorted(maps.Keys(cfg.Prices)) {
		checkOwner("prices", "price", name, known, found)
	}
	for _, name := range slices.Sorted(maps.Keys(cfg.Models)) {
		checkOwner("models", "entry", name, known, found)
	}
}

// checkOwner warns about a price or model of an unknown provider. It is no mistake: the managed configuration may add
// the provider.
func checkOwner(section, what, name string, known []string, found *config.Report) {
	owner, _, ok := strings.Cut(name, "/")
	if !ok || slices.Contains(known, owner) {
		return
	}
	found.Doubt(config.Path(section, name), "there is no provider `%s`, so this %s has no effect%s", owner, what,
		didYouMean(owner, known))
}

// target reports a target that nothing serves, and warns about a model that the price data does not have.
func (n *names) target(cfg *config.Config, path, full string, found *config.Report) {
	name, model, _ := strings.Cut(full, "/")
	i := slices.IndexFunc(n.providers, func(p *provider.Provider) bool { return p.Name() == name })
	if i < 0 {
		// a configured provider that could not be opened has been reported
		if !slices.ContainsFunc(cfg.Providers, func(p config.Provider) bool { return p.Name == name }) {
			found.Wrong(path, "%s", n.missing(name))
		}
		return
	}
	p := n.providers[i]
	if canonical := p.Dialect().Canonical; canonical != nil {
		model = canonical(model)
	}
	switch {
	case model == "":
		found.Wrong(path, "the target %q has no model's name", full)
	case !p.Serves(model):
		found.Wrong(path, "`providers.%s.models` does not have the model `%s`: add it there, or choose another%s", name,
			model, didYouMean(model, p.Models()))
	case n.book != nil && !slices.Contains(p.Models(), model):
		n.doubt(path, name, model, found)
	}
}

// missing describes a provider that is not configured.
func (n *names) missing(name string) string {
	if e := n.catalogue.Find(name); e != nil {
		set := ""
		if len(e.KeyEnv) > 0 {
			set = "set " + e.KeyEnv[0] + " in the environment, or "
		}
		return fmt.Sprintf("the provider `%s` is not configured: %sadd `providers.%s`", name, set, name)
	}
	var there []string
	for _, p := range n.providers {
		there = append(there, p.Name())
	}
	return fmt.Sprintf("the provider `%s` is not configured: add `providers.%s`, or choose another%s", name, name,
		didYouMean(name, there))
}

// doubt warns about a model that its provider's price data does not have.
func (n *names) doubt(path, name, model string, found *config.Report) {
	if _, known := n.book.Model(name, model); known {
		return
	}
	var listed []string
	for _, l := range n.book.Models(name, time.Time{}) {
		listed = append(listed, l.ID)
	}
	if len(listed) > 0 && !slices.Contains(listed, model) { // a price of the operator's own is enough
		found.Doubt(path, "the price data has no model `%s` of the provider `%s`%s", model, name,
			didYouMean(model, listed))
	}
}

func didYouMean(word string, candidates []string) string {
	if near, ok := config.Nearest(word, candidates); ok {
		return fmt.Sprintf("; did you mean `%s`?", near)
	}
	return ""
}

// reportProvider reports the wrong options of a provider.
func reportProvider(name string, err error, found *config.Report) {
	m, ok := errors.AsType[*provider.Mistakes](err)
	if !ok { // of the settings that all providers share
		found.Wrong("outbound.ca_file", "%v", err)
		return
	}
	for _, one := range m.All {
		path := config.Path("providers", name) + "." + one.Key
		found.Wrong(path, "`%s`: %v", path, one.Err)
	}
}

// reportPrices reports the mistakes of the price files, and those of prices.
func reportPrices(cfg *config.Config, err error, found *config.Report) {
	if problems, ok := errors.AsType[pricing.Problems](err); ok {
		for _, p := range problems {
			found.Add(config.Problem{File: p.File, Line: p.Line, Column: p.Column, Message: p.Message})
		}
		return
	}
	for i, path := range cfg.PricesFile {
		if _, e := pricing.ReadFile(path); e != nil && err != nil {
			found.Wrong(config.Path("prices_file", i), "the price file %v", e)
			err = nil
		}
	}
	if err != nil {
		found.Wrong("prices", "%v", err)
	}
}

// CheckAuthorities reports a useless file of certificate authorities, and returns the configuration without it.
func CheckAuthorities(cfg *config.Config, found *config.Report) *config.Config {
	if _, err := outbound.Certificates(cfg.Outbound.CAFile); err != nil {
		found.File("outbound.ca_file", err)
		without := *cfg
		without.Outbound.CAFile = ""
		return &without
	}
	return cfg
}
