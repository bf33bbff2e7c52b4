// Package seal keeps in a database what the database alone must not give away:
// texts sealed with a key that only the holder of a secret can derive, and
// names that only who knows them can find.
package seal

import (
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// keySize is that of AES-256, in bytes.
const keySize = 32

// New is a box for texts: AES-256-GCM with a random nonce before the sealed
// text, which callers leave nil. The key is derived by HKDF (RFC 5869) from a
// secret that has high entropy of its own, such as an API key. Salt is what the
// texts belong to, and purpose says what the key is for.
func New(secret, salt, purpose string) (cipher.AEAD, error) {
	key, err := hkdf.Key(sha256.New, []byte(secret), []byte(salt), purpose, keySize)
	if err != nil {
		return nil, fmt.Errorf("derive a key: %w", err)
	}
	return gcm(key)
}

// Digest is the SHA-256 of the parts, in hexadecimal. Other parts give another
// one, wherever one part ends and the next begins.
func Digest(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		_, _ = fmt.Fprintf(h, "%d:%s", len(p), p) // a hash never gives an error
	}
	return hex.EncodeToString(h.Sum(nil))
}
