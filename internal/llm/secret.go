package llm

import (
	"crypto/subtle"
	"fmt"
	"io"
	"log/slog"
)

// redacted is all that anybody sees of a Secret without asking for it.
const redacted = "[redacted]"

// Secret holds a credential. It prints as "[redacted]" with every verb of fmt
// and in JSON, YAML, XML and slog; Reveal is the only way to its content. The
// zero value is the empty secret.
//
// The content stands behind a pointer because fmt calls no methods on
// unexported fields: a struct that holds a Secret in one then prints an
// address, not the content.
type Secret struct{ text *string }

// NewSecret wraps a credential.
func NewSecret(text string) Secret {
	if text == "" {
		return Secret{}
	}
	return Secret{&text}
}

// Reveal is the content. Call it where the credential is used and nowhere else.
func (s Secret) Reveal() string {
	if s.text == nil {
		return ""
	}
	return *s.text
}

// IsZero reports whether the secret is empty.
func (s Secret) IsZero() bool { return s.text == nil }

// Equal reports whether two secrets have the same content, in a time that
// depends on their lengths alone.
func (s Secret) Equal(t Secret) bool {
	return subtle.ConstantTimeCompare([]byte(s.Reveal()), []byte(t.Reveal())) == 1
}

// String is "[redacted]".
func (s Secret) String() string { return redacted }

// Format writes "[redacted]" for every verb and flag.
func (s Secret) Format(w fmt.State, _ rune) { _, _ = io.WriteString(w, redacted) }

// MarshalText is "[redacted]"; it serves encoding/json and encoding/xml.
func (s Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// MarshalYAML is "[redacted]".
func (s Secret) MarshalYAML() (any, error) { return redacted, nil }

// LogValue is "[redacted]".
func (s Secret) LogValue() slog.Value { return slog.StringValue(redacted) }
