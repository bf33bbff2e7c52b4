package signin_test

import (
	"encoding/base64"

	"golang.org/x/crypto/argon2"

	"weir/internal/llm"
)

// weakHash returns a hash with outdated parameters.
func weakHash(password string) llm.Secret {
	salt := make([]byte, 16)
	key := argon2.IDKey([]byte(password), salt, 1, 1024, 1, 32)
	return llm.NewSecret("$argon2id$v=19$m=1024,t=1,p=1$" + base64.RawStdEncoding.EncodeToString(salt) + "$" + base64.RawStdEncoding.EncodeToString(key))
}
