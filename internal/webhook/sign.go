package webhook

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"strconv"
	"strings"
	"time"

	"weir/internal/llm"
)

const (
	secretPrefix = "whsec_"
	secretSize   = 32 // bytes; the specification requires 24 to 64
)

var errShortSecret = errors.New("webhook: the secret is malformed, so nothing was signed")

// newSecret returns a new secret that signs an endpoint's events.
func newSecret() llm.Secret {
	b := make([]byte, secretSize)
	_, _ = rand.Read(b) // never fails: see crypto/rand
	return llm.NewSecret(secretPrefix + base64.StdEncoding.EncodeToString(b))
}

// Signature returns the header webhook-signature of a try: a v1 signature, HMAC-SHA-256 in base64, for each of the
// secrets.
func Signature(id string, at time.Time, payload []byte, secrets ...llm.Secret) (string, error) {
	signed := append([]byte(id+"."+strconv.FormatInt(at.Unix(), 10)+"."), payload...)
	var all []string
	for _, s := range secrets {
		key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(s.Reveal(), secretPrefix))
		if err != nil || len(key) != secretSize {
			return "", errShortSecret
		}
		mac := hmac.New(sha256.New, key)
		mac.Write(signed)
		all = append(all, "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	}
	if len(all) == 0 {
		return "", errShortSecret
	}
	return strings.Join(all, " "), nil
}
