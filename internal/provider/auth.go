package provider

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"weir/internal/llm"
)

// Auth is the scheme by which a key travels to a provider, in the words of
// the catalogue and the configuration.
type Auth string

// The schemes. All but the first and the last are named after their header.
const (
	AuthBearer  Auth = "bearer"         // Authorization: Bearer KEY
	AuthAPIKey  Auth = "api-key"        // Azure OpenAI
	AuthXAPIKey Auth = "x-api-key"      // Anthropic
	AuthGoogle  Auth = "x-goog-api-key" // Gemini, whose key never stands in an address
	AuthNone    Auth = "none"           // no key is sent
)

func (a Auth) check() error {
	schemes := []Auth{AuthBearer, AuthAPIKey, AuthXAPIKey, AuthGoogle, AuthNone}
	if !slices.Contains(schemes, a) {
		return fmt.Errorf("%q is none of %q", string(a), schemes)
	}
	return nil
}

// header is the name of the header that carries the key.
func (a Auth) header() string {
	if a == AuthBearer {
		return "Authorization"
	}
	return string(a)
}

// credentials are the values of that header, one for every key.
func (a Auth) credentials(keys []llm.Secret) []llm.Secret {
	if a == AuthNone {
		return nil
	}
	if a != AuthBearer {
		return slices.Clone(keys)
	}
	all := make([]llm.Secret, len(keys))
	for i, key := range keys {
		all[i] = llm.NewSecret("Bearer " + key.Reveal())
	}
	return all
}

func checkKeys(keys []llm.Secret) error {
	for i, key := range keys {
		if err := checkKey(key.Reveal()); err != nil {
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
