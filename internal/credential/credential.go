// Package credential authenticates requests to a provider: by a key, or by the identity that the environment gives the
// gateway.
package credential

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"weir/internal/dialect"
	"weir/internal/llm"
	"weir/internal/outbound"
)

// Scheme is an authentication scheme, as named in the catalogue and the configuration.
type Scheme string

// The schemes. The first five send a configured key. The last three also send a key if one is configured, and otherwise
// use the gateway's identity: see Identity.
const (
	Bearer      Scheme = "bearer"         // Authorization: Bearer KEY
	APIKey      Scheme = "api-key"        // Azure OpenAI
	XAPIKey     Scheme = "x-api-key"      // Anthropic
	XGoogAPIKey Scheme = "x-goog-api-key" // Gemini; the key must not appear in a URL
	None        Scheme = "none"           // no key is sent
	AWS         Scheme = "aws"            // Amazon Bedrock: AWS Signature Version 4; a key is sent as bearer
	Google      Scheme = "google"         // Vertex AI: Application Default Credentials; a key is sent as x-goog-api-key
	Entra       Scheme = "entra"          // Azure OpenAI: Microsoft Entra ID; a key is sent as api-key
)

// Schemes returns all schemes.
func Schemes() []Scheme {
	return []Scheme{Bearer, APIKey, XAPIKey, XGoogAPIKey, None, AWS, Google, Entra}
}

// Way describes how a Scheme authenticates.
type Way struct {
	Header string // header for a key; empty if none is sent
	prefix string // prefix of the key
	// Identify returns the gateway's identity if no key is configured; nil for a scheme with keys only.
	Identify func(o *Options) *Identity
}

// Way returns the description of the scheme; false if the scheme is unknown.
func (s Scheme) Way() (w Way, ok bool) {
	switch s {
	case Bearer:
		return Way{Header: "Authorization", prefix: "Bearer "}, true
	case APIKey, XAPIKey, XGoogAPIKey:
		return Way{Header: string(s)}, true
	case None:
		return Way{}, true
	case AWS:
		return Way{Header: "Authorization", prefix: "Bearer ", Identify: awsIdentity}, true
	case Google:
		return Way{Header: string(XGoogAPIKey), Identify: googleIdentity}, true
	case Entra:
		return Way{Header: string(APIKey), Identify: entraIdentity}, true
	}
	return Way{}, false
}

// Check checks that the scheme is known.
func (s Scheme) Check() error {
	if _, ok := s.Way(); !ok {
		return fmt.Errorf("%q is unknown: use one of %q", string(s), Schemes())
	}
	return nil
}

// Values returns the values of the scheme's header, one for each key.
func (w Way) Values(keys []llm.Secret) []llm.Secret {
	if w.Header == "" {
		return nil
	}
	all := make([]llm.Secret, len(keys))
	for i, key := range keys {
		all[i] = llm.NewSecret(w.prefix + key.Reveal())
	}
	return all
}

var errAccessKey = errors.New("contains a colon, so it is not an Amazon Bedrock API key; " +
	"set access keys in the environment (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY) or in a profile (AWS_PROFILE)")

// CheckKey checks that a key is valid in a header.
func (s Scheme) CheckKey(key string) error {
	if s.IsAccessKey(key) {
		return errAccessKey
	}
	if strings.TrimSpace(key) == "" {
		return errors.New("empty: check that the environment variable it refers to is set")
	}
	if strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return errors.New("contains a space, a line break or another character that is not allowed in a header")
	}
	return nil
}

// IsAccessKey reports whether a key is an AWS access key, which must never be sent as a bearer token, and not an API
// key of the provider.
func (s Scheme) IsAccessKey(key string) bool { return s == AWS && strings.Contains(key, ":") }

// Options are the parameters of an identity.
type Options struct {
	URL    *url.URL     // the provider's address
	Client *http.Client // for fetching credentials
	Now    func() time.Time
}

// Identity authenticates the gateway if no key is configured, by its environment: variables, files, the role of the
// machine. Nothing is read or fetched before the first request.
type Identity struct {
	// Sign returns the headers of a POST of the body to the target, which is escaped already. It waits for a credential
	// until ctx ends.
	Sign func(ctx context.Context, target string, body []byte) ([]dialect.Header, error)
	// Secrets returns the values that must not appear in any text.
	Secrets func() []string
	// Close cancels a fetch that no request waits for.
	Close func()
}

// bearer is an access token (RFC 6750) and the headers to send with it.
type bearer struct {
	token string
	more  []dialect.Header
}

// newBearerIdentity returns an identity that sends the token returned by fetch.
func newBearerIdentity(o *Options, fetch func(ctx context.Context) (lease[bearer], error)) *Identity {
	k := newCredentialCache(o.Now, fetch)
	return &Identity{
		Sign: func(ctx context.Context, _ string, _ []byte) ([]dialect.Header, error) {
			b, err := k.get(ctx)
			if err != nil {
				return nil, err
			}
			return append([]dialect.Header{{Name: "Authorization", Value: "Bearer " + b.token}}, b.more...), nil
		},
		Secrets: func() []string {
			var all []string
			for _, b := range k.known() {
				all = append(all, b.token)
			}
			return all
		},
		Close: k.close,
	}
}

// IsNear reports whether a host is a service of the machine itself, which a proxy cannot reach.
func IsNear(host string) bool {
	if host == "localhost" || host == "metadata.google.internal" {
		return true
	}
	a, err := netip.ParseAddr(host)
	return err == nil && outbound.IsLocal(outbound.Embedded(a))
}

// errorCode returns a service's error code; empty if it is not a single word.
func errorCode(s string) string {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_."
	if len(s) > 64 || strings.Trim(s, letters) != "" {
		return ""
	}
	return s
}
