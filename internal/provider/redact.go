package provider

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"index/suffixarray"
	"net/url"
	"slices"
	"strings"

	"weir/internal/llm"
)

const (
	// maxExplanation bounds the part of a provider's explanation that is passed on, in bytes.
	maxExplanation = 2 << 10
	// minSecret is the shortest key that is searched for in texts; shorter keys of test servers would match ordinary
	// words.
	minSecret = 8
	// secretPart is how many bytes of a secret reveal it. The excerpts of a key that vendors print, "sk-proj-****abcd",
	// are shorter.
	secretPart = 16

	redacted = "[redacted]"
)

// secretParts finds secrets in a text: unchanged, escaped for a URL, or in base64 (RFC 4648), also inside the encoding
// of a longer text.
type secretParts struct {
	of    []string
	long  *suffixarray.Index // secrets that are found by any secretPart bytes of them
	short [][]byte           // secrets that are found only as a whole
}

func newSecretParts(secrets []string) *secretParts {
	parts := &secretParts{of: secrets}
	var long []byte
	for _, secret := range secrets {
		for _, form := range secretForms(secret) {
			switch {
			case len(form) >= secretPart:
				long = append(append(long, form...), 0)
			case len(form) >= minSecret:
				parts.short = append(parts.short, []byte(form))
			}
		}
	}
	parts.long = suffixarray.New(long)
	return parts
}

// secretForms returns the spellings of a secret. Its base64 depends on the number of bytes before it modulo 3; for each
// case it returns the characters that do not depend on the bytes around it.
func secretForms(secret string) []string {
	if len(secret) < minSecret {
		return nil
	}
	forms := []string{secret, url.QueryEscape(secret), url.PathEscape(secret)}
	for _, hex := range []string{"%%%02x", "%%%02X"} { // with each byte escaped, as RFC 3986 allows
		var all strings.Builder
		for _, c := range []byte(secret) {
			fmt.Fprintf(&all, hex, c)
		}
		forms = append(forms, all.String())
	}
	for skip := range 3 {
		inner := []byte(secret[skip:])
		whole := len(inner) * 8 / 6
		forms = append(forms, base64.RawStdEncoding.EncodeToString(inner)[:whole],
			base64.RawURLEncoding.EncodeToString(inner)[:whole])
	}
	slices.Sort(forms)
	return slices.Compact(forms)
}

// at returns how many bytes at the beginning of a text belong to a secret.
func (s *secretParts) at(text []byte) int {
	if len(text) >= secretPart && len(s.long.Lookup(text[:secretPart], 1)) > 0 {
		return secretPart
	}
	for _, form := range s.short {
		if bytes.HasPrefix(text, form) {
			return len(form)
		}
	}
	return 0
}

// hide replaces the secrets in a text.
func (s *secretParts) hide(text string) string {
	var out strings.Builder
	in, end := []byte(text), 0
	for i, c := range in {
		if n := s.at(in[i:]); n > 0 {
			if i >= end {
				out.WriteString(redacted)
			}
			end = max(end, i+n)
		}
		if i >= end {
			out.WriteByte(c)
		}
	}
	return out.String()
}

// redact shortens a text that may come from the provider and removes the gateway's credentials. Every such text that is
// shown must pass through it.
func (p *Provider) redact(s string) string {
	if s == "" {
		return s
	}
	if len(s) > maxExplanation {
		s = strings.ToValidUTF8(s[:maxExplanation], "") + "…"
	}
	return p.secretParts().hide(s)
}

// secretParts returns the parts of the configured keys, or of the identity's current secrets.
func (p *Provider) secretParts() *secretParts {
	parts := p.secrets.Load()
	if p.identity == nil {
		return parts
	}
	if now := p.identity.Secrets(); !slices.Equal(parts.of, now) {
		parts = newSecretParts(now)
		p.secrets.Store(parts)
	}
	return parts
}

// hide removes the gateway's credentials from an error. A cause that contains one is replaced by its cleaned text.
func (p *Provider) hide(e *llm.Error) {
	e.Message, e.Param, e.Word = p.redact(e.Message), p.redact(e.Param), p.redact(e.Word)
	if e.Err == nil {
		return
	}
	text := e.Err.Error()
	if clean := p.redact(text); clean != text {
		e.Err = errors.New(clean)
	}
}
