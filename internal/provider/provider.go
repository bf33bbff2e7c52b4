// Package provider calls AI model providers. A provider is data: a catalogue of well-known ones is embedded, and
// operators define others by a base URL. Do makes one exchange with a provider under all timeouts, and reports each
// error as a Failure.
package provider

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"weir/internal/credential"
	"weir/internal/dialect"
	"weir/internal/dialect/rules"
	"weir/internal/llm"
	"weir/internal/outbound"
)

// Timeouts bound one exchange with a provider. A zero field means its default.
type Timeouts struct {
	// Connect bounds opening a connection, and separately its TLS handshake. Default 5 s.
	Connect time.Duration
	// FirstByte bounds the wait from the start of the exchange to the first byte of the body. Default 120 s for
	// streams, and 10 minutes for whole answers, because a model may think for long.
	FirstByte time.Duration
	// Idle bounds each later wait for a byte of the body. Default 60 s.
	Idle time.Duration
	// Total bounds the whole exchange. Default 30 min.
	Total time.Duration
}

// Options configure a provider. Name, Dialect and BaseURL are required.
type Options struct {
	// Name is the <provider> of <provider>/<model-name>.
	Name    string
	Dialect *dialect.Dialect
	// Also lists further wire formats that the provider supports at the same address with the same credential. Only the
	// quirks in llm.Quirks.Everywhere apply to them.
	Also []*dialect.Dialect
	// Ask describes how to query the provider about a reply by its id; nil if that is impossible.
	Ask *dialect.Inquiry
	// Counter describes how the provider counts the tokens of a chat; nil if it cannot.
	Counter *dialect.Counter
	// BaseURL is an http or https URL, including the API's version.
	BaseURL string
	// WrittenURL is BaseURL with its references unresolved, since their values must not be shown; empty if it has none.
	WrittenURL string
	// APIKeys may be empty for a server without authentication, and for a scheme that finds the gateway's identity.
	APIKeys []llm.Secret
	// Auth is the authentication scheme; empty means the usual one of the wire format.
	Auth credential.Scheme
	// AllowPrivate permits loopback, private and link-local addresses. Addresses of cloud metadata services are never
	// permitted.
	AllowPrivate bool
	// Models lists the only models served, by the provider's names; empty permits all.
	Models   []string
	Timeouts Timeouts
	// BillsAfterDisconnect is set if the provider charges for all of a stream after the client has left, so that
	// cancelling it saves nothing.
	BillsAfterDisconnect bool
	// BillsRefusals is set if the provider charges for the refused requests of Failure.Worked.
	BillsRefusals bool
	// FreesFailures is set if the provider does not charge for requests that it answers with an error status of its
	// own.
	FreesFailures bool
	// BillsItself makes the cost of an attempt the charge that the provider reports, if it reports one, instead of the
	// cost of its usage.
	BillsItself    bool
	wholeFirstByte time.Duration // for whole answers
	// Retries bounds the retries of a failed attempt at this provider; 0 means none.
	Retries int
	Quirks  llm.Quirks
	// PriceSource is the provider's id in the price data if it differs from Name; empty otherwise.
	PriceSource string
	// RegionHost matches the region in the host of BaseURL, as in Entry.
	RegionHost string

	// Connections bounds the connections to all providers; nil means no bound.
	Connections *Connections
	// Proxy is the proxy for all requests, in the form of outbound.ParseProxy; empty for none.
	Proxy string
	// CAFile is a file of PEM certificates that are trusted in addition to the system's.
	CAFile string
	// UserAgent is the User-Agent header; empty means "weir".
	UserAgent string
	// MaxReply bounds a whole reply in bytes; 0 means 32 MiB.
	MaxReply int64
	// Local answers requests inside this process instead of a server at BaseURL; nil for none.
	Local http.RoundTripper
	// Now is the clock for dates in Retry-After; nil means time.Now.
	Now func() time.Time
}

const (
	defaultConnect   = 5 * time.Second
	defaultFirstByte = 120 * time.Second
	// defaultWholeFirstByte is how long the vendors' SDKs wait for a whole answer:
	// https://github.com/openai/openai-python#timeouts, https://github.com/anthropics/anthropic-sdk-python#timeouts.
	defaultWholeFirstByte = 10 * time.Minute
	defaultIdle           = 60 * time.Second
	defaultTotal          = 30 * time.Minute
	defaultMaxReply       = 32 << 20

	// DefaultRetries is the value of Options.Retries without a configured one.
	DefaultRetries = 2
)

// Provider is a configured provider. It is immutable and safe for concurrent use.
type Provider struct {
	opts        Options
	otherQuirks llm.Quirks           // for the wire formats in Also
	rules       map[string]rules.Set // by wire format
	origin      string               // the base URL up to its path
	prefix      string               // the path of the base URL, without a slash at the end
	servesIn    string
	wire        wire
	counts      counts

	header      string               // name of the scheme's header for a key
	credentials []llm.Secret         // header values, one for each key; empty if no key is sent
	identity    *credential.Identity // authenticates the gateway if no key is configured; else nil
	// secrets are the credentials that must not appear in any text; those of the identity as last seen.
	secrets atomic.Pointer[secretParts]
}

// New returns a provider. An error names the invalid configuration keys, such as "providers.groq.base_url"; it is of
// type *Mistakes if the options of the provider are wrong.
func New(o Options) (*Provider, error) {
	o.fillDefaults()
	if err := o.check(); err != nil {
		return nil, err
	}
	w, err := newWire(&o)
	if err != nil {
		return nil, err
	}
	way, _ := o.Auth.Way()
	p := &Provider{wire: w, header: way.Header, credentials: way.Values(o.APIKeys)}
	if len(o.APIKeys) == 0 && way.Identify != nil {
		if p.identity, err = newIdentity(&o, way); err != nil {
			return nil, err
		}
	}
	o.Proxy = "" // it may contain a password and is no longer needed
	keys := make([]string, len(o.APIKeys))
	for i, key := range o.APIKeys {
		keys[i] = key.Reveal()
	}
	p.secrets.Store(newSecretParts(keys))
	o.APIKeys, o.Models = slices.Clone(o.APIKeys), slices.Clone(o.Models)
	p.opts, p.otherQuirks = o, o.Quirks.Everywhere()
	p.rules = map[string]rules.Set{o.Dialect.Name: rules.For(o.Name, o.Dialect.Name)}
	for _, d := range o.Also {
		p.rules[d.Name] = rules.For(o.Name, d.Name)
	}
	p.origin, p.prefix = splitBaseURL(o.BaseURL)
	p.servesIn = cmp.Or(o.Region(), location(p.prefix))
	return p, nil
}

// splitBaseURL splits a URL where its path begins.
func splitBaseURL(s string) (origin, prefix string) {
	s = strings.TrimRight(s, "/")
	host := strings.Index(s, "://") + len("://")
	if i := strings.IndexByte(s[host:], '/'); i >= 0 {
		return s[:host+i], s[host+i:]
	}
	return s, ""
}

func (o *Options) fillDefaults() {
	orDefault(&o.Timeouts.Connect, defaultConnect)
	if o.Timeouts.FirstByte == 0 {
		o.wholeFirstByte = defaultWholeFirstByte
	}
	orDefault(&o.Timeouts.FirstByte, defaultFirstByte)
	orDefault(&o.wholeFirstByte, o.Timeouts.FirstByte)
	orDefault(&o.Timeouts.Idle, defaultIdle)
	orDefault(&o.Timeouts.Total, defaultTotal)
	orDefault(&o.MaxReply, defaultMaxReply)
	orDefault(&o.UserAgent, "weir")
	if o.Dialect != nil {
		orDefault(&o.Auth, credential.Scheme(o.Dialect.Auth))
	}
	orDefault(&o.Auth, credential.Bearer)
	if o.Now == nil {
		o.Now = time.Now
	}
}

func orDefault[T comparable](v *T, value T) {
	var zero T
	if *v == zero {
		*v = value
	}
}

// Name returns the <provider> of <provider>/<model-name>.
func (p *Provider) Name() string { return p.opts.Name }

// Dialect returns the wire format that is used for the provider by default.
func (p *Provider) Dialect() *dialect.Dialect { return p.opts.Dialect }

// Speaking returns the wire format to use at the provider for a client's wire format and a model: the client's own if
// the provider supports it, else the best one for the model.
func (p *Provider) Speaking(client *dialect.Dialect, model string) *dialect.Dialect {
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
func (p *Provider) Rules(d *dialect.Dialect) rules.Set { return p.rules[d.Name] }

// Quirks returns the provider's departures from a wire format that it supports. They must not be changed.
func (p *Provider) Quirks(d *dialect.Dialect) *llm.Quirks {
	if d == p.opts.Dialect {
		return &p.opts.Quirks
	}
	return &p.otherQuirks
}

// Prefills reports whether the provider continues a conversation that ends with an assistant's message, in the wire
// format d.
func (p *Provider) Prefills(d *dialect.Dialect) bool {
	return p.opts.Quirks.Prefill == "yes" || p.opts.Quirks.Prefill == "" && d.Prefill
}

// BaseURL returns the configured base URL.
func (p *Provider) BaseURL() string { return p.opts.BaseURL }

// PriceSource returns the provider's id in the price data if it differs from its name; empty otherwise.
func (p *Provider) PriceSource() string { return p.opts.PriceSource }

// Retries returns how often a failed attempt may be retried at this provider.
func (p *Provider) Retries() int { return p.opts.Retries }

// BillsAfterDisconnect reports whether the provider charges for all of a stream after the client has left.
func (p *Provider) BillsAfterDisconnect() bool { return p.opts.BillsAfterDisconnect }

// BillsRefusals reports whether the provider charges for the failures of Failure.Worked.
func (p *Provider) BillsRefusals() bool { return p.opts.BillsRefusals }

// FreesFailures reports whether the provider does not charge for requests that it answers with an error status of its
// own.
func (p *Provider) FreesFailures() bool { return p.opts.FreesFailures }

// BillsItself reports whether the cost of an attempt is the charge that the provider reports.
func (p *Provider) BillsItself() bool { return p.opts.BillsItself }

// Timeouts returns the timeouts, including defaults. FirstByte is the one for streams.
func (p *Provider) Timeouts() Timeouts { return p.opts.Timeouts }

// Keys returns the number of credentials: Call.Key ranges from 0 to Keys()-1. It is 1 for a provider without keys.
func (p *Provider) Keys() int { return max(1, len(p.opts.APIKeys)) }

// KeyID identifies a credential by a digest that does not reveal it. It is empty for a provider without keys.
func (p *Provider) KeyID(key int) string {
	if key >= len(p.opts.APIKeys) {
		return ""
	}
	sum := sha256.Sum256([]byte(p.opts.APIKeys[key].Reveal()))
	return hex.EncodeToString(sum[:8])
}

// Reach returns which addresses the provider may have.
func (p *Provider) Reach() outbound.Reach { return reach(p.opts.AllowPrivate) }

// Models returns a copy of the list of served models; empty if all are served.
func (p *Provider) Models() []string { return slices.Clone(p.opts.Models) }

// Serves reports whether the provider accepts requests for the model.
func (p *Provider) Serves(model string) bool {
	return len(p.opts.Models) == 0 || slices.Contains(p.opts.Models, model)
}

// Close closes idle connections. Running exchanges continue.
func (p *Provider) Close() {
	p.wire.close()
	if p.identity != nil {
		p.identity.Close()
	}
}
