package provider

import (
	"errors"
	"fmt"
	"strings"

	"weir/internal/dialect"
	"weir/internal/llm"
)

// Auth is the scheme by which a request shows who sends it, in the words of
// the catalogue and the configuration.
type Auth string

// The schemes. The first five send a configured key. The last three send it,
// too, where there is one, and otherwise what the gateway's environment says
// that it is: see identity.
const (
	AuthBearer      Auth = "bearer"         // Authorization: Bearer KEY
	AuthAPIKey      Auth = "api-key"        // Azure OpenAI
	AuthXAPIKey     Auth = "x-api-key"      // Anthropic
	AuthXGoogAPIKey Auth = "x-goog-api-key" // Gemini, whose key never stands in an address
	AuthNone        Auth = "none"           // no key is sent
	AuthAWS         Auth = "aws"            // Amazon Bedrock: AWS Signature Version 4; a key goes as bearer
	AuthGoogle      Auth = "google"         // Vertex AI: Application Default Credentials; a key goes as x-goog-api-key
	AuthEntra       Auth = "entra"          // Azure OpenAI: Microsoft Entra ID; a key goes as api-key
)

// Auths are all schemes.
func Auths() []Auth {
	return []Auth{
		AuthBearer, AuthAPIKey, AuthXAPIKey, AuthXGoogAPIKey, AuthNone, AuthAWS, AuthGoogle, AuthEntra,
	}
}

// scheme is what an Auth does.
type scheme struct {
	header string // carries a key; empty where none is sent
	prefix string // stands before it
	// identify is who the gateway is where no key is configured; nil for a
	// scheme of keys alone.
	identify func(o *Options) (*identity, error)
}

func (a Auth) scheme() (s scheme, ok bool) {
	switch a {
	case AuthBearer:
		return scheme{header: "Authorization", prefix: "Bearer "}, true
	case AuthAPIKey, AuthXAPIKey, AuthXGoogAPIKey:
		return scheme{header: string(a)}, true
	case AuthNone:
		return scheme{}, true
	case AuthAWS:
		return scheme{header: "Authorization", prefix: "Bearer ", identify: awsIdentity}, true
	case AuthGoogle:
		return scheme{header: string(AuthXGoogAPIKey), identify: googleIdentity}, true
	case AuthEntra:
		return scheme{header: string(AuthAPIKey), identify: entraIdentity}, true
	}
	return scheme{}, false
}

// usualAuth is the scheme of those who speak a wire format.
func usualAuth(d *dialect.Dialect) Auth {
	if d == nil {
		return AuthBearer
	}
	switch d.Name {
	case "anthropic":
		return AuthXAPIKey
	case "gemini":
		return AuthXGoogAPIKey
	case "bedrock":
		return AuthAWS
	}
	return AuthBearer
}

func (a Auth) check() error {
	if _, ok := a.scheme(); !ok {
		return fmt.Errorf("%q is none of %q", string(a), Auths())
	}
	return nil
}

// credentials are the values of the scheme's header, one for every key.
func (s scheme) credentials(keys []llm.Secret) []llm.Secret {
	if s.header == "" {
		return nil
	}
	all := make([]llm.Secret, len(keys))
	for i, key := range keys {
		all[i] = llm.NewSecret(s.prefix + key.Reveal())
	}
	return all
}

var errAccessKey = errors.New("has a colon, as no Amazon Bedrock API key has; " +
	"access keys come from the environment (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY) or a profile (AWS_PROFILE)")

func (o *Options) checkKeys() error {
	for i, key := range o.APIKeys {
		err := checkKey(key.Reveal())
		if o.Auth == AuthAWS && strings.Contains(key.Reveal(), ":") {
			err = errAccessKey // which must not go anywhere as a bearer token
		}
		if err != nil {
			return fmt.Errorf("api_keys[%d]: %w", i, err)
		}
	}
	return nil
}

func checkKey(key string) error {
	if strings.TrimSpace(key) == "" {
		return errors.New("empty; is the environment variable it names set?")
	}
	if strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return errors.New("holds a space, a line break or a character that no header can carry")
	}
	return nil
}
