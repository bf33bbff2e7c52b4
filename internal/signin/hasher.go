package signin

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	_ "embed"
	"encoding/base64"
	"fmt"
	"runtime"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/crypto/argon2"

	"weir/internal/llm"
)

// These constants bound a password's length: OWASP ASVS 5, section 6.2. No rule restricts its characters.
const (
	minPassword = 8   // characters
	maxPassword = 256 // characters
	maxBytes    = 4 * maxPassword
)

// commonPasswords are common passwords, which are guessed first, one per line, in lower case.
//
//go:embed passwords.txt
var commonPasswords string

// checkPassword returns an error for a new password that is not acceptable.
func checkPassword(password llm.Secret, email string) error {
	text := password.Reveal()
	switch n := utf8.RuneCountInString(text); {
	case !utf8.ValidString(text):
		return llm.Invalid("password", "The password is not valid UTF-8. Choose another one.")
	case n < minPassword:
		return llm.Invalidf("password", "A password must have at least %d characters; this one has %d. A few words "+
			"in a row are easy to remember.", minPassword, n)
	case n > maxPassword:
		return llm.Invalidf("password", "A password must have at most %d characters; this one has %d.", maxPassword, n)
	}
	lower := strings.ToLower(text)
	local, _, _ := strings.Cut(email, "@")
	if lower == email || lower == local {
		return llm.Invalid("password", "This password is your e-mail address. Choose one that is hard to guess.")
	}
	if strings.Contains("\n"+commonPasswords, "\n"+lower+"\n") {
		return llm.Invalid("password", "This password is too common and would be guessed first. Choose another one.")
	}
	return nil
}

// These are the parameters of argon2id from the Password Storage Cheat Sheet of OWASP: 19 MiB, two passes, one lane.
const (
	hashMemory = 19 << 10 // KiB
	hashPasses = 2
	hashLanes  = 1
	hashSize   = 32 // bytes
	saltSize   = 16 // bytes
)

// phc is a hash in the string format of the Password Hashing Competition.
type phc struct {
	memory, passes uint32
	lanes          uint8
	salt, key      []byte
}

const phcFormat = "$argon2id$v=19$m=%d,t=%d,p=%d$%s$%s"

func (p *phc) String() string {
	return fmt.Sprintf(phcFormat, p.memory, p.passes, p.lanes,
		base64.RawStdEncoding.EncodeToString(p.salt), base64.RawStdEncoding.EncodeToString(p.key))
}

// parsePHC parses a hash. For a string in another format it returns a hash that no password matches and that costs the
// same to compute.
func parsePHC(text string) (p phc, ok bool) {
	parts := strings.Split(text, "$")
	const fields = 6
	if len(parts) == fields && parts[1] == "argon2id" && parts[2] == "v=19" {
		_, err := fmt.Sscanf(parts[3], "m=%d,t=%d,p=%d", &p.memory, &p.passes, &p.lanes)
		salt, err2 := base64.RawStdEncoding.DecodeString(parts[4])
		key, err3 := base64.RawStdEncoding.DecodeString(parts[5])
		p.salt, p.key = salt, key
		if err == nil && err2 == nil && err3 == nil && p.sane() {
			return p, true
		}
	}
	return phc{hashMemory, hashPasses, hashLanes, make([]byte, saltSize), make([]byte, hashSize)}, false
}

// sane bounds the cost of a hash from the database.
func (p *phc) sane() bool {
	const most = 16 // factor above our own parameters
	return p.memory > 0 && p.memory <= most*hashMemory && p.passes > 0 && p.passes <= most*hashPasses &&
		p.lanes > 0 && p.lanes <= most && len(p.key) >= saltSize && len(p.key) <= 4*hashSize
}

// weak reports whether a hash should be renewed.
func (p *phc) weak() bool {
	return p.memory < hashMemory || p.passes < hashPasses || len(p.key) < hashSize
}

// hashWait is the longest time that a caller waits to hash a password.
const hashWait = 5 * time.Second

// hasher computes and compares hashes. It computes one per two cores at once, because each uses 19 MiB and a core for
// some hundredths of a second, and chat needs cores too. One more slot serves known people: those with a link or a
// session, or who have signed in from the same network before. So strangers who guess passwords from many networks do
// not block them.
type hasher struct {
	slots, known   chan struct{}
	memory, passes uint32
}

func newHasher(light bool) hasher {
	h := hasher{
		slots: make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2)), known: make(chan struct{}, 1),
		memory: hashMemory, passes: hashPasses,
	}
	if light {
		h.memory, h.passes = 8, 1
	}
	return h
}

// derive computes the key of a password when a slot is free. The error is a *llm.Error with CodeOverloaded if none
// becomes free in time.
func (h hasher) derive(ctx context.Context, password llm.Secret, p *phc, known bool) ([]byte, error) {
	own := h.known
	if !known {
		own = nil
	}
	timer := time.NewTimer(hashWait)
	defer timer.Stop()
	select {
	case h.slots <- struct{}{}:
		defer func() { <-h.slots }()
	case own <- struct{}{}:
		defer func() { <-own }()
	case <-timer.C:
		return nil, &llm.Error{
			Code:    llm.CodeOverloaded,
			Message: "Too many people are signing in. Try again in a few seconds.", RetryAfter: hashWait,
		}
	case <-ctx.Done():
		return nil, fmt.Errorf("wait to hash a password: %w", context.Cause(ctx))
	}
	text := password.Reveal()
	text = text[:min(len(text), maxBytes+1)] // a longer password matches no hash
	return argon2.IDKey([]byte(text), p.salt, p.passes, p.memory, p.lanes, uint32(len(p.key))), nil
}

// hash returns a new hash of a known person's password.
func (h hasher) hash(ctx context.Context, password llm.Secret) (llm.Secret, error) {
	p := phc{h.memory, h.passes, hashLanes, make([]byte, saltSize), make([]byte, hashSize)}
	_, _ = rand.Read(p.salt) // never fails: see crypto/rand
	key, err := h.derive(ctx, password, &p, true)
	if err != nil {
		return llm.Secret{}, err
	}
	p.key = key
	return llm.NewSecret(p.String()), nil
}

// verify reports whether the password matches the hash, and whether the hash should be renewed. Without a hash it takes
// the same time and returns false.
func (h hasher) verify(ctx context.Context, password, stored llm.Secret, known bool) (ok, weak bool, err error) {
	p, ours := parsePHC(stored.Reveal())
	key, err := h.derive(ctx, password, &p, known)
	if err != nil {
		return false, false, err
	}
	same := subtle.ConstantTimeCompare(key, p.key) == 1
	return ours && same, p.weak(), nil
}
