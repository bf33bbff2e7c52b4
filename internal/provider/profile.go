package provider

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"

	"weir/internal/dialect"
	"weir/internal/dialect/rules"
	"weir/internal/llm"
	"weir/internal/outbound"
)

// Profile describes a configured provider. It is immutable and safe for concurrent use.
type Profile struct {
	opts        Options
	otherQuirks llm.Quirks           // for the wire formats in Also
	rules       map[string]rules.Set // by wire format
	origin      string               // the base URL up to its path
	prefix      string               // the path of the base URL, without a slash at the end
	servesIn    string
}

// newProfile returns the profile of valid options.
func newProfile(o *Options) Profile {
	p := Profile{
		opts: *o, otherQuirks: o.Quirks.Everywhere(),
		rules: map[string]rules.Set{o.Dialect.Name: rules.For(o.Name, o.Dialect.Name)},
	}
	for _, d := range o.Also {
		p.rules[d.Name] = rules.For(o.Name, d.Name)
	}
	p.origin, p.prefix = splitBaseURL(o.BaseURL)
	p.servesIn = cmp.Or(o.Region(), location(p.prefix))
	return p
}

// Name returns the <provider> of <provider>/<model-name>.
func (p *Profile) Name() string { return p.opts.Name }

// SelfHosted reports whether the provider is a server of the operator's.
func (p *Profile) SelfHosted() bool { return p.opts.SelfHosted }

// AddsCacheMarks reports whether chats without marks of a prompt cache get them.
func (p *Profile) AddsCacheMarks() bool { return p.opts.Quirks.AddCacheMarks }

// Dialect returns the wire format that is used for the provider by default.
func (p *Profile) Dialect() *dialect.Dialect { return p.opts.Dialect }

// Speaking returns the wire format to use at the provider for a client's wire format and a model: the client's own if
// the provider supports it, else the best one for the model.
func (p *Profile) Speaking(client *dialect.Dialect, model string) *dialect.Dialect {
	if client == p.opts.Dialect || slices.Contains(p.opts.Also, client) {
		return client
	}
	best := p.Rules(p.opts.Dialect).Format(model)
	for _, d := range p.opts.Also {
		if d.Name == best {
			return d
		}
	}
	return p.opts.Dialect
}

// Rules returns the vendor's rules for requests in a wire format that the provider supports.
func (p *Profile) Rules(d *dialect.Dialect) rules.Set { return p.rules[d.Name] }

// Quirks returns the provider's departures from a wire format that it supports. They must not be changed.
func (p *Profile) Quirks(d *dialect.Dialect) *llm.Quirks {
	if d == p.opts.Dialect {
		return &p.opts.Quirks
	}
	return &p.otherQuirks
}

// Prefills reports whether the provider continues a conversation that ends with an assistant's message, in the wire
// format d.
func (p *Profile) Prefills(d *dialect.Dialect) bool {
	return p.opts.Quirks.Prefill == "yes" || p.opts.Quirks.Prefill == "" && d.Prefill
}

// BaseURL returns the configured base URL.
func (p *Profile) BaseURL() string { return p.opts.BaseURL }

// PriceSource returns the provider's id in the price data if it differs from its name; empty otherwise.
func (p *Profile) PriceSource() string { return p.opts.PriceSource }

// Retries returns how often a failed attempt may be retried at this provider.
func (p *Profile) Retries() int { return p.opts.Retries }

// BillsAfterDisconnect reports whether the provider charges for all of a stream after the client has left.
func (p *Profile) BillsAfterDisconnect() bool { return p.opts.BillsAfterDisconnect }

// BillsRefusals reports whether the provider charges for the failures of Failure.Worked.
func (p *Profile) BillsRefusals() bool { return p.opts.BillsRefusals }

// FreesFailures reports whether the provider does not charge for requests that it answers with an error status of its
// own.
func (p *Profile) FreesFailures() bool { return p.opts.FreesFailures }

// BillsItself reports whether the cost of an attempt is the charge that the provider reports.
func (p *Profile) BillsItself() bool { return p.opts.BillsItself }

// Timeouts returns the timeouts, including defaults. FirstByte is the one for streams.
func (p *Profile) Timeouts() Timeouts { return p.opts.Timeouts }

// Keys returns the number of credentials: Call.Key ranges from 0 to Keys()-1. It is 1 for a provider without keys.
func (p *Profile) Keys() int { return max(1, len(p.opts.APIKeys)) }

// KeyID identifies a credential by a digest that does not reveal it. It is empty for a provider without keys.
func (p *Profile) KeyID(key int) string {
	if key >= len(p.opts.APIKeys) {
		return ""
	}
	sum := sha256.Sum256([]byte(p.opts.APIKeys[key].Reveal()))
	return hex.EncodeToString(sum[:8])
}

// Reach returns which addresses the provider may have.
func (p *Profile) Reach() outbound.Reach { return reach(p.opts.AllowPrivate) }

// Models returns a copy of the list of served models; empty if all are served.
func (p *Profile) Models() []string { return slices.Clone(p.opts.Models) }

// Serves reports whether the provider accepts requests for the model.
func (p *Profile) Serves(model string) bool {
	return len(p.opts.Models) == 0 || slices.Contains(p.opts.Models, model)
}
