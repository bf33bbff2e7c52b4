package account

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"strings"

	"weir/internal/llm"
)

// TokenPattern matches every API key, for secret scanners. Its last six characters are a checksum, so that a scanner
// can verify a match offline: the CRC-32 (IEEE) of the 43 characters before them, in base 62 with the digits 0-9, A-Z,
// a-z, padded with zeros on the left.
const TokenPattern = `wk_[0-9A-Za-z]{46}`

const (
	base62       = llm.Alphanumerics
	tokenPrefix  = "wk_"
	randomDigits = 40 // 238 bits
	sumDigits    = 6  // 62^6 exceeds 2^32
	tokenLength  = len(tokenPrefix) + randomDigits + sumDigits
	setupDigits  = 43 // 256 bits

	// MaxToken is the length of the longest accepted token, in bytes. Imported keys keep tokens of other gateways,
	// which may have any length; they have about a tenth of this.
	MaxToken = 256
)

// Hash is the SHA-256 of a whole token; the token itself is not stored. A plain hash is enough for a secret of 238
// random bits.
type Hash [sha256.Size]byte

// String returns the hash in lower-case hexadecimal digits.
func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// ParseHash parses the result of String.
func ParseHash(text string) (h Hash, err error) {
	b, err := hex.DecodeString(text)
	if err != nil || len(b) != len(h) {
		return h, fmt.Errorf("%q is not a SHA-256 in hexadecimal digits", text)
	}
	copy(h[:], b)
	return h, nil
}

// NewToken returns a new token for a key, and what the store has of it.
func NewToken() (llm.Secret, Rotation) {
	token := newToken()
	text := token.Reveal()
	return token, Rotation{Hash: HashOf(text), Last4: text[tokenLength-4:]}
}

// newToken returns a new API key.
func newToken() llm.Secret {
	body := tokenPrefix + randomText(randomDigits)
	return llm.NewSecret(body + checksum(body))
}

// wellFormed reports whether token has the form and the checksum of a key.
func wellFormed(token string) bool {
	if len(token) != tokenLength || !strings.HasPrefix(token, tokenPrefix) {
		return false
	}
	body, sum := token[:tokenLength-sumDigits], token[tokenLength-sumDigits:]
	return strings.Trim(body[len(tokenPrefix):], base62) == "" && checksum(body) == sum
}

func checksum(body string) string {
	return llm.Base62(uint64(crc32.ChecksumIEEE([]byte(body))), sumDigits)
}

// HashOf returns the hash of a token of at most MaxToken bytes. It copies into an array because a conversion to a slice
// would allocate.
func HashOf(token string) Hash {
	b := [MaxToken]byte{}
	n := copy(b[:], token)
	return sha256.Sum256(b[:n])
}

// randomText returns n random base-62 digits. It discards bytes from 248 on, because they would make the first eight
// digits more likely than the others.
func randomText(n int) string {
	const fair = 256 - 256%len(base62)
	text := make([]byte, 0, n)
	for draw := make([]byte, n); len(text) < n; {
		_, _ = rand.Read(draw) // never fails: see crypto/rand
		for _, b := range draw {
			if int(b) < fair && len(text) < n {
				text = append(text, base62[int(b)%len(base62)])
			}
		}
	}
	return string(text)
}
