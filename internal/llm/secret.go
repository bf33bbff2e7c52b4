package llm

import (
	"crypto/subtle"
	"fmt"
	"io"
	"log/slog"
)

// redacted is printed in place of a secret.
const redacted = "[redacted]"

// Secret holds a credential. It prints as "[redacted]" with every verb of fmt and in JSON, YAML, XML and slog; only
// Reveal returns its content. The zero value is the empty secret.
//
// The content is behind a pointer because fmt calls no methods on unexported fields: a struct with a Secret in such a
// field prints an address, not the content.
type Secret struct{ text *string }

// NewSecret wraps a credential.
func NewSecret(text string) Secret {
	if text == "" {
		return Secret{}
	}
	return Secret{&text}
}

// Reveal returns the content. Call it only where the credential is used.
func (s Secret) Reveal() string {
	if s.text == nil {
		return ""
	}
	return *s.text
}

// IsZero reports whether the secret is empty.
func (s Secret) IsZero() bool { return s.text == nil }

// Equal reports whether two secrets have the same content, in a time that depends only on their lengths.
func (s Secret) Equal(t Secret) bool {
	return subtle.ConstantTimeCompare([]byte(s.Reveal()), []byte(t.Reveal())) == 1
}

// String returns "[redacted]".
func (s Secret) String() string { return redacted }

// Format writes "[redacted]" for every verb and flag.
func (s Secret) Format(w fmt.State, _ rune) { _, _ = io.WriteString(w, redacted) }

// MarshalText returns "[redacted]"; encoding/json and encoding/xml call it.
func (s Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// MarshalYAML returns "[redacted]".
func (s Secret) MarshalYAML() (any, error) { return redacted, nil }

// LogValue returns "[redacted]".
func (s Secret) LogValue() slog.Value { return slog.StringValue(redacted) }
