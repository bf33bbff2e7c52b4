package credential

import (
	"context"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"weir/internal/dialect"
	"weir/internal/outbound"
)

// Options are what an identity is found with.
type Options struct {
	// BaseURL is the provider's address.
	BaseURL string
	// Client makes the HTTP client by which credentials are fetched.
	Client func() (*http.Client, error)
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
