// Package provider reaches AI model providers. A provider is data: a
// catalogue of the well-known ones is embedded, and an operator names others
// by their base URL. Do makes one exchange with any of them, with every timer
// in force, and turns whatever goes wrong into a Failure of one vocabulary.
package provider

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/url"
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

// Timeouts bound one exchange with a provider. A zero is the default.
type Timeouts struct {
	// Connect bounds opening a connection, and again its TLS handshake.
	// Default 5 s.
	Connect time.Duration
	// FirstByte bounds the wait from the start of the exchange to the first
	// byte of the reply's body. Default 120 s for streams, and 10 minutes for whole
	// answers, which may be thought about for long.
	FirstByte time.Duration
	// Idle bounds each later wait for a byte of the body. Default 60 s.
	Idle time.Duration
	// Total bounds the whole exchange. Default 30 min.
	Total time.Duration
}

// Options say what a provider is. Name, Dialect and BaseURL are required.
type Options struct {
	// Name is the <provider> of <provider>/<model-name>.
	Name    string
	Dialect *dialect.Dialect
	// Also are further wire formats that it speaks, at the same address and with
	// the same credential. Of quirks those of llm.Quirks.Everywhere hold there.
	Also []*dialect.Dialect
	// Ask is how it is asked about a reply by its id; nil where it cannot be.
	Ask *dialect.Inquiry
	// Counter is how it is asked for a count of the tokens of a chat; nil where it cannot be.
	Counter *dialect.Counter
	// BaseURL is an http or https address, the API's version included.
	BaseURL string
	// WrittenURL is BaseURL as people wrote it, where references in it stand for what nobody is to be shown; empty
	// where that is BaseURL.
	WrittenURL string
	// APIKeys may be empty for a server that asks for none, and for a scheme
	// that finds out who the gateway is.
	APIKeys []llm.Secret
	// Auth says how a request shows who sends it; empty is the usual way of
	// the wire format.
	Auth credential.Scheme
	// AllowPrivate permits loopback, private and link-local addresses. Nothing
	// permits those of the clouds' metadata services.
	AllowPrivate bool
	// Models are the only ones served, by the provider's own names; empty for
	// whatever is asked.
	Models   []string
	Timeouts Timeouts
	// BillsAfterDisconnect says that the provider charges for all of a stream whose
	// client has left: cancelling it saves nothing.
	BillsAfterDisconnect bool
	// BillsRefusals says that the provider charges for some requests that it refuses:
	// those of Failure.Worked.
	BillsRefusals bool
	// FreesFailures says that the provider charges nothing for what it answers with an error status of its own.
	FreesFailures bool
	// BillsItself has an attempt cost what the provider says that it charges, where it
	// says so, and not what its usage comes to.
	BillsItself    bool
	wholeFirstByte time.Duration // of answers that are no streams
	// Retries is how often a failed attempt may be made again at this
	// provider; 0 for never.
	Retries int
	Quirks  llm.Quirks
	// PriceSource is the id of the provider in the price data; empty where that is Name, and
	// for none.
	PriceSource string
	// RegionHost finds the region in the host of BaseURL, as Entry has it.
	RegionHost string

	// Connections counts those to all providers; nil for no bound.
	Connections *Connections
	// Proxy is what all requests go through, as outbound.ParseProxy has it; empty
	// for none.
	Proxy string
	// CAFile is a file of PEM certificates trusted beside the system's.
	CAFile string
	// UserAgent is the User-Agent header; empty is "weir".
	UserAgent string
	// MaxReply bounds a whole reply in bytes; 0 is 32 MiB.
	MaxReply int64
	// Local answers in this process, in place of a server at BaseURL; nil for none.
	Local http.RoundTripper
	// Now is the clock by which dates in Retry-After are read; nil is time.Now.
	Now func() time.Time
}

const (
	defaultConnect   = 5 * time.Second
	defaultFirstByte = 120 * time.Second
	// defaultWholeFirstByte is what the vendors' SDKs wait for an answer that is no
	// stream: https://github.com/openai/openai-python#timeouts,
	// https://github.com/anthropics/anthropic-sdk-python#timeouts.
	defaultWholeFirstByte = 10 * time.Minute
	defaultIdle           = 60 * time.Second
	defaultTotal          = 30 * time.Minute
	defaultMaxReply       = 32 << 20

	// DefaultRetries is Options.Retries where the configuration says nothing.
	DefaultRetries = 2
)

// Provider is one configured provider. It does not change once it is made;
// its methods may be called concurrently.
type Provider struct {
	opts        Options
	otherQuirks llm.Quirks           // of the wire formats in Also
	rules       map[string]rules.Set // by wire format
	origin      string               // the base URL up to its path
	prefix      string               // its path, without a slash at the end
	servesIn    string
	wire        wire
	counts      counts

	header      string               // of the scheme, carries a key
	credentials []llm.Secret         // its values, one for every key; none where none is sent
	identity    *credential.Identity // shows who the gateway is in place of a key; nil where one is configured
	// secrets are the credentials that no text may hold; those of the identity as last seen.
	secrets atomic.Pointer[secretParts]
}

// New makes a provider. An error names the configuration key at fault, such as
// "providers.groq.base_url".
func New(o Options) (*Provider, error) {
	o.fillDefaults()
	if err := o.check(); err != nil {
		return nil, fmt.Errorf("providers.%s.%w", o.Name, err)
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
	o.Proxy = "" // it may hold a password and is not needed again
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

// splitBaseURL parts an address where its path begins.
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

// check returns errors that begin with the configuration key at fault.
func (o *Options) check() error {
	switch {
	case !validName(o.Name):
		return errors.New(`name: not of lower-case letters, digits, "-", "_" and "."`)
	case o.Dialect == nil:
		return errors.New("dialect: missing or unknown")
	case o.Dialect.Path == nil:
		return fmt.Errorf("dialect: %q cannot be spoken to a provider", o.Dialect.Name)
	case o.Retries < 0:
		return fmt.Errorf("retries: %d is negative", o.Retries)
	case o.MaxReply < 0:
		return fmt.Errorf("max_reply: %d is negative", o.MaxReply)
	case !isFieldValue(o.UserAgent):
		return fmt.Errorf("user_agent: %q holds %w", o.UserAgent, errValue)
	}
	if err := checkBaseURL(o.BaseURL, o.AllowPrivate); err != nil {
		if checkBaseURL(o.BaseURL, true) == nil {
			err = fmt.Errorf("%w: write \"providers: {%s: {allow_private: true}}\" into weir.yaml", err, o.Name)
		}
		return fmt.Errorf("base_url: %w", err)
	}
	if err := o.Auth.Check(); err != nil {
		return fmt.Errorf("auth: %w", err)
	}
	for i, key := range o.APIKeys {
		if err := o.Auth.CheckKey(key.Reveal()); err != nil {
			return fmt.Errorf("api_keys[%d]: %w", i, err)
		}
	}
	return o.Timeouts.check()
}

func (t *Timeouts) check() error {
	for _, limit := range []struct {
		name  string
		value time.Duration
	}{{"connect", t.Connect}, {"first_byte", t.FirstByte}, {"idle", t.Idle}, {"total", t.Total}} {
		if limit.value < 0 {
			return fmt.Errorf("timeouts.%s: %s is negative", limit.name, limit.value)
		}
	}
	return nil
}

func validName(s string) bool {
	const allowed = "abcdefghijklmnopqrstuvwxyz0123456789-_."
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool { return !strings.ContainsRune(allowed, r) })
}

func checkBaseURL(s string, allowPrivate bool) error {
	u, err := url.Parse(s)
	switch {
	case s == "":
		return errors.New(`missing; it looks like "https://api.example.com/v1"`)
	case err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https":
		return fmt.Errorf(`%q is not an http or https address such as "https://api.example.com/v1"`, hideUser(s))
	case u.User != nil:
		return errors.New("holds a user name or password; credentials belong in api_keys")
	case u.RawQuery != "" || u.Fragment != "":
		return fmt.Errorf(`%q must end with its path, without "?" or "#"`, s)
	}
	return reach(allowPrivate).CheckHost(u.Hostname())
}

// hideUser leaves out of an address what may be a password.
func hideUser(s string) string {
	if i := strings.LastIndexByte(s, '@'); i >= 0 {
		return redacted + s[i:]
	}
	return s
}

// Name is the <provider> of <provider>/<model-name>.
func (p *Provider) Name() string { return p.opts.Name }

// Dialect is the wire format that the provider is asked in, where nothing
// speaks for another.
func (p *Provider) Dialect() *dialect.Dialect { return p.opts.Dialect }

// Speaking is the wire format to ask the provider for a model in, for a client that speaks
// the one given: the same, where it can, else the one that the model is best asked in.
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

// Rules are what its vendor asks of requests in a wire format that it speaks.
func (p *Provider) Rules(d *dialect.Dialect) rules.Set { return p.rules[d.Name] }

// Quirks are the provider's departures from a wire format that it speaks. They
// are not to be changed.
func (p *Provider) Quirks(d *dialect.Dialect) *llm.Quirks {
	if d == p.opts.Dialect {
		return &p.opts.Quirks
	}
	return &p.otherQuirks
}

// Prefills reports whether a conversation that ends with an assistant's message
// is continued behind that message, in a wire format that the provider speaks.
func (p *Provider) Prefills(d *dialect.Dialect) bool {
	return p.opts.Quirks.Prefill == "yes" || p.opts.Quirks.Prefill == "" && d.Prefill
}

// BaseURL is the provider's address as it was configured.
func (p *Provider) BaseURL() string { return p.opts.BaseURL }

// PriceSource is the provider's id in the price data; empty where that is its name, and for
// none.
func (p *Provider) PriceSource() string { return p.opts.PriceSource }

// Retries is how often a failed attempt may be made again at this provider.
func (p *Provider) Retries() int { return p.opts.Retries }

// BillsAfterDisconnect reports whether the provider charges for all of a stream whose
// client has left.
func (p *Provider) BillsAfterDisconnect() bool { return p.opts.BillsAfterDisconnect }

// BillsRefusals reports whether the provider charges for a failure that has Worked.
func (p *Provider) BillsRefusals() bool { return p.opts.BillsRefusals }

// FreesFailures reports whether the provider charges nothing for what it answers with an error status of its own.
func (p *Provider) FreesFailures() bool { return p.opts.FreesFailures }

// BillsItself reports whether an attempt costs what the provider says that it charges.
func (p *Provider) BillsItself() bool { return p.opts.BillsItself }

// Timeouts are the timers in force, defaults filled in; that of the first byte is for
// streams.
func (p *Provider) Timeouts() Timeouts { return p.opts.Timeouts }

// Keys is the number of credentials to balance over: Call.Key goes from 0 to
// Keys()-1. It is 1 for a provider that asks for no key.
func (p *Provider) Keys() int { return max(1, len(p.opts.APIKeys)) }

// KeyID names a credential without giving it away: a digest of it, the same for
// as long as the key is. It is empty for a provider that asks for no key.
func (p *Provider) KeyID(key int) string {
	if key >= len(p.opts.APIKeys) {
		return ""
	}
	sum := sha256.Sum256([]byte(p.opts.APIKeys[key].Reveal()))
	return hex.EncodeToString(sum[:8])
}

// Reach is what its addresses may be.
func (p *Provider) Reach() outbound.Reach { return reach(p.opts.AllowPrivate) }

// Models is a copy of the list of models served; empty for any.
func (p *Provider) Models() []string { return slices.Clone(p.opts.Models) }

// Serves reports whether the provider takes requests for the model.
func (p *Provider) Serves(model string) bool {
	return len(p.opts.Models) == 0 || slices.Contains(p.opts.Models, model)
}

// Close closes idle connections. Exchanges under way go on.
func (p *Provider) Close() {
	p.wire.close()
	if p.identity != nil {
		p.identity.Close()
	}
}
