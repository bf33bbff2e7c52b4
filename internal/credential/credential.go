// Package credential is how a request to a provider shows who sends it: by a key,
// or by what the environment says that the gateway is.
package credential

import (
	"errors"
	"fmt"
	"strings"

	"weir/internal/llm"
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
	Identify func(o *Options) (*Identity, error)
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
