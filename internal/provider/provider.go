// Package provider calls AI model providers. A provider is data: a catalogue of well-known ones is embedded, and
// operators define others by a base URL. Do makes one exchange with a provider under all timeouts, and reports each
// error as a Failure.
package provider

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"weir/internal/credential"
	"weir/internal/dialect"
	"weir/internal/llm"
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
	BillsItself bool
	// Sockets, if not nil, asks for streams over WebSockets if the wire format has them. It is called with the reason
	// when the provider refuses one, at most once a minute; requests are then sent over HTTP.
	Sockets func(refused error)
	// Retries bounds the retries of a failed attempt at this provider; 0 means none.
	Retries int
	Quirks  llm.Quirks
	// SelfHosted is set for a server of the operator's, whose names of models are the operator's own.
	SelfHosted bool
	// PriceSource is the provider's id in the price data if it differs from Name; empty otherwise.
	PriceSource string
	Traces      Traces
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

// Provider is a client of a configured provider. It is safe for concurrent use.
type Provider struct {
	Profile

	wire      wire
	sockets   *sockets // nil without Options.Sockets
	counts    counts
	exchanges sync.Pool // of *exchange

	wholeFirstByte time.Duration // Timeouts.FirstByte for whole answers

	header      string                 // name of the scheme's header for a key
	credentials []llm.Secret           // header values, one for each key; empty if no key is sent
	identity    *credential.Identity   // authenticates the gateway if no key is configured; else nil
	last        atomic.Pointer[target] // of the last request
	// secrets are the credentials that must not appear in any text; those of the identity as last seen.
	secrets atomic.Pointer[secretParts]
}

// New returns a provider. An error names the invalid configuration keys, such as "providers.groq.base_url"; it is of
// type *Mistakes if the options of the provider are wrong.
func New(o Options) (*Provider, error) {
	whole := o.fillDefaults()
	if err := o.check(); err != nil {
		return nil, err
	}
	w, err := newWire(&o)
	if err != nil {
		return nil, err
	}
	way, _ := o.Auth.Way()
	p := &Provider{wire: w, wholeFirstByte: whole, header: way.Header, credentials: way.Values(o.APIKeys)}
	if h, ok := w.(*http1); ok && o.Sockets != nil {
		p.sockets = newSockets(h, &o)
	}
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
	p.Profile = newProfile(&o)
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

// fillDefaults sets defaults, and returns Timeouts.FirstByte for whole answers.
func (o *Options) fillDefaults() (wholeFirstByte time.Duration) {
	orDefault(&o.Timeouts.Connect, defaultConnect)
	wholeFirstByte = cmp.Or(o.Timeouts.FirstByte, defaultWholeFirstByte)
	orDefault(&o.Timeouts.FirstByte, defaultFirstByte)
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
	return wholeFirstByte
}

func orDefault[T comparable](v *T, value T) {
	var zero T
	if *v == zero {
		*v = value
	}
}

// Close closes idle connections. Running exchanges continue.
func (p *Provider) Close() {
	p.wire.close()
	if p.sockets != nil {
		p.sockets.close()
	}
	if p.identity != nil {
		p.identity.Close()
	}
}
