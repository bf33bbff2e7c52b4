package provider

import (
	"slices"
	"strings"

	"weir/internal/llm"
)

// Own reports whether the provider's credentials are its own: keys that were typed, or those of the saved provider at
// the same host. Saved is nil for a new provider.
func (p *Provider) Own(saved *Provider, typed []string) bool {
	same := saved != nil && saved.origin == p.origin
	if len(p.opts.APIKeys) == 0 {
		way, _ := p.opts.Auth.Way()
		return same || way.Identify == nil
	}
	return !slices.ContainsFunc(p.opts.APIKeys, func(key llm.Secret) bool {
		has := func(own llm.Secret) bool { return own.Reveal() == key.Reveal() }
		return !slices.Contains(typed, key.Reveal()) && (!same || !slices.ContainsFunc(saved.opts.APIKeys, has))
	})
}

// ShownURL returns an address of the provider as people may see it: values of references in its base URL are not shown.
func (p *Profile) ShownURL(address string) string {
	base, written := p.opts.BaseURL, p.opts.WrittenURL
	if written == "" || written == base {
		return address
	}
	if rest, ok := strings.CutPrefix(address, base); ok {
		return written + rest
	}
	if rest, ok := strings.CutPrefix(base, address); ok {
		return strings.TrimSuffix(written, rest)
	}
	return written
}
