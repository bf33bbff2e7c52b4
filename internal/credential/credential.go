// Package credential is how a request to a provider shows who sends it: by a key,
// or by what the environment says that the gateway is.
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

// Scheme is the way in which a request shows who sends it, in the words of
// the catalogue and the configuration.
type Scheme string

// The schemes. The first five send a configured key. The last three send it,
// too, where there is one, and otherwise what the gateway's environment says
// that it is: see Identity.
const (
	Bearer      Scheme = "bearer"         // Authorization: Bearer KEY
	APIKey      Scheme = "api-key"        // Azure OpenAI
	XAPIKey     Scheme = "x-api-key"      // Anthropic
	XGoogAPIKey Scheme = "x-goog-api-key" // Gemini, whose key never stands in an address
	None        Scheme = "none"           // no key is sent
	AWS         Scheme = "aws"            // Amazon Bedrock: AWS Signature Version 4; a key goes as bearer
	Google      Scheme = "google"         // Vertex AI: Application Default Credentials; a key goes as x-goog-api-key
	Entra       Scheme = "entra"          // Azure OpenAI: Microsoft Entra ID; a key goes as api-key
)

// Schemes are all schemes.
func Schemes() []Scheme {
	return []Scheme{Bearer, APIKey, XAPIKey, XGoogAPIKey, None, AWS, Google, Entra}
}

// Way is what a Scheme does.
type Way struct {
	Header string // carries a key; empty where none is sent
	prefix string // stands before it
	// Identify is who the gateway is where no key is configured; nil for a
	// scheme of keys alone.
	Identify func(o *Options) *Identity
}

// Way is what the scheme does; false for a scheme that there is none of.
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

// Check wants a scheme that there is.
func (s Scheme) Check() error {
	if _, ok := s.Way(); !ok {
		return fmt.Errorf("%q is none of %q", string(s), Schemes())
	}
	return nil
}

// Values are those of the scheme's header, one for every key.
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

var errAccessKey = errors.New("has a colon, as no Amazon Bedrock API key has; " +
	"access keys come from the environment (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY) or a profile (AWS_PROFILE)")

// CheckKey wants a key that a header can carry.
func (s Scheme) CheckKey(key string) error {
	if s.IsAccessKey(key) {
		return errAccessKey
	}
	if strings.TrimSpace(key) == "" {
		return errors.New("empty; is the environment variable it names set?")
	}
	if strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return errors.New("holds a space, a line break or a character that no header can carry")
	}
	return nil
}

// IsAccessKey reports whether a key is none of the provider's API keys but one of the
// account's, which must not go anywhere as a bearer token.
func (s Scheme) IsAccessKey(key string) bool { return s == AWS && strings.Contains(key, ":") }

// Options are what an identity is found with.
type Options struct {
	URL    *url.URL     // the provider's address
	Client *http.Client // by which credentials are fetched
	Now    func() time.Time
}

// Identity shows who the gateway is where no key is configured, by what its
// environment gives it: variables, files, the role of the machine. Nothing of
// it is read, and nobody is asked, before the first request.
type Identity struct {
	// Sign gives the headers that a POST of the body to the target, which is
	// escaped already, carries. It waits for a credential at most until ctx ends.
	Sign func(ctx context.Context, target string, body []byte) ([]dialect.Header, error)
	// Secrets are what no text may hold.
	Secrets func() []string
	// Close lets go of a credential that nobody waits for.
	Close func()
}

// bearer is an access token (RFC 6750) and the headers that go along with it.
type bearer struct {
	token string
	more  []dialect.Header
}

// newBearerIdentity sends the token that fetch gets.
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

// IsNear tells the machine's own services, which no proxy can reach.
func IsNear(host string) bool {
	if host == "localhost" || host == "metadata.google.internal" {
		return true
	}
	a, err := netip.ParseAddr(host)
	return err == nil && outbound.IsLocal(outbound.Embedded(a))
}

// errorCode is the word by which a service names its error; empty where it is
// no word.
func errorCode(s string) string {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_."
	if len(s) > 64 || strings.Trim(s, letters) != "" {
		return ""
	}
	return s
}
