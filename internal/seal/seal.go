// Package seal protects data that the database must not reveal: texts encrypted with a key that only the holder of a
// secret can derive, and names that can only be found with the original.
package seal

import (
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// keySize is the key size of AES-256, in bytes.
const keySize = 32

// New returns a cipher for texts: AES-256-GCM with a random nonce before the encrypted text; callers pass a nil
// nonce. The key is derived by HKDF (RFC 5869) from a secret that has high entropy of its own, such as an API key.
// salt names the owner of the texts, and purpose the use of the key.
func New(secret, salt, purpose string) (cipher.AEAD, error) {
	key, err := hkdf.Key(sha256.New, []byte(secret), []byte(salt), purpose, keySize)
	if err != nil {
		return nil, fmt.Errorf("derive a key: %w", err)
	}
	return gcm(key)
}

// Digest returns the SHA-256 of the parts, in hexadecimal. The lengths of the parts are included, so different parts
// never have the same input.
func Digest(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		_, _ = fmt.Fprintf(h, "%d:%s", len(p), p) // a hash never returns an error
	}
	return hex.EncodeToString(h.Sum(nil))
}
