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
	// maxExplanation bounds, in bytes, what is passed on of a provider's explanation.
	maxExplanation = 2 << 10
	// minSecret is the length from which a key is looked for in a text; a
	// shorter one, of a toy server, would be found in ordinary words.
	minSecret = 8
	// secretPart is how many bytes of a secret on end give it away. What vendors print
	// of a key, "sk-proj-****abcd", has fewer.
	secretPart = 16

	redacted = "[redacted]"
)

// secretParts finds secrets in a text, wherever they stand: as they are, in a URL, or in
// base64 (RFC 4648), where that of a longer text may contain them.
type secretParts struct {
	of    []string
	long  *suffixarray.Index // of what is found by any secretPart bytes of it
	short [][]byte           // what is found as a whole
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

// secretForms are how a secret is written. In base64 it depends on how many bytes stand
// before it: of each case that is what the bytes before and behind do not change.
func secretForms(secret string) []string {
	if len(secret) < minSecret {
		return nil
	}
	forms := []string{secret, url.QueryEscape(secret), url.PathEscape(secret)}
	for _, hex := range []string{"%%%02x", "%%%02X"} { // every byte of it, as RFC 3986 allows
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

// at is how many bytes at the beginning of a text belong to a secret.
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

// hide takes the secrets out of a text.
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

// redact bounds a text that may come from the provider and takes our credentials out of it.
// Every such text that anybody is to see goes through it.
func (p *Provider) redact(s string) string {
	if s == "" {
		return s
	}
	if len(s) > maxExplanation {
		s = strings.ToValidUTF8(s[:maxExplanation], "") + "…"
	}
	return p.secretParts().hide(s)
}

// secretParts are those of the configured keys, or of what the identity shows at present.
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

// hide takes our credentials out of an error. A cause that has one keeps its text alone.
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
