package seal

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"weir/internal/llm"
)

// ErrNoKey means that a text is encrypted with a master key that is not available.
var ErrNoKey = errors.New("seal: the master key is not available")

// Key is a master key: 32 random bytes.
type Key struct {
	name   string
	secret llm.Secret // the bytes
}

// NewKey generates a master key.
func NewKey() Key {
	b := make([]byte, keySize)
	_, _ = rand.Read(b) // never returns an error
	return keyOf(b)
}

// ParseKey parses a master key: 32 bytes in base64 or hexadecimal digits.
func ParseKey(text string) (Key, error) {
	text = strings.TrimSpace(text)
	for _, decode := range []func(string) ([]byte, error){
		hex.DecodeString, base64.StdEncoding.DecodeString, base64.RawURLEncoding.DecodeString,
	} {
		if b, err := decode(text); err == nil && len(b) == keySize && len(bytes.Trim(b, string(b[:1]))) > 0 {
			return keyOf(b), nil
		}
	}
	return Key{}, errors.New(
		"not a key: 32 random bytes in base64 or hexadecimal digits, as `openssl rand -base64 32` prints them")
}

func keyOf(b []byte) Key {
	sum := sha256.Sum256(append([]byte("weir master key "), b...))
	return Key{name: hex.EncodeToString(sum[:8]), secret: llm.NewSecret(string(b))}
}

// Name returns the name of the key, which reveals nothing about it: the first 8 bytes of a SHA-256, in hexadecimal
// digits.
func (k Key) Name() string { return k.name }

// Text returns the key in base64, which ParseKey parses.
func (k Key) Text() llm.Secret {
	return llm.NewSecret(base64.StdEncoding.EncodeToString([]byte(k.secret.Reveal())))
}

// Ring holds the available master keys. Its methods may be called concurrently.
type Ring struct {
	load func() ([]Key, error)

	mu   sync.Mutex
	keys []Key // the first one encrypts
}

// NewRing returns a ring of the keys that load returns, newest first. It calls load immediately, and again if a text
// is encrypted with another key, because another process may have created one.
func NewRing(load func() ([]Key, error)) (*Ring, error) {
	r := &Ring{load: load}
	return r, r.Reload()
}

// Reload loads the keys again.
func (r *Ring) Reload() error {
	keys, err := r.load()
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.keys = keys
	return nil
}

// Has reports whether the ring has the key of that name.
func (r *Ring) Has(name string) bool {
	_, err := r.key(name)
	return err == nil
}

// Newest returns the name of the key that encrypts; empty if there is none.
func (r *Ring) Newest() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.keys) == 0 {
		return ""
	}
	return r.keys[0].name
}

// key returns the key with that name; or ErrNoKey.
func (r *Ring) key(name string) (Key, error) {
	for try := range 2 {
		r.mu.Lock()
		i := slices.IndexFunc(r.keys, func(k Key) bool { return k.name == name })
		if i >= 0 {
			defer r.mu.Unlock()
			return r.keys[i], nil
		}
		r.mu.Unlock()
		if try == 0 {
			if err := r.Reload(); err != nil {
				return Key{}, err
			}
		}
	}
	return Key{}, fmt.Errorf("%w: its name is %s", ErrNoKey, name)
}

// envelope is the first part of an encrypted text.
const envelope = "v1"

// partsOf returns the parts of an encrypted text: the envelope, the name of its master key, its encrypted key, and
// the encrypted text; nil if it is not one.
func partsOf(sealed string) []string {
	parts := strings.Split(sealed, ".")
	if len(parts) != 4 || parts[0] != envelope {
		return nil
	}
	return parts
}

// NameOf returns the name of the key that encrypted a text; empty if it is not an encrypted text.
func NameOf(sealed string) string {
	if parts := partsOf(sealed); parts != nil {
		return parts[1]
	}
	return ""
}

// Seal encrypts a text with the key of that name, as an envelope: a random key encrypts the text with AES-256-GCM,
// and the master key encrypts that key. about names the owner of the text; Open needs the same.
func (r *Ring) Seal(name string, text []byte, about string) (string, error) {
	master, err := r.key(name)
	if err != nil {
		return "", err
	}
	inner := make([]byte, keySize)
	_, _ = rand.Read(inner) // never returns an error
	wrapped, err := sealWith([]byte(master.secret.Reveal()), inner, "key of "+about)
	if err != nil {
		return "", err
	}
	sealed, err := sealWith(inner, text, about)
	return strings.Join([]string{envelope, name, wrapped, sealed}, "."), err
}

// Open decrypts a text of Seal. ErrNoKey means that its master key is not available; any other error means that the
// text was changed, or has another owner.
func (r *Ring) Open(sealed, about string) ([]byte, error) {
	parts := partsOf(sealed)
	if parts == nil {
		return nil, errors.New("seal: not a text that Weir encrypted")
	}
	master, err := r.key(parts[1])
	if err != nil {
		return nil, err
	}
	inner, err := openWith([]byte(master.secret.Reveal()), parts[2], "key of "+about)
	if err != nil {
		return nil, err
	}
	return openWith(inner, parts[3], about)
}

// Reseal encrypts an encrypted text with the newest key.
func (r *Ring) Reseal(sealed, about string) (string, error) {
	text, err := r.Open(sealed, about)
	if err != nil {
		return "", err
	}
	return r.Seal(r.Newest(), text, about)
}

func sealWith(key, text []byte, about string) (string, error) {
	box, err := gcm(key)
	if err != nil {
		return "", err
	}
	return base64.RawURLEncoding.EncodeToString(box.Seal(nil, nil, text, []byte(about))), nil
}

func openWith(key []byte, sealed, about string) ([]byte, error) {
	raw, err := base64.RawURLEncoding.DecodeString(sealed)
	if err != nil {
		return nil, errors.New("seal: not a text that Weir encrypted")
	}
	box, err := gcm(key)
	if err != nil {
		return nil, err
	}
	text, err := box.Open(nil, nil, raw, []byte(about))
	if err != nil {
		return nil, fmt.Errorf("seal: %w", err)
	}
	return text, nil
}

func gcm(key []byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, fmt.Errorf("make a cipher: %w", err)
	}
	return cipher.NewGCMWithRandomNonce(block)
}
